"""Rules about the shape of a tree: its first question, its features, its leaves, and how its actions are ordered.

A rule about shape is broken by a partial tree only if all completions break it. None of them is broken by removing a
question that divides nothing, or by making one leaf of two that name the same action; the first question is an
exception, which must stay as it is unless the whole tree becomes a leaf.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from omdt.counting import counted
from omdt.mdp import MDP, Floats, Ints
from omdt.rules.outline import OPEN, Outline


@runtime_checkable
class ShapeRule(Protocol):
    """A rule about the shape of a tree."""

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule, to be read after `a tree that …`."""

    def broken_by(self, outline: Outline) -> str | None:
        """What a tree does that breaks the rule, to be read after `the tree …`; None unless all completions do."""


@dataclass(frozen=True)
class Root:
    """The first question is about one column; a tree that asks nothing keeps the rule."""

    column: int
    name: str

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule."""
        return f"asks first about {self.name}"

    def broken_by(self, outline: Outline) -> str | None:
        """Whether the first question is about something else."""
        broken = outline.asked.get((), self.column) != self.column
        return f"does not ask first about {self.name}" if broken else None


@dataclass(frozen=True)
class FeatureCount:
    """The questions of a tree are about a limited number of different columns."""

    most: int

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule."""
        return f"asks about at most {counted(self.most, 'feature')}"

    def broken_by(self, outline: Outline) -> str | None:
        """Whether there are too many columns."""
        asked = len(outline.columns)
        return f"asks about {counted(asked, 'feature')}, at most {self.most} may be" if asked > self.most else None


@dataclass(frozen=True)
class LeavesPerAction:
    """A limited number of leaves name the same action.

    Attributes:
        most: the largest number of leaves by action; actions that are not mentioned have no limit.
        names: the names of all actions.
    """

    most: Mapping[int, int]
    names: tuple[str, ...]

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule."""
        limits = set(self.most.values())
        if len(self.most) == len(self.names) and len(limits) == 1:
            return f"has at most {counted(limits.pop(), 'leaf', 'leaves')} per action"
        each = (f"at most {counted(n, 'leaf', 'leaves')} for {self.names[a]}" for a, n in self.most.items())
        return f"has {' and '.join(each)}"

    def broken_by(self, outline: Outline) -> str | None:
        """The first action that is named by too many leaves."""
        for action, count in Counter(outline.ends.values()).items():
            if action != OPEN and count > self.most.get(action, count):
                leaves = counted(count, "leaf", "leaves")
                return f"has {leaves} for {self.names[action]}, at most {self.most[action]} may be"
        return None


@dataclass(frozen=True, eq=False)
class Monotone:
    """In states that differ in one column only, a larger value never means a lower action.

    Only states that can be reached count.

    Attributes:
        mdp: the problem.
        observations: [S, F'] what trees read in its states.
        column: the column.
        name: its name.
        rank: [A] the place of each action in the order, from low to high.
        falling: whether a larger value never means a higher action instead.
    """

    mdp: MDP
    observations: Floats
    column: int
    name: str
    rank: Ints
    falling: bool = False

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule."""
        order = " < ".join(self.mdp.action_names[a] for a in np.argsort(self.rank))
        return f"never takes a {'higher' if self.falling else 'lower'} action ({order}) where {self.name} is larger"

    @cached_property
    def neighbours(self) -> Ints:
        """[n, 2] pairs of states that differ in the column only, the lower value first, with none in between."""
        states = np.flatnonzero(self.mdp.reached)
        others = np.delete(self.observations[states], self.column, axis=1)
        _, group = np.unique(others, axis=0, return_inverse=True)
        order = np.lexsort((self.observations[states, self.column], group.reshape(-1)))
        states, group = states[order], group.reshape(-1)[order]
        values = self.observations[states, self.column]
        # States with equal observations do the same in every tree, so one of them is enough.
        first = np.append(True, (group[1:] != group[:-1]) | (values[1:] != values[:-1]))
        states, group = states[first], group[first]
        same = group[1:] == group[:-1]
        pairs: Ints = np.column_stack((states[:-1][same], states[1:][same]))
        return pairs

    def broken_by(self, outline: Outline) -> str | None:
        """The first pair of states whose actions are in the wrong order."""
        lower, upper = self._last_known(outline.policy)
        sign = -1 if self.falling else 1
        wrong = sign * self.rank[outline.policy[lower]] > sign * self.rank[outline.policy[upper]]
        if not wrong.any():
            return None
        s, t = (int(states[np.argmax(wrong)]) for states in (lower, upper))
        names, values = self.mdp.action_names, self.observations[:, self.column]
        return (
            f"takes {names[outline.policy[s]]} in state {int(self.mdp.origin[s])} ({self.name} = {values[s]:.6g}) but "
            f"{names[outline.policy[t]]} in state {int(self.mdp.origin[t])} ({self.name} = {values[t]:.6g})"
        )

    def _last_known(self, policy: Ints) -> tuple[Ints, Ints]:
        """Pairs of states whose actions are known, with no such state in between."""
        lower, upper = self.neighbours.T
        if not (policy == OPEN).any():
            return lower, upper
        known: list[tuple[int, int]] = []
        last: dict[int, int] = {}
        for s, t in zip(lower.tolist(), upper.tolist(), strict=True):
            before = s if policy[s] != OPEN else last.get(s)
            if before is not None:
                last[t] = before
                if policy[t] != OPEN:
                    known.append((before, t))
        pairs = np.array(known, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]
