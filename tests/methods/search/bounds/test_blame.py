"""Blame: the states that remain exceed the budget alone, and no one of them can be left out."""

import numpy as np
import pytest

from omdt.methods.search.bounds.blame import lost_by_state
from omdt.methods.search.bounds.cheapest import AcyclicSolver
from omdt.methods.search.bounds.losses import Losses
from omdt.planning import occupancies
from random_mdps import game
from search_parts import model_of
from strategies import environment


@pytest.mark.parametrize("attempts", [0, 2, 1000])
def test_the_states_to_blame_are_enough_and_with_enough_attempts_all_needed(attempts: int) -> None:
    fewer = checked = 0
    for seed in range(80):
        rng = np.random.default_rng(60_000 + seed)
        model = model_of(game(rng), blame_attempts=attempts)
        losses, (S, A) = Losses(model, model.optimal.value, model.allowed), model.mdp.rewards.shape
        forced = np.where(rng.random(S) < 0.8, rng.integers(A, size=S), -1)
        cheapest = losses.cheapest(forced)
        if cheapest.bound <= 1e-6 * model.scale:
            continue
        budget = float(cheapest.bound * rng.choice([0.2, 0.7, 0.999]))
        states = losses.to_blame(forced, cheapest.values, budget)
        assert states is not None
        assert np.unique(states).tolist() == states.tolist()
        assert (forced[states] >= 0).all()
        some = np.full(S, -1)
        some[states] = forced[states]
        assert losses.cheapest(some).bound > budget, seed
        for s in states if attempts > 100 else ():
            some[s] = -1
            assert losses.cheapest(some).bound <= budget, seed
            some[s] = forced[s]
        fewer += len(states) < ((forced >= 0) & (cheapest.values > 0)).sum()
        checked += 1
    assert checked > 30
    assert (fewer > 5) == (attempts > 0)


def test_what_is_lost_by_state_is_what_the_cheapest_policy_loses() -> None:
    """The losses of all states add up to those of a policy, which are its visits times δ, and to what it costs."""
    compared = 0
    for seed in range(40):
        rng = np.random.default_rng(61_000 + seed)
        model = model_of(game(rng))
        losses, (S, A) = Losses(model, model.optimal.value, model.allowed), model.mdp.rewards.shape
        forced = np.where(rng.random(S) < 0.5, rng.integers(A, size=S), -1)
        cheapest, solver = losses.cheapest(forced), losses._solver
        assert isinstance(solver, AcyclicSolver)
        lost = lost_by_state(losses._costs, solver._way, forced, cheapest.values)
        assert (lost >= 0).all()
        assert lost.sum() == pytest.approx(cheapest.total, rel=1e-6, abs=1e-9 * model.scale)
        # With every action given, the policy is known.
        policy = rng.integers(A, size=S)
        values = losses.cheapest(policy).values
        expected = occupancies(model.mdp, policy).value * losses.delta[np.arange(S), policy]
        found = lost_by_state(losses._costs, solver._way, policy, values)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9 * model.scale), seed
        compared += expected.any()
    assert compared > 20


def test_nobody_is_blamed_where_one_pass_does_not_tell() -> None:
    model = model_of(environment("frozenlake_4x4"))
    losses = Losses(model, model.optimal.value, model.allowed)
    assert not model.acyclic
    forced = np.zeros(model.mdp.n_states, dtype=np.int64)
    assert losses.to_blame(forced, losses.cheapest(forced).values, 0.0) is None
