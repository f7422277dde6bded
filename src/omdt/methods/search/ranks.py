"""Ranks: the answers of all states without a matrix over states and questions.

Every column of the observations is coded by the ranks of its distinct values, so a threshold is a rank to compare with,
an equality a rank to be equal to. Sums over the two sides of all questions follow from one histogram per column and its
prefix sums, in time proportional to states · columns · actions, however many thresholds there are.
"""

import numpy as np
from numba import njit

from omdt.mdp import Bools, Floats, Ints
from omdt.splits import Splits


class Ranks:
    """The questions of some splits.

    Attributes:
        codes: [S, F'] rank of each observation among the distinct values of its column.
        feature: [K] column of each question.
        rank: [K] rank of the largest value on the left, or of the only one in an equality.
        equality: [K] whether the question is an equality.
    """

    def __init__(self, splits: Splits) -> None:
        self.feature, self.equality = splits.feature, splits.equality
        self.codes = np.empty(splits.observations.shape, dtype=np.int32)
        self.rank = np.zeros(len(splits), dtype=np.int64)
        sizes = [0]
        for j, column in enumerate(splits.observations.T):
            values, ranks = np.unique(column, return_inverse=True)
            self.codes[:, j] = ranks.ravel()
            asked = self.feature == j
            self.rank[asked] = np.searchsorted(values, splits.threshold[asked], side="right") - 1
            sizes.append(len(values))
        self._offsets = np.cumsum(sizes)

    def __len__(self) -> int:
        return len(self.feature)

    def right(self, states: Ints, k: int) -> Bools:
        """[n] whether each of n states goes to the right of question k."""
        codes = self.codes[states, self.feature[k]]
        answers: Bools = codes != self.rank[k] if self.equality[k] else codes > self.rank[k]
        return answers

    def sums(self, states: Ints, gains: Floats) -> tuple[Floats, Floats]:
        """[K, A] sums of gains [n, A] over those of n states that go left, and over those that go right."""
        columns = (self.codes, self._offsets, self.feature, self.rank, self.equality)
        left: Floats = _left_sums(*columns, states, np.ascontiguousarray(gains))
        return left, gains.sum(axis=0) - left


@njit(cache=True)
def _left_sums(codes, offsets, feature, rank, equality, states, gains):  # type: ignore[no-untyped-def]
    n, A = gains.shape
    F, K = codes.shape[1], len(feature)
    here = np.zeros((offsets[F], A))
    for i in range(n):
        for j in range(F):
            value = offsets[j] + codes[states[i], j]
            for a in range(A):
                here[value, a] += gains[i, a]
    up_to = here.copy()
    for j in range(F):
        for value in range(offsets[j] + 1, offsets[j + 1]):
            for a in range(A):
                up_to[value, a] += up_to[value - 1, a]
    left = np.empty((K, A))
    for k in range(K):
        value = offsets[feature[k]] + rank[k]
        for a in range(A):
            left[k, a] = here[value, a] if equality[k] else up_to[value, a]
    return left
