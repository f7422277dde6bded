"""Figures over the plane of two features, drawn with matplotlib: where a tree takes which action, and where it goes.

The second feature grows downwards, as in a table or on the map of a grid world; `ax.invert_yaxis()` turns that round.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from omdt.errors import InputError
from omdt.mdp import MDP, Floats
from omdt.objective import recorded
from omdt.report.grid import Axis, axis
from omdt.report.plots import MOST_TICKS, new_axes
from omdt.report.regions import Region, regions
from omdt.report.visits import deciding, discounted_visits, most_asked, through_nodes, visit_shares
from omdt.solution import Solution
from omdt.tree import LEAF, TreePolicy, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import PowerNorm

LONGEST = 3
"""Up to this ratio of rows to columns, or of columns to rows, the cells are squares."""


@dataclass(frozen=True, eq=False)
class _Seen:
    """A tree on its MDP.

    Attributes:
        tree: the tree.
        observations: [S, F] what it reads in each state.
        share: [S] share of each state in all visits to states that are not terminal.
        shown: [S] whether there is something to decide in a state.
    """

    tree: TreePolicy
    observations: Floats
    share: Floats
    shown: "np.ndarray[tuple[int], np.dtype[np.bool_]]"

    @classmethod
    def of(cls, policy: Solution | TreePolicy, mdp: MDP, observations: ArrayLike | None) -> "_Seen":
        if isinstance(policy, Solution):
            tree, problem = policy.tree, recorded(policy.objective).problem(mdp)
            X = policy.observations(mdp)
        else:
            tree, problem, X = policy, mdp, mdp.features
        if observations is not None:
            X = np.asarray(observations, dtype=np.float64)
        visits = discounted_visits(problem, tree.actions(X))
        return cls(tree, X, visit_shares(problem, visits), deciding(problem))

    def columns(self, x: str | None, y: str | None) -> tuple[int, int | None]:
        """The features on the axes; by default those that the tree asks about most often."""
        node_share = through_nodes(self.tree, self.tree.leaves(self.observations), self.share)
        free = [j for j in most_asked(self.tree, node_share) if self.tree.feature_names[j] not in (x, y)]
        across = free.pop(0) if x is None else self._column(x)
        if y is not None:
            return across, self._column(y)
        return across, free[0] if free else None

    def _column(self, name: str) -> int:
        names = self.tree.feature_names
        if name not in names:
            raise InputError(f"there is no feature {name!r}; there are {', '.join(map(repr, names))}")
        return names.index(name)


def plot_visits(
    policy: Solution | TreePolicy,
    mdp: MDP,
    x: str | None = None,
    y: str | None = None,
    *,
    observations: ArrayLike | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how often a tree visits the values of two features, and return the Axes.

    The figures are shares of all discounted visits to states that are not terminal.

    Args:
        policy: a solution, or a tree.
        mdp: the problem.
        x: name of the feature on the horizontal axis; by default one that the tree asks about most often.
        y: name of the feature on the vertical axis; by default another one, if there is one.
        observations: [S, F'] what the tree reads in each state; by default what the solution records, or the features
            of the MDP.
        ax: where to draw; by default a new figure.
    """
    ax = new_axes(ax)
    seen = _Seen.of(policy, mdp, observations)
    columns = seen.columns(x, y)
    across, down = (_steps(seen, column) for column in columns)
    cells = np.zeros((len(down.labels), len(across.labels)))
    np.add.at(cells, (down.step, across.step), 100 * seen.share[seen.shown])
    rows, columns_shown = cells.shape
    square = max(rows, columns_shown) <= LONGEST * min(rows, columns_shown)
    image = ax.imshow(cells, cmap="Blues", norm=_square_root(cells), aspect="equal" if square else "auto")
    ax.figure.colorbar(image, ax=ax, label="% of discounted visits")
    for ticks, labels, angle in ((ax.set_xticks, across.labels, 90), (ax.set_yticks, down.labels, 0)):
        places = np.arange(0, len(labels), 1 + len(labels) // MOST_TICKS)
        shown = [_short(labels[i]) for i in places]
        crowded = sum(map(len, shown)) > 2 * MOST_TICKS
        ticks(places, shown, rotation=angle if crowded else 0)
    _name_axes(ax, seen.tree, *columns)
    return ax


def plot_regions(
    policy: Solution | TreePolicy,
    mdp: MDP,
    x: str | None = None,
    y: str | None = None,
    *,
    at: Mapping[str, float] | None = None,
    observations: ArrayLike | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw which action a tree takes over the plane of two features, and return the Axes.

    If the tree asks about other features, too, these have fixed values, which the title names.

    Args:
        policy: a solution, or a tree.
        mdp: the problem; it has the range of the features.
        x: name of the feature on the horizontal axis; by default one that the tree asks about most often.
        y: name of the feature on the vertical axis; by default another one, if there is one.
        at: values of other features, by name; by default those of the most visited state.
        observations: [S, F'] as in `plot_visits`.
        ax: where to draw; by default a new figure.
    """
    ax = new_axes(ax)
    from matplotlib.ticker import MaxNLocator

    seen = _Seen.of(policy, mdp, observations)
    columns = seen.columns(x, y)
    fixed = seen.observations[int(np.argmax(np.where(seen.shown, seen.share, -1.0)))].copy()
    for name, value in (at or {}).items():
        fixed[seen._column(name)] = value
    _draw(ax, seen.tree, regions(seen.tree, seen.observations[seen.shown], fixed, *columns))
    _name_axes(ax, seen.tree, *columns)
    for side, column in ((ax.xaxis, columns[0]), (ax.yaxis, columns[1])):
        if column is not None and seen.tree.integer[column]:
            side.set_major_locator(MaxNLocator("auto", integer=True))
    others = [j for j in np.unique(seen.tree.feature[seen.tree.feature != LEAF]).tolist() if j not in columns]
    if others:
        held = ", ".join(f"{printable(seen.tree.feature_names[j])} = {fixed[j]:.6g}" for j in others)
        ax.set_title(f"where {held}", parse_math=False)
    return ax


def _draw(ax: "Axes", tree: TreePolicy, region: Region) -> None:
    """The cells in the colours of their actions, lines between leaves, and a legend."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    from omdt.report.colours import action_colours

    action = tree.action[region.leaf]
    used, rank = np.unique(action, return_inverse=True)
    colours = [action_colours(tree)[i] for i in used]
    ax.pcolormesh(region.across, region.down, rank.reshape(action.shape), cmap=ListedColormap(colours))
    ax.add_collection(LineCollection(region.borders(), colors="#1c2024", linewidths=0.8))
    ax.set_ylim(region.down[-1], region.down[0])
    # A label that begins with an underscore would be left out, so names are set afterwards.
    patches = [Patch(facecolor=one, edgecolor="#767b83") for one in colours]
    names = [str(i) for i in used]
    key = ax.legend(patches, names, loc="upper left", bbox_to_anchor=(1.02, 1), borderaxespad=0)
    for text, i in zip(key.get_texts(), used.tolist(), strict=True):
        text.set_parse_math(False)
        text.set_text(printable(tree.action_names[i]))


def _steps(seen: _Seen, column: int | None) -> Axis:
    """The steps of a feature in the states that are shown; a single step without a feature."""
    if column is None:
        return Axis(np.zeros(int(seen.shown.sum()), dtype=np.int64), [""])
    return axis(seen.observations[seen.shown, column])


def _short(label: str) -> str:
    """The label of a step, of a range of values its beginning; three digits of a number that is not whole."""
    first = label.partition(" to ")[0]
    return f"{float(first):.3g}" if "." in first and abs(float(first)) < 100 else first


def _name_axes(ax: "Axes", tree: TreePolicy, across: int, down: int | None) -> None:
    ax.set_xlabel(printable(tree.feature_names[across]), parse_math=False)
    if down is None:
        ax.set_yticks([])
    else:
        ax.set_ylabel(printable(tree.feature_names[down]), parse_math=False)


def _square_root(cells: Floats) -> "PowerNorm":
    """A scale of colours on which rare states remain visible beside the most visited one."""
    from matplotlib.colors import PowerNorm

    return PowerNorm(0.5, vmin=0, vmax=max(float(cells.max()), np.finfo(float).tiny))
