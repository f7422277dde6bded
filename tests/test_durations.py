"""Durations: errors that are bounded state by state hold against fractions, and are small where chains end soon."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omdt import MDP, planning
from omdt.norms import norms
from omdt.planning.durations import Supersolution, durations
from omdt.systems import System
from random_mdps import shaped_mdp
from strategies import models
from test_planning import assert_contains, exact_values, policies

CLOSE_TO_ONE = st.sampled_from([0.99, 0.9999, 0.999999])


def best_of(mdp: MDP, kept: list[np.ndarray]) -> list[Fraction]:
    exact = [exact_values(mdp, policy) for policy in kept]
    return [max(values[s] for values in exact) for s in range(mdp.n_states)]


@given(models(max_states=3, max_actions=2, discounts=CLOSE_TO_ONE), st.integers(0, 1000))
@settings(max_examples=80)
def test_errors_hold_against_fractions_at_discounts_close_to_one(model, seed):
    mdp, rng = model.mdp(), np.random.default_rng(seed)
    policy = rng.integers(mdp.n_actions, size=mdp.n_states)
    for one in (policy, planning.random_policy(mdp)):
        assert_contains(planning.policy_values(mdp, one), exact_values(mdp, one))
    optimal = planning.optimal_values(mdp)
    assert_contains(optimal, best_of(mdp, policies(mdp)))
    forced = np.where(rng.random(mdp.n_states) < 0.5, policy, -1)
    kept = [one for one in policies(mdp) if np.all((forced < 0) | (one == forced))]
    choices = (forced < 0)[:, None] | (forced[:, None] == np.arange(mdp.n_actions))
    assert_contains(planning.restricted_values(mdp, choices, optimal.value), best_of(mdp, kept))


@pytest.mark.parametrize("seed", range(60))
def test_errors_hold_against_fractions_on_every_shape(seed):
    rng = np.random.default_rng(seed)
    mdp = shaped_mdp(rng)
    policy = rng.integers(mdp.n_actions, size=mdp.n_states)
    assert_contains(planning.policy_values(mdp, policy), exact_values(mdp, policy))
    if mdp.n_actions**mdp.n_states <= 64:
        assert_contains(planning.optimal_values(mdp), best_of(mdp, policies(mdp)))


@given(models(max_states=5, max_actions=2, discounts=CLOSE_TO_ONE), st.integers(0, 1000))
def test_durations_satisfy_their_inequality_exactly(model, seed):
    mdp = model.mdp()
    policy = np.random.default_rng(seed).integers(mdp.n_actions, size=mdp.n_states)
    P, _ = planning.markov_chain(mdp, policy)
    h = durations(System(mdp.discount * P, norms(mdp).shrinkage), mdp.terminal, 0, None)
    assert h is not None
    exact = [Fraction(value) for value in h.tolist()]
    dense, gamma = P.toarray(), Fraction(mdp.discount)
    for s in range(mdp.n_states):
        ahead = gamma * sum(Fraction(dense[s, t].item()) * exact[t] for t in range(mdp.n_states))
        assert exact[s] == 0 if mdp.terminal[s] else exact[s] >= 1 + ahead
    assert h.max() <= norms(mdp).horizon * 1.2


def corridor(discount: float) -> MDP:
    """Three states and an end: each step goes on or stays, and going on by the second action costs a little more."""
    P = np.zeros((4, 2, 4))
    for s in range(3):
        P[s, :, s], P[s, :, s + 1] = 0.5, 0.5
    P[3, :, 3] = 1
    return MDP.from_dense(P, [[-1.0, -1.01]] * 3 + [[0.0, 0.0]], [1, 0, 0, 0], np.arange(4), discount=discount)


def test_errors_are_small_where_the_end_is_near():
    mdp = corridor(0.999999)
    optimal, values = planning.optimal_values(mdp), planning.policy_values(mdp, np.zeros(4, dtype=np.int64))
    for certified in (optimal, values):
        assert certified.value == pytest.approx([-6, -4, -2, 0], abs=1e-4)
        assert certified.error < 1e-13
        assert certified.errors[3] == 0
        assert np.all(np.diff(certified.errors) < 0)


def test_actions_as_good_that_last_longer_take_part():
    """Waiting for nothing is as good as ending: the bound must hold for a policy that waits."""
    P = np.zeros((2, 2, 2))
    P[0, 0, 1] = P[0, 1, 0] = P[1, :, 1] = 1
    mdp = MDP.from_dense(P, np.zeros((2, 2)), [1, 0], [0, 1], discount=0.999)
    excess, shortfall = np.array([[0.0, 1e-9], [0.0, 0.0]]), np.zeros(2)
    errors = Supersolution(mdp, excess, shortfall, 1e-3, None).errors(np.array([0, 0]))
    assert errors is not None
    assert errors[0] >= 1e-9 * 1000
    assert errors[1] == 0


def test_actions_that_are_clearly_worse_do_not():
    P = np.zeros((2, 2, 2))
    P[0, 0, 1] = P[0, 1, 0] = P[1, :, 1] = 1
    mdp = MDP.from_dense(P, [[0.0, -1.0], [0.0, 0.0]], [1, 0], [0, 1], discount=0.999)
    excess = np.array([[1e-9, -1.0], [0.0, 0.0]])
    errors = Supersolution(mdp, excess, np.full(2, 1e-9), 1e-3, None).errors(np.array([0, 0]))
    assert errors is not None
    assert 1e-9 <= errors[0] <= 1.3e-9
