"""Tables: the least that any small tree loses inside a region, by dynamic programming over regions.

Losses add up over the disjoint regions of a tree's nodes, so with ℓ as in `losses`

    D(b, 0) = min_a ℓ(b → a),
    D(b, k) = min( D(b, 0), min over questions of D(left, k − 1) + D(right, k − 1) )

is a lower bound on what a tree with k more questions on a path loses in a region b. The leaves of a subtree share the
budget, so they lose more *together* than one by one. Where it pays, D(b, k) is therefore the least of ℓ(all leaves)
over all subtrees (`growing`).

Every entry is asked for with a loss that is high enough for the purpose, and is only as exact as that needs.
"""

from copy import copy
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.methods.search.bounds.floors import Floors
from omdt.methods.search.bounds.growing import Growth
from omdt.methods.search.bounds.losses import Losses
from omdt.methods.search.bounds.news import Exchange, Known
from omdt.methods.search.partial_tree import Leaf, Split, Tree
from omdt.methods.search.regions import Region, Regions, key_of
from omdt.methods.search.settings import SearchSettings
from omdt.watch import Watch

Key = tuple[int, int, int]
"""The number of a region, how many questions may follow on a path, and how many leaves there may be."""


@dataclass(frozen=True)
class Halves:
    """A question, and the table entries of both sides."""

    question: int
    left: Key
    right: Key


Choice = Halves | Tree
"""What attains an entry: a question with two entries, or a complete subtree."""


@dataclass(frozen=True)
class Entry:
    """What is known of a region.

    Attributes:
        loss: a lower bound.
        exact: whether a higher loss was asked for; otherwise the loss was high enough.
        choice: what attains it.
        work: how many losses were computed for it.
    """

    loss: float
    exact: bool
    choice: Choice
    work: int


class _Memory:
    """What was computed for one budget; entries that cost least to compute again are dropped when it is full."""

    def __init__(self, max_entries: int, floors: Floors) -> None:
        self.max_entries, self.floors = max_entries, floors
        self.entries: dict[Key, Entry] = {}
        self.leaves: dict[tuple[int, int], tuple[float, bool]] = {}
        self.fixed: dict[bytes, Known] = {}

    def store(self, key: Key, entry: Entry) -> None:
        """Remember an entry; drop the cheaper half of all entries first if there are too many."""
        if len(self.entries) >= self.max_entries:
            middle = np.median([entry.work for entry in self.entries.values()])
            self.entries = {key: entry for key, entry in self.entries.items() if entry.work > middle}
            self.leaves.clear()
            self.floors.clear()
        self.entries[key] = entry

    def store_fixed(self, key: bytes, known: Known) -> None:
        """Remember what the leaves of a node lose; begin anew if there are too many."""
        if len(self.fixed) >= self.max_entries:
            self.fixed.clear()
        self.fixed[key] = known


class Tables:
    """D for the budget it is made for, computed when asked for.

    The answer depends on the question alone, not on what was asked before.

    Attributes:
        losses: what sets of leaves lose.
        regions: the regions it speaks of.
        budget: β.
        certain: [S, A] what every policy loses that takes an action in a state; None for nothing.

    Args:
        exchange: what other processes have computed and are told; None for nothing.
    """

    def __init__(
        self,
        losses: Losses,
        regions: Regions,
        budget: float,
        *,
        settings: SearchSettings,
        max_entries: int,
        watch: Watch,
        certain: Floats | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        self.losses, self.regions, self.budget, self.certain = losses, regions, budget, certain
        self.settings, self._watch, self._exchange = settings, watch, exchange
        self._negligible = settings.negligible_loss * budget
        self._work = 0
        self._memory = _Memory(max_entries, Floors(losses, regions, certain))
        self._forced: Ints = np.full(losses.delta.shape[0], -1)
        # A type that holds −1 and all actions: what is hashed per node is much shorter.
        self._small = np.min_scalar_type(-losses.delta.shape[1])

    def during(self, watch: Watch) -> "Tables":
        """The same tables with the same memory; another watch ends their computations by an `OutOfTimeError`."""
        again = copy(self)
        again._watch = watch
        return again

    def loss(self, region: Region, depth: int, leaves: int, enough: float) -> float:
        """A lower bound, at most `enough`, on what any tree of the given size loses in a region."""
        return min(self._entry(region, _key(region, depth, leaves), enough).loss, enough)

    def subtree(self, region: Region, depth: int, leaves: int) -> Tree:
        """The subtree that promises to lose least."""
        return self._subtree(region, _key(region, depth, leaves))

    def leaf(self, region: Region, action: int, enough: float) -> float:
        """A lower bound, at most `enough`, on what one leaf loses in a region."""
        if self._memory.floors.leaves(region)[action] >= enough:
            return enough
        loss, exact = self._memory.leaves.get((region.number, action), (-np.inf, False))
        if not exact and loss < enough:
            loss, exact = self._memory.leaves[region.number, action] = self._leaf(region, action, enough)
        return min(loss, enough)

    def _leaf(self, region: Region, action: int, enough: float) -> Known:
        """What one leaf loses, as this process computes it or another one has computed it."""
        key = (b"", 0) if self._exchange is None else (key_of(region.states, len(self._forced)), action)
        if self._exchange is not None and (known := self._exchange.leaf(key, enough)) is not None:
            return known
        loss = max(self._memory.floors.leaves(region)[action], self.together(((region, action),), enough))
        if self._exchange is not None:
            self._exchange.add_leaf(key, (loss, loss < enough))
        return loss, loss < enough

    def together(self, leaves: tuple[tuple[Region, int], ...], enough: float) -> float:
        """A lower bound, as exact as `enough` needs, on what leaves lose together."""
        self._watch.check()
        for region, action in leaves:
            self._forced[region.states] = action
        self._work += 1
        loss = self.losses.inside(self._forced, self.budget, enough).value
        for region, _ in leaves:
            self._forced[region.states] = -1
        return loss

    def fixed(self, actions: Ints, enough: float) -> float:
        """A lower bound, at most `enough`, on what the leaves of a node lose together.

        Args:
            actions: [S] those of the leaves, −1 elsewhere. Nodes that differ only in their questions have the same.
            enough: a loss as high as this is high enough.
        """
        key = blake2b(actions.astype(self._small).tobytes(), digest_size=16).digest()
        loss, exact = self._memory.fixed.get(key, (-np.inf, False))
        if not exact and loss < enough:
            self._watch.check()
            loss = self.losses.inside(actions, self.budget, enough).value
            self._memory.store_fixed(key, (loss, loss < enough))
        return min(loss, enough)

    def ordered_questions(self, region: Region, depth: int, enough: float) -> list[int]:
        """The questions that divide a region, the most promising first.

        Args:
            region: what they divide.
            depth: how many questions may follow on a path, this one included.
            enough: questions are left out if they are the last ones and lose as much as this for sure.
        """
        questions, floors = self._memory.floors.divided(region)
        return [int(k) for k in (questions if depth > 1 else questions[floors < enough])]

    def _subtree(self, region: Region, key: Key) -> Tree:
        choice = self._entry(region, key, np.inf).choice
        if not isinstance(choice, Halves):
            return choice
        left, right = self.regions.split(region, choice.question)
        return Split(choice.question, self._subtree(left, choice.left), self._subtree(right, choice.right))

    def _entry(self, region: Region, key: Key, enough: float) -> Entry:
        enough = max(enough, 2 * self._negligible)
        known = self._memory.entries.get(key)
        if known is not None and (known.exact or known.loss >= enough):
            return known
        before = self._work
        loss, choice = self._best_leaf(region, enough)
        if key[1] > 0 and loss > self._negligible:
            loss, choice = self._best_split(region, key, enough, loss, choice)
            if loss < enough and (key[1] == 1 or loss > self._negligible):
                found, subtree = Growth(self, enough).least(region, key[1], key[2], loss)
                loss, choice = found, choice if subtree is None else subtree
        entry = Entry(loss, loss < enough, choice, self._work - before)
        self._memory.store(key, entry)
        return entry

    def _best_leaf(self, region: Region, enough: float) -> tuple[float, Choice]:
        floors = self._memory.floors.leaves(region)
        # Without an action within the budget, the most promising one stands for all of them.
        best, choice = enough, next(iter(floors))
        for action, floor in floors.items():
            if floor < best and (loss := self.leaf(region, action, best)) < best:
                best, choice = loss, action
            if best <= self._negligible:
                return 0.0, Leaf(choice)
        return best, Leaf(choice)

    def _best_split(self, region: Region, key: Key, enough: float, best: float, choice: Choice) -> tuple[float, Choice]:
        """The best question, where it is better than what was found before."""
        _, depth, leaves = key
        for k in self.ordered_questions(region, depth, best):
            left, right = self.regions.split(region, k)
            for left_leaves, right_leaves in _shares(depth, leaves):
                limit = min(best, enough)
                loss = self.loss(left, depth - 1, left_leaves, limit)
                if loss < limit:
                    loss += self.loss(right, depth - 1, right_leaves, limit - loss)
                if loss < limit:
                    best = loss
                    choice = Halves(k, _key(left, depth - 1, left_leaves), _key(right, depth - 1, right_leaves))
                if best <= self._negligible:
                    return 0.0, choice
        return min(best, enough), choice


def _key(region: Region, depth: int, leaves: int) -> Key:
    """The region with the size that really matters."""
    depth = min(depth, leaves - 1)
    return region.number, depth, min(leaves, 2**depth)


def _shares(depth: int, leaves: int) -> list[tuple[int, int]]:
    """How the leaves can be shared between the two sides of a split."""
    most = 2 ** (depth - 1)
    return [(n, leaves - n) for n in range(max(1, leaves - most), min(leaves - 1, most) + 1)]
