"""Ways: which decisions about an open region lose more than the budget, by what is known of the parts.

Losses add up over disjoint sets of states. With F the fixed leaves of a node and R the region that is decided, a child
with a leaf R → a loses at least ℓ(F) + ℓ(R → a) + Σ D over the other open regions, and a child with a question at least
ℓ(F) + D(left) + D(right) + Σ D. All of this is known from the node itself and from tables that many nodes share, so
most children are closed before anything is computed for them alone. What is left is bounded with all leaves together.

**Rounding.** Every loss is rounded down by more than it costs to add up as many of them as there are states.
"""

from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.nodes import Node, OpenRegion


class Ways:
    """What may become of one open region of a node: a leaf or a split.

    Args:
        basis: what losses are counted from.
        node: the node.
        place: the open region.
    """

    def __init__(self, basis: Basis, node: Node, place: OpenRegion) -> None:
        self._tables, self._node, self._place = basis.tables, node, place
        rest = self._tables.budget
        for o in node.open:
            if o is not place and rest > 0:
                rest -= self._tables.loss(o.region, o.depth, node.spare + 1, rest)
        if rest > 0 and (node.actions != basis.actions).any():
            rest -= self._tables.fixed(node.actions, rest)
        self._rest = rest

    def loses_as_leaf(self, action: int) -> bool:
        """Whether a leaf with an action loses too much."""
        return self._rest <= 0 or self._tables.leaf(self._place.region, action, self._rest) >= self._rest

    def loses_as_split(self, question: int) -> bool:
        """Whether every tree with a question there loses too much."""
        rest, depth, leaves = self._rest, self._place.depth - 1, self._node.spare
        for side in self._tables.regions.split(self._place.region, question):
            if rest > 0:
                rest -= self._tables.loss(side, depth, leaves, rest)
        return rest <= 0
