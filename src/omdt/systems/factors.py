"""Factors: I − M = L U without pivoting, component by component, kept for any number of right-hand sides.

M ≥ 0 with row sums below 1, so I − M is a diagonally dominant M-matrix: elimination without pivoting is stable, the
pattern of the factors is known before (`omdt.systems.dissection`), and no entry is factorised that leads from one
strongly connected component to another: those are multiplied with what is solved already.

L has a unit diagonal. Column j of L and row j of U have the same pattern and lie side by side.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from omdt.arrays import Bools, Floats, Ints
from omdt.systems.components import Components
from omdt.systems.dissection import Elimination, elimination
from omdt.systems.entries import kept, row_of_entries
from omdt.watch import Watch, late

CHUNK = 30_000_000
"""Operations of a factorisation between two looks at the clock: less than a tenth of a second."""


PLAN_SECONDS = 4e-7
"""Estimated seconds per entry of M for finding components, the order of elimination and the pattern of the factors."""

FACTOR_SECONDS = 3e-9
"""Estimated seconds per operation of a factorisation."""

SOLVE_SECONDS = 5e-9
"""Estimated seconds of a solution per entry of M and of a factor."""


class _Arrays(NamedTuple):
    """What the kernels read.

    Attributes:
        indptr: [n + 1] where the rows of M begin.
        indices: columns of M.
        data: entries of M.
        label: [n] the component of each state.
        starts: [C + 1] where components begin in the order of elimination.
        order: [n] states in the order of elimination.
        columns: [n + 1] where the columns of L, and rows of U, begin.
        places: the places of their entries in the order of elimination; 32 bits, for memory.
        lower: entries of L.
        upper: entries of U.
        diagonal: [n] of U.
    """

    indptr: Ints
    indices: Ints
    data: Floats
    label: Ints
    starts: Ints
    order: Ints
    columns: Ints
    places: NDArray[np.int32]
    lower: Floats
    upper: Floats
    diagonal: Floats


class Plan:
    """A factorisation that has not begun, with its cost.

    Attributes:
        components: the components of M.
        operations: [C] pairs of multiplications and additions per component; infinite where factors are too large.
    """

    def __init__(
        self, M: sparse.csr_array, components: Components, both: sparse.csr_array, elimination: Elimination
    ) -> None:
        self._M, self._both, self._elimination = M, both, elimination
        self.components = components
        squares = elimination.counts.astype(np.float64) ** 2
        self.operations: Floats = np.add.reduceat(squares, components.starts[:-1])
        self.operations[elimination.too_large] = np.inf

    @classmethod
    def of(
        cls,
        M: sparse.csr_array,
        most_entries: int,
        watch: Watch | None = None,
        *,
        components: Components | None = None,
    ) -> "Plan | None":
        """The plan of I − M; None if time is up before it is found.

        Args:
            M: the system.
            most_entries: largest number of entries of the lower factor of one component.
            watch: ends the computation early.
            components: the components of M, if they are known.
        """
        components = Components.of(M) if components is None else components
        if late(watch):
            return None
        both = _inside(M, components)
        found = elimination(both, components.states, components.starts, most_entries, watch)
        return None if found is None else cls(M, components, both, found)

    def without(self, left_out: Bools) -> "Plan":
        """The same plan but for some components [C], of which only the diagonal is eliminated."""
        parts, old = self.components, self._elimination
        outside = left_out[parts.label]
        inside = kept(self._both, ~outside[row_of_entries(self._both)])
        skipped = outside[old.order]
        counts, parents = np.where(skipped, 0, old.counts), np.where(skipped, -1, old.parents)
        return Plan(self._M, parts, inside, Elimination(old.order, old.place, counts, parents, np.zeros_like(left_out)))

    def factors(self, watch: Watch | None = None) -> "Factors | None":
        """Factorise; None if time is up before the end."""
        n, plan, M = len(self.components.label), self._elimination, self._M
        columns = np.concatenate([[0], np.cumsum(plan.counts)])
        places = np.empty(plan.entries, dtype=np.int32)
        lower, upper = np.empty(plan.entries), np.empty(plan.entries)
        diagonal = 1.0 - M.diagonal()[plan.order]
        filled = np.zeros(n, dtype=np.int64)
        system = (self._both.indptr, self._both.indices, self._both.data)
        tree = (plan.order, plan.place, plan.parents)
        k = 0
        while k < n:
            k = _factorise(system, tree, columns, places, lower, upper, diagonal, filled, k, CHUNK)
            if k < n and late(watch):
                return None
        matrix = (M.indptr, M.indices, M.data)
        parts = (self.components.label, self.components.starts)
        return Factors(
            _Arrays(*matrix, *parts, plan.order, columns, places, lower, upper, diagonal), float(self.operations.sum())
        )


def _inside(M: sparse.csr_array, components: Components) -> sparse.csr_array:
    """[n, n] complex A + i Aᵀ for the off-diagonal entries A of M within components: both in one pattern."""
    if len(components.starts) > len(components.label):
        # Every component is a single state. The indices have the type for which the kernels are compiled.
        nothing = (np.zeros(0, dtype=np.complex128), M.indices[:0], np.zeros_like(M.indptr))
        return sparse.csr_array(nothing, shape=M.shape)
    label, rows = components.label, row_of_entries(M)
    inside = kept(M, (label[rows] == label[M.indices]) & (rows != M.indices))
    return sparse.csr_array(inside + 1j * inside.T.tocsr())


class Factors:
    """The factors of I − M."""

    def __init__(self, arrays: _Arrays, operations: float) -> None:
        self._arrays = arrays
        self.preparing = PLAN_SECONDS * len(arrays.data) + FACTOR_SECONDS * operations
        self.seconds = SOLVE_SECONDS * (len(arrays.places) + len(arrays.data))

    def solve(self, b: Floats) -> Floats:
        """The solution of x = b + M x."""
        x = np.empty(len(b))
        self.solve_some(b, x, 0, len(self._arrays.starts) - 1)
        return x

    def solve_transposed(self, b: Floats) -> Floats:
        """The solution of x = b + Mᵀ x."""
        x = b.copy()
        self.solve_some_transposed(x, 0, len(self._arrays.starts) - 1)
        return x

    def solve_some(self, b: Floats, x: Floats, first: int, end: int) -> None:
        """Solve x = b + M x for some components after those that they lead to."""
        _solve(self._arrays, b, x, first, end)

    def solve_some_transposed(self, x: Floats, first: int, end: int) -> None:
        """Solve x = b + Mᵀ x for some components, and add to b what they contribute to others; x is b at first."""
        _solve_transposed(self._arrays, x, first, end)


@njit(cache=True)
def _factorise(system, tree, columns, places, lower, upper, diagonal, filled, k, most):  # type: ignore[no-untyped-def]
    """Eliminate from place k on until about `most` operations are done; returns the next place."""
    indptr, indices, data = system
    order, place, parents = tree
    n = len(order)
    row, column = np.zeros(n), np.zeros(n)
    seen, pattern = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64)
    work = 0
    while k < n and work < most:
        top = n
        seen[k] = k
        s = order[k]
        for p in range(indptr[s], indptr[s + 1]):
            i = place[indices[p]]
            if i >= k:
                continue
            row[i] -= data[p].real
            column[i] -= data[p].imag
            # The path to the root of the elimination tree, as far as it is new, goes before what was found so far.
            length = 0
            while seen[i] != k:
                pattern[length] = i
                length += 1
                seen[i] = k
                i = parents[i]
            while length > 0:
                length -= 1
                top -= 1
                pattern[top] = pattern[length]
        pivot = diagonal[k]
        for q in range(top, n):
            j = pattern[q]
            above, left = column[j], row[j] / diagonal[j]
            column[j], row[j] = 0.0, 0.0
            begin, end = columns[j], columns[j] + filled[j]
            for p in range(begin, end):
                i = places[p]
                column[i] -= lower[p] * above
                row[i] -= upper[p] * left
            pivot -= left * above
            places[end], lower[end], upper[end] = k, left, above
            filled[j] += 1
            work += end - begin + 1
        diagonal[k] = pivot
        k += 1
    return k


@njit(cache=True)
def _solve(arrays, b, x, first, last):  # type: ignore[no-untyped-def]
    """Solve x = b + M x, component by component."""
    indptr, indices, data, label, order = arrays.indptr, arrays.indices, arrays.data, arrays.label, arrays.order
    columns, places, lower, upper = arrays.columns, arrays.places, arrays.lower, arrays.upper
    y = np.empty(len(b))
    for c in range(first, last):
        begin, end = arrays.starts[c], arrays.starts[c + 1]
        for k in range(begin, end):
            s = order[k]
            total = b[s]
            for p in range(indptr[s], indptr[s + 1]):
                if label[indices[p]] != c:
                    total += data[p] * x[indices[p]]
            y[k] = total
        for k in range(begin, end):
            for p in range(columns[k], columns[k + 1]):
                y[places[p]] -= lower[p] * y[k]
        for k in range(end - 1, begin - 1, -1):
            total = y[k]
            for p in range(columns[k], columns[k + 1]):
                total -= upper[p] * y[places[p]]
            y[k] = total / arrays.diagonal[k]
            x[order[k]] = y[k]


@njit(cache=True)
def _solve_transposed(arrays, x, first, last):  # type: ignore[no-untyped-def]
    """Solve x = b + Mᵀ x in place, component by component, predecessors first; x is b at first."""
    indptr, indices, data, label, order = arrays.indptr, arrays.indices, arrays.data, arrays.label, arrays.order
    columns, places, lower, upper = arrays.columns, arrays.places, arrays.lower, arrays.upper
    y = np.empty(len(x))
    for c in range(last - 1, first - 1, -1):
        begin, end = arrays.starts[c], arrays.starts[c + 1]
        for k in range(begin, end):
            y[k] = x[order[k]]
        for k in range(begin, end):
            y[k] /= arrays.diagonal[k]
            for p in range(columns[k], columns[k + 1]):
                y[places[p]] -= upper[p] * y[k]
        for k in range(end - 1, begin - 1, -1):
            total = y[k]
            for p in range(columns[k], columns[k + 1]):
                total -= lower[p] * y[places[p]]
            y[k] = total
            x[order[k]] = total
        for k in range(begin, end):
            s = order[k]
            for p in range(indptr[s], indptr[s + 1]):
                if label[indices[p]] != c:
                    x[indices[p]] += data[p] * x[s]
