"""Sharing leaves: what open regions lose at least, however they share the leaves that may be added.

Where regions b_1, …, b_m are open and n leaves may be added, region i has 1 + n_i leaves in the end, and the numbers
n_i add up to n at most; to n exactly if some regions do not use all that they may have. With D as in `tables`, the
regions lose at least

    min over n_1 + … + n_m = n of Σ_i D(b_i, k_i, 1 + n_i),

which is found region by region. The sum of D(b_i, k_i, 1 + n), where every region has all n leaves for itself, takes
less time, but is a weaker bound. It is the same where all regions can have as many leaves as their depths allow: always
if the depth of a tree is its only limit.
"""

from collections.abc import Sequence
from typing import Protocol

from omdt.methods.search.regions import Region


class Place(Protocol):
    """An open region of a partial tree."""

    @property
    def region(self) -> Region:
        """The states that reach it."""

    @property
    def depth(self) -> int:
        """How many questions may follow on a path."""


class Table(Protocol):
    """What is asked of the tables."""

    def loss(self, region: Region, depth: int, leaves: int, enough: float) -> float:
        """A lower bound, at most `enough`, on what any tree of the given size loses in a region."""


def must_share(places: Sequence[Place], spare: int) -> bool:
    """Whether some regions have fewer leaves than their depths allow because others have more.

    Args:
        places: the open regions.
        spare: how many leaves may be added.
    """
    wanted: int = sum(min(2**place.depth - 1, spare) for place in places)
    return wanted > spare


def lost_sharing(table: Table, places: Sequence[Place], spare: int, enough: float) -> float:
    """What open regions lose at least, as exact as `enough` needs.

    Args:
        table: what single regions lose.
        places: the open regions.
        spare: how many leaves may be added.
        enough: a loss as high as this is high enough.
    """
    # [n] what the regions so far lose if n leaves are added there.
    least = [0.0] * (spare + 1)
    for place in places:
        own = [table.loss(place.region, place.depth, 1 + n, enough) for n in range(spare + 1)]
        least = [min(least[n - i] + own[i] for i in range(n + 1)) for n in range(spare + 1)]
    return least[spare]
