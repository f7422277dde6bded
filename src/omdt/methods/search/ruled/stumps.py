"""Stumps: the best two leaves below every question, net of what questions cost and within limits on leaves."""

from typing import NamedTuple

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.methods.search.partial_tree import Leaf, Split

MOST_PAIRS = 4_000_000
"""Maximum number of pairs of actions that are compared at once: 32 MB of numbers."""


class Stumps(NamedTuple):
    """The best stump per question.

    Attributes:
        scores: [K] gain of the stump net of costs; −∞ if there is none.
        left: [K] action on the left.
        right: [K] action on the right.
        costs: [K] what the question costs; ∞ if it may not be asked.
    """

    scores: Floats
    left: Ints
    right: Ints
    costs: Floats

    def stump(self, k: int) -> Split:
        """The stump of question k."""
        return Split(k, Leaf(int(self.left[k])), Leaf(int(self.right[k])))


def best_stumps(left: Floats, right: Floats, costs: Floats, free: Ints) -> Stumps:
    """The best stump per question.

    Args:
        left: [K, A] gain of every action on the left.
        right: [K, A] gain of every action on the right.
        costs: [K] what the question costs; ∞ if it may not be asked.
        free: [A] how many leaves may name each action.
    """
    A = len(free)
    if (free >= 2).all():
        scores = left.max(axis=1) + right.max(axis=1) - costs
        return Stumps(scores, left.argmax(axis=1), right.argmax(axis=1), costs)
    needed = 1 + np.eye(A, dtype=np.int64)
    together = np.where((free[:, None] >= needed) & (free[None, :] >= needed), 0.0, -np.inf)
    scores, best = np.empty(len(left)), np.empty(len(left), dtype=np.int64)
    at_once = max(1, MOST_PAIRS // (A * A))
    for begin in range(0, len(left), at_once):
        part = slice(begin, begin + at_once)
        pairs = (left[part, :, None] + right[part, None, :] + together).reshape(-1, A * A)
        best[part], scores[part] = pairs.argmax(axis=1), pairs.max(axis=1)
    return Stumps(scores - costs, best // A, best % A, costs)
