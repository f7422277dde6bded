"""Partial trees: questions asked so far, leaves that are decided, and regions that are still open."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from omdt.mdp import Bools, Ints
from omdt.splits import Splits
from omdt.tree import TreePolicy
from omdt.tree.nodes import Attach, Nodes

SIDES = {"l": "left", "r": "right"}
"""The letters of a path, and the children that they lead to."""


@dataclass(frozen=True, eq=False)
class Region:
    """A part of the states for which nothing is decided.

    Attributes:
        path: the way from the root, as in `lr`.
        states: [S] the states that come there.
    """

    path: str
    states: Bools


@dataclass(frozen=True, eq=False)
class Partial:
    """A partial tree.

    Attributes:
        asked: the question at each path that asks one.
        actions: [S] the action of each state whose leaf is decided, −1 for the others.
        leaves: the action of each path that is a decided leaf.
        regions: what is open.
    """

    asked: dict[str, int]
    actions: Ints
    leaves: dict[str, int]
    regions: tuple[Region, ...]

    @classmethod
    def root(cls, states: Bools) -> "Partial":
        """The tree that is entirely open; `states` [S] are those that matter."""
        return cls({}, np.full(len(states), -1), {}, (Region("", states),))

    @property
    def n_leaves(self) -> int:
        """The number of leaves that the tree has at least."""
        return len(self.leaves) + len(self.regions)

    def closed(self, region: Region, action: int) -> "Partial":
        """The tree with a leaf in place of an open region."""
        return replace(
            self,
            actions=np.where(region.states, action, self.actions),
            leaves={**self.leaves, region.path: action},
            regions=tuple(other for other in self.regions if other is not region),
        )

    def split(self, region: Region, question: int, right: Bools) -> "Partial":
        """The tree with a question in place of an open region.

        Args:
            region: the region.
            question: the question.
            right: [S] whether each state goes to the right of it.
        """
        parts = (Region(region.path + "l", region.states & ~right), Region(region.path + "r", region.states & right))
        others = tuple(other for other in self.regions if other is not region)
        return replace(self, asked={**self.asked, region.path: question}, regions=others + parts)

    def repeats(self, region: Region, action: int) -> bool:
        """Whether a leaf with this action would have a leaf with the same action beside it."""
        return bool(region.path) and self.leaves.get(region.path[:-1] + "lr"[region.path[-1] == "l"]) == action

    def allowed(self, n_actions: int) -> Bools:
        """[S, A] the actions that the tree leaves to each state."""
        open_states: Bools = self.actions < 0
        mask: Bools = open_states[:, None] | (self.actions[:, None] == np.arange(n_actions))
        return mask

    def policy(self, splits: Splits, action_names: tuple[str, ...]) -> TreePolicy:
        """The tree, of which nothing is open."""
        nodes = Nodes()
        for path, attach in self._in_order(nodes):
            if path in self.asked:
                k = self.asked[path]
                nodes.split(int(splits.feature[k]), float(splits.threshold[k]), bool(splits.equality[k]), attach)
            else:
                nodes.leaf(self.leaves[path], attach)
        return nodes.tree(TreePolicy, splits.feature_names, action_names)

    def _in_order(self, nodes: Nodes) -> Iterator[tuple[str, Attach | None]]:
        """All paths, parents first, each with the place where its node is attached to those that are there already."""
        waiting: list[tuple[str, Attach | None]] = [("", None)]
        while waiting:
            path, attach = waiting.pop()
            index = len(nodes)
            yield path, attach
            if path in self.asked:
                waiting += [(path + letter, (index, SIDES[letter])) for letter in "rl"]
