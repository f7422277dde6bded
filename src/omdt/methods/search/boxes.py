"""Boxes: the sets of states that a leaf must contain, whatever tree is grown below a node.

A leaf that is reached with at most k further questions inside a region b is the set of states of b that give certain
answers to at most k questions. Which ones is not known, but for every state s in the leaf it contains a set

    B = { t ∈ b : t answers like s to k questions },      each of these answers *tight* at s,

where an answer is tight when no other question separates more states of b from s in the same direction. There are few
such boxes: on a grid with two features and k = 3 at most four a state.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.watch import Watch


@dataclass(frozen=True, eq=False)
class Region:
    """States of a node that is still open.

    Attributes:
        states: [n] sorted.
        number: no other region of the same `Regions` has it.
    """

    states: Ints
    number: int


def decisive(mdp: MDP) -> Bools:
    """[S] whether it matters what is done in a state."""
    rows = mdp.transitions
    matters = np.any(mdp.rewards != mdp.rewards[:, :1], axis=1)
    for a in range(1, mdp.n_actions):
        difference = rows[a :: mdp.n_actions] - rows[:: mdp.n_actions]
        matters |= np.asarray(abs(difference).sum(axis=1) > 0).ravel()
    return np.asarray(matters, dtype=np.bool_)


class Regions:
    """Regions, their useful questions and their boxes, each computed once.

    Attributes:
        sides: [S, K] answers to all questions.
        weights: the same as numbers, because sums over states are matrix products.
        everything: the region of all states, or of those that were given.
        boxes: the states of every box, by its number.
    """

    def __init__(self, sides: Bools, states: Ints | None = None) -> None:
        self.sides = sides
        self.weights: Floats = sides.astype(np.float64)
        self._begin(np.arange(len(sides)) if states is None else states)

    def _begin(self, states: Ints) -> None:
        self.boxes: list[Ints] = []
        self._box_numbers: dict[bytes, int] = {}
        self._regions: dict[bytes, Region] = {}
        self._splits: dict[tuple[int, int], tuple[Region, Region]] = {}
        self._questions: dict[int, Ints] = {}
        self._boxes_of: dict[tuple[int, int], Ints] = {}
        self.everything = self.region(states)

    def among(self, states: Ints) -> "Regions":
        """The same questions, but other states do not count."""
        regions = copy(self)
        regions._begin(states)
        return regions

    def region(self, states: Ints) -> Region:
        """The region of sorted states."""
        key = _key(states, len(self.sides))
        if key not in self._regions:
            self._regions[key] = Region(states, len(self._regions))
        return self._regions[key]

    def split(self, region: Region, k: int) -> tuple[Region, Region]:
        """The two sides of a question within a region."""
        key = (region.number, k)
        if key not in self._splits:
            right = self.sides[region.states, k]
            self._splits[key] = (self.region(region.states[~right]), self.region(region.states[right]))
        return self._splits[key]

    def questions(self, region: Region) -> Ints:
        """The questions that divide the region, one for each way of dividing it."""
        if region.number not in self._questions:
            divides, packed = self._divisions(region)
            _, first = np.unique(packed, axis=1, return_index=True)
            self._questions[region.number] = divides[np.sort(first)]
        return self._questions[region.number]

    def same(self, region: Region) -> Ints:
        """[K] for every question the one of `questions` that divides the region alike, −1 if none does."""
        divides, packed = self._divisions(region)
        _, first, inverse = np.unique(packed, axis=1, return_index=True, return_inverse=True)
        same = np.full(self.sides.shape[1], -1)
        same[divides] = divides[first][inverse.ravel()]
        return same

    def _divisions(self, region: Region) -> tuple[Ints, Any]:
        """The questions that divide a region, and how they do, packed, one column each."""
        inside = self.sides[region.states]
        normal = inside ^ inside[0]
        divides = np.flatnonzero(normal.any(axis=0))
        return divides, np.packbits(normal[:, divides], axis=0)

    def boxes_of(self, region: Region, k: int, watch: Watch) -> Ints:
        """The numbers of the boxes of a region with at most k further questions."""
        if (region.number, k) not in self._boxes_of:
            self._boxes_of[region.number, k] = self._find_boxes(region, k, watch)
        return self._boxes_of[region.number, k]

    def count_boxes(self, region: Region, k: int) -> int:
        """At most how many boxes there are, found without looking for them."""
        if (region.number, k) in self._boxes_of:
            return len(self._boxes_of[region.number, k])
        _, patterns = self._patterns(region)
        return sum(comb(conditions, min(k, conditions)) for conditions in patterns.sum(axis=1).tolist())

    def number_of(self, states: Ints) -> int:
        """The number of the box of these states."""
        key = _key(states, len(self.sides))
        if key not in self._box_numbers:
            self._box_numbers[key] = len(self.boxes)
            self.boxes.append(states)
        return self._box_numbers[key]

    def _find_boxes(self, region: Region, k: int, watch: Watch) -> Ints:
        if k == 0 or len(self.questions(region)) == 0:
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
        right = self.sides[np.ix_(region.states, self.questions(region))]
        answers = np.hstack([~right, right]).astype(np.float64)
        return answers, np.unique(_tight(answers), axis=0)


def _combinations(patterns: Bools, k: int) -> Iterator[list[int]]:
    """The combinations of k columns that hold together in some row, and all that holds in a row with fewer."""
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
    """[n, C] whether each of C answers holds and is tight at each state; `answers` [n, C] holds 1 where it holds."""
    sizes = answers.sum(axis=0)
    common = answers.T @ answers
    within = (common == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    beaten = answers @ within.astype(np.float64) > 0
    tight: Bools = (answers > 0) & ~beaten
    return tight


def _key(states: Ints, n_states: int) -> bytes:
    """A set of states as a hashable."""
    inside = np.zeros(n_states, dtype=np.bool_)
    inside[states] = True
    return np.packbits(inside).tobytes()
