"""The loss bound: the optimum minus what leaves and open regions lose at least, counted from a basis."""

import numpy as np

from omdt.mdp import EPSILON
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.bounds.protocol import Bounded, LossEvidence
from omdt.methods.search.bounds.sharing import lost_sharing, must_share
from omdt.methods.search.nodes import Node
from omdt.methods.search.partial_tree import Path, Tree, count_leaves, replaced
from omdt.watch import Watch


class LossBound:
    """Bounds nodes by the tables of a basis."""

    def __init__(self, basis: Basis) -> None:
        self.basis, self.tables = basis, basis.tables

    def bound(self, node: Node, target: float, watch: Watch) -> Bounded:
        """As in `Bound`, also for a complete tree; the target if what is lost is too much for it.

        The watch is that of the tables.
        """
        evidence, budget, loss = LossEvidence(self.basis), self.tables.budget, 0.0
        for o in node.open:
            loss += self.tables.loss(o.region, o.depth, node.spare + 1, budget - loss)
            if loss >= budget:
                return Bounded(target, evidence)
        inside = 0.0
        if np.any(node.actions != self.basis.actions):
            inside = self.tables.fixed(node.actions, budget - loss)
        if loss + inside < budget and must_share(node.open, node.spare):
            loss = max(loss, lost_sharing(self.tables, node.open, node.spare, budget - inside))
        loss += inside
        if loss >= budget:
            return Bounded(target, evidence)
        optimum = self.basis.losses.optimum
        return Bounded(optimum - loss + 4 * EPSILON * (abs(optimum) + loss), evidence)

    def costliest(self, node: Node) -> Path:
        """The way to the open region with fewest questions left, and of several to the one that loses most."""
        budget = self.tables.budget
        return min(
            node.open, key=lambda o: (o.depth, -self.tables.loss(o.region, o.depth, node.spare + 1, budget))
        ).path

    def completion(self, node: Node) -> Tree:
        """The tree that completes a node with the subtrees that promise to lose least."""
        tree, spare = node.tree, node.spare
        for o in node.open:
            subtree = self.tables.subtree(o.region, o.depth, spare + 1)
            tree = replaced(tree, o.path, subtree)
            spare -= count_leaves(subtree) - 1
        return tree
