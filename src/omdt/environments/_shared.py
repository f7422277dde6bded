"""What several environments need: checked parameters, moves on a grid, truncated demand, sparse transitions."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from omdt.errors import InputError
from omdt.mdp import Floats, Ints

LARGEST_SEED = 2**32 - 1
"""The largest seed that numpy's older generator takes, from which the paper's random environments come."""

MAX_TRANSITIONS = 30_000_000
"""Maximum number of transitions of an environment; building and checking these takes one to two gigabytes."""


def check(parameter: str, value: float, low: float = -math.inf, high: float = math.inf) -> None:
    """Raise unless the value is a finite number from low to high, both included."""
    if low <= value <= high and abs(value) < math.inf:
        return
    if low == -math.inf and high == math.inf:
        allowed = "a finite number"
    elif high == math.inf:
        allowed = f"finite and at least {low}"
    else:
        allowed = f"between {low} and {high}"
    raise InputError(f"{parameter} is {value}; it must be {allowed}")


def check_finite(values: Mapping[str, float]) -> None:
    """Raise unless every parameter has a finite value."""
    for parameter, value in values.items():
        check(parameter, value)


def check_size(what: str, transitions: int) -> None:
    """Raise before building a model whose transitions would not fit."""
    if transitions > MAX_TRANSITIONS:
        raise InputError(
            f"{what} would have up to {transitions:,} transitions (triples of state, action and next state); "
            f"at most {MAX_TRANSITIONS:,} are built"
        )


def moved(shape: tuple[int, ...], steps: Sequence[tuple[int, ...]]) -> Ints:
    """[cells, steps] the cell after each step along one axis of a grid; a step off the grid does not move.

    Cells are numbered in lexicographic order of their coordinates.
    """
    cells = np.indices(shape).reshape(len(shape), -1)
    targets = cells[:, :, None] + np.array(steps).T[:, None, :]
    ends: Ints = np.ravel_multi_index(tuple(targets), shape, mode="clip")
    return ends


def truncated_poisson(mean: float, largest: int) -> Floats:
    """[largest + 1] probabilities of 0 … largest under a Poisson distribution that cannot exceed `largest`."""
    # Importing this takes a tenth of a second, and few environments need it.
    from scipy import special

    counts = np.arange(largest + 1)
    # Logarithms relative to the most likely count, so that no mean is too large for the exponential.
    logarithms = special.xlogy(counts, mean) - special.gammaln(counts + 1)
    weights = np.exp(logarithms - logarithms.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def transition_matrix(successors: Ints, probabilities: ArrayLike) -> sparse.csr_array:
    """[S·A, S] from up to K outcomes per state and action.

    Args:
        successors: [S, A, K] next states; one that occurs twice adds up.
        probabilities: of each successor, in any shape that broadcasts to [S, A, K].
    """
    S, A, K = successors.shape
    p = np.broadcast_to(np.asarray(probabilities, dtype=np.float64), successors.shape)
    return sparse.csr_array((p.ravel(), successors.ravel(), np.arange(S * A + 1) * K), shape=(S * A, S))
