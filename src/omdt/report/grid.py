"""Visits over two features: every state falls into a cell, every feature into at most forty steps."""

from dataclasses import dataclass

import numpy as np

from omdt.mdp import Floats, Ints

MOST_STEPS = 40
"""More rows or columns than this are neither read nor told apart."""


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
    # In units of the largest number, so that a wide range does not overflow.
    unit = float(np.abs(values[[0, -1]]).max())
    edges = np.linspace(values[0] / unit, values[-1] / unit, MOST_STEPS + 1)
    step = np.clip(np.searchsorted(edges, column / unit, side="right") - 1, 0, MOST_STEPS - 1)
    ends = [f"{edge * unit:.4g}" for edge in edges]
    return Axis(step, [f"{low} to {high}" for low, high in zip(ends[:-1], ends[1:], strict=True)])
