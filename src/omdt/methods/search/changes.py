"""Changes: the promising simple subtrees for all nodes of a tree, by one compiled pass.

A *simple* subtree for a node is a leaf, a stump, one of the two subtrees that are below the node now, or these two
below another question, also with sides exchanged. Their first-order gains (see `fitting`) follow from sums over the
states of the node, for all questions at once. Nearly all of these trees are never evaluated, so what is computed of one
is a row of numbers; the tree and its policy are made when its turn comes.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search import change_kernels
from omdt.methods.search.change_kernels import NO_QUESTION
from omdt.methods.search.partial_tree import Leaf, Path, SizeLimit, Split, Tree, count_leaves
from omdt.methods.search.ranks import Ranks

OPERATIONS = 1e8
"""Additions between two looks at the clock: less than a second."""


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
        key: [m] the same for equal policies only, up to chance; 0 for the present policy (`Marks`).
    """

    node: Ints
    question: Ints
    left: Ints
    right: Ints
    gain: Floats
    changed: Ints
    key: Ints

    def rows(self, which: Bools) -> "Changes":
        """Some of the rows."""
        numbers = (self.node[which], self.question[which], self.left[which], self.right[which])
        return Changes(*numbers, self.gain[which], self.changed[which], self.key[which])

    @classmethod
    def joined(cls, parts: "Iterable[Changes]") -> "Changes":
        """The rows of several parts, one after another."""
        number, gain = np.zeros(0, dtype=np.int64), np.zeros(0)
        none = cls(number, number, number, number, gain, number, number)
        return cls(*map(np.concatenate, zip(none, *parts, strict=True)))


class Marks(NamedTuple):
    """Random numbers below 2³¹; the product of two of them marks an action in a state.

    The key of a policy beside the present one is the exclusive or of the marks of all actions by which they differ.

    Attributes:
        states: [S] of the states.
        actions: [A] of the actions.
    """

    states: Ints
    actions: Ints

    @classmethod
    def of(cls, S: int, A: int) -> "Marks":
        """The marks for S states and A actions, always the same."""
        rng = np.random.default_rng(0)
        return cls(*(rng.integers(1, 2**31, size=size) for size in (S, A)))

    def difference(self, before: Ints, after: Ints) -> tuple[int, int]:
        """In how many states two policies [S] differ, and the key of the second one beside the first."""
        states = np.flatnonzero(before != after)
        marks = [self.states[states] * self.actions[policy[states]] for policy in (before, after)]
        return len(states), int(np.bitwise_xor.reduce(np.concatenate(marks)))


class Around:
    """A complete tree whose changes are wanted, node by node, the root first.

    Args:
        tree: the tree.
        questions: the questions of the task.
        size: the largest tree.

    Attributes:
        subtrees: the subtree at every node.
        paths: the way to every node.
        shape: [4, N] question, action, left child and right child of every node, every one before those below it.
        states: [S] all states, ordered so that those of any node are neighbours.
        spans: [2, N] where those of every node begin and end.
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
        self.shape: Ints = np.array(rows, dtype=np.int64).T.copy()
        self.states = np.arange(self.columns.codes.shape[1])
        self.actions: Ints = np.empty_like(self.states)
        self.spans: Ints = np.zeros((2, len(rows)), dtype=np.int64)
        self.spans[1, 0] = len(self.states)
        aside = np.empty_like(self.states)
        change_kernels.sort_states(self.columns, self.shape, self.states, self.spans, aside, self.actions)
        # A leaf can be divided if one more leaf fits; below a split there is room for two leaves at least.
        full = count_leaves(tree) == size.leaves
        leaf = self.shape[0] == NO_QUESTION
        self.room: Bools = (np.array(list(map(len, self.paths))) < size.depth) & ~(leaf & full)

    def subtree(self, question: int, left: int, right: int) -> Tree:
        """The subtree that a row of `Changes` describes."""
        if question == NO_QUESTION:
            return self._named(left)
        return Split(question, self._named(left), self._named(right))

    def numbers(self, node: Ints, below: Ints, A: int) -> Ints:
        """[m] subtrees below nodes [m] by their numbers in `Changes`; A stands for left, A + 1 for right."""
        children = self.shape[2 + np.maximum(below - A, 0), node]
        return np.where(below < A, below, -1 - children)

    def _named(self, number: int) -> Tree:
        """The subtree that a number stands for in `Changes`."""
        return Leaf(number) if number >= 0 else self.subtrees[-1 - number]


def simple_changes(around: Around, gains: Floats, marks: Marks, most: int, resolution: int) -> Iterator[Changes]:
    """Promising simple subtrees for all nodes of a tree, some nodes at a time.

    Args:
        around: the tree.
        gains: [S, A] the gains around it.
        marks: for keys of policies.
        most: subtrees per node and kind, those of highest gain.
        resolution: about how many thresholds per column count as different.
    """
    columns, known = around.columns, (around.columns, around.shape, around.states, around.spans)
    operations = gains.size * len(columns.codes) + len(columns.feature) * gains.shape[1]
    nodes = max(1, int(OPERATIONS / max(1, operations)))
    for first in range(0, len(around.paths), nodes):
        limits = np.array([most, resolution, first, min(first + nodes, len(around.paths))])
        size = int(limits[3] - first) * (4 * most + 3)
        rows, gain = np.empty((6, size), dtype=np.int64), np.empty(size)
        count = change_kernels.simple(*known, around.room, around.actions, gains, marks, limits, rows, gain)
        node, question, left, right, changed, key = rows[:, :count]
        left, right = (around.numbers(node, side, gains.shape[1]) for side in (left, right))
        yield Changes(node, question, left, right, gain[:count], changed, key)


def changed_policy(around: Around, node: int, question: int, left: int, right: int) -> Ints:
    """[S] the actions of a tree with another subtree at one node, by the numbers of a row of `Changes`."""
    policy = around.actions.copy()
    states = around.states[slice(*around.spans[:, node])]
    change_kernels.change(around.columns, around.shape, states, policy, question, left, right)
    return policy
