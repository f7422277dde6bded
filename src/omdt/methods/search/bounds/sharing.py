"""Sharing leaves: what open regions lose at least together, however they share the leaves that may be added.

Where m regions are open and n leaves may be added, region i has 1 + n_i leaves in the end, with n_1 + … + n_m ≤ n. With
D as in `tables`, the regions together lose at least

    min over n_1 + … + n_m ≤ n of Σ_i D(b_i, k_i, 1 + n_i).

The sum of D(b_i, k_i, 1 + n), which lets every region have all leaves for itself, is a weaker bound. It is the same
where the depth leaves no region more than its part, as in trees that have a largest depth alone.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from omdt.methods.search.regions import Region

Shares = tuple[float, ...]
"""What is lost at least if no leaf, at most one, at most two, … are added."""


class Place(Protocol):
    """An open region, and how many questions may follow on a path."""

    @property
    def region(self) -> Region:
        """The states that reach it."""

    @property
    def depth(self) -> int:
        """How many questions may follow."""


class Table(Protocol):
    """What is asked of the tables."""

    def loss(self, region: Region, depth: int, leaves: int, enough: float) -> float:
        """A lower bound, at most `enough`, on what any tree of the given size loses in a region."""


def must_share(places: Iterable[Place], spare: int) -> bool:
    """Whether the places cannot all have as many leaves as each could have by itself."""
    return sum(min(2**place.depth - 1, spare) for place in places) > spare


def shares(table: Table, place: Place, spare: int, enough: float) -> Shares:
    """What is lost in one place, by the number of leaves that are added there."""
    return tuple(table.loss(place.region, place.depth, 1 + n, enough) for n in range(spare + 1))


def combined(one: Shares, other: Shares) -> Shares:
    """What is lost in two places, or in two groups of them, by the number of leaves that are added in both."""
    return tuple(min(one[n - i] + other[i] for i in range(n + 1)) for n in range(len(one)))


def least_shared(table: Table, places: Iterable[Place], spare: int, enough: float) -> float:
    """What all places lose at least together; as exact as `enough` needs."""
    least: Shares = (0.0,) * (spare + 1)
    for place in places:
        least = combined(least, shares(table, place, spare, enough))
    return least[spare]


def least_lost(table: Table, places: Sequence[Place], spare: int, enough: float) -> float:
    if must_share(places, spare):
        return least_shared(table, places, spare, enough)
    return sum(table.loss(place.region, place.depth, 1 + spare, enough) for place in places)
