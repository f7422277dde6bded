"""Data frames of pandas, which is an extra."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from omdt.errors import require

if TYPE_CHECKING:
    import pandas


def frame_of(columns: Mapping[str, Iterable[object]]) -> "pandas.DataFrame":
    """A data frame with these columns.

    Raises:
        MissingExtraError: if pandas is not installed.
    """
    require("pandas", "pandas", "a data frame")
    import pandas

    return pandas.DataFrame({name: list(values) for name, values in columns.items()})
