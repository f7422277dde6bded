"""Products: a sparse matrix or its transpose times a vector, as accurate as if summed in twice the precision."""

import numpy as np
from numba import njit
from scipy import sparse

from omdt.arrays import Floats, read_only

TRANSPOSED_ENTRIES = 50_000
"""Entries up to which a transposed copy is multiplied: it takes less than a millisecond, and small problems need one
compiled loop less."""


def product(matrix: sparse.csr_array, x: Floats) -> Floats:
    """Matrix times vector, each entry as accurate as if summed in twice the precision."""
    result = np.empty(matrix.shape[0])
    _product(read_only(matrix.indptr), read_only(matrix.indices), read_only(matrix.data), read_only(x), result)
    return result


def product_transposed(matrix: sparse.csr_array, x: Floats) -> Floats:
    """Transposed matrix times vector, each entry as accurate as if summed in twice the precision."""
    if matrix.nnz <= TRANSPOSED_ENTRIES:
        return product(sparse.csr_array(matrix.T), x)
    result, lost = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1])
    _product_transposed(matrix.indptr, matrix.indices, matrix.data, x, result, lost)
    return result + lost


@njit(cache=True)
def _product(indptr, indices, data, x, result):  # type: ignore[no-untyped-def]
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
def _product_transposed(indptr, indices, data, x, result, lost):  # type: ignore[no-untyped-def]
    """The sums without what rounding took from them, and that part."""
    for row in range(len(x)):
        for k in range(indptr[row], indptr[row + 1]):
            column, term = indices[k], data[k] * x[row]
            total = result[column]
            updated = total + term
            if abs(total) >= abs(term):
                lost[column] += (total - updated) + term
            else:
                lost[column] += (term - updated) + total
            result[column] = updated
