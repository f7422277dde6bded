"""Entries: some of the stored entries of a sparse matrix."""

import numpy as np
from scipy import sparse

from omdt.arrays import Bools, Ints


def row_of_entries(matrix: sparse.csr_array) -> Ints:
    """[nnz] the row of each stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def kept(matrix: sparse.csr_array, mask: Bools) -> sparse.csr_array:
    """The matrix of those stored entries that a mask [nnz] keeps."""
    starts = np.concatenate([[0], np.cumsum(mask)])[matrix.indptr]
    return sparse.csr_array((matrix.data[mask], matrix.indices[mask], starts), shape=matrix.shape)
