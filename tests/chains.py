"""Chains of every shape for tests of linear systems: γ P with rows that sum to γ or, where a chain may end, less."""

from collections.abc import Callable

import numpy as np
from scipy import sparse

Chain = Callable[[int, float, np.random.Generator], sparse.csr_array]


def _made(columns: np.ndarray, weights: np.ndarray, discount: float) -> sparse.csr_array:
    """[n, n] γ P for successors [n, k] with weights that need not sum to 1."""
    n, k = columns.shape
    data = discount * weights / weights.sum(axis=1, keepdims=True)
    return sparse.csr_array((data.ravel(), (np.repeat(np.arange(n), k), columns.ravel())), shape=(n, n))


def ring(n: int, discount: float, rng: np.random.Generator) -> sparse.csr_array:
    """A circle in which every state may also be stayed in."""
    states = np.arange(n)
    return _made(np.stack([(states + 1) % n, states], axis=1), rng.random((n, 2)) + 0.1, discount)


def mixing(n: int, discount: float, rng: np.random.Generator) -> sparse.csr_array:
    """Three random successors per state."""
    return _made(rng.integers(n, size=(n, 3)), rng.random((n, 3)) + 0.01, discount)


def acyclic(n: int, discount: float, rng: np.random.Generator) -> sparse.csr_array:
    """Later states only; the last state is never left."""
    later = np.minimum(np.arange(n)[:, None] + rng.integers(1, 5, size=(n, 3)), n - 1)
    return _made(later, rng.random((n, 3)) + 0.01, discount)


def small_components(n: int, discount: float, rng: np.random.Generator) -> sparse.csr_array:
    """Groups of three states that go round within the group, or on to later states, in a shuffled numbering."""
    states = np.arange(n)
    within = np.minimum(states - states % 3 + (states + 1) % 3, n - 1)
    later = np.minimum(states + rng.integers(3, 9, size=n), n - 1)
    M = _made(np.stack([within, later], axis=1), rng.random((n, 2)) + 0.1, discount)
    order = rng.permutation(n)
    return sparse.csr_array(M[order][:, order])


def grid(n: int, discount: float, rng: np.random.Generator) -> sparse.csr_array:
    """A square with a drift of its own in every cell."""
    side = max(1, int(n**0.5))
    row, column = np.divmod(np.arange(side * side), side)
    moves = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    columns = [np.clip(row + r, 0, side - 1) * side + np.clip(column + c, 0, side - 1) for r, c in moves]
    return _made(np.stack(columns, axis=1), rng.random((side * side, 4)) + 0.05, discount)


def star(n: int, discount: float, rng: np.random.Generator) -> sparse.csr_array:
    """A hub that everything returns to, and which leads everywhere."""
    states = np.arange(n)
    M = _made(np.stack([(states + 1) % n, np.zeros(n, dtype=np.int64)], axis=1), rng.random((n, 2)) + 0.1, discount)
    spread = sparse.csr_array((np.full(n, discount / n), (np.zeros(n, dtype=np.int64), states)), shape=(n, n))
    return sparse.csr_array(sparse.vstack([spread[[0]], M[1:]]))


def ending(n: int, discount: float, rng: np.random.Generator) -> sparse.csr_array:
    """A random chain that ends, with its row sums below γ."""
    return sparse.csr_array(mixing(n, discount, rng).multiply(rng.random((n, 1))))


SHAPES: dict[str, Chain] = {
    "ring": ring,
    "mixing": mixing,
    "acyclic": acyclic,
    "small components": small_components,
    "grid": grid,
    "star": star,
    "ending": ending,
}
