"""Exact search: best-first branch and bound over partial trees.

A partial tree has fixed leaves and open regions. It is bounded by `options`; branching closes one open region, either
as a leaf with each action or as a split on each question that divides it. The frontier is worked best first, so its
top is an upper bound on every tree not yet seen, and it falls from the start.

The region to branch on is the one that promises to cost most: with x the occupancy of the relaxed agent and V its
values, the cheapest leaf or stump costs, to first order, min Σ_s x(s) (V(s) − Q(s, a)).
"""

import heapq
import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Floats, Ints
from omdt.methods.search.boxes import Region, Regions
from omdt.methods.search.evaluation import DENSE_STATES, look_ahead, topological_order
from omdt.methods.search.local import LocalSearch, Nested, replaced
from omdt.methods.search.options import AcyclicOptions, DenseOptions, OptionBound
from omdt.solution import Limits, Watch

MAX_BYTES = 1 << 30
"""Memory for the inverses of boxes."""


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
        n_leaves: number of fixed leaves.
        vector: [S] a vector above the value of every completion.
        visits: [S] occupancy of the relaxed agent; None until the tree is bounded by itself.
    """

    tree: Nested
    leaf_action: Ints
    opens: tuple[Open, ...]
    n_leaves: int
    vector: Floats
    visits: Floats | None = None


def can_search(mdp: MDP) -> bool:
    """Whether the MDP is of a size that exact search handles."""
    return mdp.n_states <= DENSE_STATES or topological_order(mdp) is not None


class ExactSearch:
    """The frontier and the global bound; the incumbent is that of the local search."""

    def __init__(self, mdp: MDP, limits: Limits, watch: Watch, local: LocalSearch) -> None:
        self.mdp, self.limits, self.watch, self.local = mdp, limits, watch, local
        self.regions = Regions(local.sides)
        order = topological_order(mdp)
        self.options: OptionBound = (
            DenseOptions(mdp, self.regions, MAX_BYTES) if order is None else AcyclicOptions(mdp, self.regions, order)
        )
        self.closed = -np.inf
        self.nodes = 0
        self.evaluated: set[bytes] = set()
        self.counter = itertools.count()
        self.heap: list[tuple[float, int, Partial]] = []
        everything = self.regions.region(np.arange(mdp.n_states))
        nothing_fixed = np.full(mdp.n_states, -1)
        root = Partial(None, nothing_fixed, (Open((), everything, local.max_depth),), 0, local.optimal.upper)
        self._push(local.bound, root)

    @property
    def bound(self) -> float:
        """No tree within the limits returns more."""
        top = -self.heap[0][0] if self.heap else -np.inf
        return max(top, self.closed, self.local.value)

    def run(self, nodes: int) -> bool:
        """Look at up to so many nodes; whether the search is finished."""
        last = self.nodes + nodes
        while self.heap and self.nodes < last and self.watch.remaining > 0:
            bound, partial = -self.heap[0][0], self.heap[0][2]
            if bound <= self._target():
                self.closed = max(self.closed, bound)
                self.heap.clear()
                break
            heapq.heappop(self.heap)
            self.nodes += 1
            if partial.visits is None:
                self._bound(bound, partial)
            else:
                self._branch(bound, partial)
            self.local.bound = self.bound
            self.watch.report(self.local.value, self.bound)
        return not self.heap

    def _target(self) -> float:
        """Partial trees bounded by this need not be looked at."""
        return self.local.value + 0.999 * self.limits.gap * max(abs(self.local.value), 1e-12)

    def _push(self, bound: float, partial: Partial) -> None:
        heapq.heappush(self.heap, (-bound, next(self.counter), partial))

    def _spare(self, partial: Partial) -> int:
        """How many leaves are left when every open region becomes one."""
        return self.local.max_leaves - partial.n_leaves - len(partial.opens)

    def _bound(self, of_parent: float, partial: Partial) -> None:
        """Bound a partial tree by itself and put it back, unless it is not worth it."""
        spare = self._spare(partial)
        boxes = [self.regions.boxes_of(o.region, min(o.depth, spare)) for o in partial.opens]
        active = np.unique(np.concatenate(boxes))
        bound, vector, visits = self.options.bound(partial.leaf_action, active, partial.vector, self._target())
        bound = min(bound, of_parent)
        if bound <= self._target():
            self.closed = max(self.closed, bound)
        else:
            self._push(bound, replace(partial, vector=vector, visits=visits))

    def _branch(self, bound: float, partial: Partial) -> None:
        """Replace a partial tree by those in which one more region is decided."""
        chosen = self._choice(partial)
        rest = tuple(o for o in partial.opens if o is not chosen)
        # Two sibling leaves that act alike are one leaf, which was looked at before they were split.
        useless = _sibling_action(partial.tree, chosen.path)
        for action in range(self.mdp.n_actions):
            if action != useless:
                leaf_action = partial.leaf_action.copy()
                leaf_action[chosen.region.states] = action
                tree = replaced(partial.tree, chosen.path, action)
                if rest:
                    self._push(bound, Partial(tree, leaf_action, rest, partial.n_leaves + 1, partial.vector))
                else:
                    self._complete(bound, tree, leaf_action)
        if min(chosen.depth, self._spare(partial)) == 0:
            return
        for k in self.regions.questions(chosen.region):
            left, right = self.regions.split(chosen.region, int(k))
            sides = (
                Open((*chosen.path, False), left, chosen.depth - 1),
                Open((*chosen.path, True), right, chosen.depth - 1),
            )
            tree = replaced(partial.tree, chosen.path, (int(k), None, None))
            child = Partial(tree, partial.leaf_action, (*rest, *sides), partial.n_leaves, partial.vector)
            self._push(bound, child)

    def _complete(self, bound: float, tree: Nested, policy: Ints) -> None:
        """Evaluate a tree with nothing open; what is not known of its return counts for the bound."""
        key = policy.astype(np.int16).tobytes()
        if key in self.evaluated:
            return
        self.evaluated.add(key)
        value = planning.expected_return(self.mdp, planning.policy_values(self.mdp, policy))
        self.closed = max(self.closed, min(bound, value.upper))
        if value.value > self.local.value:
            self.local.value, self.local.best = value.value, tree
            self.watch.report(value.value, max(bound, self.bound))

    def _choice(self, partial: Partial) -> Open:
        """The open region that promises to cost most."""
        if len(partial.opens) == 1:
            return partial.opens[0]
        assert partial.visits is not None
        V = partial.vector
        gains = partial.visits[:, None] * (look_ahead(self.mdp, V) - V[:, None])
        return min(partial.opens, key=lambda o: self._most_to_gain(o, gains))

    def _most_to_gain(self, o: Open, gains: Floats) -> float:
        """First-order gain, at most 0, of the best leaf or stump in a region."""
        leaf = float(gains[o.region.states].sum(axis=0).max())
        return leaf if o.depth == 0 else max(leaf, self.local.stump_score(gains, o.region.states))


def _sibling_action(tree: Nested, path: tuple[bool, ...]) -> Any:
    """The action of the leaf beside the place at the end of a path; None when there is no leaf."""
    if not path:
        return None
    for right in path[:-1]:
        tree = tree[2 if right else 1]
    sibling = tree[1 if path[-1] else 2]
    return None if isinstance(sibling, tuple) else sibling
