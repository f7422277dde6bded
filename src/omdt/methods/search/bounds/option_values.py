"""The value of an agent with options: the interface of its two solvers, and what they share."""

from typing import NamedTuple, Protocol

import numpy as np

from omdt.mdp import EPSILON, Floats, Ints
from omdt.watch import Watch


class OptionValue(NamedTuple):
    """What the agent with options returns at most.

    Attributes:
        bound: an upper bound on p0·V̄.
        vector: [S] a vector above V̄.
        visits: [S] the occupancy of the agent; empty where the bound is low enough.
    """

    bound: float
    vector: Floats
    visits: Floats


class OptionSolver(Protocol):
    """Bounds V̄ from above."""

    def value(self, leaf_action: Ints, active: Ints, start: Floats, target: float, watch: Watch) -> OptionValue:
        """The value of an agent with options.

        Args:
            leaf_action: [S] action of the fixed leaf of each state, or −1 in open regions.
            active: numbers of the boxes of all open regions.
            start: [S] a vector above V̄, such as the parent's.
            target: a bound as low as this is low enough.
            watch: ends the computation by an `OutOfTimeError`.
        """

    def price(self, active: Ints) -> float:
        """How many operations these boxes cost if nothing is known of them."""


def product_from_above(p: Floats, v: Floats) -> float:
    """p·v rounded up, for a distribution p."""
    return float(p @ v) + 2 * len(p) * EPSILON * float(np.abs(v).max())
