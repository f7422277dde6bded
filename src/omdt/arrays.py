"""Arrays: the package's names for their types, and conversions that refuse what is not an array of numbers."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from omdt.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Matrix: TypeAlias = Any
"""A matrix as users give it: nested lists, a numpy array, or any of scipy's sparse matrices (scipy has no types)."""

EPSILON = float(np.finfo(np.float64).eps)
"""The distance from 1 to the next larger double."""


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of an array through which it cannot be changed.

    The arrays of problems are read-only, which numba takes for a type of its own. A kernel that reads some of them, and
    sometimes others, is compiled once if all are.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def numbers(values: ArrayLike, what: str) -> Floats:
    """A fresh C-ordered float64 array; `what` names it in the error message."""
    try:
        if np.iscomplexobj(np.asarray(values)):
            raise TypeError("they are complex")
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be an array of numbers: {error}") from None


def whole_numbers(values: ArrayLike, what: str) -> Ints:
    """A fresh one-dimensional int64 array."""
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{what} must be a list of whole numbers")
    return array.astype(np.int64)


def csr_matrix(matrix: Matrix, shape: tuple[int, int] | None = None, what: str = "transitions") -> sparse.csr_array:
    """A fresh CSR matrix of float64 with valid indices, and of the given shape if one is given."""
    if sparse.issparse(matrix):
        if matrix.dtype.kind not in "biuf":
            raise InputError(f"{what} must be a matrix of real numbers, not of type {matrix.dtype}")
        result = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    else:
        dense = numbers(matrix, what)
        if dense.ndim != 2:
            raise InputError(
                f"{what} must be a matrix but have shape {dense.shape}; for arrays [S, A, S] use MDP.from_dense, "
                "for a list of matrices MDP.from_matrices"
            )
        result = sparse.csr_array(dense)
    try:
        result.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"{what} is not a valid sparse matrix: {error}") from None
    if shape is not None and result.shape != shape:
        raise InputError(f"{what} must have shape {shape} but have shape {result.shape}")
    return result


def first_true(mask: Bools) -> tuple[int, ...] | None:
    """Index of the first true entry in row order, None if there is none."""
    if not mask.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))
