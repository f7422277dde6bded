"""The states of a table: which cells are the same state, and the features that follow from them.

A column of the state holds numbers, truth values (true and false) or texts. A number is a feature. A truth value is a
feature that is 0 or 1. A text is a category: each value of the column becomes a truth value of its own, such as
`weather = rain`, because categories have no order that a threshold could use.
"""

import math
from collections.abc import Sequence
from enum import Enum, auto
from typing import cast

import numpy as np

from omdt.errors import InputError
from omdt.formats.table import Table
from omdt.formats.table_columns import Columns
from omdt.formats.table_numbers import TableNumbers
from omdt.mdp import Floats, Ints

MAX_CATEGORIES = 2_000
"""Maximum number of different texts in a column of the state. Each becomes a feature of all states, so this many states
that are told apart by their name alone take 32 MB; a tree that asks for single names is no summary of more."""

State = tuple[float | str, ...]

TRUTHS = {"true": 1.0, "false": 0.0}


class Kind(Enum):
    """What a column of the state holds."""

    NUMBER = auto()
    TRUTH = auto()
    TEXT = auto()


class TableStates:
    """Collects the states of a table in the order in which they appear.

    Args:
        table: the table, for messages.
        columns: its columns.
        numbers: how it spells numbers.
    """

    def __init__(self, table: Table, columns: Columns, numbers: TableNumbers) -> None:
        self._table, self._numbers = table, numbers
        self._names = [pair.name for pair in columns.pairs]
        self._kinds: list[Kind | None] = [None] * len(self._names)
        self._spellings: dict[tuple[str, ...], int] = {}

    def spelled(self, row: int, cells: tuple[str, ...]) -> int:
        """The number of a spelling of a state; the same state may have several."""
        found = self._spellings.get(cells)
        if found is None:
            for column, text in enumerate(cells):
                self._note_kind(row, column, text)
            found = self._spellings[cells] = len(self._spellings)
        return found

    def _note_kind(self, row: int, column: int, text: str) -> None:
        """Note what a cell says of its column; numbers and texts in one column are a mistake."""
        kind, before = self._kind(row, column, text), self._kinds[column]
        if before is None or {kind, before} == {Kind.TRUTH, Kind.TEXT}:
            self._kinds[column] = kind if before is None else Kind.TEXT
        elif kind is not before:
            what = f"state column {self._names[column]!r:.40} is {text.strip()!r:.60}"
            if kind is Kind.NUMBER:
                raise self._table.fault(
                    row,
                    f"{what}, but there are texts in other rows; if this is a name as well, put a letter before it in "
                    "every row",
                )
            raise self._table.fault(row, f"{what}; expected a finite number as in the rows before")

    def _kind(self, row: int, column: int, text: str) -> Kind:
        plain = text.strip()
        if plain.casefold() in TRUTHS:
            return Kind.TRUTH
        number = self._numbers.value(row, text)
        if number is not None and math.isfinite(number):
            return Kind.NUMBER
        if not plain or number is not None:
            what = f"state column {self._names[column]!r:.40}"
            raise self._table.fault(row, f"{what} is {plain!r:.60}; expected a finite number or a text")
        return Kind.TEXT

    def numbered(self) -> tuple[Ints, list[State]]:
        """[spellings] the number of the state of each spelling, and the states in the order of their numbers."""
        index: dict[State, int] = {}
        numbers = [index.setdefault(self._state(cells), len(index)) for cells in self._spellings]
        return np.array(numbers, dtype=np.int64), list(index)

    def _state(self, cells: tuple[str, ...]) -> State:
        return tuple(self._cell(text, kind) for text, kind in zip(cells, self._kinds, strict=True))

    def _cell(self, text: str, kind: Kind | None) -> float | str:
        if kind is Kind.NUMBER:
            return cast("float", self._numbers.known(text))
        return TRUTHS[text.strip().casefold()] if kind is Kind.TRUTH else text.strip()

    def spell(self, state: State) -> str:
        """A state in a message, as in "state x=1, weather=rain"."""
        pairs = zip(self._names, state, strict=True)
        return "state " + ", ".join(f"{name}={x if isinstance(x, str) else f'{x:g}'}" for name, x in pairs)

    def features(self, states: Sequence[State]) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
        """[S, F] the features of the states, their names, and the names of those that are truth values."""
        columns: list[Floats] = []
        names: list[str] = []
        truths: list[str] = []
        for place, (name, kind) in enumerate(zip(self._names, self._kinds, strict=True)):
            values = [state[place] for state in states]
            if kind is not Kind.TEXT:
                columns.append(np.array(values, dtype=np.float64))
                names.append(name)
                truths += [name] if kind is Kind.TRUTH else []
                continue
            for text in self._categories(name, values):
                columns.append(np.array([value == text for value in values], dtype=np.float64))
                names.append(f"{name} = {text}")
                truths.append(names[-1])
        return np.stack(columns, axis=1), tuple(names), tuple(truths)

    def _categories(self, name: str, values: Sequence[float | str]) -> list[str]:
        categories = sorted({str(value) for value in values})
        if len(categories) > MAX_CATEGORIES:
            raise InputError(
                f"{self._table.name}: column {name!r:.40} has {len(categories):,} different texts, at most "
                f"{MAX_CATEGORIES:,} are possible; describe the states by numbers instead"
            )
        return categories
