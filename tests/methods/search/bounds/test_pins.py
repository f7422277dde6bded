"""Pins: where policies within a budget go for sure, or not at all, agrees with all policies in turn."""

import numpy as np
import pytest

from omdt import MDP
from omdt.methods.search.bounds.losses import Losses
from omdt.methods.search.bounds.pins import first_state, followed, pins_tell, state_to_pin
from random_mdps import game
from search_parts import all_policies, model_of, visits_of


def test_where_policies_within_the_budget_go() -> None:
    unseen = entered = completed = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        model = model_of(game(rng))
        policies = all_policies(model.mdp)
        if len(policies) > 3000:
            continue
        losses = Losses(model, model.optimal.value, model.allowed)
        visits = visits_of(model.mdp, policies)
        total = (visits * losses.delta[np.arange(model.mdp.n_states), policies]).sum(axis=1)
        budget = float(np.quantile(total, rng.choice([0.05, 0.3]))) + 1e-9
        given = np.full(model.mdp.n_states, -1)
        given[0] = rng.integers(model.mdp.n_actions)
        actions, first_hits, seen = followed(model, losses.delta, budget, given)
        assert given[1:].tolist() == [-1] * (model.mdp.n_states - 1)
        alike = np.all((policies == given) | (given < 0), axis=1) & (total <= budget)
        if not alike.any():
            continue
        # Whoever visits a state that is not seen is beyond the budget, and so is who takes another action than
        # the one that is left in a state that is visited for sure.
        assert (visits[alike][:, ~seen] <= 1e-12).all(), seed
        for s in np.flatnonzero((actions >= 0) & (given < 0)):
            assert (policies[alike, s] == actions[s]).all(), seed
        decided = np.where(actions >= 0, 1.0, 0.0)
        for s in np.flatnonzero(first_hits > 0):
            assert actions[s] < 0
            assert (visits[alike][:, s] >= first_hits[s] * (1 - 1e-9)).all(), seed
        unseen += int((~seen).sum())
        entered += int((first_hits > 0).sum())
        completed += int(decided.sum()) - 1
    assert unseen > 10
    assert entered > 20
    assert completed > 10


def test_pins_tell_where_every_first_action_leaves_something_out() -> None:
    told = untold = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        model = model_of(game(rng))
        policies = all_policies(model.mdp)
        start = first_state(model, np.full(model.mdp.n_states, -1))
        if len(policies) > 3000 or start is None:
            continue
        losses = Losses(model, model.optimal.value, model.allowed)
        visits = visits_of(model.mdp, policies)
        total = (visits * losses.delta[np.arange(model.mdp.n_states), policies]).sum(axis=1)
        budget = float(np.quantile(total, rng.choice([0.05, 0.3, 0.9]))) + 1e-9
        if not pins_tell(model, losses.delta, budget, start):
            untold += 1
            continue
        told += 1
        for first in np.unique(policies[total <= budget, start]):
            within = (total <= budget) & (policies[:, start] == first)
            surely = (visits[within] > 0).all(axis=0)
            surely[start] = False
            missing = [len(np.unique(policies[within, s])) < model.mdp.n_actions for s in np.flatnonzero(surely)]
            assert any(missing), seed
    assert told > 10
    assert untold > 10


def test_there_is_no_first_state_to_pin_if_there_are_several_or_its_action_is_decided() -> None:
    P = np.zeros((2, 2, 2))
    P[:, :, 1] = 1
    one = model_of(MDP.from_dense(P, [[1, 0], [0, 1]], [1, 0], [[0], [1]]))
    assert first_state(one, np.array([-1, -1])) == 0
    assert first_state(one, np.array([0, -1])) is None
    two = model_of(MDP.from_dense(P, [[1, 0], [0, 1]], [0.5, 0.5], [[0], [1]]))
    assert first_state(two, np.array([-1, -1])) is None


def test_staying_in_a_state_counts_until_it_is_left() -> None:
    """A state that is left with probability 1/2 per step is left sooner or later, at a discount."""
    P = np.zeros((3, 2, 3))
    P[0, :, 0] = P[0, :, 1] = 0.5
    P[1, :, 2] = P[2, :, 2] = 1
    mdp = MDP.from_dense(P, [[1, 0], [0, 1], [0, 0]], [1, 0, 0], [[0], [1], [2]], discount=0.5)
    model = model_of(mdp)
    losses = Losses(model, model.optimal.value, model.allowed)
    found = followed(model, losses.delta, 10.0, np.array([0, -1, -1]))
    assert found.entered[1] == pytest.approx(0.25 / (1 - 0.25))
    assert found.entered[0] == 0.0
    assert found.seen.tolist() == [True, True, True]


def test_the_state_with_fewest_actions_left_is_pinned() -> None:
    entered = np.array([0.5, 0.2, 0.3, 0.0])
    within = np.array([[True, True, True], [True, False, False], [True, False, False], [False, False, True]])
    nothing = np.full(4, -1)
    assert state_to_pin(entered, nothing, within, 0.5) == 2
    assert state_to_pin(entered, np.array([-1, -1, 0, -1]), within, 0.5) == 1
    assert state_to_pin(entered, np.array([-1, 0, 0, -1]), within, 0.5) is None
    assert state_to_pin(entered, np.array([-1, 0, 0, -1]), within, 1.0) == 0
    assert state_to_pin(entered, np.zeros(4, dtype=np.int64), within, 1.0) is None
