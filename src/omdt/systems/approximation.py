"""Approximations of the inverse of I − M: what direct and iterative solvers have in common."""

from typing import Protocol

from omdt.arrays import Floats


class Approximation(Protocol):
    """A fixed linear map that is close to the inverse of I − M.

    All costs are estimated from sizes.
    """

    @property
    def preparing(self) -> float:
        """Estimated seconds that it took to prepare."""

    @property
    def seconds(self) -> float:
        """Estimated seconds per application."""

    def solve(self, b: Floats) -> Floats:
        """An approximate solution of x = b + M x."""

    def solve_transposed(self, b: Floats) -> Floats:
        """An approximate solution of x = b + Mᵀ x."""
