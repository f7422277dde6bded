"""Tables: the least that any small tree loses inside a region, by dynamic programming over regions.

Losses add up over the disjoint regions of a tree's nodes, so with ℓ as in `losses`

    D(b, 0) = min_a ℓ(b → a),
    D(b, k) = min( D(b, 0), min over questions of D(left, k − 1) + D(right, k − 1) )

is a lower bound on what a tree with k more questions on a path loses in a region b. The leaves of a subtree share the
budget, so they lose more *together* than one by one. Where it pays, D(b, k) is therefore the least of ℓ(all leaves)
over all subtrees, found best first: a growing subtree loses at least ℓ of its leaves and D of its open places.

Every entry is asked for with a loss that is high enough for the purpose, and is only as exact as that needs.
"""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from omdt.mdp import Floats
from omdt.methods.search.boxes import Region, Regions
from omdt.methods.search.local import Nested, replaced, sibling_action, side_sums
from omdt.methods.search.losses import Losses
from omdt.watch import Watch

NEGLIGIBLE = 1e-3
"""A loss below this part of the budget counts as none: what was not looked at for it may lose even less."""

MAX_SUBTREES = 200
"""How many growing subtrees are looked at for one entry; it is a bound also when that was not enough."""

Key = tuple[int, int, int]
"""The number of a region, how many questions may follow on a path, and how many leaves there may be."""


@dataclass(frozen=True)
class Halves:
    """A question, and what is asked of the table on both sides."""

    question: int
    left: Key
    right: Key


@dataclass(frozen=True)
class Whole:
    """A complete subtree."""

    tree: Nested


@dataclass(frozen=True)
class Entry:
    """What is known of a region.

    Attributes:
        loss: a lower bound.
        exact: whether more was asked for; otherwise it was high enough.
        choice: the subtree that attains it.
        work: how many losses were computed for it.
    """

    loss: float
    exact: bool
    choice: Halves | Whole
    work: int


@dataclass(frozen=True, eq=False)
class Place:
    """An open place of a growing subtree, and what is lost there at least."""

    region: Region
    path: tuple[bool, ...]
    depth: int
    loss: float


@dataclass(frozen=True, eq=False)
class Growing:
    """A subtree with fixed leaves and open places.

    Attributes:
        loss: what it loses at least.
        fixed: ℓ of the leaves, or of all but the last one.
        known: whether the last leaf is part of that.
        tree: nested, with None at open places.
        leaves: regions and actions of the leaves.
        open: the open places.
        spare: how many leaves may be added.
    """

    loss: float
    fixed: float
    known: bool
    tree: Nested
    leaves: tuple[tuple[Region, int], ...]
    open: tuple[Place, ...]
    spare: int


class Tables:
    """D for the budget it is made for, computed when asked for.

    What is asked for is a pure function of the question, whatever was asked before.

    Attributes:
        budget: β.
        watch: ends computations by an `OutOfTimeError`.
        certain: [S, A] what every policy loses that takes an action in a state; None for nothing.
    """

    certain: Floats | None = None

    def __init__(self, losses: Losses, regions: Regions, budget: float, *, max_entries: int, watch: Watch) -> None:
        self.losses, self.regions, self.budget = losses, regions, budget
        self.max_entries, self.watch = max_entries, watch
        self._work = 0
        self._entries: dict[Key, Entry] = {}
        self._leaves: dict[tuple[int, int], tuple[float, bool]] = {}
        self._floors: dict[int, list[float]] = {}
        self._forced = np.full(losses.delta.shape[0], -1)

    def loss(self, region: Region, depth: int, leaves: int, enough: float) -> float:
        """A lower bound, at most `enough`, on what any tree of the given size loses in a region."""
        return min(self._entry(region, _key(region, depth, leaves), enough).loss, enough)

    def subtree(self, region: Region, depth: int, leaves: int) -> Nested:
        """The subtree that promises to lose least."""
        return self._subtree(region, _key(region, depth, leaves))

    def _subtree(self, region: Region, key: Key) -> Nested:
        choice = self._entry(region, key, np.inf).choice
        if isinstance(choice, Whole):
            return choice.tree
        left, right = self.regions.split(region, choice.question)
        return (choice.question, self._subtree(left, choice.left), self._subtree(right, choice.right))

    def _entry(self, region: Region, key: Key, enough: float) -> Entry:
        enough = max(enough, 2 * NEGLIGIBLE * self.budget)
        known = self._entries.get(key)
        if known is not None and (known.exact or known.loss >= enough):
            return known
        before = self._work
        loss, choice = self._best_leaf(region, enough)
        if key[1] > 0 and loss > NEGLIGIBLE * self.budget:
            loss, choice = self._best_split(region, key, enough, loss, choice)
            if loss < enough and (key[1] == 1 or loss > NEGLIGIBLE * self.budget):
                loss, choice = self._best_together(region, key, enough, loss, choice)
        entry = Entry(loss, loss < enough, choice, self._work - before)
        self._forget_if_full()
        self._entries[key] = entry
        return entry

    def _leaf(self, region: Region, action: int, enough: float) -> float:
        """A lower bound, at most `enough`, on what one leaf loses in a region."""
        loss, exact = self._leaves.get((region.number, action), (-np.inf, False))
        if not exact and loss < enough:
            loss = self._certain_loss(region, action)
            if loss < enough:
                loss = max(loss, self._inside(((region, action),), enough))
            self._leaves[region.number, action] = (loss, loss < enough)
        return min(loss, enough)

    def _certain_loss(self, region: Region, action: int) -> float:
        """What every policy loses that takes an action in a whole region."""
        if self.certain is None:
            return 0.0
        if region.number not in self._floors:
            self._floors[region.number] = self.certain[region.states].sum(axis=0).tolist()
        return self._floors[region.number][action]

    def _inside(self, leaves: tuple[tuple[Region, int], ...], enough: float) -> float:
        self.watch.check()
        for region, action in leaves:
            self._forced[region.states] = action
        self._work += 1
        loss = self.losses.inside(self._forced, self.budget, enough)
        for region, _ in leaves:
            self._forced[region.states] = -1
        return loss

    def _best_leaf(self, region: Region, enough: float) -> tuple[float, Halves | Whole]:
        order = np.argsort(self.losses.expected[region.states].sum(axis=0), kind="stable").tolist()
        best, choice = np.inf, order[0]
        for action in order:
            loss = self._leaf(region, action, min(best, enough))
            if loss < best:
                best, choice = loss, action
            if best <= NEGLIGIBLE * self.budget:
                return 0.0, Whole(choice)
        return best, Whole(choice)

    def _best_split(
        self, region: Region, key: Key, enough: float, best: float, choice: Halves | Whole
    ) -> tuple[float, Halves | Whole]:
        """The best question, where it is better than what was found before."""
        _, depth, leaves = key
        for k in self._ordered_questions(region):
            left, right = self.regions.split(region, k)
            for left_leaves, right_leaves in _shares(depth, leaves):
                limit = min(best, enough)
                loss = self.loss(left, depth - 1, left_leaves, limit)
                if loss < limit:
                    loss += self.loss(right, depth - 1, right_leaves, limit - loss)
                if loss < limit:
                    best = loss
                    choice = Halves(k, _key(left, depth - 1, left_leaves), _key(right, depth - 1, right_leaves))
                if best <= NEGLIGIBLE * self.budget:
                    return 0.0, choice
        return min(best, enough), choice

    def _ordered_questions(self, region: Region) -> list[int]:
        """The questions that divide a region, the most promising first."""
        questions = self.regions.questions(region)
        weights = self.regions.weights[np.ix_(region.states, questions)]
        left, right = side_sums(weights, self.losses.expected[region.states])
        order = np.argsort(left.min(axis=1) + right.min(axis=1), kind="stable")
        return [int(k) for k in questions[order]]

    def _best_together(
        self, region: Region, key: Key, enough: float, least: float, choice: Halves | Whole
    ) -> tuple[float, Halves | Whole]:
        """The least that all leaves of a subtree lose together, given what they lose at least one by one."""
        _, depth, leaves = key
        start = Growing(least, 0.0, True, None, (), (Place(region, (), depth, least),), leaves - 1)
        heap, counter = [(least, 0, start)], itertools.count(1)
        for _ in range(MAX_SUBTREES):
            if not heap:
                return enough, choice
            loss, _, growing = heapq.heappop(heap)
            if not growing.known:
                rest = sum(place.loss for place in growing.open)
                fixed = self._inside(growing.leaves, enough - rest)
                growing = replace(growing, known=True, fixed=fixed, loss=max(loss, fixed + rest))
                if growing.loss < enough:
                    heapq.heappush(heap, (growing.loss, next(counter), growing))
            elif not growing.open:
                return loss, Whole(growing.tree)
            else:
                for child in self._grown(growing, enough):
                    heapq.heappush(heap, (child.loss, next(counter), child))
        return heap[0][0] if heap else enough, choice

    def _grown(self, growing: Growing, enough: float) -> Iterator[Growing]:
        """What becomes of a growing subtree when its deepest open place is decided, as far as it is of interest."""
        place = min(growing.open, key=lambda it: (it.depth, -it.loss))
        rest = tuple(it for it in growing.open if it is not place)
        elsewhere = growing.fixed + sum(it.loss for it in rest)
        # Two sibling leaves that act alike are one leaf.
        useless = sibling_action(growing.tree, place.path)
        for action in range(self.losses.delta.shape[1]):
            loss = elsewhere + self._leaf(place.region, action, enough - elsewhere)
            if loss < enough and action != useless:
                yield replace(
                    growing,
                    loss=max(loss, growing.loss),
                    known=False,
                    tree=replaced(growing.tree, place.path, action),
                    leaves=(*growing.leaves, (place.region, action)),
                    open=rest,
                )
        if min(place.depth, growing.spare) == 0:
            return
        for k in self._ordered_questions(place.region):
            sides = tuple(self._side(growing, place, k, right, enough) for right in (False, True))
            loss = elsewhere + sides[0].loss + sides[1].loss
            if loss < enough:
                yield replace(
                    growing,
                    loss=max(loss, growing.loss),
                    tree=replaced(growing.tree, place.path, (k, None, None)),
                    open=(*rest, *sides),
                    spare=growing.spare - 1,
                )

    def _side(self, growing: Growing, place: Place, k: int, right: bool, enough: float) -> Place:
        region = self.regions.split(place.region, k)[right]
        depth = place.depth - 1
        return Place(region, (*place.path, right), depth, self.loss(region, depth, growing.spare, enough))

    def _forget_if_full(self) -> None:
        """Drop the half of the entries that cost least to compute again."""
        if len(self._entries) < self.max_entries:
            return
        middle = np.median([entry.work for entry in self._entries.values()])
        self._entries = {key: entry for key, entry in self._entries.items() if entry.work > middle}
        self._leaves.clear()
        self._floors.clear()


def _key(region: Region, depth: int, leaves: int) -> Key:
    """The region with the size that really matters."""
    depth = min(depth, leaves - 1)
    return region.number, depth, min(leaves, 2**depth)


def _shares(depth: int, leaves: int) -> list[tuple[int, int]]:
    """How the leaves can be shared out between the two sides of a split."""
    most = 2 ** (depth - 1)
    return [(n, leaves - n) for n in range(max(1, leaves - most), min(leaves - 1, most) + 1)]
