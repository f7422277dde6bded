"""Figures for papers and notebooks, drawn with matplotlib (needs the extra `plots`)."""

import io
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from omdt.errors import InputError, require
from omdt.export.pictures import draw_tree, tree_layout
from omdt.mdp import MDP, Floats
from omdt.report.grid import axis
from omdt.report.visits import deciding, discounted_visits, visit_shares
from omdt.solution import Solution
from omdt.tradeoffs.front_knee import knee
from omdt.tradeoffs.front_points import Front
from omdt.tree import TreePolicy, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import PowerNorm

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

    Bounds above the return of the optimal policy are drawn at that return, because they say no more.

    Args:
        solution: the solution that the run found.
        ax: where to draw; by default a new figure.
    """
    ax = _axes(ax)
    optimum = solution.optimal_return
    amount, unit = solution.effort
    points = [*solution.trace, (amount, solution.value, solution.bound)]
    points = [(moment, value, solution.useful(bound)) for moment, value, bound in points]
    moments, *figures = np.array(sorted(points, key=lambda point: point[0])).T
    values, bounds = (np.where(np.isfinite(line), line, np.nan) for line in figures)
    ax.fill_between(moments, values, bounds, step="post", alpha=0.15, color="C0", linewidth=0)
    ax.step(moments, bounds, where="post", color="C1", label="bound")
    ax.step(moments, values, where="post", color="C0", label="value")
    if np.isfinite(optimum):
        ax.axhline(optimum, color="grey", linestyle="--", linewidth=1, label="optimal policy")
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
    ax = _axes(ax)
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


def plot_grid(
    mdp: MDP, tree: TreePolicy, x: str, y: str, *, observations: ArrayLike | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw the tree's discounted visits over two features, and return the Axes.

    They are shares of all visits to states that are not terminal. The second feature grows downwards, as in a table or
    on the map of a grid world.

    Args:
        mdp: the problem.
        tree: the policy.
        x: name of the feature on the horizontal axis.
        y: name of the feature on the vertical axis.
        observations: [S, F'] what the tree reads in each state; by default the features of the MDP.
        ax: where to draw; by default a new figure.
    """
    X = mdp.features if observations is None else np.asarray(observations, dtype=np.float64)
    visits = discounted_visits(mdp, tree.actions(X))
    shown = deciding(mdp)
    across, down = (axis(X[shown, _column(tree, name)]) for name in (x, y))
    cells = np.zeros((len(down.labels), len(across.labels)))
    np.add.at(cells, (down.step, across.step), visit_shares(mdp, visits)[shown])
    ax = _axes(ax)
    image = ax.imshow(100 * cells, cmap="Blues", norm=_square_root(100 * cells))
    ax.figure.colorbar(image, ax=ax, label="% of discounted visits")
    ax.set_xlabel(printable(x), parse_math=False)
    ax.set_ylabel(printable(y), parse_math=False)
    for ticks, labels, angle in ((ax.set_xticks, across.labels, 90), (ax.set_yticks, down.labels, 0)):
        places = np.arange(0, len(labels), 1 + len(labels) // MOST_TICKS)
        crowded = sum(len(labels[i]) for i in places) > 3 * MOST_TICKS
        ticks(places, [labels[i] for i in places], rotation=angle if crowded else 0)
    return ax


def _square_root(cells: Floats) -> "PowerNorm":
    """A scale of colours on which rare states remain visible beside the most visited one."""
    from matplotlib.colors import PowerNorm

    return PowerNorm(0.5, vmin=0, vmax=max(float(cells.max()), np.finfo(float).tiny))


def _column(tree: TreePolicy, name: str) -> int:
    if name not in tree.feature_names:
        raise InputError(f"there is no feature {name!r}; there are {', '.join(map(repr, tree.feature_names))}")
    return tree.feature_names.index(name)


def _axes(ax: "Axes | None") -> "Axes":
    require("matplotlib", "plots", "a figure")
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]
