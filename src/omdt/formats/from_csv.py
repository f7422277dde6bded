"""A table of transitions in a CSV file, with probabilities or, logged one by one, without.

The first line names the columns. A column `next x` makes `x` a column of the state; those become the features. The
others are `action` (any text), `reward` (0 if it is missing) and, unless the rows are a log, `probability`; `initial`
may give the probability of starting in the state of a row.

    x,y,action,next x,next y,probability,reward
    0,0,right,1,0,0.9,-1
    0,0,right,0,0,0.1,-1

`table_columns` says which other names are understood, `table_states` what texts in the state mean, and `table_mdp` what
the rows mean. What separates the cells (a comma, a semicolon, a tab or a bar) is found from the first line.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from omdt.errors import InputError
from omdt.formats.options import ReadOptions
from omdt.formats.table import Row, Table
from omdt.formats.table_columns import Columns
from omdt.formats.table_mdp import mdp_of
from omdt.formats.text import discount_or_default, fault, numbered_lines
from omdt.mdp import MDP

SEPARATORS = ",;\t|"
"""What may separate the cells; the first one that gives the necessary columns is taken."""


def read(path: Path, options: ReadOptions) -> MDP:
    """Read an MDP from a table of transitions; actions that a state has no rows for are not available in it."""
    table = table_in(path)
    discount = discount_or_default(path, options.discount_or(None))
    return mdp_of(table, discount=discount, fallback=options.fallback, name=str(path))


def table_in(path: Path) -> Table:
    """The table of a file; its rows are read when they are asked for.

    Raises:
        InputError: if the file is empty.
    """
    separator = _separator(path)
    rows = _rows(path, separator)
    line, header = next(rows, (1, []))
    if not header:
        raise InputError(f"{path} is empty; its first line must name the columns")
    return Table(
        name=str(path),
        columns=tuple(name.strip() for name in header),
        rows=rows,
        place=lambda row: f"{path}:{row or line}",
        decimal_comma=separator != ",",
    )


def _separator(path: Path) -> str:
    """What separates the cells of a file: the first that gives a state and an action, else the most columns."""
    first = next((line for _, line in numbered_lines(path) if line.strip()), "")
    headers: dict[str, tuple[str, ...]] = {}
    for separator in SEPARATORS:
        try:
            (names,) = csv.reader([first], delimiter=separator, strict=True)
        except (csv.Error, ValueError):
            # A name with a line break in it; only a comma is then possible.
            return ","
        headers[separator] = tuple(name.strip() for name in names)
        if Columns.found(headers[separator]).complete:
            return separator
    return max(headers, key=lambda separator: len(headers[separator]))


def _rows(path: Path, separator: str) -> Iterator[Row]:
    """The rows of a CSV file that are not empty, with the number of their last line."""
    lines = (line + "\n" for _, line in numbered_lines(path))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise fault(path, reader.line_num, str(error)) from None
