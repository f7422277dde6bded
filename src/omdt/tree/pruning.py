"""Smaller trees: without the nodes that change nothing, or with a node replaced."""

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.splits import midpoints
from omdt.tree.nodes import LEAF, Attach, NodeArrays, Nodes, actions_below, goes_right


def pruned_once(tree: NodeArrays, X: Floats) -> Nodes:
    """The nodes of a tree without those questions that do not matter for the rows of X [n, F].

    A removed question can make another one superfluous, so pruning is complete only when a call removes nothing.
    """
    grown = Nodes()
    wanted = actions_below(tree, 0, X)
    stack: list[tuple[int, Ints, Attach | None]] = [(0, np.arange(len(X)), None)]
    while stack:
        node, rows, attach = stack.pop()
        node = _needed(tree, node, X[rows], wanted[rows])
        index = grown.copy(tree, node, attach)
        if tree.feature[node] != LEAF:
            right = goes_right(tree, node, X[rows])
            stack.append((int(tree.right[node]), rows[right], (index, "right")))
            stack.append((int(tree.left[node]), rows[~right], (index, "left")))
    return grown


def _needed(tree: NodeArrays, node: int, X: Floats, wanted: Ints) -> int:
    """The first node, from this one down, whose question matters for the rows of X, or the leaf that they share."""
    while tree.feature[node] != LEAF:
        left, right = int(tree.left[node]), int(tree.right[node])
        on_the_right = goes_right(tree, node, X)
        if np.array_equal(actions_below(tree, left, X[on_the_right]), wanted[on_the_right]):
            node = left
        elif np.array_equal(actions_below(tree, right, X[~on_the_right]), wanted[~on_the_right]):
            node = right
        else:
            break
    return node


def with_node(tree: NodeArrays, node: int, other: int) -> Nodes:
    """The nodes of a tree in which another node, with all that is below it, takes the place of a node."""
    return _replaced(tree, node, other, LEAF)


def with_leaf(tree: NodeArrays, node: int, action: int) -> Nodes:
    """The nodes of a tree in which a leaf takes the place of a node and all that is below it."""
    return _replaced(tree, node, node, action)


def _replaced(tree: NodeArrays, node: int, other: int, action: int) -> Nodes:
    """Replace a node by another one, or by a leaf if there is an action."""
    grown = Nodes()
    stack: list[tuple[int, Attach | None]] = [(0, None)]
    while stack:
        i, attach = stack.pop()
        if i == node and action != LEAF:
            grown.leaf(action, attach)
            continue
        i = other if i == node else i
        index = grown.copy(tree, i, attach)
        if tree.feature[i] != LEAF:
            stack.append((int(tree.right[i]), (index, "right")))
            stack.append((int(tree.left[i]), (index, "left")))
    return grown


def midway(tree: NodeArrays, X: Floats) -> Floats:
    """[N] thresholds moved midway between the neighbouring values that occur in X [n, F].

    Equalities keep theirs, and so do thresholds that divide nothing.
    """
    threshold = tree.threshold.copy()
    for j in np.unique(tree.feature[tree.feature != LEAF]):
        values = np.unique(X[:, j])
        nodes = np.flatnonzero((tree.feature == j) & ~tree.equality)
        upper = np.searchsorted(values, threshold[nodes], side="right")
        between = (upper > 0) & (upper < len(values))
        threshold[nodes[between]] = midpoints(values)[upper[between] - 1]
    return threshold
