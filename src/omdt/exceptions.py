"""Exceptions: the observations on which a leaf names an unavailable action, and what is played there instead."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

import numpy as np

from omdt.errors import InputError
from omdt.mdp import Floats, Ints


class ExceptionDict(TypedDict):
    """One row of the table in JSON."""

    observation: list[float]
    action: str


class ExceptionsDict(TypedDict):
    """The entries of a tree's JSON that describe its exceptions."""

    fallback: str | None
    exceptions: list[ExceptionDict]
    look_alike_states: int
    exceptions_left_out: int
    forced_actions: list[str]


@dataclass(frozen=True, eq=False)
class Exceptions:
    """What a tree plays where the action of its leaf is not available; empty if that never happens.

    Attributes:
        observations: [m, F] distinct observations.
        actions: [m] the action that is played on each of them.
        fallback: name of the action that is played instead of an unavailable one, as in `MDP`.
        look_alikes: number of visited states that have the same observation as another visited state in which a
            different action is played. No table of observations can be right about both, so whoever plays the tree
            must know which actions are available.
        left_out: number of observations that belong to the table but would make it too long.
        forced: names of the actions that are never chosen: wherever one of them is available, no other action is, but
            for states in which an episode has ended.
    """

    observations: Floats = ()  # type: ignore[assignment]
    actions: Ints = ()  # type: ignore[assignment]
    fallback: str | None = None
    look_alikes: int = 0
    left_out: int = 0
    forced: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        m = len(self.observations)
        # Adding 0 turns −0 into 0: the two are equal in every comparison, so they must be one key of the table.
        observations = np.array(self.observations, dtype=np.float64).reshape(m, -1 if m else 0) + 0.0
        actions = np.array(self.actions, dtype=np.int64)
        if actions.shape != (m,):
            raise InputError(f"there are {m} exceptional observations but actions of shape {actions.shape}")
        if not np.isfinite(observations).all():
            raise InputError("an exceptional observation has a number that is not finite")
        if len(set(map(tuple, observations.tolist()))) < m:
            raise InputError("an exceptional observation is listed twice")
        for name, array in (("observations", observations), ("actions", actions)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def matter(self) -> bool:
        """Whether something else than the action of the leaf is played on some observation."""
        return bool(len(self) or self.look_alikes or self.left_out)

    @cached_property
    def table(self) -> dict[tuple[float, ...], int]:
        """The action that is played on each exceptional observation."""
        return dict(zip(map(tuple, self.observations.tolist()), self.actions.tolist(), strict=True))

    def applied(self, observations: Floats, named: Ints) -> Ints:
        """[n] what is played on n observations [n, F], given the actions [n] that their leaves name."""
        if not len(self):
            return named
        pairs = zip(map(tuple, observations.tolist()), named.tolist(), strict=True)
        return np.array([self.table.get(observation, action) for observation, action in pairs], dtype=np.int64)

    def check(self, n_features: int, action_names: Sequence[str]) -> None:
        """Raise unless the table fits a tree over these features and actions."""
        if len(self) and self.observations.shape[1] != n_features:
            raise InputError(
                f"the exceptional observations have {self.observations.shape[1]} features, the tree has {n_features}"
            )
        if np.any((self.actions < 0) | (self.actions >= len(action_names))):
            raise InputError(f"an exception plays an action that is not among the {len(action_names)} named ones")
        if self.fallback is not None and self.fallback not in action_names:
            raise InputError(f"the fallback {self.fallback!r:.80} is not among the {len(action_names)} actions")
        for name in self.forced:
            if name not in action_names:
                raise InputError(f"the forced action {name!r:.80} is not among the {len(action_names)} actions")

    def to_dict(self, action_names: Sequence[str]) -> ExceptionsDict:
        """The table as JSON holds it."""
        rows = zip(self.observations.tolist(), self.actions.tolist(), strict=True)
        return {
            "fallback": self.fallback,
            "exceptions": [{"observation": observation, "action": action_names[a]} for observation, a in rows],
            "look_alike_states": self.look_alikes,
            "exceptions_left_out": self.left_out,
            "forced_actions": list(self.forced),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object], action_names: Sequence[str]) -> "Exceptions":
        """The table from the entries of `to_dict`; a dictionary without these entries gives an empty table."""
        rows = data.get("exceptions", [])
        if not isinstance(rows, list):
            raise InputError(f"'exceptions' is {rows!r:.40}; it must be a list")
        fallback = data.get("fallback")
        if not isinstance(fallback, str | None):
            raise InputError(f"'fallback' is {fallback!r:.40}; it must be the name of an action or null")
        forced = data.get("forced_actions", [])
        if not isinstance(forced, list) or not all(isinstance(name, str) for name in forced):
            raise InputError(f"'forced_actions' is {forced!r:.40}; it must be a list of names")
        return cls(
            [_numbers(row) for row in rows],  # type: ignore[arg-type]
            [_action(row, action_names) for row in rows],  # type: ignore[arg-type]
            fallback,
            _count(data, "look_alike_states"),
            _count(data, "exceptions_left_out"),
            tuple(forced),
        )


def _numbers(row: object) -> list[float]:
    numbers = row.get("observation") if isinstance(row, dict) else None
    plain = isinstance(numbers, list) and all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers)
    if not plain or not numbers or not all(abs(x) < math.inf for x in numbers) or max(map(abs, numbers)) > 2**1023:
        raise InputError(f"'exceptions' holds {row!r:.80}; it must hold an observation of numbers and an action")
    return [float(x) for x in numbers]


def _action(row: object, action_names: Sequence[str]) -> int:
    name = row.get("action") if isinstance(row, dict) else None
    if name not in action_names:
        raise InputError(f"'exceptions' names the action {name!r:.80}, which is not among the {len(action_names)}")
    return list(action_names).index(str(name))


def _count(data: Mapping[str, object], key: str) -> int:
    count = data.get(key, 0)
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InputError(f"{key!r} is {count!r:.40}; it must be a whole number")
    return count
