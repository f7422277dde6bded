"""A comparison as a chart: what every method returns, from the random policy to the best policy of any form.

It is drawn with matplotlib (needs the extra `plots`).
"""

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

from omdt.comparing import Comparison, Row
from omdt.errors import InputError, require
from omdt.files import write_whole
from omdt.printing.comparisons import title
from omdt.tree import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS = (".svg", ".png", ".pdf")
"""The kinds of files that a comparison can be drawn into."""

INCHES_PER_ROW, INCHES_AROUND, INCHES_WIDE = 0.35, 1.4, 7.0
"""Size of a new figure."""

PNG_DOTS = 150
"""Dots per inch of a PNG: sharp on paper and on most screens."""


def check_plot(path: str | Path) -> None:
    """Raise before long work starts if a comparison could not be drawn into a file of this name."""
    if Path(path).suffix.lower() not in ENDINGS:
        raise InputError(f"cannot draw a comparison into {path}: its name must end in .svg, .png or .pdf")
    require("matplotlib", "plots", "the chart of a comparison")


def write_plot(comparison: Comparison, path: str | Path) -> None:
    """Draw a comparison into a file, whole or not at all, by the ending of its name."""
    check_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=_size(comparison), layout="constrained")
    plot_comparison(comparison, ax=figure.add_subplot())
    picture = io.BytesIO()
    figure.savefig(picture, format=Path(path).suffix.lower().removeprefix("."), dpi=PNG_DOTS)
    write_whole(Path(path), lambda stream: stream.write(picture.getvalue()))


def plot_comparison(comparison: Comparison, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the returns of all methods as points with their standard errors, and bounds as ticks; return the Axes.

    Args:
        comparison: the comparison.
        ax: where to draw; by default a new figure.
    """
    require("matplotlib", "plots", "the chart of a comparison")
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=_size(comparison), layout="constrained")[1]
    rows = comparison.rows
    for place, row in enumerate(rows):
        _draw(ax, place, row)
    for name, style in (("random", ":"), ("optimal", "-")):
        if math.isfinite(value := comparison[name].value):
            ax.axvline(value, color="0.6", linestyle=style, linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(rows)), [_plain(row.method) for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel(_plain("return" if comparison.wording.default else comparison.wording.what), loc="left")
    ax.set_title(_plain(title(comparison)), loc="left", fontsize="medium")
    _explain(ax)
    return ax


def _explain(ax: "Axes") -> None:
    """The legend, below the chart, where it covers nothing."""
    from matplotlib.lines import Line2D

    signs = [
        Line2D([], [], marker="o", color="C0", linestyle="none", label="return, with standard error"),
        Line2D([], [], marker="|", markersize=12, color="C1", linestyle="none", label="bound"),
    ]
    ax.legend(handles=signs, loc="upper right", bbox_to_anchor=(1, -0.12), ncols=2, frameon=False, fontsize="small")


def _draw(ax: "Axes", place: int, row: Row) -> None:
    """One method: its return, and its bound if it has one."""
    if math.isfinite(row.value):
        error = row.value_error
        ax.errorbar([row.value], [place], xerr=None if error is None else [error], fmt="o", color="C0", capsize=3)
    if row.bound is not None and math.isfinite(row.bound):
        ax.plot([row.bound], [place], marker="|", markersize=12, color="C1", linestyle="none")


def _size(comparison: Comparison) -> tuple[float, float]:
    return INCHES_WIDE, INCHES_AROUND + INCHES_PER_ROW * len(comparison.rows)


def _plain(text: str) -> str:
    """A text of one line in which matplotlib finds no formula."""
    return printable(text).replace("$", r"\$")
