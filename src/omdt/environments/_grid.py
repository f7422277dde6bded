"""Grids over continuous states: a point between grid points is spread over the corners of the cell that contains it.

The weights of multilinear interpolation are probabilities whose mean is the point itself, so a continuous system whose
next states are spread in this way becomes an MDP with the same expected next state.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from omdt.environments._shared import Numbers, chunks
from omdt.mdp import Bools, Floats

SNAP = 1e-9
"""Points closer than this to a grid point, in units of the spacing, are on it: rounding must not add transitions."""

SAMPLES = 1000
"""Number of evenly spaced values that stand for a uniform distribution; several per cell of the finest grids."""


@dataclass(frozen=True)
class Axis:
    """Evenly spaced values of one variable.

    Attributes:
        low: smallest value.
        high: largest value.
        n: number of values, at least 2.
    """

    low: float
    high: float
    n: int

    @cached_property
    def values(self) -> Floats:
        """[n] the values."""
        # By this formula a symmetric axis is symmetric to the last bit, with an exact 0 in the middle.
        steps = np.arange(self.n)
        values: Floats = (self.low * steps[::-1] + self.high * steps) / (self.n - 1)
        values[0], values[-1] = self.low, self.high
        return values

    def locate(self, x: Floats) -> tuple[Numbers, Floats]:
        """The interval [i, i + 1] that contains each value, and how far along it the value lies, from 0 to 1.

        Values beyond the ends count as the ends.
        """
        place = (np.clip(x, self.low, self.high) - self.low) * ((self.n - 1) / (self.high - self.low))
        nearest = np.rint(place)
        place = np.where(np.abs(place - nearest) < SNAP, nearest, place)
        interval = np.minimum(place.astype(np.int32), self.n - 2)
        return interval, place - interval

    def uniform(self, low: float, high: float) -> Floats:
        """[n] weights of the grid points for a uniform distribution from low to high."""
        middles = low + (high - low) * (np.arange(SAMPLES) + 0.5) / SAMPLES
        interval, share = self.locate(middles)
        weights = np.bincount(interval, 1 - share, self.n) + np.bincount(interval + 1, share, self.n)
        return np.asarray(weights / SAMPLES, dtype=np.float64)


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some axes, numbered in lexicographic order."""

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each axis."""
        return tuple(axis.n for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of grid points."""
        return math.prod(self.shape)

    @property
    def corners(self) -> int:
        """Number of corners of a cell."""
        return 1 << len(self.axes)

    def points(self, numbers: slice) -> list[Floats]:
        """One array per axis: the coordinates of these grid points."""
        places = np.unravel_index(np.arange(*numbers.indices(self.size)), self.shape)
        return [axis.values[place] for axis, place in zip(self.axes, places, strict=True)]

    def spread(self, points: list[Floats]) -> tuple[Numbers, Floats]:
        """([n, corners], [n, corners]) grid points in rising order, and the weight of each, for n points.

        Args:
            points: one array [n] per axis: the coordinates of the points.
        """
        located = [axis.locate(x) for axis, x in zip(self.axes, points, strict=True)]
        n = len(points[0])
        numbers: Numbers = np.zeros((n, 1), dtype=np.int32)
        weights: Floats = np.ones((n, 1))
        for axis, (interval, share) in zip(self.axes, located, strict=True):
            below = numbers * np.int32(axis.n) + interval[:, None]
            numbers = np.stack([below, below + np.int32(1)], axis=2).reshape(n, -1)
            weights = np.stack([weights * (1 - share)[:, None], weights * share[:, None]], axis=2).reshape(n, -1)
        return numbers, weights


class Moved(NamedTuple):
    """Where n points are after an action.

    Attributes:
        points: one array [n] per axis: their coordinates.
        rewards: [n] earned on the way.
        ended: [n] whether the system has ended, wherever the coordinates are.
    """

    points: list[Floats]
    rewards: Floats
    ended: Bools


def grid_rows(
    grid: Grid, move: Callable[[list[Floats], int], Moved], rewards: Floats
) -> Iterator[tuple[Numbers, Floats]]:
    """The rows of the transitions from all grid points, for `stacked_rows`.

    A system that has ended is in the state after the last grid point, whose own rows are left to the caller.

    Args:
        grid: its points are the first states.
        move: from coordinates, one array [n] per axis, and an action to what follows.
        rewards: [S, A], whose rows for the grid points are filled in.
    """
    A = rewards.shape[1]
    for part in chunks(grid.size):
        points = grid.points(part)
        n = len(points[0])
        successors, weights = np.empty((n, A, grid.corners), dtype=np.int32), np.empty((n, A, grid.corners))
        for a in range(A):
            after, rewards[part, a], ended = move(points, a)
            successors[:, a], weights[:, a] = grid.spread(after)
            successors[ended, a, 0], weights[ended, a, 0], weights[ended, a, 1:] = grid.size, 1.0, 0.0
        yield successors.reshape(n * A, -1), weights.reshape(n * A, -1)
