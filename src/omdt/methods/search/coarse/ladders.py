"""Ladders: the questions about one feature in the order of their thresholds, so that a range stands for many of them.

A range of thresholds leaves some states undecided, but not all: a state below the lowest threshold goes left and one
above the highest goes right, whichever threshold is chosen. So a range is decided by halving it, and the number of
thresholds hardly matters.
"""

from typing import NamedTuple

import numpy as np

from omdt.mdp import Bools, Ints
from omdt.methods.search.ranks import Ranks


class Range(NamedTuple):
    """Neighbouring questions of a ladder: those from `low` up to but not including `high`."""

    ladder: int
    low: int
    high: int


class Ladder(NamedTuple):
    """The questions about one column of the observations.

    Attributes:
        column: the column.
        equality: whether they ask for equality; otherwise they are thresholds.
        questions: [m] their numbers.
        ranks: [m] ascending: the rank of the largest value on the left, or of the only value there.
    """

    column: int
    equality: bool
    questions: Ints
    ranks: Ints


class Ladders:
    """All questions of a task, by columns; after them every question of a kept tree as a ladder of its own.

    Args:
        questions: the questions of the task, then those of the kept tree.
        free: how many questions there are without those of the kept tree; by default all.
    """

    def __init__(self, questions: Ranks, free: int | None = None) -> None:
        self.columns = questions.columns
        self.ladders: list[Ladder] = []
        free = len(questions) if free is None else free
        for column in np.unique(self.columns.feature[:free]):
            its = np.flatnonzero(self.columns.feature[:free] == column)
            self._add(its[np.argsort(self.columns.rank[its], kind="stable")])
        self._free = len(self.ladders)
        for kept in range(free, len(questions)):
            self._add(np.array([kept]))

    def __len__(self) -> int:
        """The number of ladders without those of the kept tree."""
        return self._free

    def _add(self, its: Ints) -> None:
        first = its[0]
        column, equality = int(self.columns.feature[first]), bool(self.columns.equality[first])
        self.ladders.append(Ladder(column, equality, its, self.columns.rank[its]))

    def kept(self, number: int) -> Range:
        """The range of a question of the kept tree, by its place among them."""
        return Range(self._free + number, 0, 1)

    def is_kept(self, asked: Range) -> bool:
        """Whether a range is a question of the kept tree."""
        return asked.ladder >= self._free

    def column(self, asked: Range) -> int:
        """The column that the questions of a range are about."""
        return self.ladders[asked.ladder].column

    def whole(self, ladder: int) -> Range:
        """All questions of a ladder."""
        return Range(ladder, 0, len(self.ladders[ladder].questions))

    def question(self, single: Range) -> int:
        """The number of the only question of a range."""
        return int(self.ladders[single.ladder].questions[single.low])

    def may_go(self, asked: Range) -> tuple[Bools, Bools]:
        """[S] which states go left under some question of a range, and which go right under some."""
        ladder = self.ladders[asked.ladder]
        codes = self.columns.codes[ladder.column]
        lowest, highest = ladder.ranks[asked.low], ladder.ranks[asked.high - 1]
        if not ladder.equality:
            return codes <= highest, codes > lowest
        left: Bools = (codes >= lowest) & (codes <= highest)
        return left, ~left if asked.high - asked.low == 1 else np.ones(len(codes), dtype=np.bool_)

    def dividing(self, asked: Range, reached: Bools) -> Range | None:
        """The questions of a range that may divide some of the states [S], one of those that divide them alike.

        Questions that divide nothing are left out at both ends; None if there are no others.
        """
        ladder = self.ladders[asked.ladder]
        codes = self.columns.codes[ladder.column][reached]
        if len(codes) == 0:
            return None
        ranks, lowest, highest = ladder.ranks, codes.min(), codes.max()
        if lowest == highest:
            return None
        low = max(asked.low, int(np.searchsorted(ranks, lowest)))
        high = min(asked.high, int(np.searchsorted(ranks, highest, side="right" if ladder.equality else "left")))
        if low >= high:
            return None
        if not ladder.equality and not ((codes > ranks[low]) & (codes <= ranks[high - 1])).any():
            high = low + 1
        return asked._replace(low=low, high=high)


def halves(asked: Range) -> tuple[Range, Range]:
    """The lower and the upper half of a range of two or more questions."""
    middle = (asked.low + asked.high) // 2
    return asked._replace(high=middle), asked._replace(low=middle)
