"""The cells into which a tree divides the plane of two features, while all other features have fixed values."""

from dataclasses import dataclass

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.tree import TreePolicy

MARGIN = 0.03
"""Space beyond the least and the largest value of a feature, as a part of its range."""


@dataclass(frozen=True, eq=False)
class Region:
    """The plane in cells.

    Attributes:
        across: [n + 1] the edges of the cells on the horizontal axis, increasing.
        down: [m + 1] the edges on the vertical axis, increasing.
        leaf: [m, n] the leaf of each cell.
    """

    across: Floats
    down: Floats
    leaf: Ints

    def borders(self) -> list[list[tuple[float, float]]]:
        """Lines between neighbouring cells of different leaves, as pairs of points."""
        lines = []
        for i, j in zip(*np.nonzero(self.leaf[:, 1:] != self.leaf[:, :-1]), strict=True):
            x = float(self.across[j + 1])
            lines.append([(x, float(self.down[i])), (x, float(self.down[i + 1]))])
        for i, j in zip(*np.nonzero(self.leaf[1:] != self.leaf[:-1]), strict=True):
            y = float(self.down[i + 1])
            lines.append([(float(self.across[j]), y), (float(self.across[j + 1]), y)])
        return lines


def regions(tree: TreePolicy, observations: Floats, fixed: Floats, x: int, y: int | None) -> Region:
    """Divide the plane.

    Args:
        tree: the tree.
        observations: [n, F] what can be observed; its range is the range of the plane.
        fixed: [F] the values of the features that are not on an axis.
        x: the feature on the horizontal axis.
        y: the feature on the vertical axis; None for a plane that is a single row.
    """
    across, columns = _cells(tree, x, observations[:, x])
    down, rows = (np.array([0.0, 1.0]), np.zeros(1)) if y is None else _cells(tree, y, observations[:, y])
    seen = np.tile(fixed, (len(rows) * len(columns), 1))
    seen[:, x] = np.tile(columns, len(rows))
    if y is not None:
        seen[:, y] = np.repeat(rows, len(columns))
    return Region(across, down, tree.leaves(seen).reshape(len(rows), len(columns)))


def _cells(tree: TreePolicy, feature: int, column: Floats) -> tuple[Floats, Floats]:
    """The edges [n + 1] of the cells of a feature, and a value [n] inside each cell.

    A threshold is an edge. A value that the tree asks for has a cell of its own, as wide as the distance to the nearest
    other value.
    """
    values = np.unique(column)
    step = float(np.diff(values).min()) if len(values) > 1 else 1.0
    space = step / 2 if tree.integer[feature] else max(MARGIN * float(np.ptp(values)), np.finfo(float).tiny)
    if len(values) == 1:
        space = 0.5 * max(1.0, abs(float(values[0])) * MARGIN)
    low, high = float(values[0]) - space, float(values[-1]) + space
    asked = tree.feature == feature
    only = np.unique(tree.threshold[asked & tree.equality])
    edges = np.concatenate([tree.threshold[asked & ~tree.equality], only - step / 2, only + step / 2])
    edges = np.unique(np.concatenate([[low, high], edges[(edges > low) & (edges < high)]]))
    inside = (edges[:-1] + edges[1:]) / 2
    for value in only:
        inside = np.where((edges[:-1] < value) & (value < edges[1:]), value, inside)
    return edges, inside
