"""imitate(env, teacher, …): a small tree that imitates any teacher in any Gymnasium environment; no model is needed.

The loop is that of the method viper (`omdt.methods.viper`); here the table of observations grows with every step that
is taken in the environment.
"""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from omdt.errors import InputError
from omdt.limits import Limits
from omdt.mdp import Floats, Ints
from omdt.methods.viper import MAX_STEPS, Schedule, learn
from omdt.task import Size
from omdt.tree import TreePolicy
from omdt.watch import Watch


class Teacher(Protocol):
    """Whatever has `predict` as in Stable-Baselines3: its models, a `TreePolicy`, an object of your own."""

    def predict(self, observation: Any) -> tuple[Any, Any]:
        """The action for one observation, and a state that is not used."""


def imitate(
    env: Any,
    teacher: Teacher,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    q_values: Callable[[Any], ArrayLike] | None = None,
    iterations: int = 80,
    episodes: int = 10,
    test_episodes: int = 50,
    max_steps: int = MAX_STEPS,
    time_limit: float | None = None,
    seed: int = 0,
    feature_names: Sequence[str] = (),
    action_names: Sequence[str] = (),
) -> TreePolicy:
    """The tree of limited size that imitates a teacher best: VIPER with Q-values, DAGGER without them.

    Args:
        env: a Gymnasium environment with a discrete action space and observations that are numbers.
        teacher: what to imitate; asked for its deterministic actions where it knows the difference.
        max_depth: most questions on any path.
        max_leaf_nodes: most leaves.
        q_values: the teacher's values [A] of all actions for an observation; mistakes then count by what they cost.
        iterations: students that are trained.
        episodes: episodes that each of them adds to the data.
        test_episodes: fresh episodes of each student in each round of the final tournament.
        max_steps: an episode that has not ended by then is cut.
        time_limit: seconds after which the best student so far is returned.
        seed: makes the run repeatable if environment and teacher are.
        feature_names: names of the numbers of an observation, in order.
        action_names: names of the actions.

    Raises:
        InputError: if the spaces, the teacher's answers or the settings do not fit.
    """
    size, limits = Size(max_depth, max_leaf_nodes), Limits(time_limit, seed=seed)
    schedule = Schedule(iterations, episodes, test_episodes)
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
        raise InputError(f"max_steps is {max_steps!r}; it must be a whole number of at least 1")
    watch = Watch(time_limit)
    world = Gym(env, teacher, q_values, max_steps, limits.seed, feature_names, action_names)
    with watch.catching_interrupts():
        tree = learn(world, size, limits.seed, schedule, watch)
    return tree.pruned(world.observations)


class Gym:
    """The classroom of a Gymnasium environment: the table has every observation that the teacher labelled."""

    def __init__(
        self,
        env: Any,
        teacher: Teacher,
        q_values: Callable[[Any], ArrayLike] | None,
        max_steps: int,
        seed: int,
        feature_names: Sequence[str],
        action_names: Sequence[str],
    ) -> None:
        space = env.action_space
        if not hasattr(space, "n") or getattr(space, "shape", None) != ():
            raise InputError(f"the action space is {space}; a tree chooses among the actions of a Discrete space")
        self.env, self.teacher, self.q_values, self.max_steps = env, teacher, q_values, max_steps
        self.n_actions, self.first_action = int(space.n), int(getattr(space, "start", 0))
        self.ask: dict[str, Any] = {"deterministic": True} if _knows_determinism(teacher) else {}
        observation, _ = env.reset(seed=seed)
        self.feature_names = _names(feature_names, len(_numbers(observation)), "feature")
        self.action_names = _names(action_names, self.n_actions, "action")
        self._observations: list[Floats] = []
        self._actions: list[int] = []
        self._importance: list[float] = []

    @property
    def observations(self) -> Floats:
        """[n, F] every observation so far."""
        return np.array(self._observations).reshape(-1, len(self.feature_names))

    @property
    def actions(self) -> Ints:
        """[n] what the teacher does on each."""
        return np.array(self._actions, dtype=np.int64)

    @property
    def importance(self) -> Floats:
        """[n] what a mistake can cost there."""
        return np.array(self._importance)

    def watch_teacher(self, episodes: int) -> Ints:
        """Roll out the teacher; every step is a new row."""
        before = len(self._actions)
        self._mean_return(lambda observation: self._labelled(observation)[1], episodes)
        return np.arange(before, len(self._actions))

    def watch_student(self, student: TreePolicy, episodes: int) -> tuple[Ints, float]:
        """Roll out a student; every step is a new row."""
        before = len(self._actions)
        score = self._mean_return(lambda observation: _act(student, self._labelled(observation)[0]), episodes)
        return np.arange(before, len(self._actions)), score

    def score(self, student: TreePolicy, episodes: int) -> float:
        """Roll out a student; the teacher is not asked."""
        return self._mean_return(lambda observation: _act(student, _numbers(observation)), episodes)

    def _mean_return(self, act: Callable[[Any], int], episodes: int) -> float:
        total = 0.0
        for _ in range(episodes):
            observation, _ = self.env.reset()
            for _ in range(self.max_steps):
                step = self.env.step(np.int64(self.first_action + act(observation)))
                observation, reward, terminated, truncated, _ = step
                total += float(reward)
                if terminated or truncated:
                    break
        return total / episodes

    def _labelled(self, observation: Any) -> tuple[Floats, int]:
        """Add an observation with the teacher's action to the table."""
        row, label = _numbers(observation), self.label(observation)
        if len(row) != len(self.feature_names):
            raise InputError(f"an observation has {len(row)} numbers, but the first had {len(self.feature_names)}")
        self._observations.append(row)
        self._actions.append(label)
        self._importance.append(1.0 if self.q_values is None else self._cost(observation))
        return row, label

    def label(self, observation: Any) -> int:
        """The number of the teacher's action."""
        answer = self.teacher.predict(observation, **self.ask)
        if not isinstance(answer, tuple) or np.size(answer[0]) != 1:
            raise InputError(
                f"the teacher's predict must return (action, state), as in Stable-Baselines3, not {answer!r}"
            )
        action = np.asarray(answer[0]).item()
        if action != int(action) or not 0 <= action - self.first_action < self.n_actions:
            raise InputError(f"the teacher takes action {action!r}, which is not in {self.env.action_space}")
        return int(action) - self.first_action

    def _cost(self, observation: Any) -> float:
        assert self.q_values is not None
        q = np.ravel(np.asarray(self.q_values(observation), dtype=np.float64))
        if q.shape != (self.n_actions,) or not np.isfinite(q).all():
            raise InputError(f"q_values must return {self.n_actions} finite numbers, one an action, not {q}")
        return float(np.ptp(q))


def _act(student: TreePolicy, row: Floats) -> int:
    return int(student.actions(row[None, :])[0])


def _knows_determinism(teacher: Teacher) -> bool:
    try:
        return "deterministic" in signature(teacher.predict).parameters
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"the teacher {teacher!r:.80} has no method predict(observation)") from None


def _numbers(observation: Any) -> Floats:
    """An observation as a vector of numbers."""
    try:
        row: Floats = np.ravel(np.asarray(observation, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(
            f"the observation {observation!r:.80} is not an array of numbers; wrap the environment in "
            "gymnasium.wrappers.FlattenObservation"
        ) from None
    if len(row) == 0 or not np.isfinite(row).all():
        raise InputError(f"the observation {observation!r:.80} must have at least one number, and all must be finite")
    return row


def _names(names: Sequence[str], count: int, what: str) -> tuple[str, ...]:
    given = tuple(names) or tuple(f"{what}_{i}" for i in range(count))
    if len(set(given)) != count or len(given) != count:
        raise InputError(f"{what}_names are {', '.join(map(repr, given))}; there must be {count} distinct ones")
    return given
