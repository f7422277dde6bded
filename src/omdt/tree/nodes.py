"""The nodes of a tree: as the arrays that every part of the package reads, and as a list while a tree grows."""

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from omdt.mdp import Bools, Floats, Ints

LEAF = -1
"""Marks a leaf in `feature`, `left` and `right`, and a decision node in `action`."""

Attach = tuple[int, str]
"""The index of a parent, and "left" or "right": which of its children the new node becomes."""

Tree = TypeVar("Tree")


class NodeArrays(Protocol):
    """What the functions of this package read of a tree; `TreePolicy` describes the arrays."""

    @property
    def feature(self) -> Ints:
        """[N] column that each node asks about."""

    @property
    def threshold(self) -> Floats:
        """[N] number that each node compares with."""

    @property
    def left(self) -> Ints:
        """[N] left child of each node."""

    @property
    def right(self) -> Ints:
        """[N] right child of each node."""

    @property
    def action(self) -> Ints:
        """[N] action of each leaf."""

    @property
    def equality(self) -> Bools:
        """[N] whether each node asks for equality."""


class Nodes:
    """Collects the nodes of a growing tree; every parent is added before its children."""

    def __init__(self) -> None:
        self._feature: list[int] = []
        self._threshold: list[float] = []
        self._equality: list[bool] = []
        self._action: list[int] = []
        self._children: dict[str, list[int]] = {"left": [], "right": []}

    def __len__(self) -> int:
        return len(self._feature)

    def leaf(self, action: int, attach: Attach | None = None) -> int:
        """Add a leaf and return its index."""
        return self._add(LEAF, 0.0, False, action, attach)

    def split(self, feature: int, threshold: float, equality: bool, attach: Attach | None = None) -> int:
        """Add a decision node and return its index."""
        return self._add(feature, threshold, equality, LEAF, attach)

    def copy(self, tree: NodeArrays, node: int, attach: Attach | None = None) -> int:
        """Add a node that is like a node of another tree, without its children, and return its index."""
        return self._add(
            int(tree.feature[node]),
            float(tree.threshold[node]),
            bool(tree.equality[node]),
            int(tree.action[node]),
            attach,
        )

    def _add(self, feature: int, threshold: float, equality: bool, action: int, attach: Attach | None) -> int:
        index = len(self)
        self._feature.append(feature)
        self._threshold.append(threshold)
        self._equality.append(equality)
        self._action.append(action)
        for children in self._children.values():
            children.append(LEAF)
        if attach is not None:
            parent, side = attach
            self._children[side][parent] = index
        return index

    def tree(
        self,
        kind: Callable[..., Tree],
        feature_names: tuple[str, ...],
        action_names: tuple[str, ...],
        integer: tuple[bool, ...] = (),
    ) -> Tree:
        """The finished tree."""
        return kind(
            feature=np.array(self._feature),
            threshold=np.array(self._threshold),
            left=np.array(self._children["left"]),
            right=np.array(self._children["right"]),
            action=np.array(self._action),
            feature_names=feature_names,
            action_names=action_names,
            equality=np.array(self._equality),
            integer=integer,
        )


def levels(tree: NodeArrays) -> Ints:
    """[N] number of questions on the path from the root to each node."""
    level: Ints = np.zeros(len(tree.feature), dtype=np.int64)
    for i in np.flatnonzero(tree.feature != LEAF):
        level[[tree.left[i], tree.right[i]]] = level[i] + 1
    return level


def goes_right(tree: NodeArrays, nodes: Ints | int, X: Floats) -> Bools:
    """[n] whether each row of X [n, F] goes right at its decision node: one node per row, or one for all rows."""
    values = X[np.arange(len(X)), tree.feature[nodes]]
    right: Bools = np.where(tree.equality[nodes], values != tree.threshold[nodes], values > tree.threshold[nodes])
    return right


def leaves_below(tree: NodeArrays, node: int, X: Floats) -> Ints:
    """[n] the leaf that each row of X [n, F] reaches when it starts at a node."""
    at = np.full(len(X), node)
    moving = np.arange(len(X)) if tree.feature[node] != LEAF else np.arange(0)
    while len(moving):
        nodes = at[moving]
        at[moving] = np.where(goes_right(tree, nodes, X[moving]), tree.right[nodes], tree.left[nodes])
        moving = moving[tree.feature[at[moving]] != LEAF]
    return at


def actions_below(tree: NodeArrays, node: int, X: Floats) -> Ints:
    """[n] the action of the leaf that each row of X [n, F] reaches when it starts at a node."""
    actions: Ints = tree.action[leaves_below(tree, node, X)]
    return actions
