"""Divisions: which questions divide the states alike, without an array over states and questions.

Every state has two random weights. The key of a question is the total weight of the side that state 0 is not on, so
questions that divide the states alike have the same key, whichever side is left. In a sorted column, the keys of all
questions are differences of prefix sums. Questions of equal keys are then compared exactly.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omdt.mdp import Bools, Floats, Ints

Keys = NDArray[np.uint64]
"""[K, 2] the total weights of one side of every question."""


class Asked(NamedTuple):
    """Questions about the columns of observations.

    Attributes:
        feature: [K] column of each question.
        threshold: [K] threshold, or the value of an equality.
        equality: [K] whether the question is an equality.
    """

    feature: Ints
    threshold: Floats
    equality: Bools

    @classmethod
    def listed(cls, questions: list[tuple[int, float, bool]]) -> "Asked":
        """Questions from a list of columns, thresholds and kinds."""
        feature, threshold, equality = zip(*questions, strict=True) if questions else ((), (), ())
        return cls(np.array(feature, np.int64), np.array(threshold, np.float64), np.array(equality, np.bool_))

    def chosen(self, numbers: Ints) -> "Asked":
        """Some of the questions."""
        return Asked(self.feature[numbers], self.threshold[numbers], self.equality[numbers])


def answers(column: Floats, threshold: float, equality: bool) -> Bools:
    """Whether each value goes right: it is above the threshold or, in an equality, different from it."""
    return column != threshold if equality else column > threshold


def distinct(observations: Floats, asked: Asked) -> Asked:
    """The questions without those that do not divide the states or divide them like an earlier one."""
    keys, divides = _keys(observations, asked)
    dividing = np.flatnonzero(divides)
    asked, keys = asked.chosen(dividing), keys[dividing]
    first = _first_alike(keys)
    if _verified(observations, asked, first):
        return asked.chosen(np.flatnonzero(first == np.arange(len(first))))
    return asked.chosen(_compared(observations, asked, keys))


def _keys(observations: Floats, asked: Asked) -> tuple[Keys, Bools]:
    """The keys of all questions, and [K] whether each one divides the states."""
    weights = np.random.default_rng(0).integers(0, 2**64, size=(2, len(observations)), dtype=np.uint64)
    keys, divides = np.zeros((len(asked.feature), 2), np.uint64), np.zeros(len(asked.feature), np.bool_)
    for j in np.unique(asked.feature):
        numbers = np.flatnonzero(asked.feature == j)
        _, threshold, equality = asked.chosen(numbers)
        order = np.argsort(observations[:, j], kind="stable")
        values = observations[order, j]
        up_to = np.zeros((2, len(values) + 1), np.uint64)
        np.cumsum(weights[:, order], axis=1, out=up_to[:, 1:])
        begin = np.where(equality, np.searchsorted(values, threshold, side="left"), 0)
        end = np.searchsorted(values, threshold, side="right")
        left = up_to[:, end] - up_to[:, begin]
        right = _right_of(observations[0, j], threshold, equality)
        keys[numbers] = np.where(right, left, up_to[:, -1:] - left).T
        divides[numbers] = (end > begin) & (end - begin < len(values))
    return keys, divides


def _right_of(value: float | Floats, threshold: Floats, equality: Bools) -> Bools:
    """[K] whether a value, or one value per question, goes to the right of each question."""
    right: Bools = np.where(equality, value != threshold, value > threshold)
    return right


def _first_alike(keys: Keys) -> Ints:
    """[K] the first question that has the same key as each question."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    begins = np.ones(len(keys), np.bool_)
    begins[1:] = np.any(keys[order[1:]] != keys[order[:-1]], axis=1)
    first = np.empty(len(keys), np.int64)
    # Sorting is stable: every run of equal keys begins with its first question.
    first[order] = order[begins][np.cumsum(begins) - 1]
    return first


def _verified(observations: Floats, asked: Asked, first: Ints) -> bool:
    """Whether all questions divide the states like the first one of the same key."""
    others = np.flatnonzero(first != np.arange(len(first)))
    if len(others) == 0:
        return True
    partners = first[others]
    right = _right_of(observations[0, asked.feature], asked.threshold, asked.equality)
    by_question = (asked.feature[others], asked.feature[partners], asked.equality[others], asked.equality[partners])
    kinds: Ints = np.stack([*by_question, right[others] != right[partners]], axis=1).astype(np.int64)
    for kind in np.unique(kinds, axis=0):
        ones = others[np.all(kinds == kind, axis=1)]
        i, j, one_equal, other_equal, swapped = kind
        if one_equal or other_equal:
            alike = all(_alike(observations, asked, k, int(first[k])) for k in ones)
        else:
            thresholds = asked.threshold[ones], asked.threshold[first[ones]]
            alike = _thresholds_alike(observations[:, i], observations[:, j], *thresholds, swapped=bool(swapped))
        if not alike:
            return False
    return True


def _thresholds_alike(one: Floats, other: Floats, ones: Floats, others: Floats, *, swapped: bool) -> bool:
    """Whether each threshold on one column divides the states like its partner on another column.

    With both lists in ascending order, this is so exactly if every state is above as many thresholds of one list as of
    the other. If the sides are swapped, the partners are in descending order, and states that are above count as below.
    """
    order = np.argsort(ones, kind="stable")
    partners = others[order][::-1] if swapped else others[order]
    if np.any(np.diff(partners) < 0):
        return False
    above, partners_above = np.searchsorted(ones[order], one), np.searchsorted(partners, other)
    return np.array_equal(above, len(ones) - partners_above if swapped else partners_above)


def _compared(observations: Floats, asked: Asked, keys: Keys) -> Ints:
    """The questions that remain when each one is compared with all earlier ones of the same key."""
    seen: dict[bytes, list[int]] = {}
    for k, key in enumerate(keys):
        earlier = seen.setdefault(key.tobytes(), [])
        if not any(_alike(observations, asked, k, other) for other in earlier):
            earlier.append(k)
    return np.array(sorted(k for kept in seen.values() for k in kept), dtype=np.int64)


def _alike(observations: Floats, asked: Asked, one: int, other: int) -> bool:
    """Whether two questions divide the states into the same two sets."""
    first, second = (
        answers(observations[:, asked.feature[k]], asked.threshold[k], asked.equality[k]) for k in (one, other)
    )
    return np.array_equal(first ^ first[0], second ^ second[0])
