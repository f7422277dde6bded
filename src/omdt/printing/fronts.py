"""How a front is printed for people: a table whose last column is a chart, and the sentence about the knee."""

import math
from typing import TYPE_CHECKING

from omdt.printing.plain import escape, line, number

if TYPE_CHECKING:
    from rich.console import Console

    from omdt.tradeoffs.front_points import Front, Point

WIDTH = 32
"""Columns of the chart: a terminal of 80 columns has room for them beside the figures."""

VALUE, BAND, NOTHING, RANDOM, OPTIMAL = "█", "░", " ", "┊", "│"
"""What the chart draws: values, what lies between value and bound, the rest, and the two policies as lines."""


def show_front(front: "Front", console: "Console") -> None:
    """Print a front for people."""
    from rich.table import Table

    from omdt.tradeoffs.front_knee import knee, knee_sentence, share
    from omdt.tree import printable

    console.print(f"[bold]{escape(printable(front.largest.problem))}[/bold]  the best tree of every size\n")
    wording = front.largest.wording
    if not wording.default:
        line(console, printable(f"{'minimising' if wording.minimised else 'maximising'} the {wording.what}\n"))
    table = Table(front.by, box=None, header_style="bold", pad_edge=False)
    for heading in ("value", "bound", "normalised", "proven"):
        table.add_column(heading, justify="right")
    table.add_column(_legend(front))
    marked, shown = knee(front), _distinct(front)
    for point in shown:
        kept = share(point)
        table.add_row(
            f"{front.size_of(point)}{' *' if point is marked else ''}",
            number(point.value, 6),
            number(point.solution.shown_bound, 6),
            "–" if kept is None else f"{kept:.4f}",
            "yes" if point.proven else "",
            _bar(front, point),
        )
    console.print(table)
    if len(shown) < len(front):
        first, last = front.size_of(front.points[len(shown)]), front.size_of(front.points[-1])
        sizes = f"{first}" if first == last else f"{first} to {last}"
        line(console, f"{front.by} {sizes}: the same tree, because no policy of any form is better")
    told = knee_sentence(front)
    if told:
        line(console, f"\n* {told}")
    _show_end(front, console)


def _show_end(front: "Front", console: "Console") -> None:
    seconds = f"[dim]({front.largest.seconds or 0.0:.2f} s)[/dim]"
    if front.proven:
        console.print(f"\n[bold green]all proven optimal[/bold green] {seconds}")
    else:
        count = sum(point.proven for point in front)
        console.print(f"\n[bold yellow]{count} of {len(front)} proven[/bold yellow] {seconds}")


def _distinct(front: "Front") -> list["Point"]:
    """The points up to the first one that is proven to be as good as the best policy of any form."""
    for i, point in enumerate(front):
        if point.proven and point.solution.bound_is_optimum:
            return list(front.points[: i + 1])
    return list(front.points)


def _range(front: "Front") -> tuple[float, float] | None:
    """The figures at the left and at the right end of the chart; None if there are not two of them."""
    from omdt.tradeoffs.front_knee import maximised

    solution = front.largest
    figures = [solution.random_return, solution.optimal_return, *(point.value for point in front)]
    finite = [maximised(front, figure) for figure in figures if math.isfinite(figure)]
    return (min(finite), max(finite)) if len(finite) > 1 and min(finite) < max(finite) else None


def _column(front: "Front", figure: float) -> int:
    """The column at which a figure lies in the chart."""
    from omdt.tradeoffs.front_knee import maximised

    low, high = _range(front) or (0.0, 1.0)
    place = maximised(front, figure)
    if not math.isfinite(place):
        return 0 if place < 0 else WIDTH - 1
    return round((WIDTH - 1) * min(max((place - low) / (high - low), 0.0), 1.0))


def _legend(front: "Front") -> str:
    """The names of the two lines above the chart."""
    if _range(front) is None:
        return ""
    random, optimal = (_column(front, figure) for figure in (front.largest.random_return, front.largest.optimal_return))
    text = [NOTHING] * WIDTH
    for column, name in ((min(random, WIDTH - 16), "random"), (max(optimal - 6, 0), "optimal")):
        text[column : column + len(name)] = name
    return "".join(text)


def _bar(front: "Front", point: "Point") -> str:
    """One line of the chart."""
    if _range(front) is None:
        return ""
    value, bound = _column(front, point.value), _column(front, point.solution.shown_bound)
    text = [VALUE if i <= value else BAND if i <= bound else NOTHING for i in range(WIDTH)]
    for figure, mark in ((front.largest.random_return, RANDOM), (front.largest.optimal_return, OPTIMAL)):
        column = _column(front, figure)
        if math.isfinite(figure) and text[column] != VALUE:
            text[column] = mark
    return "".join(text)
