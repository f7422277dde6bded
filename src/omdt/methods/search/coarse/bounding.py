"""Bounding: what is known of a coarse tree, and the bound of a child from what is known of its parent.

Without rules beyond those about leaves, a node has one vector of values. Prices lower the payoffs by tolls, which grow
as more is decided. Every weighing of return and limited totals has a vector of its own, and so has every end of which
the share of visits is limited. All of them are lowered from those of the parent, one after another until one shows that
the node need not be explored.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from omdt.mdp import EPSILON, Bools, Floats
from omdt.methods.search.coarse.coarse_tree import CoarseTree
from omdt.methods.search.coarse.decisions import Child
from omdt.methods.search.coarse.first_tree import First
from omdt.methods.search.coarse.multipliers import weighings
from omdt.methods.search.coarse.observing import PLAIN, Grounds
from omdt.methods.search.coarse.outlines import breaks
from omdt.methods.search.coarse.relaxation import Payoffs, Relaxation
from omdt.methods.search.coarse.shares import Shares
from omdt.methods.search.coarse.tolls import paid_once, tolls
from omdt.methods.search.coarse.weighing import Weighing, plain, reduced
from omdt.methods.search.partial_tree import Path, Tree
from omdt.watch import Watch


@dataclass(frozen=True, eq=False)
class CoarseNode:
    """A coarse tree with what is known of it.

    Attributes:
        bound: no completion that keeps the rules returns more.
        tree: the coarse tree.
        values: [S] the values that show the bound; None for those from which everything begins.
        grounds: what they bound.
        best: the number of the weighing that shows the bound.
        vectors: [S] values per weighing, None as above; empty if all are None.
        shares: [S] values per end of which the share is limited, by the way to it.
    """

    bound: float
    tree: CoarseTree
    values: Floats | None = None
    grounds: Grounds = PLAIN
    best: int = 0
    vectors: tuple[Floats | None, ...] = ()
    shares: Mapping[Path, Floats] = field(default_factory=dict)

    @property
    def arrays(self) -> set[int]:
        """The identities of all arrays that belong to the node."""
        return {id(it) for it in (*self.vectors, *self.shares.values()) if it is not None}

    def forgetful(self) -> "CoarseNode":
        """The node without its vectors."""
        return CoarseNode(self.bound, self.tree, best=self.best)


class Paid(NamedTuple):
    """What all completions pay: tolls [S, A] per visit, None for nothing, and once."""

    tolls: Floats | None
    once: float


NOTHING_PAID = Paid(None, 0.0)


class Goal(Protocol):
    """What bounds are compared with."""

    @property
    def tree(self) -> Tree | None:
        """The best tree so far."""

    @property
    def target(self) -> float:
        """A bound as low as this is low enough."""

    @property
    def unrestricted(self) -> float:
        """No policy of any form returns more."""


class Bounding:
    """Bounds coarse trees under the rules of a task.

    Args:
        goal: what bounds are compared with.
        relaxation: of the coarse trees.
        weighings: of return and totals; the first one bounds the return.
        shares: tests shares of visits, if they are limited.
    """

    def __init__(
        self,
        goal: Goal,
        relaxation: Relaxation,
        weighings: list[Weighing] | None = None,
        shares: Shares | None = None,
    ) -> None:
        self._goal, self._relaxation, self._shares = goal, relaxation, shares
        self._model, self._task = relaxation.model, relaxation.model.task
        self.weighings = [plain(relaxation)] if weighings is None else weighings
        prices = self._task.prices
        self._prices = prices if prices is not None and (relaxation.always_ends or self._only_costs) else None

    @classmethod
    def of(cls, goal: Goal, relaxation: Relaxation, first: First, watch: Watch) -> "Bounding":
        """What bounds the coarse trees of a task that begin with a first one.

        Args:
            goal: what bounds are compared with.
            relaxation: of the coarse trees.
            first: where the search begins.
            watch: ends the choice of multipliers early.
        """
        task = relaxation.model.task
        if first.tree is None or task.only_leaf_rules:
            return cls(goal, relaxation)
        choices = relaxation.choices(first.tree)
        if not choices.any(axis=1).all():
            return cls(goal, relaxation)
        # Without a discount, visits of states that are never left are counted in another way.
        share = task.least_share if relaxation.always_ends else None
        shares = None if share is None else Shares(relaxation, share.least, watch)
        return cls(goal, relaxation, weighings(relaxation, choices, watch), shares)

    @property
    def _only_costs(self) -> bool:
        """Whether rewards are costs: tolls would give others both signs, of which there is no total without an end."""
        problem = self._task.problem
        return not (problem.rewards > 0).any() and problem.endless != np.inf

    def first(self, tree: CoarseTree) -> CoarseNode | None:
        """The node of the first coarse tree; None if it is known that no completion keeps the rules."""
        if self._breaks(tree):
            return None
        bound, best = self._goal.unrestricted, 0
        paid = self._paid(tree)
        for i, weighing in enumerate(self.weighings):
            total = self._relaxation.total(weighing.above)
            if weighing.bounds_return:
                found = self._on_task(total, weighing, paid)
                bound, best = (found, i) if found < bound else (bound, best)
            elif total < -weighing.constant:
                return None
        return CoarseNode(self._first(bound), tree, grounds=self.weighings[best].grounds, best=best)

    def bounded(self, child: Child, node: CoarseNode, watch: Watch) -> CoarseNode | None:
        """The node of a child; None if a rule about the shape of trees is broken by all completions."""
        if self._breaks(child.tree):
            return None
        if child.same and self._prices is None and self._shares is None:
            return replace(node, tree=child.tree)
        choices = self._relaxation.choices(child.tree)
        if not choices.any(axis=1).all():
            return CoarseNode(-np.inf, child.tree, self.known(node), self.weighings[node.best].grounds)
        found = self._weighed(child.tree, choices, node, watch)
        if self._shares is None or found.bound <= self._goal.target:
            return found
        values, empty = self._shares.tested(child.tree, choices, node.shares, watch)
        if empty is None:
            return replace(found, shares=values)
        return replace(
            found, bound=-np.inf, values=values[empty], grounds=Grounds(0.0, (), ((empty, 1.0),)), vectors=()
        )

    def known(self, node: CoarseNode) -> Floats:
        """[S] values that show the bound of a node."""
        return self.weighings[node.best].above if node.values is None else node.values

    def payoffs(self, node: CoarseNode) -> Payoffs:
        """What is maximised in the relaxation that shows the bound of a node."""
        return self._reduced(self.weighings[node.best], self._paid(node.tree))

    def again(self, node: CoarseNode, watch: Watch) -> CoarseNode:
        """A node whose vectors were forgotten, with values that show its bound up to rounding."""
        weighing, paid = self.weighings[node.best], self._paid(node.tree)
        target = self._on_sum(node.bound, weighing, paid)
        choices = self._relaxation.choices(node.tree)
        relaxed = self._relaxation.bound_of(choices, weighing.above, target, watch, self._reduced(weighing, paid))
        bound = self._on_task(relaxed.bound, weighing, paid)
        return replace(node, bound=bound, values=relaxed.values, grounds=weighing.grounds)

    def _breaks(self, tree: CoarseTree) -> bool:
        return breaks(tree, self._relaxation.ladders, self._relaxation.everywhere, self._task.shapes)

    def _weighed(self, tree: CoarseTree, choices: Bools, node: CoarseNode, watch: Watch) -> CoarseNode:
        """The node of a coarse tree by its lowest bound of all weighings."""
        target, paid = self._goal.target, self._paid(tree)
        vectors = list(node.vectors or [None] * len(self.weighings))
        best, bound, values = node.best, node.bound, node.values
        for i, weighing in enumerate(self.weighings):
            above, goal = vectors[i], self._on_sum(target, weighing, paid)
            above = weighing.above if above is None else above
            relaxed = self._relaxation.bound_of(choices, above, goal, watch, self._reduced(weighing, paid))
            vectors[i] = relaxed.values
            if not weighing.bounds_return:
                if relaxed.bound < -weighing.constant:
                    return CoarseNode(-np.inf, tree, relaxed.values, weighing.grounds, i)
                continue
            found = self._first(self._on_task(relaxed.bound, weighing, paid))
            if found <= bound or i == best:
                best, bound, values = i, min(found, bound), relaxed.values
            if bound <= target:
                return CoarseNode(bound, tree, values, self.weighings[best].grounds, best)
        return CoarseNode(bound, tree, values, self.weighings[best].grounds, best, tuple(vectors))

    def _paid(self, tree: CoarseTree) -> Paid:
        """What all completions of a coarse tree pay."""
        if self._prices is None:
            return NOTHING_PAID
        ladders, mdp = self._relaxation.ladders, self._model.mdp
        once = paid_once(tree, ladders, self._prices)
        if not self._prices.any_per_use:
            return Paid(None, once)
        return Paid(tolls(tree, ladders, self._prices, ~mdp.terminal, mdp.n_actions), once)

    def _reduced(self, weighing: Weighing, paid: Paid) -> Payoffs:
        """The payoffs of a weighing, after the tolls are paid."""
        if paid.tolls is None or not weighing.bounds_return:
            return weighing.payoffs
        return reduced(weighing.payoffs, paid.tolls)

    def _on_task(self, total: float, weighing: Weighing, paid: Paid) -> float:
        """The bound on returns that follows from a bound on weighted sums, rounded up."""
        if not np.isfinite(total) or (weighing.constant == 0 and paid.once == 0):
            return total
        size = abs(total) + abs(weighing.constant) + paid.once
        return total + weighing.constant - paid.once + 8 * EPSILON * size

    def _on_sum(self, target: float, weighing: Weighing, paid: Paid) -> float:
        """The bound on weighted sums from which a bound on returns follows."""
        if not weighing.bounds_return:
            return float(np.nextafter(-weighing.constant, -np.inf))
        if not np.isfinite(target):
            return target
        size = abs(target) + abs(weighing.constant) + paid.once
        return target - weighing.constant + paid.once - (16 * EPSILON * size if weighing.constant or paid.once else 0.0)

    def _first(self, bound: float) -> float:
        """A bound as it counts: until there is a tree, what may return −∞ at best may nevertheless have the first."""
        return max(bound, -sys.float_info.max) if self._goal.tree is None else bound
