"""Floors: what leaves lose for sure, compared with what is enough before anything else is computed.

Where states are visited for sure (`pins`), every policy that takes action a in state s loses at least some c(s, a). A
leaf loses at least the sum over its states, and two leaves under one question at least

    min_a Σ_left c(s, a) + min_a Σ_right c(s, a).

These *floors* cost next to nothing: those of all questions together are a product of matrices. Actions that no policy
within the budget takes lose an infinite amount, which counts as a large finite number here.

**Rounding.** All terms are non-negative, so a sum of n terms is exact up to a factor 1 ± n ε, in whatever order they
are added. Every c(s, a) was lowered by a factor of 1 − 1e-9 (`SAFE_PRODUCT`), which is more than that with fewer than a
million states, together with what it cost to compute the visits. Both sides of a question are added up: the difference
between a region and its right side would be as inexact as the region, however little the left side loses.
"""

from typing import NamedTuple

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.methods.search.bounds.losses import FINITE, Losses
from omdt.methods.search.regions import Region, Regions


class Divided(NamedTuple):
    """The questions that divide a region, the most promising first.

    Attributes:
        questions: [n] their numbers.
        floors: [n] what is lost at least if both sides become leaves.
    """

    questions: Ints
    floors: Floats


class Floors:
    """The floors of regions, each computed once.

    Args:
        losses: what actions lose, and what they are expected to lose.
        regions: the regions it speaks of.
        certain: [S, A] what every policy loses that takes an action in a state, rounded down; None for nothing.
    """

    def __init__(self, losses: Losses, regions: Regions, certain: Floats | None) -> None:
        self._expected, self._regions = losses.expected, regions
        self._certain = np.where(np.isinf(losses.delta), FINITE, 0.0 if certain is None else certain)
        self._leaves: dict[int, dict[int, float]] = {}
        self._divided: dict[int, Divided] = {}

    def leaves(self, region: Region) -> dict[int, float]:
        """The floor of a leaf per action, the most promising action first."""
        if region.number not in self._leaves:
            order = np.argsort(self._expected[region.states].sum(axis=0), kind="stable")
            floors = self._certain[region.states].sum(axis=0)[order]
            self._leaves[region.number] = dict(zip(order.tolist(), floors.tolist(), strict=True))
        return self._leaves[region.number]

    def divided(self, region: Region) -> Divided:
        """The questions that divide a region, with their floors."""
        if region.number not in self._divided:
            questions = self._regions.questions(region)
            left, right = self._regions.side_sums(region, self._expected[region.states], questions)
            order = np.argsort(left.min(axis=1) + right.min(axis=1), kind="stable")
            certain, answers = self._certain[region.states], self._regions.weights[np.ix_(region.states, questions)]
            floors: Floats = (answers.T @ certain).min(axis=1) + ((1.0 - answers).T @ certain).min(axis=1)
            self._divided[region.number] = Divided(questions[order], floors[order])
        return self._divided[region.number]

    def clear(self) -> None:
        """Forget all floors."""
        self._leaves.clear()
        self._divided.clear()
