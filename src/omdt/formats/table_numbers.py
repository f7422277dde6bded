"""Numbers in the cells of a table, with a decimal point or, where no comma separates the cells, a decimal comma."""

from omdt.formats.table import Table
from omdt.formats.text import parsed_number


class TableNumbers:
    """Reads numbers; all of a table have the same decimal sign, since 1.234 is another number where that is a comma.

    Args:
        table: the table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._sign: str | None = None

    def value(self, row: int, text: str) -> float | None:
        """The number that a cell spells, which may be infinite or not a number; None if it spells none."""
        value = self.known(text)
        if self._table.decimal_comma and value is not None:
            self._note_sign(row, text)
        return value

    def known(self, text: str) -> float | None:
        """The number that a cell spells, whose decimal sign was seen before."""
        if self._table.decimal_comma and text.count(",") == 1 and "." not in text:
            text = text.replace(",", ".")
        return parsed_number(text)

    def _note_sign(self, row: int, text: str) -> None:
        for sign, other in (",.", ".,"):
            if sign in text:
                if self._sign == other:
                    raise self._table.fault(
                        row, f"{text.strip()!r:.60} has the decimal sign {sign!r}, but numbers in other rows {other!r}"
                    )
                self._sign = sign

    def finite(self, row: int, text: str, what: str) -> float:
        """The finite number that a cell must hold."""
        value = self.value(row, text)
        if value is None or not -float("inf") < value < float("inf"):
            raise self._table.fault(row, f"{what} is {text.strip()!r:.60}; expected a finite number")
        return value

    def probability(self, row: int, text: str, what: str) -> float:
        """The probability that a cell must hold."""
        value = self.finite(row, text, what)
        if not 0 <= value <= 1:
            raise self._table.fault(row, f"{what} is {text.strip()}; it must lie between 0 and 1")
        return value
