"""The constructors of an MDP, from what people have: arrays, matrices, pairs, tuples and tables.

`omdt.mdp_building` turns what they take into transitions and rewards.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Self, Unpack

from numpy.typing import ArrayLike

from omdt import mdp_building as building
from omdt.arrays import Matrix
from omdt.mdp_building import Axes, Details, Dynamics, Missing, Transition


class Constructors:
    """What makes an MDP; `MDP` itself has the fields."""

    @classmethod
    def from_dense(
        cls,
        transitions: ArrayLike,
        rewards: ArrayLike,
        initial: ArrayLike,
        features: ArrayLike,
        *,
        axes: Axes = "SAS",
        **rest: Unpack[Details],
    ) -> Self:
        """An MDP from dense arrays.

        Args:
            transitions: [S, A, S], or [S, S, A] with `axes="SSA"` (from, to, action).
            rewards: [S], [S, A], or one reward per transition in the shape of `transitions`.
            initial: [S] distribution of the first state.
            features: [S, F].
            axes: the order of the axes of `transitions` (and of rewards of the same shape).
            rest: discount and names, as in `MDP`.
        """
        return cls._made(building.from_dense(transitions, rewards, axes), initial, features, rest)

    @classmethod
    def from_matrices(
        cls,
        transitions: Iterable[Matrix],
        rewards: Matrix | Sequence[Matrix],
        initial: ArrayLike,
        features: ArrayLike,
        **rest: Unpack[Details],
    ) -> Self:
        """An MDP from one [S, S] matrix per action, dense or sparse (an array [A, S, S] is such a list).

        Args:
            transitions: A matrices; row s of matrix a is P(s, a, ·).
            rewards: [S], [S, A], or A matrices with one reward per transition, dense or sparse.
            initial: [S] distribution of the first state.
            features: [S, F].
            rest: discount and names, as in `MDP`.
        """
        return cls._made(building.from_matrices(transitions, rewards), initial, features, rest)

    @classmethod
    def from_pairs(
        cls,
        states: ArrayLike,
        actions: ArrayLike,
        transitions: Matrix,
        rewards: ArrayLike,
        initial: ArrayLike,
        features: ArrayLike,
        *,
        missing: Missing = "refused",
        **rest: Unpack[Details],
    ) -> Self:
        """An MDP from a list of L state-action pairs in any order.

        Args:
            states: [L] state of each pair.
            actions: [L] action of each pair.
            transitions: [L, S] dense or sparse; row i is the distribution after pair i.
            rewards: [L] expected reward of each pair.
            initial: [S] distribution of the first state.
            features: [S, F].
            missing: what it means that a pair is not in the list: a mistake ("refused"), or that the action is not
                available in the state ("unavailable").
            rest: discount and names, as in `MDP`.
        """
        building.check_missing(missing, masked="available" in rest)
        dynamics = building.from_pairs(states, actions, transitions, rewards, missing)
        return cls._made(dynamics, initial, features, rest)

    @classmethod
    def from_transitions(
        cls,
        transitions: Iterable[Transition],
        initial: Hashable | Mapping[Any, float],
        features: Callable[[Any], ArrayLike] | None = None,
        *,
        missing: Missing = "refused",
        **rest: Unpack[Details],
    ) -> Self:
        """An MDP from tuples (state, action, next state, probability, reward).

        States and actions may be any hashable objects; both are numbered in the order in which they first appear as
        the first and second entry. Tuples for the same (state, action, next state) add up.

        Args:
            transitions: the tuples, in any order.
            initial: the first state, or a mapping from states to probabilities.
            features: the observation of a state; by default the state itself, a number or a tuple of numbers.
            missing: what it means that a state has no tuples for an action: a mistake ("refused"), or that the action
                is not available there ("unavailable").
            rest: discount and names, as in `MDP`; action names default to the actions' own.
        """
        building.check_missing(missing, masked="available" in rest)
        tuples = building.Tuples.of(transitions)
        dynamics = tuples.dynamics(missing)
        rest.setdefault("action_names", [str(action) for action in tuples.actions])
        return cls._made(dynamics, tuples.initial(initial), tuples.features(features), rest)

    @classmethod
    def from_dataframe(
        cls, frame: Any, *, discount: float | None = None, fallback: str | None = None, name: str = "data frame"
    ) -> Self:
        """An MDP from a table of transitions, one per row, or from a log of steps in the order of time.

        If there is a column `next x`, then `x` is a part of the state. The other columns are `action`, `reward` (0 if
        there is none) and, unless the rows are a log, `probability`; `initial` may give the probability of starting in
        the state of a row. Other spellings such as `next_x`, `x_next` and `prob` are understood, and other columns are
        ignored with a warning.

        Args:
            frame: a data frame of pandas or polars, or a dictionary of columns; other frames are read through narwhals.
            discount: γ; by default 0.99, with a warning.
            fallback: the action that is played where a tree names an unavailable one; see `MDP`.
            name: what the problem is called in outputs and messages.
        """
        from omdt.formats.from_dataframe import from_dataframe

        return from_dataframe(frame, discount=discount, fallback=fallback, name=name)  # type: ignore[return-value]

    @classmethod
    def _made(cls, dynamics: Dynamics, initial: ArrayLike, features: ArrayLike, rest: Details) -> Self:
        """The MDP of these dynamics. Its constructor makes arrays and tuples of whatever the other parts are."""
        parts: dict[str, Any] = {**rest, "initial": initial, "features": features}
        if dynamics.available is not None:
            parts["available"] = dynamics.available
        return cls(dynamics.transitions, dynamics.rewards, **parts)  # type: ignore[call-arg]
