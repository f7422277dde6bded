"""Boxes: the sets of states that a leaf must contain, whatever tree is grown below a node.

A leaf that is reached with at most k further questions inside a region b is the set of states of b that give certain
answers to at most k questions. Which questions is not known, but for every state s in the leaf it contains a set

    B = { t ∈ b : t answers like s to k questions },      each of these answers *tight* at s,

where an answer is tight if no other question separates more states of b from s in the same direction. There are few
such boxes: on a grid with two features and k = 3, at most four per state.
"""

from collections.abc import Iterator
from math import comb

import numpy as np

from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search.regions import Region, Regions, key_of
from omdt.watch import Watch


class Boxes:
    """The boxes of regions, each with a number of its own and computed once.

    Attributes:
        states: the states of every box, by its number.
    """

    def __init__(self, regions: Regions) -> None:
        self.regions = regions
        self.states: list[Ints] = []
        self._numbers: dict[bytes, int] = {}
        self._found: dict[tuple[int, int], Ints] = {}

    def of(self, region: Region, k: int, watch: Watch) -> Ints:
        """The numbers of the boxes of a region with at most k further questions."""
        if (region.number, k) not in self._found:
            self._found[region.number, k] = self._find(region, k, watch)
        return self._found[region.number, k]

    def count(self, region: Region, k: int) -> int:
        """An upper bound on the number of boxes, found without looking for them."""
        if (region.number, k) in self._found:
            return len(self._found[region.number, k])
        _, patterns = self._patterns(region)
        return sum(comb(conditions, min(k, conditions)) for conditions in patterns.sum(axis=1).tolist())

    def number_of(self, states: Ints) -> int:
        """The number of the box of these states."""
        key = key_of(states, len(self.regions.sides))
        if key not in self._numbers:
            self._numbers[key] = len(self.states)
            self.states.append(states)
        return self._numbers[key]

    def _find(self, region: Region, k: int, watch: Watch) -> Ints:
        if k == 0 or len(self.regions.questions(region)) == 0:
            return np.array([self.number_of(region.states)])
        answers, patterns = self._patterns(region)
        holds = np.ascontiguousarray(answers.T > 0)
        found: dict[int, None] = {}
        for chosen in _combinations(patterns, k):
            watch.check()
            found[self.number_of(region.states[np.logical_and.reduce(holds[chosen])])] = None
        return np.fromiter(found, dtype=np.int64)

    def _patterns(self, region: Region) -> tuple[Floats, Bools]:
        """[n, C] 1 where one of the C answers holds, and all combinations of answers that are tight in some state."""
        right = self.regions.sides[np.ix_(region.states, self.regions.questions(region))]
        answers = np.hstack([~right, right]).astype(np.float64)
        return answers, np.unique(_tight(answers), axis=0)


def _combinations(patterns: Bools, k: int) -> Iterator[list[int]]:
    """The combinations of k columns that hold together in some row, and whole rows in which fewer than k hold."""
    counts = patterns.sum(axis=1)
    for few in patterns[counts < k]:
        yield np.flatnonzero(few).tolist()
    stack: list[tuple[list[int], Bools]] = [([], patterns[counts >= k])]
    while stack:
        chosen, rows = stack.pop()
        later = np.flatnonzero(rows.any(axis=0))
        if chosen:
            later = later[later > chosen[-1]]
        if len(chosen) == k - 1:
            yield from ([*chosen, column] for column in later.tolist())
        else:
            stack += [([*chosen, column], rows[rows[:, column]]) for column in later.tolist()]


def _tight(answers: Floats) -> Bools:
    """[n, C] whether each of C answers holds and is tight at each state; `answers` [n, C] is 1 where it holds."""
    sizes = answers.sum(axis=0)
    common = answers.T @ answers
    within = (common == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    beaten = answers @ within.astype(np.float64) > 0
    tight: Bools = (answers > 0) & ~beaten
    return tight
