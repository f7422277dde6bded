"""Ladders: the questions about one column in the order of their numbers, so that a range stands for many of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .questions import Questions, answers
from .reading import Bools, Floats, readable


class Range(NamedTuple):
    """Neighbouring questions of a ladder, of which one is asked: those from `low` up to but not including `high`."""

    ladder: int
    low: int
    high: int


@dataclass(frozen=True)
class Single:
    """A single question that need not be on a ladder. It is no tuple, so that it equals no range."""

    place: int  # of the column that it is about
    equality: bool  # whether it asks for equality; otherwise it is a threshold
    number: float  # what the column is compared with


class Ladder(NamedTuple):
    """All questions about one column."""

    place: int  # of the column
    column: Floats  # [S] what they are about
    equality: bool  # whether they ask for equality; otherwise they are thresholds
    numbers: Floats  # [m] what the column is compared with, ascending


class Ladders:
    """All questions of a problem, one ladder per column that is asked about, in the order of the columns."""

    def __init__(
        self, questions: Questions, features: Floats, names: tuple[str, ...], *, per_column: bool = False
    ) -> None:
        self.questions, self.per_column = questions, per_column
        self.columns, self.names = questions.columns(features, names)

    @cached_property
    def ladders(self) -> list[Ladder]:
        """The ladders; a column must not be asked both for thresholds and for equality."""
        found: dict[int, list[tuple[bool, float]]] = {}
        for j, equality, number in self.questions.distinct(self.columns, self.names, self.per_column):
            found.setdefault(j, []).append((equality, number))
        ladders: list[Ladder] = []
        for j in sorted(found):
            kinds = {equality for equality, _ in found[j]}
            readable(len(kinds) == 1, f"{self.names[j]!r:.80} is asked both for thresholds and for equality")
            numbers = np.array(sorted(number for _, number in found[j]))
            ladders.append(Ladder(j, self.columns[:, j], kinds.pop(), numbers))
        return ladders

    def whole(self, ladder: int) -> Range:
        """All questions of a ladder."""
        return Range(ladder, 0, len(self.ladders[ladder].numbers))

    def place(self, asked: Range | Single) -> int:
        """The column that a range, or a single question, is about."""
        return asked.place if isinstance(asked, Single) else self.ladders[asked.ladder].place

    def sides(self, asked: Range | Single) -> tuple[Bools, Bools]:
        """[S] which states go left under some question of a range, and which go right under some."""
        if isinstance(asked, Single):
            right = answers(self.columns[:, asked.place], asked.equality, asked.number)
            return ~right, right
        _, column, equality, numbers = self.ladders[asked.ladder]
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
        _, column, equality, numbers = self.ladders[asked.ladder]
        values = column[reached]
        if len(values) == 0 or values.min() == values.max():
            return None
        low = max(asked.low, int(np.searchsorted(numbers, values.min())))
        high = min(asked.high, int(np.searchsorted(numbers, values.max(), side="right" if equality else "left")))
        if low >= high:
            return None
        between = (values > numbers[low]) & (values <= numbers[high - 1])
        return Range(asked.ladder, low, high if equality or between.any() else low + 1)
