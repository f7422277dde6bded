"""Equation: x = b + M x or x = b + Mᵀ x with one right-hand side, and a solution that is improved step by step."""

import numpy as np
from scipy import sparse

from omdt.arrays import EPSILON, Floats
from omdt.systems.approximation import Approximation
from omdt.systems.gauss_seidel import GaussSeidel
from omdt.systems.krylov import GMRES
from omdt.systems.products import product, product_transposed
from omdt.watch import Watch, late

TARGET = 1e-11
"""Certified error at which solvers stop, relative to the largest absolute value."""

REFINEMENTS = 3
"""Refinements of what factors find; each removes ten digits of the error, as far as there are digits."""

SETTLED = 64 * EPSILON
"""A residual below this part of the size of a solution may consist of nothing but rounding."""

SWEEPS, MAX_SWEEPS = 20, 100_000
"""Plain sweeps between two looks at the residual and the clock, and how many there are at most."""


class Equation:
    """An equation and its best solution so far.

    Args:
        M: the matrix.
        b: the right-hand side.
        start: a first solution.
        transposed: whether the equation is x = b + Mᵀ x. Residuals are then measured in the 1-norm, otherwise in the
            ∞-norm: the norms that one step shrinks.
        relative: the size of a residual that is small enough, as a part of the size of the solution.
        accuracy: the size of a residual that is small enough in any case.
    """

    def __init__(
        self, M: sparse.csr_array, b: Floats, start: Floats, *, transposed: bool, relative: float, accuracy: float
    ) -> None:
        self._M, self._b, self._transposed = M, b, transposed
        self._relative, self._accuracy = relative, accuracy
        self._norm = 1 if transposed else np.inf
        self.x = start
        self._residual = b - self._applied(start)
        self._size = self._length(self._residual)

    @property
    def goal(self) -> float:
        """The size of a residual that is small enough."""
        return max(self._accuracy, self._relative * self._length(self.x))

    @property
    def solved(self) -> bool:
        """Whether the residual is small enough."""
        return self._size <= self.goal

    @property
    def settled(self) -> bool:
        """Whether the residual may be as small as rounding lets it be."""
        return self._size <= max(self.goal, SETTLED * self._length(self.x))

    def refine(self, inverse: Approximation) -> None:
        """Improve the solution by an inverse that is exact but for rounding."""
        for _ in range(REFINEMENTS):
            if self.solved:
                return
            before = self._size
            self._take(self.x + self._solved(inverse, self._residual), accurate=True)
            if not self._size < 0.5 * before:
                return

    def iterate(self, inverse: Approximation, steps: int, watch: Watch | None) -> None:
        """Improve the solution by GMRES, as long as it will foreseeably need no more than the given steps."""
        method = GMRES(self._applied, lambda r: self._solved(inverse, r), steps, watch)
        while not self.solved and not late(watch):
            before = self._size
            self._take(self.x + method.correction(self._residual, self.goal / self._size))
            if self.solved or not method.can_reach(self._size / before, self.goal / self._size):
                return

    def sweep(self, sweeps: GaussSeidel, watch: Watch | None) -> None:
        """Improve the solution by plain sweeps, until they change nothing but rounding any more."""
        for _ in range(0, MAX_SWEEPS, 2 * SWEEPS):
            if self.solved or late(watch):
                return
            x = self.x.copy()
            for _ in range(SWEEPS):
                if self._transposed:
                    x += sweeps.solve_transposed(self._b - self._applied(x))
                else:
                    sweeps.forth(self._b, x)
                    sweeps.back(self._b, x)
            change = float(np.abs(x - self.x).max())
            self._take(x)
            if change <= 4 * EPSILON * float(np.abs(x).max()):
                return

    def _take(self, x: Floats, *, accurate: bool = False) -> None:
        """Take a solution if its residual is smaller."""
        if accurate:
            M = self._M
            residual = self._b + (product_transposed(M, x) if self._transposed else product(M, x)) - x
        else:
            residual = self._b - self._applied(x)
        size = self._length(residual)
        if size < self._size:
            self.x, self._residual, self._size = x, residual, size

    def _applied(self, x: Floats) -> Floats:
        """A x, where the equation is A x = b."""
        result: Floats = x - (self._M.T @ x if self._transposed else self._M @ x)
        return result

    def _solved(self, inverse: Approximation, r: Floats) -> Floats:
        return inverse.solve_transposed(r) if self._transposed else inverse.solve(r)

    def _length(self, x: Floats) -> float:
        return float(np.linalg.norm(x, self._norm))
