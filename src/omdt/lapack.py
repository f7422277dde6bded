"""LAPACK: dense linear systems solved inside compiled code.

`numpy.linalg.solve` may be called in compiled code too, but numba then compiles its checks and its messages along with
it, which takes some seconds per kernel on a new machine. This calls the same routine of LAPACK without them.
"""

import numpy as np
from numba import types
from numba.extending import overload
from numba.np.linalg import _LAPACK, F_INT_nptype

from omdt.arrays import Floats

_SINGULAR = "a linear system is singular or not finite"


def solve_in_place(system: Floats, right: Floats) -> None:
    """Replace every row b of `right` [m, n] by the solution x of system · x = b.

    Args:
        system: [n, n], n ≥ 1, in the order of C; it is overwritten, too.
        right: [m, n] in the order of C.
    """
    right[:] = np.linalg.solve(system, right.T).T


@overload(solve_in_place)
def _compiled(system, right):  # type: ignore[no-untyped-def]
    """What `solve_in_place` is in compiled code."""
    gesv = _LAPACK().numba_xgesv(types.float64)  # type: ignore[no-untyped-call]
    double = ord("d")

    def solve(system, right):  # type: ignore[no-untyped-def]
        m, n = right.shape
        # LAPACK has the order of Fortran, in which the rows of `right` are columns already.
        for i in range(n):
            for j in range(i):
                system[i, j], system[j, i] = system[j, i], system[i, j]
        pivots = np.empty(n, dtype=F_INT_nptype)
        status = gesv(double, n, m, system.ctypes, n, pivots.ctypes, right.ctypes, n)
        # The length keeps the pivots alive until here.
        if status != 0 or len(pivots) != n:
            raise np.linalg.LinAlgError(_SINGULAR)
        for i in range(m):
            for j in range(n):
                if not np.isfinite(right[i, j]):
                    raise np.linalg.LinAlgError(_SINGULAR)

    return solve
