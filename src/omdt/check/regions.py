"""Regions: numbered sets of states, the questions that divide them, and the ways to continue a case."""

from typing import TypeAlias

import numpy as np

from .claimed import Case, Size
from .questions import division
from .reading import Bools, Ints

Label: TypeAlias = tuple[str, int]  # a way to continue at an open place: ("action", a) or ("question", k)


class Regions:
    """Some states, and the sets of them that questions make; region 0 has all of them.

    Attributes:
        sides: [S, K] whether a question sends a state to the right.
        states: those of every region, sorted, by its number.
    """

    def __init__(self, sides: Bools, states: Ints, n_actions: int) -> None:
        self.sides, self.n_actions = sides, n_actions
        self.states: list[Ints] = []
        self._numbers: dict[bytes, int] = {}
        self._halves: dict[tuple[int, int], tuple[int, int]] = {}
        self._questions: dict[int, list[int]] = {}
        self._bits: dict[int, int] = {}
        self.number(states)

    def number(self, states: Ints) -> int:
        """The number of a set of sorted states."""
        number = self._numbers.setdefault(states.astype(np.int32).tobytes(), len(self.states))
        if number == len(self.states):
            self.states.append(states)
        return number

    def bits(self, region: int) -> int:
        """The states of a region, as bits."""
        if region not in self._bits:
            self._bits[region] = bits_of(self.states[region], len(self.sides))
        return self._bits[region]

    def split(self, region: int, k: int) -> tuple[int, int]:
        """The two sides of a question within a region."""
        if (region, k) not in self._halves:
            states = self.states[region]
            right = self.sides[states, k]
            self._halves[region, k] = (self.number(states[~right]), self.number(states[right]))
        return self._halves[region, k]

    def dividing(self, region: int) -> list[int]:
        """The questions that divide a region, the first of those that do it in the same way."""
        if region not in self._questions:
            inside = self.sides[self.states[region]]
            first: dict[bytes, int] = {}
            for k in np.flatnonzero((inside != inside[:1]).any(axis=0)):
                first.setdefault(division(inside[:, k]), int(k))
            self._questions[region] = sorted(first.values())
        return self._questions[region]

    def children(self, case: Case, i: int, size: Size, questions: list[int] | None = None) -> list[tuple[Label, Case]]:
        """The ways to decide an open place: as a leaf with one of the actions, or by a question.

        A leaf beside a leaf with the same action is left out: both act as one leaf, a child of the case above. The
        questions are all that divide the place, unless these are given.
        """
        path, region, _ = case[i]
        beside = [action for other, _, action in case if path and other == (*path[:-1], 1 - path[-1])]
        actions = [a for a in range(self.n_actions) if a not in beside]
        ways: list[tuple[Label, Case]] = [(("action", a), ((path, region, a),)) for a in actions]
        if len(path) < size.depth and len(case) < size.leaves:
            for k in self.dividing(region) if questions is None else questions:
                left, right = self.split(region, k)
                ways.append((("question", k), (((*path, 0), left, -1), ((*path, 1), right, -1))))
        return [(label, (*case[:i], *parts, *case[i + 1 :])) for label, parts in ways]


def bits_of(states: Ints | Bools, n_states: int) -> int:
    """A set of states as a number, in which the bit of a state is 1 if it belongs to the set."""
    belongs = np.zeros(n_states, dtype=np.bool_)
    belongs[states] = True
    return int.from_bytes(np.packbits(belongs, bitorder="little").tobytes(), "little")
