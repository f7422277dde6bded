"""Changes: the promising simple subtrees for all nodes of a tree, by one compiled pass.

A *simple* subtree for a node is a leaf, a stump, one of the two subtrees that are below the node now, or these two
below another question, also with sides exchanged. Their first-order gains (see `fitting`) follow from sums over the
states of the node, for all questions at once. Nearly all of these trees are never evaluated, so what is computed of one
is a row of numbers; the tree and its policy are made when its turn comes.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search import change_kernels
from omdt.methods.search.change_kernels import NO_QUESTION
from omdt.methods.search.partial_tree import Leaf, Path, SizeLimit, Split, Tree, count_leaves
from omdt.methods.search.ranks import Ranks

OPERATIONS = 1e8
"""Additions between two looks at the clock: less than a second."""


class Shape(NamedTuple):
    """A complete tree as compiled kernels read it: N nodes, every one before those below it.

    Attributes:
        question: [N] the question of a split, `NO_QUESTION` for a leaf.
        action: [N] the action of a leaf.
        left: [N] the number of the left child of a split.
        right: [N] the number of the right child of a split.
    """

    question: Ints
    action: Ints
    left: Ints
    right: Ints


class Changes(NamedTuple):
    """Other subtrees, one per row.

    Where a subtree is named by a number, a number from 0 on is a leaf with that action, and −1 − n the present subtree
    at node n.

    Attributes:
        node: [m] the node that gets another subtree.
        question: [m] the question at its root; `NO_QUESTION` if the subtree is the one that `left` names.
        left: [m] what is on the left of the question.
        right: [m] what is on the right of the question.
        gain: [m] the first-order gain over the present subtree.
        changed: [m] in how many states the action is another one.
        key: [m] the same for equal policies only, up to chance; 0 for the present policy.
    """

    node: Ints
    question: Ints
    left: Ints
    right: Ints
    gain: Floats
    changed: Ints
    key: NDArray[np.uint64]

    def rows(self, which: Bools) -> "Changes":
        """Some of the rows."""
        numbers = (self.node[which], self.question[which], self.left[which], self.right[which])
        return Changes(*numbers, self.gain[which], self.changed[which], self.key[which])

    @classmethod
    def joined(cls, parts: "Iterable[Changes]") -> "Changes":
        """The rows of several parts, one after another."""
        key, number, gain = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64), np.zeros(0)
        none = cls(number, number, number, number, gain, number, key)
        return cls(*map(np.concatenate, zip(none, *parts, strict=True)))


class Members(NamedTuple):
    """The states of every node, as ranges of one array.

    Attributes:
        states: [S] all states, ordered so that those of any node are neighbours.
        begin: [N] where those of every node begin.
        end: [N] where they end.
    """

    states: Ints
    begin: Ints
    end: Ints


class Around:
    """A complete tree whose changes are wanted, node by node, the root first.

    Args:
        tree: the tree.
        questions: the questions of the task.
        size: the largest tree.

    Attributes:
        subtrees: the subtree at every node.
        paths: the way to every node.
        shape: the tree as kernels read it.
        members: the states of every node.
        room: [N] whether a stump fits there.
        actions: [S] its actions.
    """

    def __init__(self, tree: Tree, questions: Ranks, size: SizeLimit) -> None:
        self.tree, self.columns = tree, questions.columns
        self.subtrees: list[Tree] = []
        self.paths: list[Path] = []
        rows: list[list[int]] = []
        stack: list[tuple[Tree, Path, list[int], int]] = [(tree, (), [0], 0)]
        while stack:
            subtree, path, above, side = stack.pop()
            above[side] = len(rows)
            self.subtrees.append(subtree)
            self.paths.append(path)
            if isinstance(subtree, Split):
                rows.append([subtree.question, 0, 0, 0])
                stack.append((subtree.right, (*path, True), rows[-1], 3))
                stack.append((subtree.left, (*path, False), rows[-1], 2))
            else:
                assert isinstance(subtree, Leaf), "a tree with a hole has no actions"
                rows.append([NO_QUESTION, subtree.action, 0, 0])
        self.shape = Shape(*np.array(rows, dtype=np.int64).T.copy())
        states, begin, end, self.actions = change_kernels.members(self.columns, self.shape)
        self.members = Members(states, begin, end)
        # A leaf can be divided if one more leaf fits; below a split there is room for two leaves at least.
        full = count_leaves(tree) == size.leaves
        leaf = self.shape.question == NO_QUESTION
        self.room: Bools = (np.array(list(map(len, self.paths))) < size.depth) & ~(leaf & full)

    def subtree(self, question: int, left: int, right: int) -> Tree:
        """The subtree that a row of `Changes` describes."""
        if question == NO_QUESTION:
            return self._named(left)
        return Split(question, self._named(left), self._named(right))

    def _named(self, number: int) -> Tree:
        """The subtree that a number stands for in `Changes`."""
        return Leaf(number) if number >= 0 else self.subtrees[-1 - number]


def simple_changes(around: Around, gains: Floats, most: int, resolution: int) -> Iterator[Changes]:
    """Promising simple subtrees for all nodes of a tree, some nodes at a time.

    Args:
        around: the tree.
        gains: [S, A] the gains around it.
        most: subtrees per node and kind, those of highest gain.
        resolution: about how many thresholds per column count as different.
    """
    columns, known = around.columns, (around.columns, around.shape, around.members, around.room, around.actions)
    operations = gains.size * len(columns.codes) + len(columns.feature) * gains.shape[1]
    nodes = max(1, int(OPERATIONS / max(1, operations)))
    for first in range(0, len(around.paths), nodes):
        stop = min(first + nodes, len(around.paths))
        part = change_kernels.simple(*known, gains, most, resolution, first, stop)
        yield Changes(*part)


def changed_policy(around: Around, node: int, question: int, left: int, right: int) -> Ints:
    """[S] the actions of a tree with another subtree at one node, by the numbers of a row of `Changes`."""
    known = (around.columns, around.shape, around.members, around.actions)
    policy: Ints = change_kernels.changed(*known, node, question, left, right)
    return policy


def difference(before: Ints, after: Ints) -> tuple[int, int]:
    """In how many states two policies [S] differ, and a key for the second one as in `Changes`."""
    changed, key = change_kernels.difference(before, after)
    return int(changed), int(key)
