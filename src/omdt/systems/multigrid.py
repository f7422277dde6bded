"""Multigrid: approximate solutions of x = b + M x on chains too large or too entangled to factorise.

States are joined in groups of about four with whom they exchange most, and the groups form a system of the same kind:
M' = D⁻¹ Rᵀ M R, where R says which group a state belongs to and D how large the groups are. Gauss–Seidel sweeps remove
the parts of an error that differ between neighbours, the system of the groups removes the rest, and it is treated in
the same way until its factors are cheap. One cycle through all levels is a fixed linear map, an approximation of the
inverse for Krylov methods (`omdt.systems.krylov`); its transpose needs no matrix of its own.
"""

import numpy as np
from numba import njit
from scipy import sparse

from omdt.arrays import Floats, Ints
from omdt.systems.approximation import Approximation
from omdt.systems.factors import Plan
from omdt.systems.gauss_seidel import GaussSeidel
from omdt.watch import Watch, late

COARSEST_STATES = 60_000
"""Largest level that may be factorised."""

COARSEST_OPERATIONS = 1.5e8
"""Operations up to which a level is factorised: half a second."""

COARSEST_ENTRIES = 4_000_000
"""Most entries of a factor of a level: as much memory as the largest level has for itself."""

SECONDS = 5e-7
"""Estimated seconds per entry of M for joining the states of one level."""

SHRUNK = 0.8
"""A level with more than this part of the states of the one before is the last one: groups did not form."""


class Multigrid:
    """One cycle through the levels: a sweep, the correction by groups, and a sweep back."""

    def __init__(self, M: sparse.csr_array, watch: Watch | None = None) -> None:
        self._M, self._sweeps = M, GaussSeidel(M)
        first = _pairs(M.indptr, M.indices, M.data)
        second = _grouped(M, first)
        self._group: Ints = _pairs(second.indptr, second.indices, second.data)[first]
        self._size = np.bincount(self._group).astype(np.float64)
        self._coarse = _approximation(_grouped(M, self._group), M.shape[0], watch)
        self.seconds = 2 * self._sweeps.seconds + self._coarse.seconds
        self.preparing = SECONDS * M.nnz + self._coarse.preparing

    def solve(self, b: Floats) -> Floats:
        """An approximate solution of x = b + M x."""
        x = np.zeros(len(b))
        self._sweeps.forth(b, x)
        left = b + self._M @ x - x
        x += self._coarse.solve(self._summed(left) / self._size)[self._group]
        self._sweeps.back(b, x)
        return x

    def solve_transposed(self, b: Floats) -> Floats:
        """An approximate solution of x = b + Mᵀ x: the cycle of `solve`, transposed."""
        x, left = np.zeros(len(b)), b.copy()
        self._sweeps.push_forth(left, x)
        step = (self._coarse.solve_transposed(self._summed(left)) / self._size)[self._group]
        x += step
        left += self._M.T @ step - step
        self._sweeps.push_back(left, x)
        return x

    def _summed(self, x: Floats) -> Floats:
        sums: Floats = np.bincount(self._group, x, len(self._size))  # type: ignore[assignment]
        return sums


def _approximation(M: sparse.csr_array, finer: int, watch: Watch | None) -> Approximation:
    """The factors of a level if they are cheap, otherwise a cycle over it and the levels below."""
    n = M.shape[0]
    if n <= COARSEST_STATES and not late(watch):
        plan = Plan.of(M, COARSEST_ENTRIES)
        if float(plan.operations.sum()) <= COARSEST_OPERATIONS:
            factors = plan.factors(watch)
            if factors is not None:
                return factors
    return GaussSeidel(M) if n > SHRUNK * finer or late(watch) else Multigrid(M, watch)


def _grouped(M: sparse.csr_array, group: Ints) -> sparse.csr_array:
    """The system of groups of states, every state of a group alike."""
    n = int(group.max()) + 1
    rows = np.repeat(group, np.diff(M.indptr))
    data = M.data / np.bincount(group)[rows]
    return sparse.csr_array((data, (rows, group[M.indices])), shape=(n, n))


@njit(cache=True)
def _pairs(indptr, indices, data):  # type: ignore[no-untyped-def]
    """[n] the group of each state: pairs with the likeliest successor, and who finds none joins another pair."""
    n = len(indptr) - 1
    group = np.full(n, -1, dtype=np.int64)
    count = 0
    for s in range(n):
        if group[s] >= 0:
            continue
        free, likely, mate, other = -1.0, -1.0, -1, -1
        for k in range(indptr[s], indptr[s + 1]):
            t = indices[k]
            if t == s:
                continue
            if group[t] < 0 and data[k] > free:
                free, mate = data[k], t
            if data[k] > likely:
                likely, other = data[k], t
        if mate < 0 and other >= 0:
            group[s] = group[other]
            continue
        group[s] = count
        if mate >= 0:
            group[mate] = count
        count += 1
    return group
