"""Figures for papers and notebooks, drawn with matplotlib (needs the extra `plots`)."""

import io
from typing import TYPE_CHECKING

import numpy as np

from omdt.errors import require
from omdt.export.pictures import draw_tree, tree_layout
from omdt.report.curve import return_range
from omdt.solution import Solution
from omdt.tradeoffs.front_knee import knee
from omdt.tradeoffs.front_points import Front
from omdt.tree import TreePolicy, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TICKS = 13
"""Approximate maximum number of steps with a label on an axis; more labels would overlap."""


def plot_tree(tree: TreePolicy, *, ax: "Axes | None" = None) -> "Axes":
    """Draw a tree and return the Axes.

    Args:
        tree: the policy.
        ax: where to draw; by default a new figure of the tree's size.
    """
    layout = tree_layout(tree)
    if ax is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=(layout.width / 72, layout.height / 72))
        ax = figure.add_axes((0, 0, 1, 1))
    draw_tree(ax, tree, layout)
    return ax


def plot_trace(solution: Solution, *, ax: "Axes | None" = None) -> "Axes":
    """Draw value and bound over the seconds or nodes of a run, and return the Axes.

    Bounds above the return of the optimal policy are drawn at that return, because they say no more. The axis leaves
    out values of early trees that would compress the rest of the curve.

    Args:
        solution: the solution that the run found.
        ax: where to draw; by default a new figure.
    """
    ax = new_axes(ax)
    optimum = solution.optimal_return
    amount, unit = solution.effort
    points = [*solution.trace, (amount, solution.value, solution.bound)]
    points = [(moment, value, solution.useful(bound)) for moment, value, bound in points]
    moments, *figures = np.array(sorted(points, key=lambda point: point[0])).T
    values, bounds = (np.where(np.isfinite(line), line, np.nan) for line in figures)
    ax.fill_between(moments, values, bounds, step="post", alpha=0.15, color="C0", linewidth=0)
    ax.step(moments, values, where="post", color="C0", label="value")
    ax.step(moments, bounds, where="post", color="C1", label="bound")
    if np.isfinite(optimum):
        ax.axhline(optimum, color="grey", linestyle="--", linewidth=1, label="optimal policy")
        ax.set_ylim(*return_range(solution, values.tolist()))
    ax.set_xlabel(unit)
    ax.set_ylabel(printable(solution.wording.what), parse_math=False)
    ax.legend()
    return ax


def plot_front(front: Front, *, ax: "Axes | None" = None) -> "Axes":
    """Draw value and bound by size, with the optimal and the random policy as lines, and return the Axes.

    Args:
        front: what `omdt.front` returned.
        ax: where to draw; by default a new figure.
    """
    ax = new_axes(ax)
    solution = front.largest
    sizes = [front.size_of(point) for point in front]
    values = np.array([point.value for point in front])
    bounds = np.array([point.solution.shown_bound for point in front])
    known = np.isfinite(values) & np.isfinite(bounds)
    ax.fill_between(sizes, values, bounds, where=known, alpha=0.3, color="C1", linewidth=0, label="up to the bound")
    ax.plot(sizes, np.where(np.isfinite(values), values, np.nan), color="C0", marker="o", label="value")
    for name, figure, style in (("optimal", solution.optimal_return, "--"), ("random", solution.random_return, ":")):
        if np.isfinite(figure):
            ax.axhline(figure, color="grey", linestyle=style, linewidth=1, label=f"{name} policy")
    marked = knee(front)
    if marked is not None:
        ax.plot([front.size_of(marked)], [marked.value], "o", markersize=14, fillstyle="none", color="C3", label="knee")
    ax.set(xlabel=front.by, ylabel="value", xticks=sizes[:: 1 + len(sizes) // MOST_TICKS])
    ax.legend()
    return ax


def front_png(front: Front, dots: int) -> bytes:
    """The same as a PNG with some dots per inch."""
    require("matplotlib", "plots", "a figure")
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained", dpi=dots)
    plot_front(front, ax=figure.add_subplot())
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def new_axes(ax: "Axes | None") -> "Axes":
    """The given Axes, or those of a new figure."""
    require("matplotlib", "plots", "a figure")
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]
