"""Kept trees as trees of the search: their open places are holes that a climb fills."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from omdt.mdp import Bools, Ints
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import HOLE, Hole, Leaf, Path, Split, Tree, count_leaves
from omdt.methods.search.ranks import Ranks
from omdt.rules import KeptNode, KeptSplit, Open


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
        tree: the kept tree with holes in its open places; its questions have their numbers in `Model.splits`.
        places: the open places, from left to right.
        possible: whether the kept tree is within the size limit of the task.
    """

    def __init__(self, model: Model) -> None:
        task, self._size = model.task, model.size
        self._numbers = itertools.count(len(task.splits))
        found: list[OpenPlace] = []
        self.tree = self._entered(Open() if task.kept is None else task.kept.root, (), found)
        # Every leaf that is kept, and a leaf in every other open place, leaves less for an open place.
        spare = self._size.leaves - count_leaves(self.tree)
        within = all(place.depth >= 0 for place in found) and _depth(self.tree) <= self._size.depth
        self.possible = spare >= 0 and within
        self.places = tuple(place._replace(leaves=min(place.leaves, spare + 1)) for place in found)

    def _entered(self, node: KeptNode, path: Path, found: list[OpenPlace]) -> Tree:
        """A kept node as a tree of the search; open places are added to those that were found."""
        if isinstance(node, Open):
            depth = self._size.depth - len(path)
            leaves = self._size.leaves if node.leaves is None else node.leaves
            found.append(OpenPlace(path, depth if node.depth is None else min(depth, node.depth), leaves))
            return HOLE
        if isinstance(node, KeptSplit):
            question = next(self._numbers)
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


class Questions:
    """The answers to the questions of a task and of its kept tree.

    Attributes:
        ranks: the questions of the task, which a tree may ask anywhere.
        all: the same, then the questions of the kept tree.
    """

    def __init__(self, model: Model) -> None:
        self.all = Ranks(model.splits)
        self.ranks = self.all if model.splits is model.task.splits else Ranks(model.task.splits)

    @property
    def feature(self) -> Ints:
        """[K + kept] the column that every question is about."""
        return self.all.feature

    def right(self, states: Ints, k: int) -> Bools:
        """[n] whether each of n states goes to the right of question k."""
        return self.all.right(states, k)

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


def _depth(tree: Tree) -> int:
    """The largest number of questions on the way to a leaf or hole."""
    return 1 + max(_depth(tree.left), _depth(tree.right)) if isinstance(tree, Split) else 0


def subtree_at(tree: Tree, path: Path) -> Tree:
    """What stands at the end of a path."""
    for step in path:
        assert isinstance(tree, Split), "the path leads out of the tree"
        tree = tree.right if step else tree.left
    return tree
