"""The search of a front: all sizes in one run, which share what they find.

A tree of one size is a tree of all larger sizes, and a bound for one size holds for all smaller ones. So the best tree
of n leaves is where the search for n + 1 begins, and as soon as a tree is as good as the best policy of any form,
nothing is left to do for larger ones. What the sizes have in common (optimal values, arrays, answers to all questions)
is computed once. Which kind of proof fits the problem is learned from the sizes that are proven first.

First every size has one turn, the smallest first, so that there are trees of all sizes soon. Then time goes in waves
where the gap is widest: in every wave, the size with the widest gap may examine a certain number of nodes, and the
others a part of it in proportion to their gaps. Every wave is twice as long as the one before. All of this is counted
in nodes and never measured in seconds, so the same seed gives the same trees.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from omdt.limits import Limits
from omdt.methods.search.effort import evaluations_within
from omdt.methods.search.fine_effort import exclusion_seconds
from omdt.methods.search.model import Model
from omdt.methods.search.turns import USUAL, Waiting
from omdt.solution import Claim
from omdt.task import Size
from omdt.tradeoffs.front_size import Found, Shared, SizeSearch
from omdt.tree import TreePolicy
from omdt.watch import TracePoint, Watch

WAVE_SECONDS = 2.0
"""Estimated seconds of the nodes in the first wave for the size with the widest gap: long enough for most small sizes
to be proven in it, so that larger ones learn from them."""

FIRST = Waiting(seconds=0.05)
"""How long the fine search waits in the first proofs of a small problem: they are short, and from them the later ones
learn which search fits the problem."""

SMALL_SECONDS = 0.01
"""Maximum number of estimated seconds that the fine search takes to exclude actions in a small problem. In larger ones
its tables may take longer than the whole proof of the coarse search, so it waits as long as in a single solve."""

Listener = Callable[[Size, TracePoint], None]
"""Hears of a size, and of seconds, value and bound when one of these has improved."""


class FrontSearch:
    """The search for the best trees of several sizes.

    Args:
        model: the model of the task with the largest size.
        sizes: the sizes, each of which contains all trees of the one before.
        limits: how much work may go into all of them together.
        watch: the clock.
        listener: hears of every improvement.

    Attributes:
        searches: one per size.
    """

    def __init__(
        self, model: Model, sizes: Sequence[Size], limits: Limits, watch: Watch, listener: Listener | None = None
    ) -> None:
        self._model, self._watch = model, watch
        self._first = FIRST if exclusion_seconds(model) <= SMALL_SECONDS else USUAL
        _compute_shared_facts(model)
        each = replace(limits, memory_limit=max(1, limits.memory_limit // len(sizes)))
        shared = Shared()
        self.searches = [SizeSearch(model.resized(size), each, self._part(size, listener), shared) for size in sizes]

    def run(self) -> None:
        """Search until every size is proven or time is up."""
        try:
            self._search()
        finally:
            for search in self.searches:
                search.finish()
                self._share(search)

    @property
    def bounds(self) -> list[float]:
        """For every size what no tree returns more than: the least of its own bound and those of all larger sizes."""
        least, found = math.inf, []
        for search in reversed(self.searches):
            least = min(least, search.bound)
            found.append(least)
        return found[::-1]

    def claims(self) -> list[Claim | None]:
        """What was found for every size, None if there is no tree of it that the rules allow.

        Of equally good trees that fit a size, it is the smallest.
        """
        found: list[Found] = []
        for search in self.searches:
            value = search.incumbent.value
            new = search.incumbent.tree is not None and (not found or value > found[-1].value + search.incumbent.noise)
            if new and (tree := search.found(self._watch.closing())) is not None:
                found.append(tree)
        return [
            _claim(search, [it for it in found if fits(it.tree, search.model.task.size)], bound)
            for search, bound in zip(self.searches, self.bounds, strict=True)
        ]

    def _part(self, size: Size, listener: Listener | None) -> Watch:
        part = self._watch.part(math.inf)
        if listener is not None:
            part.listener = lambda point: listener(size, point)
        return part

    @property
    def _open(self) -> list[SizeSearch]:
        """The searches that need more turns."""
        return [search for search in self.searches if not search.over]

    def _search(self) -> None:
        for search in self.searches:
            if not search.over and self._watch.remaining > 0:
                self._advance(search)
                self._share_smaller(search)
        nodes = evaluations_within(self._model, WAVE_SECONDS)
        while self._open and self._watch.remaining > 0:
            widest = max(search.room for search in self._open)
            for search in self._open:
                part = 1.0 if search.room == widest or math.isinf(widest) else search.room / widest
                self._give(search, math.ceil(part * nodes))
            nodes *= 2

    def _give(self, search: SizeSearch, nodes: int) -> None:
        """Let one size examine some nodes, but do at least one piece of its work.

        Meanwhile no other size has processes, so that these need no more cores and memory than those of a single solve.
        """
        for other in self._open:
            if other is not search:
                other.rest()
        end = search.watch.nodes + nodes
        while not search.over and self._watch.remaining > 0:
            self._advance(search)
            if search.watch.nodes >= end:
                return

    def _advance(self, search: SizeSearch) -> None:
        lessons = [one.lesson for one in self.searches if one.lesson is not None]
        search.advance(lessons[-1] if lessons else self._first)
        self._share(search)

    def _share_smaller(self, search: SizeSearch) -> None:
        """Offer the tree of one size to smaller ones, if it does not need all its leaves."""
        tree = search.smaller()
        if tree is not None:
            for other in self.searches[: self.searches.index(search)]:
                other.offer(tree, search.incumbent.value)

    def _share(self, search: SizeSearch) -> None:
        """Offer the tree of one size to all others, and its bound to all smaller ones."""
        tree, value = search.incumbent.tree, search.incumbent.value
        place = self.searches.index(search)
        if tree is not None:
            for other in self.searches[:place] + self.searches[place + 1 :]:
                other.offer(tree, value)
        for other in self.searches[:place]:
            other.lower(search.steady_bound)


def fits(tree: TreePolicy, size: Size) -> bool:
    """Whether a tree is no larger than it may be."""
    too_deep = size.max_depth is not None and tree.depth > size.max_depth
    return not (too_deep or (size.max_leaf_nodes is not None and tree.n_leaves > size.max_leaf_nodes))


def _claim(search: SizeSearch, found: Sequence[Found], bound: float) -> Claim | None:
    """The claim of one size, given the trees that fit, the smallest first."""
    if not found:
        return None
    most = max(it.value for it in found)
    best = next(it for it in found if it.value >= most - search.incumbent.noise)
    return Claim(best.tree, max(bound, most), search.stop)


def _compute_shared_facts(model: Model) -> None:
    """Compute what the models of all sizes have in common, before they are derived from this one."""
    shared = ["optimal_return", "allowed", "topological"]
    if model.searchable:
        shared += ["arrays", "order", "decisive", "sides"]
    for fact in shared:
        getattr(model, fact)
