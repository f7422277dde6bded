"""Pairs: the question whose two sides have the best stumps, by one pass over the states.

A question may be worth asking only because of what is asked below it. For some thresholds per column, the gains of all
states are added up in one histogram over (interval between two of these thresholds, value of a column). Prefix sums
over intervals and over values then give the best stump on either side of every one of these thresholds, in time
proportional to states · columns² · actions and without going through the states once per threshold.
"""

import numpy as np
from numba import njit

from omdt.mdp import Floats, Ints
from omdt.methods.search.ranks import Columns


def stump_pairs(columns: Columns, chosen: Ints, states: Ints, gains: Floats) -> Floats:
    """[n] the gain of the best two stumps below each of n chosen questions, which must be thresholds.

    Args:
        columns: observations and questions.
        chosen: [n] numbers of questions, sorted by column and rank.
        states: [m] the states that count.
        gains: [m, A] what is gained by every action.
    """
    interval, begins = _intervals(columns, chosen)
    histogram = _histogram(columns, interval, len(begins) + len(chosen), states, np.ascontiguousarray(gains))
    scores = np.empty(len(chosen))
    # Every column has one interval more than it has thresholds.
    number = 0
    for begin, end in zip(begins, [*begins[1:], len(histogram)], strict=True):
        left = np.cumsum(histogram[begin:end], axis=0)
        for i in range(end - begin - 1):
            sides = (left[i], left[-1] - left[i])
            scores[number] = sum(_best_stump(columns, side) for side in sides)
            number += 1
    return scores


def _intervals(columns: Columns, chosen: Ints) -> tuple[Ints, list[int]]:
    """For every value of every column, the interval between chosen thresholds that it is in, and the first intervals.

    Columns without chosen thresholds have no intervals: −1.
    """
    interval = np.full(columns.offsets[-1], -1, dtype=np.int64)
    begins, begin = [], 0
    for j in np.unique(columns.feature[chosen]):
        ranks = columns.rank[chosen[columns.feature[chosen] == j]]
        values = np.arange(columns.offsets[j + 1] - columns.offsets[j])
        interval[columns.offsets[j] : columns.offsets[j + 1]] = begin + np.searchsorted(ranks, values, side="left")
        begins.append(begin)
        begin += len(ranks) + 1
    return interval, begins


@njit(cache=True)
def _histogram(columns, interval, intervals, states, gains):  # type: ignore[no-untyped-def]
    """[intervals, values, A] gains of the states in every interval, by the values of all columns."""
    codes, offsets = columns.codes, columns.offsets
    n, A = gains.shape
    F = len(codes)
    histogram = np.zeros((intervals, offsets[F], A))
    for i in range(n):
        s = states[i]
        for first in range(F):
            row = interval[offsets[first] + codes[first, s]]
            if row < 0:
                continue
            for second in range(F):
                value = offsets[second] + codes[second, s]
                for a in range(A):
                    histogram[row, value, a] += gains[i, a]
    return histogram


@njit(cache=True)
def _best_stump(columns, sums):  # type: ignore[no-untyped-def]
    """The gain of the best stump or leaf, given the sums of gains [values, A] per value of every column."""
    offsets, A = columns.offsets, sums.shape[1]
    up_to = sums.copy()
    for j in range(len(offsets) - 1):
        for value in range(offsets[j] + 1, offsets[j + 1]):
            for a in range(A):
                up_to[value, a] += up_to[value - 1, a]
    total = up_to[offsets[1] - 1]
    best = total.max()
    for k in range(len(columns.feature)):
        value = offsets[columns.feature[k]] + columns.rank[k]
        left, right = -np.inf, -np.inf
        for a in range(A):
            here = sums[value, a] if columns.equality[k] else up_to[value, a]
            left, right = max(left, here), max(right, total[a] - here)
        best = max(best, left + right)
    return best
