"""A table of transitions in a data frame of pandas, polars or another package, or in a dictionary of columns.

Columns and rows mean what they mean in a CSV file (see `from_csv`). Frames whose columns have `to_list`, as those of
pandas and polars do, are read without any other package. All others, such as tables of Arrow and lazy frames, are read
through narwhals.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from omdt.errors import InputError, require
from omdt.formats.table import Row, Table
from omdt.formats.table_mdp import mdp_of
from omdt.formats.text import discount_or_default
from omdt.mdp import MDP

NAME = "data frame"
"""What a frame is called in messages, unless the user names it."""


def from_dataframe(frame: Any, *, discount: float | None = None, fallback: str | None = None, name: str = NAME) -> MDP:
    """See `MDP.from_dataframe`."""
    return mdp_of(table_of(frame, name), discount=discount_or_default(name, discount), fallback=fallback, name=name)


def table_of(frame: Any, name: str) -> Table:
    """The table of a data frame."""
    columns = _columns(frame)
    return Table(name, tuple(columns), _rows(columns, name), lambda row: _place(name, row))


def _place(name: str, row: int) -> str:
    return f"{name}, row {row - 1} (counted from 0)" if row else name


def _columns(frame: Any) -> dict[str, Sequence[Any]]:
    """The values of each column by name."""
    if isinstance(frame, Mapping):
        return {str(name).strip(): list(values) for name, values in frame.items()}
    kind = type(frame)
    if hasattr(kind, "columns") and hasattr(kind, "iloc"):
        # pandas and what follows it; two columns of one name are a frame again, so columns are asked by place.
        names = [str(name).strip() for name in frame.columns]
        _check_distinct(names)
        return {name: frame.iloc[:, i].tolist() for i, name in enumerate(names)}
    if hasattr(kind, "get_column"):
        return {str(name).strip(): frame.get_column(name).to_list() for name in frame.columns}
    return _through_narwhals(frame)


def _through_narwhals(frame: Any) -> dict[str, Sequence[Any]]:
    require("narwhals", "dataframe", f"a table that is a {type(frame).__name__}")
    import narwhals

    try:
        native = narwhals.from_native(frame)
    except TypeError:
        raise InputError(
            f"expected a data frame of pandas or polars, or a dictionary of columns, not {type(frame).__name__}"
        ) from None
    eager = native.collect() if isinstance(native, narwhals.LazyFrame) else native
    return {name.strip(): eager.get_column(name).to_list() for name in eager.columns}


def _check_distinct(names: Sequence[str]) -> None:
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"two columns are called {repeated!r:.40}")


def _rows(columns: dict[str, Sequence[Any]], name: str) -> Iterator[Row]:
    """The rows, numbered from 1, with every cell as text."""
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{column!r:.40} has {length:,}" for column, length in lengths.items())
        raise InputError(f"{name}: the columns have different numbers of rows: {told}")
    for number, cells in enumerate(zip(*columns.values(), strict=True), 1):
        yield number, [_text(value) for value in cells]


def _text(value: object) -> str:
    """A value as a CSV file would have it: numbers to the last digit, missing values as nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        return "" if math.isnan(number) else repr(number)
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return "" if missing else str(value)
