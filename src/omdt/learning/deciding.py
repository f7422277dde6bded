"""Deciding: what a tree plays on some observations, compiled, since simulators ask for few observations at a time."""

import numpy as np
from numba import njit

from omdt.mdp import Floats, Ints
from omdt.tree import TreePolicy


class Decider:
    """A tree as a function of observations [n, F] that returns actions [n]."""

    def __init__(self, tree: TreePolicy) -> None:
        self._arrays = (tree.feature, tree.threshold, tree.left, tree.right, tree.action, tree.equality)

    def __call__(self, observations: Floats) -> Ints:
        """[n] the action of the tree on each of the observations [n, F]."""
        actions: Ints = _decide(*self._arrays, observations, np.empty(len(observations), dtype=np.int64))
        return actions


@njit(cache=True)
def _decide(feature, threshold, left, right, action, equality, X, found):  # type: ignore[no-untyped-def]
    for i in range(len(X)):
        node = 0
        while feature[node] >= 0:
            x, t = X[i, feature[node]], threshold[node]
            goes_left = x == t if equality[node] else x <= t
            node = left[node] if goes_left else right[node]
        found[i] = action[node]
    return found
