"""The exact search for the tree with the best guaranteed return: branch and bound over partial trees.

The bound of a partial tree is the worst case of the best policy that plays the actions of its decided leaves and
anything in its open regions (`omdt.robust`). Partial trees are looked at in the order of their bounds. One of them is
replaced by all trees that decide one of its open regions: as a leaf, for every action, or by a question. A leaf lowers
the bound; a question does not, until its sides are decided. Therefore regions that can only become leaves, for reasons
of size, come first, and a question is not even asked if one of its sides can only become a leaf but is too large for
that: if, whatever its action is and even if all other states are free, too little can be guaranteed. The bounds of
such single leaves are computed once per region and kept. A limit on nodes counts the bounds that are computed.

A tree with the same action in two leaves that are siblings is not looked at: it does the same with one leaf less.
"""

import heapq
from dataclasses import dataclass
from itertools import count

import numpy as np

from omdt.mdp import Bools, Floats
from omdt.robust.incumbent import Incumbent
from omdt.robust.partial import Partial, Region
from omdt.robust.values import Worst
from omdt.solution import Stop
from omdt.splits import Splits
from omdt.task import Size

MEBIBYTE = 2**20


@dataclass(frozen=True, eq=False)
class Node:
    """A partial tree with its bound.

    Attributes:
        partial: the tree.
        bound: no tree that completes it is sure of more.
        values: [S] the values that the bound comes from, or those of a tree that it extends.
    """

    partial: Partial
    bound: float
    values: Floats


class Search:
    """Branch and bound over partial trees.

    Args:
        incumbent: the best tree so far; takes better ones, and the bound.
        splits: the questions that a tree may ask.
        size: how large a tree may be.
        best: the values of the best policy of any form.
        memory_limit: MiB for partial trees that wait.
    """

    def __init__(self, incumbent: Incumbent, splits: Splits, size: Size, best: Worst, memory_limit: int) -> None:
        self.incumbent, self.splits, self.worst = incumbent, splits, incumbent.worst
        self.problem, self.size = self.worst.problem, size
        self._sides = splits.sides()
        self._leaf_bounds: dict[bytes, Floats] = {}
        self._questions: dict[bytes, list[int]] = {}
        self._free = best
        self._most_nodes = max(memory_limit * MEBIBYTE // (32 * self.problem.n_states), 100)
        self._heap: list[tuple[float, int, int, Node]] = []
        self._numbers = count()
        self._dropped = -np.inf

    def run(self) -> Stop:
        """Search until the best tree is proven or a limit is reached; says why it ended."""
        self._push(Node(Partial.root(self.problem.reached), self._free.upper, self._free.values))
        while self._heap and not self.incumbent.proven:
            if (limit := self._limit_reached()) is not None:
                return limit
            node = heapq.heappop(self._heap)[-1]
            if not self._hopeless(node.bound) and not self._branch(node):
                # What was left undone of this node keeps its bound.
                self._push(node)
            self.incumbent.lower_bound_to(self._bound())
        return Stop.COMPLETE

    def _limit_reached(self) -> Stop | None:
        """Which limit ends the search now, if any."""
        watch = self.incumbent.watch
        if watch.remaining == 0:
            return Stop.INTERRUPTED if watch.interrupted else Stop.TIME
        if watch.out_of_nodes:
            return Stop.NODES
        return Stop.MEMORY if len(self._heap) > self._most_nodes else None

    def _bound(self) -> float:
        """No tree is sure of more than this: of those that wait, those that were dropped, and the best one itself."""
        waiting = -self._heap[0][0] if self._heap else -np.inf
        return max(waiting, self._dropped, self.incumbent.value)

    def _hopeless(self, bound: float) -> bool:
        """Whether a bound leaves no room for a better tree; the bound is remembered."""
        if bound > self.incumbent.value + self.incumbent.rounding:
            return False
        self._dropped = max(self._dropped, bound)
        return True

    def _push(self, node: Node) -> None:
        """Let a partial tree wait; of equal bounds the one with more decided leaves comes first."""
        entry = (-node.bound, -len(node.partial.leaves), next(self._numbers), node)
        heapq.heappush(self._heap, entry)

    def _branch(self, node: Node) -> bool:
        """Decide one open region in all ways; says whether this came to its end before a limit was reached."""
        partial = node.partial
        region = min(partial.regions, key=lambda it: (self._may_ask(partial, it), -int(it.states.sum())))
        for action in range(self.problem.n_actions):
            if self._limit_reached() is not None:
                return False
            if not partial.repeats(region, action):
                self._close(node, region, action)
        for k in self._dividing(region) if self._may_ask(partial, region) else ():
            if self._limit_reached() is not None:
                return False
            child = partial.split(region, k, self._sides[:, k])
            sides = [side for side in child.regions[-2:] if not self._may_ask(child, side)]
            bound = min([node.bound, *(float(self._leaf_bound(side).max()) for side in sides)])
            if not self._hopeless(bound):
                self._push(Node(child, bound, node.values))
        return self.incumbent.watch.remaining > 0

    def _close(self, node: Node, region: Region, action: int) -> None:
        """Decide an open region as a leaf."""
        known = self._leaf_bounds.get(region.states.tobytes())
        if known is not None and self._hopeless(float(known[action])):
            return
        self.incumbent.watch.count(1)
        child = node.partial.closed(region, action)
        found = self.worst.best(
            child.allowed(self.problem.n_actions), node.values, self.incumbent.value, self.incumbent.watch
        )
        bound = min(node.bound, found.upper)
        if self._hopeless(bound):
            return
        if child.regions:
            self._push(Node(child, bound, found.values))
        else:
            self.incumbent.consider(child.policy(self.splits, self.problem.action_names))
            # What the tree's own evaluation leaves uncertain is not lost.
            self._dropped = max(self._dropped, min(bound, self.incumbent.value + self.incumbent.rounding))

    def _may_ask(self, partial: Partial, region: Region) -> bool:
        """Whether a question fits in place of a region, and divides it."""
        depth, leaves = self.size.max_depth, self.size.max_leaf_nodes
        fits = (depth is None or len(region.path) < depth) and (leaves is None or partial.n_leaves < leaves)
        return fits and bool(self._dividing(region))

    def _dividing(self, region: Region) -> list[int]:
        """The questions that divide a region, one of all those that divide it alike."""
        key = region.states.tobytes()
        if key not in self._questions:
            sides = self._sides[region.states]
            alike = sides ^ sides[0]
            packed = np.packbits(alike, axis=0)
            _, first = np.unique(packed, axis=1, return_index=True)
            self._questions[key] = [int(k) for k in np.sort(first) if alike[:, k].any()]
        return self._questions[key]

    def _leaf_bound(self, region: Region) -> Floats:
        """[A] what can be guaranteed at most if a region is a leaf with each action, and all else is free."""
        key = region.states.tobytes()
        if key not in self._leaf_bounds:
            self._leaf_bounds[key] = np.array(
                [self._single_leaf(region.states, action) for action in range(self.problem.n_actions)]
            )
        return self._leaf_bounds[key]

    def _single_leaf(self, states: Bools, action: int) -> float:
        """What can be guaranteed at most if a set of states plays one action, and all others are free."""
        self.incumbent.watch.count(1)
        allowed = ~states[:, None] | (np.arange(self.problem.n_actions) == action)
        found = self.worst.best(allowed, self._free.values, self.incumbent.value, self.incumbent.watch)
        return min(found.upper, self._free.upper)
