"""Systems: x = b + M x, where M ≥ 0 shrinks every vector, solved in whatever way fits its size and structure.

With few states (`DENSE_STATES`) by a dense factorisation, otherwise in memory proportional to the non-zeros: by
BiCGSTAB, which is fast where the chain behind M mixes fast; where that stalls, by an incomplete LU factorisation of
limited fill and refinement, which is nearly exact on chains with structure; and where that fails too, by Gauss–Seidel
sweeps, which always contract. Nothing here is certified: whoever asks computes the residual of what comes back.
"""

import math
from collections.abc import Callable

import numpy as np
from numba import njit
from scipy import sparse
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import LinearOperator, bicgstab, spilu

from omdt.mdp import EPSILON, Floats
from omdt.watch import OutOfTimeError, Watch

TARGET = 1e-11
"""Certified error at which iterative methods stop, relative to the largest absolute value."""

DENSE_STATES = 300
"""Up to here one dense factorisation takes at most some milliseconds, as long as iterative methods do."""

KRYLOV_STEPS = 100
"""Steps of BiCGSTAB before its progress is judged; where it works at all, far fewer gain four digits."""

FACTORED_ENTRIES = 1_000_000
"""Non-zeros up to which an incomplete factorisation is tried: it takes up to a second without a look at the clock."""

FACTOR_SECONDS = 2e-6
"""Seconds of a factorisation per non-zero, on a slow day."""

FILL = 10.0
"""Non-zeros of a factorisation per non-zero of the matrix; grids need five to seven for full precision."""

DROPPED = 1e-8
"""Relative size of the entries that a factorisation may drop; refinement makes up for them."""

SWEEPS = 20
"""Gauss–Seidel sweeps between two looks at the residual and at the clock."""


def fixpoint(
    M: sparse.csr_array,
    b: Floats,
    start: Floats,
    shrinkage: float,
    *,
    norm: float,
    accuracy: float = 0.0,
    watch: Watch | None = None,
) -> Floats:
    """Solve x = b + M x, where M ≥ 0 shrinks the given norm (1 or ∞) of every vector by the part `shrinkage` or more.

    The residual is brought below `accuracy`, or as low as `TARGET` asks for if that is more.
    """
    if len(b) <= DENSE_STATES:
        factors = lu_factor(np.eye(len(b)) - M.toarray(), overwrite_a=True, check_finite=False)
        x: Floats = lu_solve(factors, b, check_finite=False)
        # One step of refinement with an accurate residual removes the rounding of the factorisation.
        correction: Floats = lu_solve(factors, b + product(M, x) - x, check_finite=False)
        return x + correction
    system = System(M, b, start, shrinkage, norm, accuracy, watch)
    for improve in (system.by_krylov, system.by_factors, system.by_sweeps):
        if system.finished:
            break
        improve()
    return system.x


class System:
    """The system x = b + M x with its best solution so far; every method goes on from there.

    Attributes:
        x: the solution so far.
        residual: b + M x − x.
    """

    def __init__(
        self,
        M: sparse.csr_array,
        b: Floats,
        start: Floats,
        shrinkage: float,
        norm: float,
        accuracy: float,
        watch: Watch | None,
    ) -> None:
        self.M, self.b, self.shrinkage, self.norm, self.accuracy, self.watch = M, b, shrinkage, norm, accuracy, watch
        self.x = start
        self.residual = b + M @ start - start

    @property
    def goal(self) -> float:
        """The size of the residual that is small enough."""
        return max(self.accuracy, max(0.1 * TARGET * self.shrinkage, 4 * EPSILON) * self._size(self.x))

    @property
    def finished(self) -> bool:
        """Whether the residual is small enough or time is up."""
        return self._size(self.residual) <= self.goal or late(self.watch)

    def by_krylov(self) -> None:
        """BiCGSTAB, again and again as long as it gains a digit each time."""
        system = LinearOperator(self.M.shape, matvec=lambda x: x - self.M @ x, dtype=np.float64)
        while not self.finished:
            # The solver stops by the 2-norm, which bounds the ∞-norm, and the 1-norm when multiplied by √S.
            enough = self.goal if self.norm == np.inf else self.goal / math.sqrt(len(self.b))
            reached = [np.zeros_like(self.x)]
            try:
                with np.errstate(all="ignore"):
                    reached[0], _ = bicgstab(
                        system,
                        self.residual,
                        rtol=1e-4,
                        atol=enough,
                        maxiter=KRYLOV_STEPS,
                        callback=self._keep(reached),
                    )
            except OutOfTimeError:
                pass
            if not self._moved(self.x + reached[0], gain=0.1):
                return

    def by_factors(self) -> None:
        """An incomplete LU factorisation and refinement, as long as that halves the residual."""
        seconds = FACTOR_SECONDS * self.M.nnz
        if self.M.nnz > FACTORED_ENTRIES or (self.watch is not None and self.watch.remaining < seconds):
            return
        try:
            factors = spilu((sparse.eye_array(len(self.b)) - self.M).tocsc(), drop_tol=DROPPED, fill_factor=FILL)
        except RuntimeError:
            # A pivot was dropped: there is no such factorisation.
            return
        while not self.finished and self._moved(self.x + factors.solve(self.residual), gain=0.5):
            pass

    def by_sweeps(self) -> None:
        """Gauss–Seidel sweeps in alternating directions, until they change nothing but rounding any more."""
        M, x = self.M, self.x.copy()
        changed = True
        while changed and not self.finished:
            before = x.copy()
            _relax(M.indptr, M.indices, M.data, self.b, x, SWEEPS)
            self._moved(x, gain=1.0)
            changed = bool(np.abs(x - before).max() > 4 * EPSILON * np.abs(x).max())

    def _moved(self, x: Floats, gain: float) -> bool:
        """Take a solution if its residual is smaller; whether it is smaller by the given factor."""
        residual = self.b + self.M @ x - x
        before, after = self._size(self.residual), self._size(residual)
        if after < before:
            self.x, self.residual = x.copy(), residual
        return after < gain * before

    def _keep(self, reached: list[Floats]) -> Callable[[Floats], None]:
        """A callback for solvers that remembers where they are and stops them when time is up."""

        def keep(x: Floats) -> None:
            if late(self.watch):
                reached[0] = x.copy()
                raise OutOfTimeError

        return keep

    def _size(self, vector: Floats) -> float:
        return float(np.linalg.norm(vector, self.norm))


def late(watch: Watch | None) -> bool:
    """Whether there is a watch and its time is up."""
    return watch is not None and watch.remaining == 0


def product(matrix: sparse.csr_array, x: Floats) -> Floats:
    """Matrix times vector, each entry as accurate as if summed in twice the precision."""
    result = np.empty(matrix.shape[0])
    _compensated_product(matrix.indptr, matrix.indices, matrix.data, x, result)
    return result


@njit(cache=True)
def _compensated_product(indptr, indices, data, x, result):  # type: ignore[no-untyped-def]
    for row in range(len(result)):
        total, lost = 0.0, 0.0
        for k in range(indptr[row], indptr[row + 1]):
            term = data[k] * x[indices[k]]
            updated = total + term
            if abs(total) >= abs(term):
                lost += (total - updated) + term
            else:
                lost += (term - updated) + total
            total = updated
        result[row] = total + lost


@njit(cache=True)
def _relax(indptr, indices, data, b, x, sweeps):  # type: ignore[no-untyped-def]
    """Gauss–Seidel passes of x = b + M x in place, every other one backwards, with self-loops solved for exactly."""
    S = len(x)
    for count in range(sweeps):
        for i in range(S):
            s = i if count % 2 == 0 else S - 1 - i
            total, stay = b[s], 0.0
            for k in range(indptr[s], indptr[s + 1]):
                if indices[k] == s:
                    stay += data[k]
                else:
                    total += data[k] * x[indices[k]]
            x[s] = total / (1 - stay)
