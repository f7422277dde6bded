"""What intervals of probabilities must be, with errors that name the first offending state and action."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from omdt.arrays import first_true, numbers
from omdt.errors import InputError
from omdt.mdp import Floats, Ints
from omdt.mdp_checks import ROW_SUM_TOLERANCE


def checked_intervals(
    lower: sparse.csr_array, upper: sparse.csr_array, action_names: Sequence[str]
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Both ends [S·A, S] in canonical form on one pattern, with a distribution between the two ends of every row.

    Args:
        lower: is changed in place.
        upper: is changed in place.
        action_names: A names, for messages.
    """
    A = len(action_names)
    lower, upper = _on_one_pattern(lower, upper)
    rows = np.repeat(np.arange(upper.shape[0]), np.diff(upper.indptr))

    def pair(row: int) -> str:
        return f"state {row // A}, action {row % A} ({action_names[row % A]!r})"

    _check_ends(lower.data, upper.data, lambda i: f"moving from {pair(int(rows[i]))} to state {upper.indices[i]}")
    _divide_out(lower.data, upper.data, rows, upper.shape[0], lambda row: f"the probabilities of {pair(row)}")
    return lower, upper


def checked_first(lower: ArrayLike, upper: ArrayLike, S: int) -> tuple[Floats, Floats]:
    """[S] both ends of the probabilities with which each state is the first."""
    ends = numbers(lower, "initial_lower"), numbers(upper, "initial_upper")
    for name, end in zip(("initial_lower", "initial_upper"), ends, strict=True):
        if end.shape != (S,):
            raise InputError(f"{name} must have shape [{S}], one probability per state, but has shape {end.shape}")
    _check_ends(*ends, lambda s: f"starting in state {s}")
    _divide_out(*ends, np.zeros(S, dtype=np.int64), 1, lambda _: "the initial probabilities")
    return ends


def _on_one_pattern(lower: sparse.csr_array, upper: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Both matrices with entries, which may be 0, wherever one of them has an entry that is not."""
    for matrix in (lower, upper):
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    both = sparse.csr_array((lower != 0) + (upper != 0))
    both.sort_indices()

    def keys(it: sparse.csr_array) -> Ints:
        row = np.repeat(np.arange(it.shape[0], dtype=np.int64), np.diff(it.indptr))
        numbered: Ints = row * it.shape[1] + it.indices
        return numbered

    spread = []
    for matrix in (lower, upper):
        data = np.zeros(both.nnz)
        data[np.searchsorted(keys(both), keys(matrix))] = matrix.data
        spread.append(sparse.csr_array((data, both.indices.copy(), both.indptr.copy()), shape=both.shape))
    return spread[0], spread[1]


def _check_ends(lower: Floats, upper: Floats, what: Callable[[int], str]) -> None:
    """Raise unless 0 ≤ lower ≤ upper ≤ 1 everywhere; `what` says what the probability of an index is about."""
    if (bad := first_true(~((lower >= 0) & (lower <= upper) & (upper <= 1)))) is not None:
        raise InputError(
            f"the probability of {what(bad[0])} is between {lower[bad]} and {upper[bad]}; "
            "the ends of an interval must be in this order and between 0 and 1"
        )


def _divide_out(lower: Floats, upper: Floats, rows: Ints, n: int, what: Callable[[int], str]) -> None:
    """Make sure that every row has a distribution between its ends; ends that miss one by rounding are scaled.

    Args:
        lower: [m] the lower ends, changed in place.
        upper: [m] the upper ends, changed in place.
        rows: [m] the row of each of them.
        n: number of rows.
        what: says what a row is.
    """
    least, most = (np.bincount(rows, end, minlength=n) for end in (lower, upper))
    if (bad := first_true(least > 1 + ROW_SUM_TOLERANCE)) is not None:
        raise InputError(f"{what(bad[0])} sum to at least {least[bad]:.12g}; the lower ends must not exceed 1 together")
    if (bad := first_true(most < 1 - ROW_SUM_TOLERANCE)) is not None:
        raise InputError(f"{what(bad[0])} sum to at most {most[bad]:.12g}; the upper ends must reach 1 together")
    lower /= np.maximum(least, 1.0)[rows]
    upper /= np.minimum(most, 1.0)[rows]
