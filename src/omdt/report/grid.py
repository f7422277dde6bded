"""Visits over two features: every state falls into a cell, every feature into at most forty steps."""

from dataclasses import dataclass

import numpy as np

from omdt.mdp import Floats, Ints

MOST_STEPS = 40
"""More rows or columns than this are neither read nor told apart."""

LARGEST_WHOLE = 2**53
"""Up to here 64-bit numbers count without gaps."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The steps of one feature.

    Attributes:
        step: [S] the step of each state.
        labels: what each step is called: its value, or the range of its values.
    """

    step: Ints
    labels: list[str]


def axis(column: Floats) -> Axis:
    """The steps of a feature [S]: its values, or equal ranges of them where they are too many."""
    values, step = np.unique(column, return_inverse=True)
    if len(values) <= MOST_STEPS:
        return Axis(step.ravel(), [f"{value:.6g}" for value in values])
    first, last = float(values[0]), float(values[-1])
    if np.all(values == np.floor(values)) and last - first < LARGEST_WHOLE:
        width = int(last - first) // MOST_STEPS + 1
        starts = np.arange(first, last + 1, width)
        labels = [f"{start:.0f} to {min(start + width - 1, last):.0f}" for start in starts]
    else:
        # Halves, because the distance of the ends may be more than a number can hold.
        starts = 2 * np.linspace(first / 2, last / 2, MOST_STEPS, endpoint=False)
        labels = [f"{low:.4g} to {high:.4g}" for low, high in zip(starts, [*starts[1:], last], strict=True)]
    return Axis(np.searchsorted(starts, column, side="right") - 1, labels)
