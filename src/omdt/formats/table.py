"""Table: rows of text cells under named columns, whether they come from a file or from a data frame.

What the columns mean is decided in `table_columns`, what the cells of the state mean in `table_states`, and
`table_mdp` makes the MDP. A reader only has to deliver the names of the columns and the cells.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from omdt.errors import InputError

Row = tuple[int, Sequence[str]]
"""The number of a row, by which its source finds it again, and its cells."""


@dataclass(frozen=True)
class Table:
    """Rows under named columns.

    Attributes:
        name: of the source, for messages, such as "machine.csv".
        columns: the names of the columns without the spaces around them; an empty name is one that is not given.
        rows: the rows, read once.
        place: where a row is found, such as "machine.csv:3"; row 0 is the one with the names of the columns.
        decimal_comma: whether cells may have a decimal comma, because no comma separates them.
    """

    name: str
    columns: tuple[str, ...]
    rows: Iterator[Row]
    place: Callable[[int], str]
    decimal_comma: bool = False

    def fault(self, row: int, message: str) -> InputError:
        """The error about one row."""
        return InputError(f"{self.place(row)}: {message}")
