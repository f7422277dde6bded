"""Dense factors of I − M, for few states: quick without any compiled loop of our own."""

import numpy as np
from scipy import sparse
from scipy.linalg import lu_factor, lu_solve

from omdt.arrays import Floats


class DenseFactors:
    """A dense LU factorisation of I − M."""

    seconds, preparing = 1e-4, 5e-3

    def __init__(self, M: sparse.csr_array) -> None:
        self._factors = lu_factor(np.eye(M.shape[0]) - M.toarray(), overwrite_a=True, check_finite=False)

    def solve(self, b: Floats) -> Floats:
        """The solution of x = b + M x."""
        x: Floats = lu_solve(self._factors, b, check_finite=False)
        return x

    def solve_transposed(self, b: Floats) -> Floats:
        """The solution of x = b + Mᵀ x."""
        x: Floats = lu_solve(self._factors, b, trans=1, check_finite=False)
        return x
