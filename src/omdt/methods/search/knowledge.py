"""Knowledge: what one process has learned about the nodes of a task, kept from one case to the next.

It never shows in a result: every answer depends on the question alone.
"""

import itertools
from copy import copy
from hashlib import blake2b

import numpy as np

from omdt import planning
from omdt.mdp import Ints
from omdt.methods.search.bounds.bases import Bases
from omdt.methods.search.bounds.further import further_bounds
from omdt.methods.search.bounds.news import Exchanges
from omdt.methods.search.bounds.options import OptionBound
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Partial
from omdt.methods.search.partial_tree import Leaf, Split, Tree, count_leaves
from omdt.methods.search.regions import Region
from omdt.methods.search.symmetry import Symmetries
from omdt.planning import Certified


class Knowledge:
    """What explorations of one task share.

    Args:
        kin: knowledge of the same task with another size. Regions, options and returns do not depend on the size, so
            both share them.

    Attributes:
        model: the task.
        symmetries: the renamings that leave it as it is.
        bases: what losses are counted from.
        options: the option bound.
        further: all other bounds.
        exchanges: what other processes tell and are told; None if there are none.
    """

    def __init__(
        self,
        model: Model,
        symmetries: Symmetries,
        max_bytes: int,
        exchanges: Exchanges | None = None,
        kin: "Knowledge | None" = None,
    ) -> None:
        self.model, self.symmetries, self._max_bytes, self.exchanges = model, symmetries, max_bytes, exchanges
        self.bases: Bases = Bases(model, max_bytes, exchanges, None if kin is None else kin.bases.regions)
        self.options: OptionBound = (
            OptionBound(model, self.bases.regions, max_bytes // 2) if kin is None else kin.options
        )
        self.further = further_bounds(model)
        self._returns: dict[bytes, Certified[float]] = {} if kin is None else kin._returns

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

    def signature(self, partial: Partial) -> bytes:
        """The same for partial trees whose completions play alike, up to a collision of 128 bits.

        These have the same actions in the same states, the same open regions with as many questions left in each of
        them, as many leaves to spare, and the same pins. Which questions lead to the regions makes no difference: what
        grows in the regions of one tree can grow in those of the other.
        """
        labels, size = self.bases.undecided.astype(np.int32), self.model.size
        spare = size.leaves - count_leaves(partial.tree)
        opened: list[tuple[int, Region, int]] = []
        stack: list[tuple[Tree, Region, int]] = [(partial.tree, self.bases.regions.everything, size.depth)]
        while stack:
            tree, region, depth = stack.pop()
            if isinstance(tree, Split):
                left, right = self.bases.regions.split(region, tree.question)
                stack += [(tree.left, left, depth - 1), (tree.right, right, depth - 1)]
            elif isinstance(tree, Leaf):
                labels[region.states] = tree.action
            elif len(region.states):
                opened.append((int(region.states[0]), region, min(depth, spare)))
        opened.sort(key=lambda it: it[0])
        for i, (_, region, _) in enumerate(opened):
            labels[region.states] = -2 - i
        rest = [spare, *(questions for _, _, questions in opened), *itertools.chain(*partial.pins)]
        return blake2b(labels.tobytes() + np.array(rest, dtype=np.int32).tobytes(), digest_size=16).digest()

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
