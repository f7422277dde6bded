"""VIPER: a small tree that imitates the optimal policy where its own mistakes lead it.

A teacher labels observations with its action and says how much a mistake can cost there,

    w(s) = max_a Q(s, a) − min_a Q(s, a).

Data are aggregated: the first episodes are the teacher's, every later batch is rolled out by the newest student, and
the teacher labels whatever was visited. Each student is a CART fitted to a sample of all labelled pairs so far, drawn
with replacement with probabilities proportional to w. The last word has a tournament on fresh episodes.

**Counts instead of pairs.** A pair is determined by its row in a table of observations, so the data are one count n(s)
a row. Of m pairs drawn with replacement a random part is used for fitting; any part of independent draws is itself
independent draws, so the sample is one multinomial draw with probabilities proportional to n(s)·w(s). CART with these
numbers as sample weights grows the tree that it would grow on the repeated pairs.

Without Q-values every w is 1, and the method is DAGGER.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from omdt import planning
from omdt.errors import InputError, require
from omdt.mdp import MDP, Floats, Ints
from omdt.simulation import simulate
from omdt.solution import Claim, Limits, Stop, Watch
from omdt.splits import Splits
from omdt.tree import TreePolicy

MAX_STEPS = 1000
"""An episode that has not ended by then is cut."""

SAMPLE = 200_000
"""Most pairs that are drawn for one student."""

FITTED_SHARE = 0.8
"""Part of the drawn pairs that the student is fitted to."""


@dataclass(frozen=True)
class Schedule:
    """How much is rolled out.

    Attributes:
        iterations: students that are trained.
        episodes: episodes that each of them adds to the data.
        test_episodes: fresh episodes of each student in each round of the tournament.
    """

    iterations: int = 80
    episodes: int = 10
    test_episodes: int = 50

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} is {value!r}; it must be a whole number of at least 1")


class Classroom(Protocol):
    """A teacher, and a world in which it and its students can be watched."""

    @property
    def observations(self) -> Floats:
        """[n, F] the table of all observations so far."""

    @property
    def actions(self) -> Ints:
        """[n] what the teacher does on each."""

    @property
    def importance(self) -> Floats:
        """[n] w, what a mistake can cost there."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """F names."""

    @property
    def action_names(self) -> tuple[str, ...]:
        """A names."""

    def watch_teacher(self, episodes: int) -> Ints:
        """The rows of the table that the teacher visits, one entry a step."""

    def watch_student(self, student: TreePolicy, episodes: int) -> tuple[Ints, float]:
        """The rows that a student visits, and its mean undiscounted return."""


class KnownMDP:
    """The classroom of an MDP with a known model: the table has every state, the teacher is the optimal policy."""

    def __init__(self, mdp: MDP, splits: Splits, q: planning.Certified[Floats], rng: np.random.Generator) -> None:
        self.mdp = mdp
        self.rng = rng
        self.observations = splits.observations
        self.feature_names = splits.feature_names
        self.action_names = mdp.action_names
        self.actions = planning.greedy(q)
        self.importance: Floats = np.ptp(q.value, axis=1)

    def watch_teacher(self, episodes: int) -> Ints:
        """The states in which the optimal policy acts."""
        return self._roll_out(self.actions, episodes)[0]

    def watch_student(self, student: TreePolicy, episodes: int) -> tuple[Ints, float]:
        """The states in which a student acts, and its mean undiscounted return."""
        return self._roll_out(student.actions(self.observations), episodes)

    def _roll_out(self, policy: Ints, episodes: int) -> tuple[Ints, float]:
        seed = int(self.rng.integers(2**63))
        rollouts = simulate(self.mdp, policy, episodes=episodes, max_steps=MAX_STEPS, seed=seed)
        acted = np.ones(len(rollouts.states), dtype=np.bool_)
        acted[rollouts.starts[1:] - 1] = False
        return rollouts.states[acted].astype(np.int64), float(rollouts.returns.mean())


def viper(mdp: MDP, splits: Splits, limits: Limits, watch: Watch, *, iterations: int = 80) -> Claim:
    """The tree of limited size that imitates the optimal policy best, over thresholds only."""
    if splits.equality.any():
        raise InputError("the method viper asks for thresholds only; leave out categories")
    schedule = Schedule(iterations=iterations)
    values = planning.optimal_values(mdp)
    rng = np.random.default_rng(limits.seed)
    classroom = KnownMDP(mdp, splits, planning.q_values(mdp, values), rng)
    with watch.catching_interrupts():
        tree = learn(classroom, limits, schedule, rng, watch)
    return Claim(tree, planning.expected_return(mdp, values).upper, _stop(watch))


def _stop(watch: Watch) -> Stop:
    if watch.interrupted:
        return Stop.INTERRUPTED
    return Stop.TIME if watch.remaining == 0 else Stop.HEURISTIC


def learn(
    classroom: Classroom, limits: Limits, schedule: Schedule, rng: np.random.Generator, watch: Watch
) -> TreePolicy:
    """Aggregate data and train students on them until the schedule or the time ends; the best student."""
    require("sklearn", "viper", "the method viper")
    counts = np.bincount(classroom.watch_teacher(schedule.episodes), minlength=1)
    students: list[tuple[TreePolicy, float]] = []
    while len(students) < schedule.iterations and (not students or watch.remaining > 0):
        student = _fitted(classroom, counts, limits, rng)
        visits, score = classroom.watch_student(student, schedule.episodes)
        counts = _added(counts, np.bincount(visits, minlength=1))
        students.append((student, score))
    return _winner(classroom, students, schedule.test_episodes, watch)


def _added(one: Ints, other: Ints) -> Ints:
    """The sum of two lists of counts, of which one may be longer."""
    total: Ints = np.zeros(max(len(one), len(other)), dtype=np.int64)
    total[: len(one)] += one
    total[: len(other)] += other
    return total


def _winner(classroom: Classroom, students: list[tuple[TreePolicy, float]], episodes: int, watch: Watch) -> TreePolicy:
    """Successive halving: the better half is scored anew until one student is left, or no time is."""
    while len(students) > 1:
        students = sorted(students, key=lambda entry: -entry[1])[: (len(students) + 1) // 2]
        if watch.remaining == 0:
            break
        students = [(student, classroom.watch_student(student, episodes)[1]) for student, _ in students]
    return students[0][0]


def _fitted(classroom: Classroom, counts: Ints, limits: Limits, rng: np.random.Generator) -> TreePolicy:
    """A student fitted to a sample of the data."""
    sample = _sample(counts, classroom.importance[: len(counts)], rng)
    rows = np.flatnonzero(sample)
    actions, weights = classroom.actions[rows], sample[rows]
    names = (classroom.feature_names, classroom.action_names)
    if len(rows) == 0 or limits.max_depth == 0 or limits.max_leaf_nodes == 1:
        votes = np.bincount(actions, weights=weights, minlength=1)
        return TreePolicy.leaf(int(votes.argmax()), *names)
    from sklearn.tree import DecisionTreeClassifier

    cart = DecisionTreeClassifier(
        max_depth=limits.max_depth, max_leaf_nodes=limits.max_leaf_nodes, random_state=int(rng.integers(2**31))
    )
    cart.fit(classroom.observations[rows], actions, sample_weight=weights)
    return TreePolicy.from_sklearn(cart, *names)


def _sample(counts: Ints, importance: Floats, rng: np.random.Generator) -> Ints:
    """[n] how often each row is drawn; where no mistake costs anything, all visits count alike."""
    weights = counts * importance
    if not weights.any():
        weights = counts.astype(np.float64)
    pairs = min(SAMPLE, int(counts[weights > 0].sum()))
    if pairs == 0:
        return np.zeros_like(counts)
    return rng.multinomial(max(1, int(FITTED_SHARE * pairs)), weights / weights.sum())
