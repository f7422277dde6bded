"""System: one matrix M with any number of equations x = b + M x and x = b + Mᵀ x."""

import numpy as np
from scipy import sparse

from omdt.arrays import EPSILON, Floats
from omdt.systems.approximation import Approximation
from omdt.systems.choice import Candidate, Choice, Use
from omdt.systems.components import Components
from omdt.systems.equation import TARGET, Equation
from omdt.systems.gauss_seidel import GaussSeidel
from omdt.watch import Watch, late


class System:
    """The matrix M ≥ 0 of equations x = b + M x, every row of which sums to less than 1.

    The approximation of the inverse that solved one equation is kept for the next.

    Args:
        M: the matrix.
        shrinkage: the part by which M shrinks every vector at least.
        near: an approximation of the inverse for a similar matrix, if there is one.
        use: what the system is for.
    """

    def __init__(
        self, M: sparse.csr_array, shrinkage: float, *, near: Approximation | None = None, use: Use = Use.ONE
    ) -> None:
        self.M = M
        self._relative = max(0.1 * TARGET * shrinkage, 4 * EPSILON)
        self._choice, self._use = Choice(M, near, use), use
        self._present: Candidate | None = None

    @property
    def inverse(self) -> Approximation | None:
        """The approximation of the inverse that is in use, if there is one."""
        return None if self._present is None else self._present.inverse

    def solve(
        self, b: Floats, start: Floats | None = None, *, accuracy: float = 0.0, watch: Watch | None = None
    ) -> Floats:
        """The solution of x = b + M x, with a residual below `accuracy` in the ∞-norm, or as small as `TARGET` says.

        Args:
            b: the right-hand side.
            start: a similar solution, if known.
            accuracy: the size of a residual that is small enough.
            watch: ends the computation early; the solution is then what was reached.
        """
        return self._solved(b, start, accuracy, watch, transposed=False)

    def solve_transposed(
        self, b: Floats, start: Floats | None = None, *, accuracy: float = 0.0, watch: Watch | None = None
    ) -> Floats:
        """The solution of x = b + Mᵀ x, with a residual measured in the 1-norm; arguments as in `solve`."""
        return self._solved(b, start, accuracy, watch, transposed=True)

    def _solved(
        self, b: Floats, start: Floats | None, accuracy: float, watch: Watch | None, *, transposed: bool
    ) -> Floats:
        first = np.zeros(len(b)) if start is None else start.copy()
        equation = Equation(self.M, b, first, transposed=transposed, relative=self._relative, accuracy=accuracy)
        given_up = False
        while not equation.solved and not late(watch):
            following = self._choice.next(watch) if given_up or self._present is None else self._present
            if following is None:
                if self._use is not Use.ROUGH:
                    equation.sweep(GaussSeidel(self.M), watch)
                break
            self._present = following
            if following.exact:
                equation.refine(following.inverse)
                break
            equation.iterate(following.inverse, following.steps, watch)
            given_up = not equation.settled
            if not given_up:
                break
        return equation.x


def rough_solution(M: sparse.csr_array, b: Floats, start: Floats, steps: int, watch: Watch | None = None) -> Floats:
    """What a few steps of GMRES with Gauss–Seidel sweeps make of a first solution of x = b + M x."""
    equation = Equation(M, b, start.copy(), transposed=False, relative=TARGET, accuracy=0.0)
    equation.iterate(GaussSeidel(M, Components.of(M).states), steps, watch)
    return equation.x
