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

NOWHERE = -1
"""The rank of a value that no state has and that is below all others."""


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
    """The questions of some splits, by their numbers there.

    Attributes:
        columns: observations and questions as compiled kernels read them.
    """

    def __init__(self, splits: Splits) -> None:
        codes = np.empty(splits.observations.T.shape, dtype=np.int32)
        rank = np.zeros(len(splits), dtype=np.int64)
        sizes = [0]
        for j, column in enumerate(splits.observations.T):
            values = np.unique(column)
            codes[j] = np.searchsorted(values, column)
            asked = splits.feature == j
            rank[asked] = np.searchsorted(values, splits.threshold[asked], side="right") - 1
            # No state equals a value that is not in the column.
            missing = splits.equality & asked & ~np.isin(splits.threshold, values)
            rank[missing] = NOWHERE
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
        left: Floats = left_sums(self.columns, states, np.ascontiguousarray(gains))
        return left, gains.sum(axis=0) - left

    def stepped(self, k: int) -> Ints:
        """Thresholds on the column of question k that are 1, 2, 4, 8, … steps away from it on either side."""
        alike = self.alike(k)
        here = int(np.searchsorted(self.columns.rank[alike], self.columns.rank[k]))
        steps = 2 ** np.arange(len(alike).bit_length())
        places: Ints = np.concatenate([here - steps, here + steps])
        return alike[places[(places >= 0) & (places < len(alike))]]

    def alike(self, k: int) -> Ints:
        """The questions of the same kind about the same column as question k, by rank."""
        feature, rank, equality = self.columns.feature, self.columns.rank, self.columns.equality
        alike = np.flatnonzero((feature == feature[k]) & (equality == equality[k]))
        return alike[np.argsort(rank[alike], kind="stable")]

    def spread(self, states: Ints, scores: Floats, count: int, resolution: int) -> list[int]:
        """The questions of highest score, best first, without those that nearly repeat a better one.

        Args:
            states: [n] the states that are divided.
            scores: [K] the score of every question.
            count: maximum number of questions.
            resolution: about how many thresholds per column count as different; with fewer values, all do.
        """
        chosen = np.empty(min(count, len(scores)), dtype=np.int64)
        found = spread_out(self.columns, states, scores.astype(np.float64), resolution, chosen)
        return [int(k) for k in chosen[:found]]

    def quantiles(self, states: Ints, weights: Floats, count: int) -> Ints:
        """Thresholds that divide the weights [n] of n states evenly, at most `count` per column, by column and rank."""
        up_to = self.sums(states, weights[:, None])[0][:, 0]
        chosen: list[int] = []
        for j in np.unique(self.columns.feature):
            asked = np.flatnonzero((self.columns.feature == j) & ~self.columns.equality)
            asked = asked[np.argsort(self.columns.rank[asked], kind="stable")]
            if len(asked) > count:
                wanted = np.linspace(0, weights.sum(), count + 2)[1:-1]
                places = np.searchsorted(up_to[asked], wanted)
                asked = asked[np.unique(np.minimum(places, len(asked) - 1))]
            chosen += asked.tolist()
        return np.array(chosen, dtype=np.int64)

    def actions(self, tree: Tree, states: Ints) -> Ints:
        """[n] the actions of a complete tree in n states."""
        if not isinstance(tree, Split):
            assert isinstance(tree, Leaf), "a tree with a hole has no actions"
            return np.full(len(states), tree.action)
        right = self.right(states, tree.question)
        if isinstance(tree.left, Leaf) and isinstance(tree.right, Leaf):
            return np.where(right, tree.right.action, tree.left.action)
        actions, left = np.empty(len(states), dtype=np.int64), ~right
        actions[left] = self.actions(tree.left, states[left])
        actions[right] = self.actions(tree.right, states[right])
        return actions


@njit(cache=True)
def goes_right(columns, k, s):  # type: ignore[no-untyped-def]
    """Whether a state goes to the right of question k."""
    code = columns.codes[columns.feature[k], s]
    return code != columns.rank[k] if columns.equality[k] else code > columns.rank[k]


@njit(cache=True)
def left_sums(columns, states, gains):  # type: ignore[no-untyped-def]
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
    left = np.zeros((K, A))
    for k in range(K):
        if columns.rank[k] != NOWHERE:
            value = offsets[feature[k]] + columns.rank[k]
            for a in range(A):
                left[k, a] = here[value, a] if columns.equality[k] else up_to[value, a]
    return left


@njit(inline="always")
def highest(values):  # type: ignore[no-untyped-def]
    """The number of the highest value, the first one of several."""
    best = 0
    for i in range(1, len(values)):
        if values[i] > values[best]:
            best = i
    return best


@njit(cache=True)
def spread_out(columns, states, scores, resolution, chosen):  # type: ignore[no-untyped-def]
    """Find the questions of highest score, best first, without those that nearly repeat a better one (`Ranks.spread`).

    As many as `chosen` has room for are written there; returns how many there are. The scores of questions that are
    chosen or left out become −∞.
    """
    feature, rank = columns.feature, columns.rank
    for i in range(len(chosen)):
        k = highest(scores)
        if scores[k] == -np.inf:
            return i
        chosen[i] = k
        scores[k] = -np.inf
        j = feature[k]
        # Where a column has few values, all of its thresholds differ.
        if columns.offsets[j + 1] - columns.offsets[j] > 2 * resolution:
            low, high = columns.offsets[j + 1], np.int64(0)
            for s in states:
                code = columns.codes[j, s]
                if code < low:
                    low = code
                if code > high:
                    high = code
            width = (high - low) // (2 * resolution)
            if width > 0:
                for other in range(len(scores)):
                    if feature[other] == j and not columns.equality[other] and abs(rank[other] - rank[k]) <= width:
                        scores[other] = -np.inf
    return len(chosen)
