"""Ranks: the answers of all states to all questions, without a matrix over states and questions.

In every column of the observations, values are replaced by their ranks among the distinct values of the column. A
threshold is then a rank to compare with, an equality a rank to be equal to. The sums over both sides of all questions
follow from one histogram per column and its prefix sums, in time proportional to states · columns · actions, however
many thresholds there are.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search.partial_tree import Leaf, Split, Tree
from omdt.splits import Splits


class Columns(NamedTuple):
    """Observations and questions as compiled kernels read them.

    Attributes:
        codes: [F', S] rank of every observation among the distinct values of its column.
        offsets: [F' + 1] where the values of every column begin in the histogram of all columns.
        feature: [K] column of every question.
        rank: [K] rank of the largest value on the left, or of the only value on the left of an equality.
        equality: [K] whether the question is an equality.
    """

    codes: NDArray[np.int32]
    offsets: Ints
    feature: Ints
    rank: Ints
    equality: Bools


class Ranks:
    """The questions of some splits, by their numbers there."""

    def __init__(self, splits: Splits) -> None:
        codes = np.empty(splits.observations.T.shape, dtype=np.int32)
        rank = np.zeros(len(splits), dtype=np.int64)
        sizes = [0]
        for j, column in enumerate(splits.observations.T):
            values, ranks = np.unique(column, return_inverse=True)
            codes[j] = ranks.ravel()
            asked = splits.feature == j
            rank[asked] = np.searchsorted(values, splits.threshold[asked], side="right") - 1
            sizes.append(len(values))
        self.columns = Columns(codes, np.cumsum(sizes), splits.feature, rank, splits.equality)

    def __len__(self) -> int:
        return len(self.columns.feature)

    @property
    def feature(self) -> Ints:
        """[K] the column that every question is about."""
        return self.columns.feature

    def right(self, states: Ints, k: int) -> Bools:
        """[n] whether each of n states goes to the right of question k."""
        columns = self.columns
        codes = columns.codes[columns.feature[k]][states]
        answers: Bools = codes != columns.rank[k] if columns.equality[k] else codes > columns.rank[k]
        return answers

    def sums(self, states: Ints, gains: Floats) -> tuple[Floats, Floats]:
        """[K, A] sums of gains [n, A] over those of n states that go left, and over those that go right."""
        left: Floats = _left_sums(self.columns, states, np.ascontiguousarray(gains))
        return left, gains.sum(axis=0) - left

    def actions(self, tree: Tree, states: Ints) -> Ints:
        """[n] the actions of a complete tree in n states."""
        actions = np.empty(len(states), dtype=np.int64)
        stack = [(tree, np.arange(len(states)))]
        while stack:
            node, rows = stack.pop()
            if isinstance(node, Split):
                right = self.right(states[rows], node.question)
                stack += [(node.left, rows[~right]), (node.right, rows[right])]
            else:
                assert isinstance(node, Leaf), "a tree with a hole has no actions"
                actions[rows] = node.action
        return actions


@njit(cache=True)
def _left_sums(columns, states, gains):  # type: ignore[no-untyped-def]
    """[K, A] sums of gains [n, A] over those of n states that go left."""
    codes, offsets, feature = columns.codes, columns.offsets, columns.feature
    n, A = gains.shape
    F, K = len(codes), len(feature)
    here = np.zeros((offsets[F], A))
    for i in range(n):
        for j in range(F):
            value = offsets[j] + codes[j, states[i]]
            for a in range(A):
                here[value, a] += gains[i, a]
    up_to = here.copy()
    for j in range(F):
        for value in range(offsets[j] + 1, offsets[j + 1]):
            for a in range(A):
                up_to[value, a] += up_to[value - 1, a]
    left = np.empty((K, A))
    for k in range(K):
        value = offsets[feature[k]] + columns.rank[k]
        for a in range(A):
            left[k, a] = here[value, a] if columns.equality[k] else up_to[value, a]
    return left
