"""Ladders: the questions about one column in the order of their numbers, so that a range stands for many of them."""

from typing import NamedTuple

import numpy as np

from .questions import Questions
from .reading import Bools, Floats, readable


class Range(NamedTuple):
    """Neighbouring questions of a ladder, of which one is asked: those from `low` up to but not including `high`."""

    ladder: int
    low: int
    high: int


class Ladder(NamedTuple):
    """All questions about one column."""

    column: Floats  # [S] what they are about
    equality: bool  # whether they ask for equality; otherwise they are thresholds
    numbers: Floats  # [m] what the column is compared with, ascending


class Ladders:
    """All questions of a problem, one ladder per column that is asked about, in the order of the columns."""

    def __init__(self, questions: Questions, features: Floats, names: tuple[str, ...]) -> None:
        columns, names = questions.columns(features, names)
        found: dict[int, list[tuple[bool, float]]] = {}
        for j, equality, number in questions.distinct(columns, names):
            found.setdefault(j, []).append((equality, number))
        self.ladders: list[Ladder] = []
        for j in sorted(found):
            kinds = {equality for equality, _ in found[j]}
            readable(len(kinds) == 1, f"{names[j]!r:.80} is asked both for thresholds and for equality")
            numbers = np.array(sorted(number for _, number in found[j]))
            self.ladders.append(Ladder(columns[:, j], kinds.pop(), numbers))

    def whole(self, ladder: int) -> Range:
        """All questions of a ladder."""
        return Range(ladder, 0, len(self.ladders[ladder].numbers))

    def sides(self, asked: Range) -> tuple[Bools, Bools]:
        """[S] which states go left under some question of a range, and which go right under some."""
        column, equality, numbers = self.ladders[asked.ladder]
        lowest, highest = numbers[asked.low], numbers[asked.high - 1]
        if not equality:
            return column <= highest, column > lowest
        right = column != lowest if asked.high - asked.low == 1 else np.ones(len(column), dtype=np.bool_)
        return (column >= lowest) & (column <= highest), right

    def dividing(self, asked: Range, reached: Bools) -> Range | None:
        """The part of a range that may divide the states [S] that reach it; None if there is none.

        What divides the states that really come to a node of a tree also divides those that may come to it. If all
        thresholds of the range divide the latter in the same way, one of them is enough.
        """
        column, equality, numbers = self.ladders[asked.ladder]
        values = column[reached]
        if len(values) == 0 or values.min() == values.max():
            return None
        low = max(asked.low, int(np.searchsorted(numbers, values.min())))
        high = min(asked.high, int(np.searchsorted(numbers, values.max(), side="right" if equality else "left")))
        if low >= high:
            return None
        between = (values > numbers[low]) & (values <= numbers[high - 1])
        return Range(asked.ladder, low, high if equality or between.any() else low + 1)
