"""The cells of a log as numbers, a block of rows at a time, so that a long log takes little more than its numbers.

A column of the state holds numbers, truth values (true and false) or texts, as in a table of transitions: a truth value
is a feature that is 0 or 1, and a text is a category, of which every value becomes a truth value of its own, such as
`weather = rain`.
"""

import math
from collections.abc import Sequence

import numpy as np

from omdt.errors import InputError
from omdt.formats.table import Table
from omdt.formats.table_numbers import TableNumbers
from omdt.mdp import Bools, Floats, Ints

MOST_CATEGORIES = 100
"""Maximum number of different texts in a column of the state, because each becomes a number in every step."""

TRUTHS = {"true": 1.0, "1": 1.0, "yes": 1.0, "1.0": 1.0, "false": 0.0, "0": 0.0, "no": 0.0, "0.0": 0.0, "": 0.0}
"""How a log spells whether an episode ended; an empty cell says that it did not."""

WORDS = {"true": 1.0, "false": 0.0}
"""The truth values of a column of the state."""

RowNumbers = Sequence[int]
"""The numbers of the rows of a block, by which their source finds them again."""


class Cells:
    """Reads blocks of cells.

    Args:
        table: the log.
    """

    def __init__(self, table: Table) -> None:
        self._table, self._numbers = table, TableNumbers(table)

    def fault(self, row: int, column: str, text: str, expected: str) -> InputError:
        """The error about one cell."""
        return self._table.fault(row, f"column {column!r:.40} is {text.strip()!r:.60}; expected {expected}")

    def plain(self, cells: Sequence[str]) -> Floats | None:
        """[n] the finite numbers of a block, read at once; None if its cells must be read one by one."""
        if self._table.decimal_comma:
            return None
        try:
            values = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            return None
        return values if np.isfinite(values).all() and "_" not in "".join(cells) else None

    def number(self, row: int, text: str) -> float | None:
        """The finite number that a cell spells; None if it spells none."""
        value = self._numbers.value(row, text)
        return value if value is not None and math.isfinite(value) else None

    def finite(self, rows: RowNumbers, column: str, cells: Sequence[str]) -> Floats:
        """[n] the finite numbers that all cells of a block must hold."""
        values = self.plain(cells)
        if values is not None:
            return values
        found = [self.number(row, text) for row, text in zip(rows, cells, strict=True)]
        for row, text, value in zip(rows, cells, found, strict=True):
            if value is None:
                raise self.fault(row, column, text, "a finite number")
        return np.array(found, dtype=np.float64)

    def probabilities(self, rows: RowNumbers, column: str, cells: Sequence[str]) -> Floats:
        """[n] the probabilities of what was done, which are above 0."""
        values = self.finite(rows, column, cells)
        wrong = np.flatnonzero((values <= 0) | (values > 1))
        if len(wrong):
            i = int(wrong[0])
            raise self.fault(rows[i], column, cells[i], "the probability of the logged action, above 0 and at most 1")
        return values

    def truths(self, rows: RowNumbers, column: str, cells: Sequence[str]) -> Bools:
        """[n] the truth values that all cells of a block must hold."""
        found = [TRUTHS.get(text.strip().casefold()) for text in cells]
        for row, text, value in zip(rows, cells, found, strict=True):
            if value is None:
                raise self.fault(row, column, text, "true or false, or 1 or 0")
        return np.array(found, dtype=np.bool_)


class Texts:
    """Numbers texts in the order in which they appear."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def taken(self, cells: Sequence[str]) -> Ints:
        """[n] the numbers of the texts in a block of cells."""
        numbers = self.numbers
        found = [numbers.setdefault(text.strip(), len(numbers)) for text in cells]
        return np.array(found, dtype=np.int64)


class StateColumn:
    """One part of the state: its values before and after the steps are of one kind.

    Args:
        name: of the feature.
        cells: reads them.
    """

    def __init__(self, name: str, cells: Cells) -> None:
        self.name, self._cells = name, cells
        self._texts = Texts()
        self._numeric: bool | None = None

    def taken(self, rows: RowNumbers, cells: Sequence[str], *, column: str, optional: Bools | None = None) -> Floats:
        """[n] numbers, or the numbers of texts.

        Args:
            rows: the numbers of the rows.
            cells: a block of cells.
            column: the name of their column.
            optional: [n] whether each cell may be empty or not a number, and is then not a number here.
        """
        values = self._cells.plain(cells) if self._numeric is not False else None
        if values is None:
            may = np.zeros(len(cells), dtype=np.bool_) if optional is None else optional
            found = [
                self._one(row, text, column, empty) for row, text, empty in zip(rows, cells, may.tolist(), strict=True)
            ]
            return np.array(found, dtype=np.float64)
        self._numeric = True
        return values

    def _one(self, row: int, text: str, column: str, optional: bool) -> float:
        plain = text.strip()
        if plain.casefold() in ("", "nan", "na", "none", "null"):
            if optional:
                return math.nan
            raise self._cells.fault(row, column, text, "a number or a text")
        number = self._cells.number(row, text)
        if self._numeric is None:
            self._numeric = number is not None
        if self._numeric and number is not None:
            return number
        if self._numeric:
            raise self._cells.fault(row, column, text, "a finite number as in the rows before")
        if number is not None:
            raise self._cells.fault(row, column, text, "a text as in other rows; put a letter before it in all")
        if plain not in self._texts.numbers and len(self._texts.numbers) == MOST_CATEGORIES:
            raise self._cells.fault(
                row, column, text, f"one of at most {MOST_CATEGORIES} texts; describe the states by numbers instead"
            )
        return float(self._texts.taken([plain])[0])

    def features(self) -> tuple[tuple[str, ...], bool]:
        """The names of the features that this part of the state becomes, and whether they are truth values."""
        if self._numeric:
            return (self.name,), False
        if self._is_truth:
            return (self.name,), True
        return tuple(f"{self.name} = {text}" for text in sorted(self._texts.numbers)), True

    @property
    def _is_truth(self) -> bool:
        return {text.casefold() for text in self._texts.numbers} <= WORDS.keys()

    def columns(self, values: Floats) -> list[Floats]:
        """The features [n] of the values [n] that `taken` returned."""
        if self._numeric:
            return [values]
        if self._is_truth:
            truth = np.array([WORDS[text.casefold()] for text in self._texts.numbers])
            return [truth[values.astype(np.int64)]]
        return [(values == self._texts.numbers[text]).astype(np.float64) for text in sorted(self._texts.numbers)]
