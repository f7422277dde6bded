"""Sweeps solve the equations of a policy, or say that they did not."""

import numpy as np
import pytest

from omdt import MDP, planning
from omdt.methods.search.model import Arrays
from omdt.methods.search.orders import topological_order
from omdt.methods.search.sweeps import forward, sweep
from random_mdps import game, random_mdp


def test_sweeps_solve_what_they_say_is_settled() -> None:
    """Also where extrapolation misleads, as in cycles."""
    settled = 0
    for seed in range(200):
        rng = np.random.default_rng(80_000 + seed)
        mdp = random_mdp(rng)
        S, A = mdp.rewards.shape
        rows = np.arange(S) * A + rng.integers(A, size=S)
        right = rng.random((S, 2))
        values = np.zeros((S, 2))
        tolerance = 1e-10 * (1 - mdp.discount)
        if sweep(Arrays.of(mdp), rng.permutation(S), rows, right, values, tolerance, 3000):
            P = mdp.discount * mdp.transitions[rows].toarray()
            assert values == pytest.approx(np.linalg.solve(np.eye(S) - P, right), rel=1e-10, abs=1e-9), seed
            settled += 1
        assert np.all(np.isfinite(values))
    assert settled > 150


def test_one_sweep_is_not_enough_in_a_cycle() -> None:
    """Around a circle of three states, of which every value is 1 + 0.5 times the next one."""
    mdp = MDP.from_dense(np.roll(np.eye(3), 1, axis=1)[:, None], np.ones((3, 1)), [1, 0, 0], np.arange(3), discount=0.5)
    once, often = np.zeros((3, 2)), np.zeros((3, 2))
    assert not sweep(Arrays.of(mdp), np.arange(3), np.arange(3), np.ones((3, 2)), once, 0.0, 1)
    assert np.array_equal(once, [[1.0, 1.0], [1.0, 1.0], [1.5, 1.5]])
    assert sweep(Arrays.of(mdp), np.arange(3), np.arange(3), np.ones((3, 2)), often, 1e-12, 100)
    assert often == pytest.approx(np.full((3, 2), 2.0))


def test_one_sweep_in_topological_order_finds_all_visits() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        mdp = game(rng)
        order = topological_order(mdp)
        assert order is not None
        policy = rng.integers(mdp.n_actions, size=mdp.n_states)
        visits = forward(Arrays.of(mdp), order, policy, 1)
        assert visits == pytest.approx(planning.occupancies(mdp, policy).value, abs=1e-9), seed


def test_more_sweeps_find_more_visits_and_never_too_many() -> None:
    converged = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        policy = rng.integers(mdp.n_actions, size=mdp.n_states)
        exact = planning.occupancies(mdp, policy).value
        order = rng.permutation(mdp.n_states)
        few, more, many = (forward(Arrays.of(mdp), order, policy, sweeps) for sweeps in (1, 5, 5000))
        slack = 1e-9 * exact.sum()
        assert np.all(few <= more + slack), seed
        assert np.all(more <= exact + slack), seed
        if mdp.discount < 0.999:
            assert many == pytest.approx(exact, abs=1e-9 * exact.sum()), seed
            converged += 1
    assert converged > 20
