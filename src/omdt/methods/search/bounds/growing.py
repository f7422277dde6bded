"""Growing subtrees: the least that all leaves of a subtree lose together, found best first.

A growing subtree has fixed leaves and open places. It loses at least what its leaves lose together plus, per open
place, what any subtree loses there by itself.
"""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from omdt.methods.search.bounds.losses import Losses
from omdt.methods.search.partial_tree import HOLE, Leaf, Path, Split, Tree, replaced, sibling_action
from omdt.methods.search.regions import Region, Regions
from omdt.methods.search.settings import SearchSettings


class Table(Protocol):
    """What a growing subtree asks of the tables; all losses are lower bounds, as exact as `enough` needs."""

    losses: Losses
    regions: Regions
    settings: SearchSettings

    def loss(self, region: Region, depth: int, leaves: int, enough: float) -> float:
        """What any tree of the given size loses in a region."""

    def leaf(self, region: Region, action: int, enough: float) -> float:
        """What one leaf loses in a region."""

    def together(self, leaves: tuple[tuple[Region, int], ...], enough: float) -> float:
        """What leaves lose together."""

    def ordered_questions(self, region: Region, depth: int, enough: float) -> list[int]:
        """The questions that divide a region, the most promising first, without those that lose enough for sure."""


@dataclass(frozen=True, eq=False)
class OpenPlace:
    """An open place of a growing subtree, and what is lost there at least."""

    region: Region
    path: Path
    depth: int
    loss: float


@dataclass(frozen=True, eq=False)
class Growing:
    """A subtree with fixed leaves and open places.

    Attributes:
        loss: what it loses at least.
        fixed: what the leaves lose together, or all but the last one.
        known: whether the last leaf is part of that.
        tree: the subtree.
        leaves: regions and actions of the leaves.
        open: the open places.
        spare: how many leaves may be added.
    """

    loss: float
    fixed: float
    known: bool
    tree: Tree
    leaves: tuple[tuple[Region, int], ...]
    open: tuple[OpenPlace, ...]
    spare: int


class Growth:
    """The search for the subtree whose leaves lose least together.

    Args:
        table: what is known of leaves and regions one by one.
        enough: a loss as high as this is high enough.
    """

    def __init__(self, table: Table, enough: float) -> None:
        self.table, self.enough = table, enough

    def least(self, region: Region, depth: int, leaves: int, least: float) -> tuple[float, Tree | None]:
        """The least that a subtree loses, and the subtree that does; None if it was not found.

        Args:
            region: where it grows.
            depth: its largest depth.
            leaves: its largest number of leaves.
            least: what is known to be lost.
        """
        start = Growing(least, 0.0, True, HOLE, (), (OpenPlace(region, (), depth, least),), leaves - 1)
        heap, counter = [(least, 0, start)], itertools.count(1)
        for _ in range(self.table.settings.max_growing_subtrees):
            if not heap:
                return self.enough, None
            loss, _, growing = heapq.heappop(heap)
            if not growing.known:
                rest = sum(place.loss for place in growing.open)
                fixed = self.table.together(growing.leaves, self.enough - rest)
                growing = replace(growing, known=True, fixed=fixed, loss=max(loss, fixed + rest))
                if growing.loss < self.enough:
                    heapq.heappush(heap, (growing.loss, next(counter), growing))
            elif not growing.open:
                return loss, growing.tree
            else:
                for child in self._grown(growing):
                    heapq.heappush(heap, (child.loss, next(counter), child))
        return heap[0][0] if heap else self.enough, None

    def _grown(self, growing: Growing) -> Iterator[Growing]:
        """What a growing subtree becomes when its deepest open place is decided, as far as it may lose too little."""
        place = min(growing.open, key=lambda it: (it.depth, -it.loss))
        rest = tuple(it for it in growing.open if it is not place)
        elsewhere = growing.fixed + sum(it.loss for it in rest)
        yield from self._leaves(growing, place, rest, elsewhere)
        if min(place.depth, growing.spare) > 0:
            yield from self._splits(growing, place, rest, elsewhere)

    def _leaves(
        self, growing: Growing, place: OpenPlace, rest: tuple[OpenPlace, ...], elsewhere: float
    ) -> Iterator[Growing]:
        # Two sibling leaves with the same action are one leaf.
        useless = sibling_action(growing.tree, place.path)
        for action in range(self.table.losses.delta.shape[1]):
            loss = elsewhere + self.table.leaf(place.region, action, self.enough - elsewhere)
            if loss < self.enough and action != useless:
                yield replace(
                    growing,
                    loss=max(loss, growing.loss),
                    known=False,
                    tree=replaced(growing.tree, place.path, Leaf(action)),
                    leaves=(*growing.leaves, (place.region, action)),
                    open=rest,
                )

    def _splits(
        self, growing: Growing, place: OpenPlace, rest: tuple[OpenPlace, ...], elsewhere: float
    ) -> Iterator[Growing]:
        depth = min(place.depth, growing.spare)
        for k in self.table.ordered_questions(place.region, depth, self.enough - elsewhere):
            left, right = (self._side(growing, place, k, to_right) for to_right in (False, True))
            loss = elsewhere + left.loss + right.loss
            if loss < self.enough:
                yield replace(
                    growing,
                    loss=max(loss, growing.loss),
                    tree=replaced(growing.tree, place.path, Split(k, HOLE, HOLE)),
                    open=(*rest, left, right),
                    spare=growing.spare - 1,
                )

    def _side(self, growing: Growing, place: OpenPlace, k: int, right: bool) -> OpenPlace:
        region = self.table.regions.split(place.region, k)[right]
        depth = place.depth - 1
        return OpenPlace(
            region, (*place.path, right), depth, self.table.loss(region, depth, growing.spare, self.enough)
        )
