"""Small random interval MDPs, and their worst cases by other means: linear programs, corners and fractions."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from omdt.robust.interval_mdp import IntervalMDP


def random_intervals(
    seed: int, *, states: int = 5, actions: int = 2, discount: float = 0.9, digits: int = 16, uncertain: float = 0.8
) -> IntervalMDP:
    """An interval MDP around a random sparse model; `digits` rounds its numbers, `uncertain` widens its intervals."""
    rng = np.random.default_rng(seed)
    S, A = states, actions
    P = rng.dirichlet(np.full(S, 0.5), size=(S, A)) * (rng.random((S, A, S)) < 0.7)
    P[np.arange(S), :, rng.integers(S, size=S)] += 0.1
    P /= P.sum(axis=2, keepdims=True)
    wide = uncertain * rng.random((S, A, S)) * (P > 0) * (rng.random((S, A, 1)) < 0.8)
    lower, upper = _rounded(P * (1 - wide), digits, np.floor), _rounded(np.minimum(P + wide * 0.5, 1), digits, np.ceil)
    p0 = rng.dirichlet(np.ones(S))
    first = _rounded(0.6 * p0, digits, np.floor), _rounded(np.minimum(p0 + 0.2, 1), digits, np.ceil)
    rewards = np.round(rng.normal(size=(S, A)), min(digits, 3))
    features = np.stack([rng.permutation(S), rng.integers(3, size=S)], axis=1)
    return IntervalMDP(lower.reshape(S * A, S), upper.reshape(S * A, S), rewards, *first, features, discount)


def _rounded(array: np.ndarray, digits: int, to: np.ufunc) -> np.ndarray:
    return array if digits > 15 else np.clip(to(array * 10**digits) / 10**digits, 0, 1)


def least_expectation(lower: np.ndarray, upper: np.ndarray, values: np.ndarray) -> float:
    """The least p·V between two ends, by linear programming."""
    found = linprog(values, A_eq=np.ones((1, len(values))), b_eq=[1], bounds=np.stack([lower, upper], axis=1))
    assert found.status == 0
    return float(found.fun)


def corners(lower: np.ndarray, upper: np.ndarray) -> Iterator[tuple[Fraction, ...]]:
    """Every corner of the distributions between two ends, in exact arithmetic: filled in every order of states."""
    low, high = [Fraction(x) for x in lower.tolist()], [Fraction(x) for x in upper.tolist()]
    found = set()
    for order in permutations([i for i, x in enumerate(high) if x > 0]):
        p, left = list(low), 1 - sum(low)
        for i in order:
            poured = min(high[i] - low[i], left)
            p[i], left = p[i] + poured, left - poured
        found.add(tuple(p))
    yield from found


def solved(system: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """A linear system in exact arithmetic."""
    n, rows = len(right), [[*row, b] for row, b in zip(system, right, strict=True)]
    for i in range(n):
        pivot = next(j for j in range(i, n) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(n):
            if j != i and rows[j][i]:
                factor = rows[j][i] / rows[i][i]
                rows[j] = [x - factor * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def exact_return(problem: IntervalMDP, policy: tuple[int, ...]) -> Fraction:
    """The return of a policy in the worst case, as the least over all corners of every state and of the start."""
    S, A, gamma = problem.n_states, problem.n_actions, Fraction(problem.discount)
    lower, upper = problem.lower.toarray(), problem.upper.toarray()
    rows = [list(corners(lower[s * A + a], upper[s * A + a])) for s, a in enumerate(policy)]
    starts = list(corners(problem.initial_lower, problem.initial_upper))
    r = [Fraction(problem.rewards[s, a]) for s, a in enumerate(policy)]
    found = []
    for chosen in product(*rows):
        system = [[Fraction(int(s == t)) - gamma * chosen[s][t] for t in range(S)] for s in range(S)]
        values = solved(system, r)
        found.append(min(sum(x * v for x, v in zip(p0, values, strict=True)) for p0 in starts))
    return min(found)


def swept_return(problem: IntervalMDP, allowed: np.ndarray, sweeps: int = 400) -> float:
    """The return of the best policy among allowed actions [S, A], by sweeps with linear programs for nature."""
    (S, A), V = problem.rewards.shape, np.zeros(problem.n_states)
    lower, upper = problem.lower.toarray(), problem.upper.toarray()
    for _ in range(sweeps):
        worst = [sorted_expectation(lower[i], upper[i], V) for i in range(S * A)]
        q = problem.rewards + problem.discount * np.reshape(worst, (S, A))
        V = np.where(allowed, q, -np.inf).max(axis=1)
    return least_expectation(problem.initial_lower, problem.initial_upper, V)


def sorted_expectation(lower: np.ndarray, upper: np.ndarray, values: np.ndarray) -> float:
    """The least p·V between two ends, one row at a time."""
    left, total = 1 - lower.sum(), float(lower @ values)
    for s in np.argsort(values):
        poured = min(upper[s] - lower[s], left)
        left, total = left - poured, total + poured * values[s]
    return total


def exactly(rows: list[list[float]]) -> sparse.csr_array:
    """A matrix from rows."""
    return sparse.csr_array(np.array(rows))
