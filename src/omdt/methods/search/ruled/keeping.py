"""Kept trees as trees of the search: their questions have numbers, their open places are holes.

A kept question need not be one of those that trees may ask. So all questions of the kept tree have numbers after those
of the task, and no other node may ask them. With these numbers, a tree of the search has the kept nodes literally.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from omdt.mdp import Bools, Ints
from omdt.methods.search.partial_tree import HOLE, Hole, Leaf, Path, SizeLimit, Split, Tree, count_leaves, to_policy
from omdt.methods.search.ranks import Ranks
from omdt.rules.kept import KeptNode, KeptSplit, Open
from omdt.splits import Splits
from omdt.task import Task
from omdt.tree import TreePolicy


class OpenPlace(NamedTuple):
    """A place where a subtree may be grown.

    Attributes:
        path: the way to it.
        depth: maximum depth of a subtree there.
        leaves: maximum number of leaves of a subtree there.
    """

    path: Path
    depth: int
    leaves: int


class Keeping:
    """The kept tree of a task, or a single open place if there is none.

    Attributes:
        splits: the questions of the task, then those of the kept tree.
        tree: the kept tree with holes in its open places.
        places: the open places, from left to right.
        possible: whether the kept tree is within the size limit of the task.
    """

    def __init__(self, task: Task, size: SizeLimit) -> None:
        self.task = task
        self._size = size
        self._asked: list[tuple[int, float, bool]] = []
        found: list[OpenPlace] = []
        self.tree = self._entered(Open() if task.kept is None else task.kept.root, (), found)
        self.splits = _extended(task.splits, self._asked)
        # Every leaf that is kept, and a leaf in every other open place, leaves less for an open place.
        spare = size.leaves - count_leaves(self.tree)
        self.possible = spare >= 0 and all(place.depth >= 0 for place in found) and _depth(self.tree) <= size.depth
        self.places = tuple(place._replace(leaves=min(place.leaves, spare + 1)) for place in found)

    def _entered(self, node: KeptNode, path: Path, found: list[OpenPlace]) -> Tree:
        """A kept node as a tree of the search; open places are added to those that were found."""
        if isinstance(node, Open):
            depth = self._size.depth - len(path)
            leaves = self._size.leaves if node.leaves is None else node.leaves
            found.append(OpenPlace(path, depth if node.depth is None else min(depth, node.depth), leaves))
            return HOLE
        if isinstance(node, KeptSplit):
            self._asked.append((node.column, node.threshold, node.equality))
            question = len(self.task.splits) + len(self._asked) - 1
            left = self._entered(node.left, (*path, False), found)
            return Split(question, left, self._entered(node.right, (*path, True), found))
        return Leaf(node.action)

    def filled(self, actions: Sequence[int]) -> Tree:
        """The kept tree with a leaf in every open place.

        Args:
            actions: the action of each of these leaves.
        """
        left = [*actions]

        def fill(node: Tree) -> Tree:
            if isinstance(node, Split):
                return Split(node.question, fill(node.left), fill(node.right))
            return Leaf(left.pop(0)) if isinstance(node, Hole) else node

        return fill(self.tree)

    def policy(self, tree: Tree) -> TreePolicy:
        """The tree policy of a complete tree, with the kept nodes as the user has them."""
        return to_policy(tree, self.splits, self.task.mdp)


class Questions:
    """The answers to the questions of a task and of its kept tree, by their numbers in `Keeping.splits`.

    Attributes:
        ranks: the questions of the task alone.
        feature: [K + kept] the column that every question is about.
    """

    def __init__(self, keeping: Keeping) -> None:
        self.ranks = Ranks(keeping.task.splits)
        self.feature = keeping.splits.feature
        self._kept: list[Bools] = [keeping.splits.side(k) for k in range(len(self.ranks), len(keeping.splits))]

    def right(self, states: Ints, k: int) -> Bools:
        """[n] whether each of n states goes to the right of question k."""
        return self.ranks.right(states, k) if k < len(self.ranks) else self._kept[k - len(self.ranks)][states]

    def reaching(self, tree: Tree, path: Path) -> Ints:
        """The states that reach the end of a path in a tree."""
        states = np.arange(len(self.ranks.columns.codes[0]))
        for step in path:
            assert isinstance(tree, Split), "the path leads out of the tree"
            right = self.right(states, tree.question)
            states, tree = (states[right], tree.right) if step else (states[~right], tree.left)
        return states

    def parts(self, tree: Tree, states: Ints) -> list[tuple[Path, Leaf, Ints]]:
        """The leaves of a complete tree from left to right, each with the way to it and those of n states it has."""
        found: list[tuple[Path, Leaf, Ints]] = []
        stack: list[tuple[Path, Tree, Ints]] = [((), tree, states)]
        while stack:
            path, node, here = stack.pop()
            if isinstance(node, Split):
                right = self.right(here, node.question)
                stack.append(((*path, True), node.right, here[right]))
                stack.append(((*path, False), node.left, here[~right]))
            else:
                assert isinstance(node, Leaf), "a tree with a hole has no actions"
                found.append((path, node, here))
        return found


def _extended(splits: Splits, asked: list[tuple[int, float, bool]]) -> Splits:
    """Questions with further ones after them."""
    if not asked:
        return splits
    columns, thresholds, equalities = zip(*asked, strict=True)
    return replace(
        splits,
        feature=np.concatenate([splits.feature, np.array(columns, dtype=np.int64)]),
        threshold=np.concatenate([splits.threshold, np.array(thresholds, dtype=np.float64)]),
        equality=np.concatenate([splits.equality, np.array(equalities, dtype=np.bool_)]),
    )


def _depth(tree: Tree) -> int:
    """The largest number of questions on the way to a leaf or hole."""
    return 1 + max(_depth(tree.left), _depth(tree.right)) if isinstance(tree, Split) else 0


def subtree_at(tree: Tree, path: Path) -> Tree:
    """What stands at the end of a path."""
    for step in path:
        assert isinstance(tree, Split), "the path leads out of the tree"
        tree = tree.right if step else tree.left
    return tree
