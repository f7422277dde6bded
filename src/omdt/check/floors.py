"""Floors: what leaves and open places lose for sure, where some states are visited for sure.

If all policies that return more than B have at least e(s) discounted visits in s, a leaf with action a loses at least
Σ e(s) δ(s, a) over its states. An action that none of them takes in one of these states loses an infinite amount.
"""

import math

import numpy as np

from .claimed import Size
from .reading import Bools, Numbers
from .regions import Regions


class Floors:
    """The floors of the regions of a context.

    Args:
        certain: [S, A] e(s) δ(s, a), with room for the rounding of their sum; None where nothing is visited for sure.
        allowed: [S, A] the actions that the policies take.
        regions: of the context.
    """

    def __init__(self, certain: Numbers | None, allowed: Bools, regions: Regions) -> None:
        self._certain, self._allowed, self._regions = certain, allowed, regions
        self._known: dict[int, list[float]] = {}

    def leaf(self, region: int, action: int) -> float:
        """What a leaf loses."""
        return 0.0 if self._certain is None else self._leaves(region)[action]

    def place(self, region: int, size: Size) -> float:
        """What an open place loses if it can only become a leaf; nothing is known of other subtrees."""
        return 0.0 if self._certain is None or size.leaves > 1 else min(self._leaves(region))

    def _leaves(self, region: int) -> list[float]:
        """What a leaf loses, by its action."""
        if region not in self._known:
            assert self._certain is not None, "the floors of nothing are asked for"
            states = self._regions.states[region]
            possible = self._allowed[states].all(axis=0)
            self._known[region] = np.where(possible, self._certain[states].sum(axis=0), math.inf).tolist()
        return self._known[region]
