"""What several environments need: checked parameters, moves on a grid, truncated demand, sparse transitions."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, special

from omdt.errors import InputError
from omdt.mdp import Floats, Ints

LARGEST_SEED = 2**32 - 1
"""The largest seed that numpy's older generator takes, from which the paper's random environments come."""

MAX_TRANSITIONS = 40_000_000
"""Maximum number of transitions of an environment; building and checking these takes one to two gigabytes."""

CHUNK = 1 << 15
"""Number of states whose transitions are computed at once; the temporary arrays of these take tens of megabytes."""

Numbers = NDArray[np.int32]
"""Numbers of states in large environments, where 64 bits would take twice the memory."""


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


def chunks(states: int) -> Iterator[slice]:
    """Ranges that cover all states in order, for environments too large to compute all transitions at once."""
    return (slice(start, min(start + CHUNK, states)) for start in range(0, states, CHUNK))


def stacked_rows(parts: Iterable[tuple[Numbers, Floats]], rows: int, states: int, outcomes: int) -> sparse.csr_array:
    """[rows, states] transitions from successive groups of rows, without copies of the whole.

    Args:
        parts: next states [n, K] and their probabilities [n, K] for n rows each. Outcomes of probability 0 are left
            out, and the others have distinct next states in rising order.
        rows: sum of all n.
        states: number of states.
        outcomes: largest K.
    """
    # The system provides memory when it is first written to, so what is reserved beyond the transitions costs nothing.
    indices, data = np.empty(rows * outcomes, dtype=np.int32), np.empty(rows * outcomes)
    lengths = np.zeros(rows + 1, dtype=np.int32)
    row = end = 0
    for successors, probabilities in parts:
        possible = probabilities > 0
        start, end = end, end + int(np.count_nonzero(possible))
        indices[start:end], data[start:end] = successors[possible], probabilities[possible]
        lengths[row + 1 : row + 1 + len(possible)] = possible.sum(axis=1)
        row += len(possible)
    return sparse.csr_array((data[:end], indices[:end], np.cumsum(lengths, dtype=np.int32)), shape=(rows, states))
