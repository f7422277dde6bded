"""The axes of the maps: the values of each feature are divided into a limited number of steps."""

from dataclasses import dataclass

import numpy as np

from omdt.mdp import Floats, Ints

MOST_STEPS = 40
"""Maximum number of rows or columns of a map; nobody can read more, or tell them apart."""

MOST_ALONE = 120
"""Maximum number of steps of an only feature, whose map is a single row as wide as the page."""

LARGEST_WHOLE = 2**53
"""Up to this number, 64-bit floating-point numbers represent every whole number."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The steps of one feature.

    Attributes:
        step: [S] the step of each state.
        labels: the value, or the range of values, of each step.
    """

    step: Ints
    labels: list[str]


def axes(observations: Floats) -> list[Axis]:
    """[F] the steps of all features of observations [S, F]."""
    most = MOST_ALONE if observations.shape[1] == 1 else MOST_STEPS
    return [axis(column, most) for column in observations.T]


def axis(column: Floats, most: int = MOST_STEPS) -> Axis:
    """The steps of a feature [S]: its values, or ranges of equal width if there are more than `most` values."""
    values, step = np.unique(column, return_inverse=True)
    if len(values) <= most:
        return Axis(step.ravel(), [f"{value:.6g}" for value in values])
    first, last = float(values[0]), float(values[-1])
    if np.all(values == np.floor(values)) and last - first < LARGEST_WHOLE:
        width = int(last - first) // most + 1
        starts = np.arange(first, last + 1, width)
        labels = [f"{start:.0f} to {min(start + width - 1, last):.0f}" for start in starts]
    else:
        # Halves, because the difference between the ends may be larger than any 64-bit number.
        starts = 2 * np.linspace(first / 2, last / 2, most, endpoint=False)
        labels = [f"{low:.4g} to {high:.4g}" for low, high in zip(starts, [*starts[1:], last], strict=True)]
    return Axis(np.searchsorted(starts, column, side="right") - 1, labels)
