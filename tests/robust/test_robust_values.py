"""Values in the worst case agree with linear programs, with all corners in exact arithmetic, and with planning."""

from itertools import product

import numpy as np
import pytest
from interval_cases import exact_return, least_expectation, random_intervals, swept_return

import omdt
from omdt import planning
from omdt.robust.interval_mdp import IntervalMDP
from omdt.robust.nature import Nature, worst_first
from omdt.robust.values import WorstCase
from omdt.watch import Watch
from thorough import sampled


@pytest.mark.parametrize("seed", range(10))
def test_nature_is_as_bad_as_a_linear_program(seed):
    problem, rng = random_intervals(seed), np.random.default_rng(seed)
    V = np.round(rng.normal(size=5), 1 if seed % 2 else 8)
    q, p = Nature.of(problem).respond(V)
    lower, upper, rewards = problem.lower.toarray(), problem.upper.toarray(), problem.rewards.ravel()
    expected = [r + 0.9 * least_expectation(lo, up, V) for lo, up, r in zip(lower, upper, rewards, strict=True)]
    assert q == pytest.approx(expected, abs=1e-9)
    assert np.all((problem.lower.data <= p) & (p <= problem.upper.data + 1e-15))
    chain = Nature.of(problem).chain(p, np.arange(10))
    assert chain.sum(axis=1) == pytest.approx(1)
    assert rewards + 0.9 * (chain @ V) == pytest.approx(q)
    first = worst_first(problem, V)
    assert first.sum() == pytest.approx(1)
    assert first @ V == pytest.approx(least_expectation(problem.initial_lower, problem.initial_upper, V), abs=1e-9)


@pytest.mark.parametrize("seed", sampled(range(12), 3))
def test_every_policy_in_exact_arithmetic(seed):
    problem = random_intervals(seed, states=3, digits=2, discount=0.875)
    worst = WorstCase(problem)
    exact = {policy: exact_return(problem, policy) for policy in product(range(2), repeat=3)}
    for policy, value in exact.items():
        found = worst.of_policy(np.array(policy))
        # The stored ends are doubles, which the exact arithmetic takes as they are.
        assert found.lower <= value <= found.upper
        assert found.upper - found.lower < 1e-10
    best = worst.best()
    assert best.lower <= max(exact.values()) <= best.upper


@pytest.mark.parametrize("discount", [0.5, 0.95])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_policy_among_allowed_actions(seed, discount):
    problem = random_intervals(seed, states=6, actions=3, discount=discount)
    allowed = np.random.default_rng(seed).random((6, 3)) < 0.6
    allowed[:, 0] |= ~allowed.any(axis=1)
    found = WorstCase(problem).best(allowed)
    assert found.value == pytest.approx(swept_return(problem, allowed), abs=1e-7)
    assert found.below < 1e-9 > found.above
    assert found.value <= WorstCase(problem).best().upper


def test_without_uncertainty_it_is_planning():
    mdp = omdt.make("frozenlake_4x4")
    worst = WorstCase(IntervalMDP.around(mdp, 0.0))
    optimal = planning.optimal_values(mdp)
    assert worst.best().values == pytest.approx(optimal.value, abs=1e-9)
    policy = planning.greedy(planning.q_values(mdp, optimal))
    assert worst.of_policy(policy).values == pytest.approx(planning.policy_values(mdp, policy).value, abs=1e-9)
    random = planning.policy_values(mdp, planning.random_policy(mdp))
    assert worst.of_random().values == pytest.approx(random.value, abs=1e-9)


def test_many_states_are_solved_sparsely(monkeypatch):
    problem = IntervalMDP.around(omdt.make("frozenlake_12x12"), 0.05)
    dense = WorstCase(problem).best().values
    monkeypatch.setattr("omdt.robust.values.DENSE", 0)
    assert WorstCase(problem).best().values == pytest.approx(dense, abs=1e-9)


def test_where_linear_systems_go_in_circles_sweeps_lead_out(monkeypatch):
    problem = random_intervals(2, states=8, actions=3)
    expected = WorstCase(problem).best().values
    monkeypatch.setattr(WorstCase, "_chain_values", lambda self, P, r, near, watch: near + 1)
    assert WorstCase(problem).best().values == pytest.approx(expected, abs=1e-9)


def test_the_random_policy_faces_the_worst_of_every_action():
    problem = random_intervals(5, states=4)
    V = WorstCase(problem).of_random().values
    rows = zip(problem.lower.toarray(), problem.upper.toarray(), strict=True)
    worst = np.reshape([least_expectation(lower, upper, V) for lower, upper in rows], (4, 2))
    assert (problem.rewards + 0.9 * worst).mean(axis=1) == pytest.approx(V, abs=1e-8)


def test_wider_intervals_guarantee_less():
    mdp = omdt.make("frozenlake_4x4")
    returns = [WorstCase(IntervalMDP.around(mdp, radius)).best().value for radius in (0, 0.05, 0.1, 0.3, 1)]
    assert returns == sorted(returns, reverse=True)
    assert returns[0] > returns[1] > returns[-1] == pytest.approx(0, abs=1e-9)


def test_what_is_enough_and_what_is_late_still_bounds():
    problem = random_intervals(1, states=8)
    worst = WorstCase(problem)
    true = worst.best()
    assert worst.best(enough=true.value + 5).upper >= true.lower
    watch = Watch()
    watch.interrupt()
    cut = worst.best(watch=watch)
    assert cut.lower <= true.value <= cut.upper
    assert cut.upper - cut.lower > 1e-3
