"""How a comparison is printed for people: a table of at most 80 columns, and below it what the methods are."""

from typing import TYPE_CHECKING

from omdt.printing.plain import escape, line, number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from omdt.comparing import Comparison, Row

HEADINGS = ("method", "return", "normalised", "bound", "proven", "nodes", "seconds")
"""The columns of the table; `return` is called `value` where something else is asked for."""

WIDTH = 80
"""Maximum number of columns of the table: those of a terminal, or of a page of monospaced text."""

LONGEST_NAME = 10
"""Maximum number of characters of a name in the table; the list below has all of it."""


def show_comparison(comparison: "Comparison", console: "Console") -> None:
    """Print a comparison for people."""
    from omdt.tree import printable

    bold, _, rest = title(comparison).rpartition(": ")
    console.print(f"[bold]{escape(printable(bold))}[/bold]  {escape(rest)}", soft_wrap=True)
    words = comparison.wording
    if not words.default:
        line(console, printable(words.doing))
    line(console, "")
    wide = _table(comparison, 2)
    console.print(wide if console.measure(wide).maximum <= WIDTH else _table(comparison, 1), no_wrap=True)
    line(console, "")
    longest = max(len(printable(row.method)) for row in comparison.rows)
    for row in comparison.rows:
        line(console, f"{printable(row.method):{longest}}  {comparison.meaning(row)}")


def title(comparison: "Comparison") -> str:
    """The problem and the size limit."""
    from omdt.task import Size

    return f"{comparison.problem}: trees of {Size(comparison.max_depth, comparison.max_leaf_nodes).words}"


def _table(comparison: "Comparison", gap: int) -> "Table":
    """The table with so many spaces between its columns."""
    from rich.table import Table

    from omdt.tree import printable

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, gap, 0, 0))
    for heading in HEADINGS:
        renamed = "value" if heading == "return" and not comparison.wording.default else heading
        table.add_column(renamed, justify="left" if heading == "method" else "right")
    for row in comparison.rows:
        name, *figures = cells(comparison, row)
        name = printable(name)
        short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
        table.add_row(escape(short), *figures)
    return table


def cells(comparison: "Comparison", row: "Row") -> tuple[str, ...]:
    """The texts of a row below `HEADINGS`."""
    return (
        row.method,
        number(row.value, 6) if row.value_error is None else f"{number(row.value, 3)} ± {row.value_error:.2g}",
        _normalised(comparison, row),
        "" if row.bound is None else number(row.bound, 6),
        "yes" if row.proven else "",
        "" if row.decision_nodes is None else _count(row.decision_nodes),
        f"{row.seconds:.2f}" if row.seconds < 1000 else f"{row.seconds:.0f}",
    )


def _normalised(comparison: "Comparison", row: "Row") -> str:
    """The return from random (0) to optimal (1), or a dash where there is no such scale."""
    share = row.normalized_return
    if comparison.indifferent or share is None:
        return "–"
    if abs(share) >= 10:
        return f"{share:.4g}"
    return f"{share:.4f}" if row.normalized_error is None else f"{share:.3f} ± {row.normalized_error:.2f}"


def _count(mean: float) -> str:
    """A mean number of nodes."""
    return f"{mean:.4g}" if mean < 1000 else f"{mean:,.0f}"
