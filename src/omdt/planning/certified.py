"""Certified: numbers and arrays with a bound on their error, and how rounding adds to it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from omdt.mdp import EPSILON, Floats

T = TypeVar("T", float, Floats)

UNDERFLOW = 2.0**-1000
"""More than what underflow can add to an error in any of our sums."""


@dataclass(frozen=True, eq=False)
class Certified(Generic[T]):
    """A number or array with a bound on its distance from the true one.

    Attributes:
        value: the estimate.
        errors: bound on the distance; for an array either one bound for all entries, or one per entry.
    """

    value: T
    errors: float | T

    @property
    def error(self) -> float:
        """What any entry differs by at most."""
        return float(np.max(self.errors))

    @property
    def lower(self) -> T:
        """A lower bound on the true value."""
        return self._moved(self.value - self.errors, -np.inf)

    @property
    def upper(self) -> T:
        """An upper bound on the true value."""
        return self._moved(self.value + self.errors, np.inf)

    def _moved(self, end: T, direction: float) -> T:
        """The next representable number on the way, which undoes the rounding of one addition.

        Infinities stay, and so does what is known without an error.
        """
        moved = np.where(np.isinf(end) | (self.errors == 0), end, np.nextafter(end, direction))
        return moved if isinstance(end, np.ndarray) else float(moved)


def rounding(reward: T, value: float, terms: int = 0) -> T:
    """Bound on the rounding error of r + γ P V − V, given |r| and max |V|.

    P V comes from `omdt.systems.product`, whose sums lose no more than the last digit of each product: together with
    the discount, 1.5 ε max |V|. Adding r and subtracting V loses at most ε (|r| + max |V|). Rows of P that are mixed
    from `terms` rows of the MDP lose ε max |V| for each of them.
    """
    return (4 + terms) * EPSILON * (reward + value) + UNDERFLOW
