"""A tree from a fitted scikit-learn classifier."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from omdt.counting import counted
from omdt.errors import InputError
from omdt.mdp import Floats, Ints
from omdt.tree.nested import position
from omdt.tree.nodes import LEAF, Tree


class FittedTree(Protocol):
    """What is read of the attribute `tree_` of a fitted classifier."""

    n_outputs: int
    n_features: int
    node_count: int
    children_left: Ints
    children_right: Ints
    feature: Ints
    threshold: Floats
    value: Floats


class FittedClassifier(Protocol):
    """What is read of a fitted `DecisionTreeClassifier`."""

    tree_: FittedTree
    classes_: np.ndarray


def from_fitted(
    estimator: FittedClassifier, kind: Callable[..., Tree], feature_names: Sequence[str], action_names: Sequence[str]
) -> Tree:
    """A tree that decides like the classifier on every observation.

    scikit-learn rounds observations to 32 bits before it compares, so a threshold moves to the 64-bit number at which
    that rounding changes its result.
    """
    source = estimator.tree_
    if source.n_outputs != 1:
        raise InputError("only scikit-learn trees with one output are policies")
    if source.n_features != len(feature_names):
        raise InputError(
            f"the tree was fitted on {counted(source.n_features, 'feature')} but {len(feature_names)} are named"
        )
    classes = np.array([_action_index(label, action_names) for label in estimator.classes_])
    inner = source.children_left >= 0
    threshold = np.zeros(source.node_count)
    threshold[inner] = _undo_float32(source.threshold[inner])
    return kind(
        feature=np.where(inner, source.feature, LEAF),
        threshold=threshold,
        left=np.where(inner, source.children_left, LEAF),
        right=np.where(inner, source.children_right, LEAF),
        action=np.where(inner, LEAF, classes[source.value[:, 0, :].argmax(axis=1)]),
        feature_names=tuple(feature_names),
        action_names=tuple(action_names),
    )


def _action_index(label: str | np.integer, action_names: Sequence[str]) -> int:
    if isinstance(label, str):
        return position(label, action_names, "action", "the fitted tree")
    if not 0 <= int(label) < len(action_names):
        raise InputError(f"the fitted tree predicts {label!r}, which is not one of the {len(action_names)} actions")
    return int(label)


def _undo_float32(threshold: Floats) -> Floats:
    """The largest x that rounds to a 32-bit number of at most the threshold."""
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below, np.float32(np.inf))
    boundary = below.astype(np.float64) / 2 + above.astype(np.float64) / 2
    return np.where(boundary.astype(np.float32) > below, np.nextafter(boundary, -np.inf), boundary)
