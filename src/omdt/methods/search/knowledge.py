"""Knowledge: what one process has learned about the nodes of a task, kept from one case to the next.

It never shows in a result: every answer depends on the question alone.
"""

from copy import copy

import numpy as np

from omdt import planning
from omdt.mdp import Ints
from omdt.methods.search.bounds.bases import Bases
from omdt.methods.search.bounds.further import further_bounds
from omdt.methods.search.bounds.news import Exchanges
from omdt.methods.search.bounds.options import OptionBound
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree
from omdt.methods.search.regions import Region
from omdt.methods.search.symmetry import Symmetries
from omdt.planning import Certified


class Knowledge:
    """What explorations of one task share.

    Attributes:
        model: the task.
        symmetries: the renamings that leave it as it is.
        bases: what losses are counted from.
        options: the option bound.
        further: all other bounds.
        exchanges: what other processes tell and are told; None if there are none.
    """

    def __init__(
        self, model: Model, symmetries: Symmetries, max_bytes: int, exchanges: Exchanges | None = None
    ) -> None:
        self.model, self.symmetries, self._max_bytes, self.exchanges = model, symmetries, max_bytes, exchanges
        self.bases = Bases(model, max_bytes, exchanges)
        self.options = OptionBound(model, self.bases.regions, max_bytes // 2)
        self.further = further_bounds(model)
        self._returns: dict[bytes, Certified[float]] = {}

    def without_symmetries(self) -> "Knowledge":
        """The same, but no two nodes are taken for alike."""
        other = copy(self)
        other.symmetries = Symmetries.none(self.model)
        return other

    def value(self, policy: Ints) -> Certified[float]:
        """The return of a policy, which many trees may have in common."""
        key = policy.astype(np.int16).tobytes()
        if key not in self._returns:
            if len(self._returns) * len(key) >= self._max_bytes // 8:
                self._returns.clear()
            self._returns[key] = planning.policy_return(self.model.mdp, policy)
        return self._returns[key]

    def filled_in(self, tree: Tree) -> tuple[Tree, Ints]:
        """A tree with the first action in place of every hole, and what it does in every state."""
        regions = self.bases.regions
        policy = np.maximum(self.bases.undecided, 0)

        def complete(node: Tree, region: Region) -> Tree:
            if isinstance(node, Split):
                left, right = regions.split(region, node.question)
                return Split(node.question, complete(node.left, left), complete(node.right, right))
            leaf = node if isinstance(node, Leaf) else Leaf(0)
            policy[region.states] = leaf.action
            return leaf

        return complete(tree, regions.everything), policy
