"""VIPER: a small tree that imitates the optimal policy where its own mistakes lead it.

A teacher labels observations with its action and says how much a mistake can cost there,

    w(s) = max_a Q(s, a) − min_a Q(s, a).

Data are aggregated: the first episodes are the teacher's, every later batch is rolled out by the newest student, and
the teacher labels whatever was visited. Each student is a CART fitted to a sample of all labelled pairs so far, drawn
with replacement with probabilities proportional to w. The last word has a tournament on fresh episodes.

**Draws.** World, sample and fit each have a stream of numpy's `RandomState` that starts from the seed, and each draws
in the order in which the settings above are carried out. So did the published experiments, and the same seeds give
their runs, except where the numbering of states or the choice among equally good actions differs.

**Speed.** A pair is determined by its row in a table of observations. Roll-outs are lists of rows from the compiled
simulator, and CART is given each row once, with the number of its pairs as sample weight, which grows the same tree.

Without Q-values every w is 1, and the method is DAGGER.

**Without a discount** the teacher is the optimal policy of a discounted guide (`Task.guide`). The tournament compares
what the students are worth on the problem itself, which is computed instead of rolled out: roll-outs are cut, and then
cannot tell a long way to the goal from none.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from omdt import planning
from omdt.errors import require
from omdt.limits import Limits, whole
from omdt.mdp import MDP, Floats, Ints
from omdt.methods.heuristic import why_stopped
from omdt.methods.options import ViperOptions
from omdt.methods.shrinking import shrunk
from omdt.simulation import simulate
from omdt.solution import Claim
from omdt.splits import Splits
from omdt.task import Size, Task
from omdt.tree import TreePolicy
from omdt.watch import Watch

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
            object.__setattr__(self, name, whole(name, value, 1))


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

    def score(self, student: TreePolicy, episodes: int) -> float:
        """A student's mean undiscounted return alone, without the teacher."""


class KnownMDP:
    """The classroom of an MDP with a known model: the table has every state, the teacher is the optimal policy."""

    def __init__(self, mdp: MDP, splits: Splits, q: planning.Certified[Floats], seed: int) -> None:
        self.mdp = mdp
        self.draws = np.random.Generator(_bits(seed))
        self.observations = splits.observations
        self.feature_names = splits.feature_names
        self.action_names = mdp.action_names
        # Among equally good actions an available one is what a student had better name.
        self.actions: Ints = (planning.best_actions(q) & mdp.available).argmax(axis=1)
        self.importance: Floats = np.ptp(q.value, axis=1)

    def watch_teacher(self, episodes: int) -> Ints:
        """The states in which the optimal policy acts."""
        return self._roll_out(self.actions, episodes)[0]

    def watch_student(self, student: TreePolicy, episodes: int) -> tuple[Ints, float]:
        """The states in which a student acts, and its mean undiscounted return."""
        return self._roll_out(student.actions(self.observations), episodes)

    def score(self, student: TreePolicy, episodes: int) -> float:
        """A student's mean undiscounted return alone."""
        return self.watch_student(student, episodes)[1]

    def _roll_out(self, policy: Ints, episodes: int) -> tuple[Ints, float]:
        rollouts = simulate(self.mdp, policy, episodes=episodes, max_steps=MAX_STEPS, seed=self.draws)
        acted = np.ones(len(rollouts.states), dtype=np.bool_)
        acted[rollouts.starts[1:] - 1] = False
        return rollouts.states[acted].astype(np.int64), float(rollouts.returns.mean())


class GuidedMDP(KnownMDP):
    """The classroom of a problem without a discount: a discounted guide, and scores from the problem itself."""

    def __init__(self, problem: MDP, guide: MDP, splits: Splits, q: planning.Certified[Floats], seed: int) -> None:
        super().__init__(guide, splits, q, seed)
        self._problem = problem

    def score(self, student: TreePolicy, episodes: int) -> float:
        """What a student is worth on the problem, without any roll-out."""
        return planning.evaluate(self._problem, student, self.observations)


def viper(task: Task, limits: Limits, watch: Watch, options: ViperOptions) -> Claim:
    """The tree of limited size that imitates the optimal policy best, over thresholds only."""
    mdp, guide, splits = task.problem, task.guide, task.splits
    values = planning.optimal_values(mdp)
    q = planning.q_values(guide, planning.optimal_values(guide))
    known = guide is mdp
    classroom = KnownMDP(mdp, splits, q, limits.seed) if known else GuidedMDP(mdp, guide, splits, q, limits.seed)
    with watch.catching_interrupts():
        tree = learn(classroom, task.size, limits.seed, Schedule(options.iterations), watch)
        tree = shrunk(tree, task, watch.closing())
    return Claim(tree, planning.expected_return(mdp, values).upper, why_stopped(watch))


def stream(seed: int) -> np.random.RandomState:
    """The draws that start from a seed; `RandomState` takes 32 bits of it."""
    return np.random.RandomState(seed % 2**32)


def _bits(seed: int) -> np.random.MT19937:
    """The same draws for the compiled simulator."""
    bits = np.random.MT19937()
    state: Any = stream(seed).get_state(legacy=False)
    bits.state = state
    return bits


def learn(classroom: Classroom, size: Size, seed: int, schedule: Schedule, watch: Watch) -> TreePolicy:
    """Aggregate data and train students on them until the schedule or the time ends; the best student."""
    require("sklearn", "sklearn", "the method viper")
    sampling, fitting = stream(seed), stream(seed)
    pairs = classroom.watch_teacher(schedule.episodes)
    students: list[tuple[TreePolicy, float]] = []
    while len(students) < schedule.iterations and (not students or watch.remaining > 0):
        sample = _sample(pairs, classroom.importance, sampling, fitting)
        student = _fitted(classroom, sample, size, fitting)
        visits, score = classroom.watch_student(student, schedule.episodes)
        pairs = np.concatenate([pairs, visits])
        students.append((student, score))
    return _winner(classroom, students, schedule.test_episodes, watch)


def _sample(pairs: Ints, importance: Floats, sampling: np.random.RandomState, fitting: np.random.RandomState) -> Ints:
    """[n] how often each row of the table is in the part of a weighted sample of the pairs that a student is fitted to.

    Where no mistake costs anything all pairs weigh alike.
    """
    weights = importance[pairs]
    if not weights.any():
        weights = np.ones(len(pairs))
    size = min(SAMPLE, int(np.count_nonzero(weights)))
    if size == 0:
        return np.zeros(len(importance), dtype=np.int64)
    order = np.arange(size)
    fitting.shuffle(order)
    kept = sampling.random_sample(size)[order[: max(1, int(FITTED_SHARE * size))]]
    cumulative = np.cumsum(weights)
    # Numbers in order are found several times faster.
    places = np.searchsorted(cumulative / cumulative[-1], np.sort(kept), side="right")
    return np.bincount(pairs[places], minlength=len(importance))


def _fitted(classroom: Classroom, sample: Ints, size: Size, fitting: np.random.RandomState) -> TreePolicy:
    """A student fitted to a sample of the data."""
    rows = np.flatnonzero(sample)
    actions, weights = classroom.actions[rows], sample[rows]
    names = (classroom.feature_names, classroom.action_names)
    if len(rows) == 0 or size.max_depth == 0 or size.max_leaf_nodes == 1:
        votes = np.bincount(actions, weights=weights, minlength=1)
        return TreePolicy.leaf(int(votes.argmax()), *names)
    from sklearn.tree import DecisionTreeClassifier

    cart = DecisionTreeClassifier(max_depth=size.max_depth, max_leaf_nodes=size.max_leaf_nodes, random_state=fitting)
    cart.fit(classroom.observations[rows], actions, sample_weight=weights)
    return TreePolicy.from_sklearn(cart, *names)


def _winner(classroom: Classroom, students: list[tuple[TreePolicy, float]], episodes: int, watch: Watch) -> TreePolicy:
    """Successive halving: the better half is scored anew until one student is left, or no time is."""
    while len(students) > 1:
        students = sorted(students, key=lambda entry: -entry[1])[: (len(students) + 1) // 2]
        if watch.remaining == 0:
            break
        students = [(student, classroom.score(student, episodes)) for student, _ in students]
    return students[0][0]
