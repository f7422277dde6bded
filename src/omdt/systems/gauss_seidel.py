"""Gauss–Seidel: sweeps over the states of x = b + M x, which need no preparation and always contract.

States are swept by component, successors first: where no state can be visited twice, one sweep is exact.
"""

import numpy as np
from numba import njit
from scipy import sparse

from omdt.arrays import Floats, Ints

SECONDS = 2e-8
"""Estimated seconds per entry of M of a sweep forth and back."""


class GaussSeidel:
    """One sweep forth and one back, from zero; the transpose goes the same way backwards."""

    def __init__(self, M: sparse.csr_array, order: Ints | None = None) -> None:
        self._arrays = M.indptr, M.indices, M.data
        self._order = np.arange(M.shape[0]) if order is None else order
        self._diagonal = 1.0 - M.diagonal()
        self.seconds, self.preparing = SECONDS * M.nnz, 0.0

    def solve(self, b: Floats) -> Floats:
        """An approximate solution of x = b + M x."""
        x = np.zeros(len(b))
        self.forth(b, x)
        self.back(b, x)
        return x

    def solve_transposed(self, b: Floats) -> Floats:
        """An approximate solution of x = b + Mᵀ x."""
        x, left = np.zeros(len(b)), b.copy()
        self.push_forth(left, x)
        self.push_back(left, x)
        return x

    def forth(self, b: Floats, x: Floats) -> None:
        """Improve x = b + M x in place, successors first."""
        _relax(*self._arrays, self._diagonal, self._order, b, x)

    def back(self, b: Floats, x: Floats) -> None:
        """Improve x = b + M x in place, successors last."""
        _relax(*self._arrays, self._diagonal, self._order[::-1], b, x)

    def push_forth(self, left: Floats, x: Floats) -> None:
        """Improve x = b + Mᵀ x in place, successors first; `left` is the residual, and remains it."""
        _push(*self._arrays, self._diagonal, self._order, left, x)

    def push_back(self, left: Floats, x: Floats) -> None:
        """Improve x = b + Mᵀ x in place, successors last, so that visits are carried all the way."""
        _push(*self._arrays, self._diagonal, self._order[::-1], left, x)


@njit(cache=True)
def _relax(indptr, indices, data, diagonal, order, b, x):  # type: ignore[no-untyped-def]
    """Solve each row in turn for its own state."""
    for i in range(len(order)):
        s = order[i]
        total = b[s]
        for k in range(indptr[s], indptr[s + 1]):
            if indices[k] != s:
                total += data[k] * x[indices[k]]
        x[s] = total / diagonal[s]


@njit(cache=True)
def _push(indptr, indices, data, diagonal, order, left, x):  # type: ignore[no-untyped-def]
    """Solve each column in turn for its own state, and pass on to the successors what that adds to them."""
    for i in range(len(order)):
        s = order[i]
        more = left[s] / diagonal[s]
        x[s] += more
        left[s] = 0.0
        for k in range(indptr[s], indptr[s + 1]):
            if indices[k] != s:
                left[indices[k]] += data[k] * more
