"""Regions: the sets of states that reach a node, and the questions that divide them.

Every region of a search has a number of its own, so that what is known about it can be stored by number.
"""

from dataclasses import dataclass

import numpy as np

from omdt.mdp import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Region:
    """The states that reach a node.

    Attributes:
        states: [n] sorted.
        number: no other region of the same `Regions` has it.
    """

    states: Ints
    number: int


class Regions:
    """Regions with their parts and useful questions, each computed once.

    Attributes:
        sides: [S, K] answers to all questions.
        weights: the same as numbers, because sums over states are matrix products.
        everything: the region of all states, or of those that were given.
    """

    def __init__(self, sides: Bools, states: Ints | None = None, weights: Floats | None = None) -> None:
        self.sides = sides
        self.weights: Floats = sides.astype(np.float64) if weights is None else weights
        self._regions: dict[bytes, Region] = {}
        self._parts: dict[tuple[int, int], tuple[Region, Region]] = {}
        self._questions: dict[int, Ints] = {}
        self.everything = self.region(np.arange(len(sides)) if states is None else states)

    def among(self, states: Ints) -> "Regions":
        """Regions of some of the states under the same questions."""
        return Regions(self.sides, states, self.weights)

    def region(self, states: Ints) -> Region:
        """The region of sorted states."""
        key = key_of(states, len(self.sides))
        if key not in self._regions:
            self._regions[key] = Region(states, len(self._regions))
        return self._regions[key]

    def split(self, region: Region, k: int) -> tuple[Region, Region]:
        """The left and the right part of a region under question k."""
        key = (region.number, k)
        if key not in self._parts:
            right = self.sides[region.states, k]
            self._parts[key] = (self.region(region.states[~right]), self.region(region.states[right]))
        return self._parts[key]

    def questions(self, region: Region) -> Ints:
        """The questions that divide the region, the first one of those that divide it alike."""
        if region.number not in self._questions:
            representatives = self.representatives(region)
            self._questions[region.number] = np.flatnonzero(representatives == np.arange(len(representatives)))
        return self._questions[region.number]

    def representatives(self, region: Region) -> Ints:
        """[K] the question of `questions` that divides the region as each question does; −1 if it does not divide."""
        divides, divisions = self._divisions(region)
        first: dict[bytes, int] = {}
        representatives = np.full(self.sides.shape[1], -1)
        representatives[divides] = [first.setdefault(it, k) for k, it in zip(divides.tolist(), divisions, strict=True)]
        return representatives

    def side_sums(self, region: Region, gains: Floats, questions: Ints | None = None) -> tuple[Floats, Floats]:
        """[K, A] sums of gains [n, A] over the states of a region on the left and on the right of each question.

        Args:
            region: the region of n states.
            gains: what is summed.
            questions: which questions; by default all.
        """
        right = self.weights[region.states] if questions is None else self.weights[np.ix_(region.states, questions)]
        sums: Floats = right.T @ gains
        return gains.sum(axis=0) - sums, sums

    def _divisions(self, region: Region) -> tuple[Ints, list[bytes]]:
        """The questions that divide a region, and the answers to each, which are alike for alike divisions."""
        inside = self.sides[region.states]
        normal = inside ^ inside[0]
        divides = np.flatnonzero(normal.any(axis=0))
        packed = np.packbits(normal[:, divides].T, axis=1)
        return divides, [answers.tobytes() for answers in packed]


def key_of(states: Ints, n_states: int) -> bytes:
    """A set of states as a hashable."""
    inside = np.zeros(n_states, dtype=np.bool_)
    inside[states] = True
    return np.packbits(inside).tobytes()
