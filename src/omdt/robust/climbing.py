"""Climbing: better trees by one change at a time, each judged in its worst case."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from omdt.robust.incumbent import Incumbent
from omdt.splits import Splits
from omdt.tree import TreePolicy
from omdt.tree.nodes import LEAF


def climb(incumbent: Incumbent, splits: Splits) -> None:
    """Change the best tree, one action or one question at a time, until no such change makes it better."""
    better = True
    while better:
        better = False
        for tree in neighbours(incumbent.tree, splits):
            if incumbent.watch.remaining == 0:
                return
            if incumbent.consider(tree):
                better = True
                break


def neighbours(tree: TreePolicy, splits: Splits) -> Iterator[TreePolicy]:
    """All trees with another action in one leaf, or with another question in one node."""
    for node in range(tree.n_nodes):
        if tree.feature[node] == LEAF:
            for action in range(len(tree.action_names)):
                if action != tree.action[node]:
                    yield replace(tree, action=_changed(tree.action, node, action))
            continue
        for k in range(len(splits)):
            yield replace(
                tree,
                feature=_changed(tree.feature, node, splits.feature[k]),
                threshold=_changed(tree.threshold, node, splits.threshold[k]),
                equality=_changed(tree.equality, node, splits.equality[k]),
            )


def _changed(array: np.ndarray, node: int, value: object) -> np.ndarray:
    """A copy of an array with another entry for one node."""
    changed = array.copy()
    changed[node] = value
    return changed
