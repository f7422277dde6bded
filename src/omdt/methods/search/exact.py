"""Exact search: best-first branch and bound over partial trees.

A partial tree has fixed leaves and open regions. It is bounded by `options`; branching closes one open region, either as
a leaf with each action or as a split on each question that divides it. The frontier is worked best first, so its top
is an upper bound on every tree not yet seen, and it falls from the start.

The region to branch on is the one that promises to cost most: with y the occupancy at which the relaxed agent enters
states and V its values, the cheapest leaf or stump costs, to first order, min Σ_s y(s) (V(s) − Q(s, a)).
"""

import heapq
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Floats, Ints
from omdt.methods.search.boxes import Region, Regions
from omdt.methods.search.local import LocalSearch, Nested, replaced
from omdt.methods.search.options import OptionBound
from omdt.solution import Claim, Limits, Stop, Watch
from omdt.splits import Splits


@dataclass(frozen=True, eq=False)
class Open:
    """A region of a partial tree that is not decided yet: the way to it and how many questions may follow."""

    path: tuple[bool, ...]
    region: Region
    depth: int


@dataclass(frozen=True, eq=False)
class Partial:
    """A partial tree.

    Attributes:
        tree: nested, with None at open places.
        leaf_action: [S] action of the fixed leaf of each state, −1 in open regions.
        opens: the open regions.
        n_leaves: fixed leaves.
        vector: [S] a vector above the value of every completion.
        bounded: whether `vector` was computed for this tree, rather than for its parent.
    """

    tree: Nested
    leaf_action: Ints
    opens: tuple[Open, ...]
    n_leaves: int
    vector: Floats
    bounded: bool
    entries: Floats | None = None


class ExactSearch:
    """The frontier, the incumbent and the global bound."""

    def __init__(self, mdp: MDP, splits: Splits, limits: Limits, watch: Watch, local: LocalSearch) -> None:
        self.mdp, self.limits, self.watch, self.local = mdp, limits, watch, local
        self.regions = Regions(local.sides)
        self.options = OptionBound(mdp, self.regions, max_bytes=1 << 30)
        self.closed = -np.inf
        self.counter = itertools.count()
        self.heap: list[tuple[float, int, Partial]] = []
        self.nodes = 0
        everything = self.regions.region(np.arange(mdp.n_states))
        values = planning.optimal_values(mdp)
        root = Partial(
            tree=None,
            leaf_action=np.full(mdp.n_states, -1),
            opens=(Open((), everything, local.max_depth),),
            n_leaves=0,
            vector=values.upper,
            bounded=False,
        )
        self._push(planning.expected_return(mdp, values).upper, root)

    @property
    def bound(self) -> float:
        """No tree within the limits returns more."""
        top = -self.heap[0][0] if self.heap else -np.inf
        return max(top, self.closed, self.local.value)

    def _target(self) -> float:
        """Partial trees bounded by this need not be looked at."""
        return self.local.value + 0.999 * self.limits.gap * max(abs(self.local.value), 1e-12)

    def _push(self, bound: float, partial: Partial) -> None:
        heapq.heappush(self.heap, (-bound, next(self.counter), partial))

    def run(self) -> Stop:
        """Search until the frontier is empty or the time is up."""
        while self.heap:
            if self.watch.remaining == 0:
                return Stop.TIME
            negative, _, partial = self.heap[0]
            if -negative <= self._target():
                self.closed = max(self.closed, -negative)
                self.heap.clear()
                break
            heapq.heappop(self.heap)
            self.nodes += 1
            if partial.bounded:
                self._branch(-negative, partial)
            else:
                self._bound(-negative, partial)
            self.watch.report(self.local.value, self.bound)
        return Stop.COMPLETE

    def _bound(self, parent: float, partial: Partial) -> None:
        """Bound a partial tree and put it back."""
        spare = self.local.max_leaves - partial.n_leaves - len(partial.opens)
        boxes = [self.regions.boxes_of(o.region, min(o.depth, spare)) for o in partial.opens]
        active = np.unique(np.concatenate(boxes))
        bound, vector, entries = self.options.bound(partial.leaf_action, active, partial.vector, self._target())
        bound = min(bound, parent)
        if bound <= self._target():
            self.closed = max(self.closed, bound)
            return
        known = Partial(partial.tree, partial.leaf_action, partial.opens, partial.n_leaves, vector, True, entries)
        self._push(bound, known)

    def _branch(self, bound: float, partial: Partial) -> None:
        chosen = self._choice(partial)
        rest = tuple(o for o in partial.opens if o is not chosen)
        sibling = _sibling(partial.tree, chosen.path)
        for action in range(self.mdp.n_actions):
            if sibling == action and sibling is not None:
                continue
            leaf_action = partial.leaf_action.copy()
            leaf_action[chosen.region.states] = action
            tree = replaced(partial.tree, chosen.path, action)
            if rest:
                self._push(bound, Partial(tree, leaf_action, rest, partial.n_leaves + 1, partial.vector, False))
            else:
                self._complete(tree, leaf_action)
        spare = self.local.max_leaves - partial.n_leaves - len(partial.opens)
        if min(chosen.depth, spare) == 0:
            return
        for k in self.regions.questions(chosen.region):
            left, right = self.regions.split(chosen.region, int(k))
            tree = replaced(partial.tree, chosen.path, (int(k), None, None))
            opens = (
                *rest,
                Open((*chosen.path, False), left, chosen.depth - 1),
                Open((*chosen.path, True), right, chosen.depth - 1),
            )
            self._push(bound, Partial(tree, partial.leaf_action, opens, partial.n_leaves, partial.vector, False))

    def _complete(self, tree: Nested, leaf_action: Ints) -> None:
        value = self.local.engine.evaluate(leaf_action)
        if value > self.local.value:
            self.local.consider(tree)

    def _choice(self, partial: Partial) -> Open:
        """The open region that promises to cost most."""
        if len(partial.opens) == 1:
            return partial.opens[0]
        V = partial.vector
        q = self.mdp.rewards + self.mdp.discount * (self.mdp.transitions @ V).reshape(self.mdp.rewards.shape)
        assert partial.entries is not None
        costs = partial.entries[:, None] * (V[:, None] - q)
        return max(partial.opens, key=lambda o: self._cheapest(o, costs))

    def _cheapest(self, o: Open, costs: Floats) -> float:
        states = o.region.states
        here = costs[states]
        leaf = float(here.sum(axis=0).min())
        if o.depth == 0:
            return leaf
        right = self.local.weights_of_side[states].T @ here
        left = here.sum(axis=0) - right
        return min(leaf, float((left.min(axis=1) + right.min(axis=1)).min()))


def _sibling(tree: Nested, path: tuple[bool, ...]) -> Any:
    """The subtree beside the place at the end of a path."""
    if not path:
        return None
    for right in path[:-1]:
        tree = tree[2 if right else 1]
    sibling = tree[1 if path[-1] else 2]
    return None if isinstance(sibling, tuple) else sibling


def search(mdp: MDP, splits: Splits, limits: Limits, watch: Watch) -> Claim:
    """The best tree within the limits, proven by exact search."""
    raise NotImplementedError
