"""Elimination without subtractions: relative accuracy where the system is singular but for rounding."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from exact_chains import reaching, rows_of, totals_until
from omdt import planning
from omdt.mdp import MDP
from omdt.planning.elimination import MAX_STATES, eliminated


@pytest.mark.parametrize("seed", range(60))
def test_errors_are_small_beside_the_values_and_never_too_small(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    P = rng.random((n, n + 1)) * 10.0 ** rng.integers(-14, 1, (n, n + 1)) * (rng.random((n, n + 1)) < 0.5)
    P[np.arange(n), np.arange(n)] += rng.random(n) + 1e-3
    P /= P.sum(axis=1, keepdims=True)
    whole = np.zeros((n + 1, 1, n + 1))
    whole[:n, 0], whole[n, 0, n] = P, 1.0
    chain = [rows[0] for rows in rows_of(whole)]
    if len(reaching(chain, {n}, set(range(n)))) <= n:
        P[:, n] += 1e-9
        whole[:n, 0] = P
        chain = [rows[0] for rows in rows_of(whole)]
    rewards = rng.random(n) + 0.1
    truth = totals_until(chain, [*map(Fraction, rewards.tolist()), Fraction(0)], {n})[:n]
    found = eliminated(sparse.csr_array(P[:, :n]), P[:, n].copy(), rewards, 0.0)
    assert found is not None
    for exact, value, error in zip(truth, found.value, np.broadcast_to(found.errors, n), strict=True):
        assert abs(Fraction(float(value)) - exact) <= Fraction(float(error))
        assert error <= 1e-11 * value


def corridor(length: int, against: float) -> MDP:
    """A walk that begins in the middle and is driven back there, with a goal at one end and a trap at the other."""
    S = 2 * length + 1
    P = np.zeros((S, 1, S))
    for s in range(1, S - 1):
        back = s - 1 if s > length else s + 1
        P[s, 0, back] += against
        P[s, 0, 2 * s - back] += 1 - against
    P[0, 0, 0] = P[-1, 0, -1] = 1.0
    rewards = np.zeros((S, 1))
    rewards[-2, 0] = P[-2, 0, -1]
    return MDP.from_dense(P, rewards, np.eye(S)[length], np.arange(S)[:, None], discount=1.0)


def test_a_walk_of_ages_has_a_certified_value() -> None:
    """From the middle both ends are nearly equally likely, after some 10¹⁹ steps."""
    mdp = corridor(21, 0.9)
    found = planning.policy_return(mdp, np.zeros(mdp.n_states, dtype=np.int64))
    # The first step goes to the right with probability 0.1, and to the left with 0.9, where it is driven back.
    assert found.error <= 1e-8
    assert 0 < found.value < 1


def test_numbers_too_small_and_models_too_large_are_left_alone() -> None:
    tiny = sparse.csr_array(np.array([[0.0, 1e-200], [1e-200, 0.0]]))
    assert eliminated(tiny, np.array([1.0, 1.0]), np.ones(2), 0.0) is None
    many = MAX_STATES + 1
    assert eliminated(sparse.csr_array((many, many)), np.ones(many), np.ones(many), 0.0) is None
