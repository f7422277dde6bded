"""Evaluation: all engines compute the returns, occupancies and advantages that dense linear algebra does."""

import numpy as np
import pytest

import omdt
from omdt.methods.search.evaluation import Acyclic, Engine, Sparse, engine
from omdt.methods.search.low_rank import UPDATES, Dense
from omdt.methods.search.model import Model
from omdt.rules import AvailableOnly
from omdt.watch import Watch
from random_mdps import availability, game, random_mdp
from search_parts import model_of, returns_of, scale_of
from strategies import environment
from tasks import dense


def engines(model: Model) -> list[Engine]:
    """All engines that can evaluate policies of an MDP."""
    found: list[Engine] = [Dense(model), Sparse(model, Watch())]
    if model.topological is not None:
        found.append(Acyclic(model, model.topological))
    return found


def test_engines_agree() -> None:
    acyclic = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        mdp = game(rng) if seed % 4 == 0 else random_mdp(rng)
        P, rewards, initial, discount = dense(mdp)
        base, other = (rng.integers(mdp.n_actions, size=mdp.n_states) for _ in range(2))
        states, scale = np.arange(mdp.n_states), scale_of(mdp)
        system = np.eye(mdp.n_states) - discount * P[states, base]
        values = np.linalg.solve(system, rewards[states, base])
        occupancies = np.linalg.solve(system.T, initial)
        for one in engines(model_of(mdp)):
            acyclic += isinstance(one, Acyclic)
            one.rebase(base)
            assert one.value == pytest.approx(initial @ values, abs=1e-9 * scale), seed
            assert one.occupancies == pytest.approx(occupancies, rel=1e-7, abs=1e-7), seed
            advantages = rewards + discount * P @ values - values[:, None]
            assert one.advantages == pytest.approx(advantages, abs=1e-8 * scale), seed
            for policy in (base, other):
                expected = float(returns_of(mdp, policy[None])[0])
                assert one.evaluate(policy) == pytest.approx(expected, abs=1e-9 * scale), seed
    assert acyclic > 30


def test_a_base_policy_may_change_afterwards() -> None:
    """What the caller does with the array must not change the base."""
    mdp = environment("frozenlake_4x4")
    one = Dense(model_of(mdp))
    policy = np.zeros(mdp.n_states, dtype=np.int64)
    one.rebase(policy)
    value = one.value
    policy[:] = 1
    assert one.evaluate(np.zeros(mdp.n_states, dtype=np.int64)) == value
    assert one.evaluate(policy) != pytest.approx(value, rel=1e-3)


def test_updates_of_the_inverse_lose_no_accuracy() -> None:
    """More base policies in a row than are updates of the one before, each with a few other actions."""
    mdp, rng = environment("system_administrator_tree"), np.random.default_rng(0)
    model = model_of(mdp)
    updated, policy = Dense(model), np.zeros(mdp.n_states, dtype=np.int64)
    for _ in range(UPDATES + 5):
        updated.rebase(policy)
        afresh = Dense(model)
        afresh.rebase(policy)
        assert updated.value == pytest.approx(afresh.value, rel=1e-11)
        assert updated.occupancies == pytest.approx(afresh.occupancies, rel=1e-8, abs=1e-10)
        assert updated.advantages == pytest.approx(afresh.advantages, rel=1e-8, abs=1e-9)
        policy = policy.copy()
        policy[rng.integers(mdp.n_states, size=10)] = rng.integers(mdp.n_actions, size=10)


def test_many_and_few_transitions_give_the_same_return() -> None:
    """With more transitions of changed states than states, columns of the inverse are put side by side first."""
    mdp, rng = environment("system_administrator_tree"), np.random.default_rng(0)
    one, base = Dense(model_of(mdp)), rng.integers(mdp.n_actions, size=mdp.n_states)
    one.rebase(base)
    per_state = mdp.transitions.nnz / mdp.rewards.size
    few, many = 2, 40
    assert few * per_state < mdp.n_states < many * per_state
    for changed in (few, many):
        policy = base.copy()
        policy[:changed] = (policy[:changed] + 1) % mdp.n_actions
        assert one.evaluate(policy) == pytest.approx(float(returns_of(mdp, policy[None])[0]), rel=1e-9)


def test_the_engine_fits_the_mdp() -> None:
    lake = environment("frozenlake_4x4")
    S = lake.n_states
    assert isinstance(engine(model_of(omdt.make("tictactoe_vs_random")), Watch()), Acyclic)
    assert isinstance(engine(model_of(lake), Watch()), Dense)
    assert isinstance(engine(model_of(lake, seconds_per_cube=1.0), Watch()), Sparse)
    assert isinstance(engine(model_of(omdt.make("frozenlake", size=30, seed=0)), Watch()), Dense)
    assert isinstance(engine(model_of(omdt.make("frozenlake", size=60, seed=0)), Watch()), Sparse)
    assert isinstance(engine(model_of(lake, dense_entries=S * lake.rewards.size), Watch()), Dense)
    assert isinstance(engine(model_of(lake, dense_entries=S * lake.rewards.size - 1), Watch()), Sparse)


def test_when_time_is_up_a_return_is_never_overstated() -> None:
    """A large MDP, whose evaluation is cut off at once."""
    mdp = omdt.make("frozenlake", size=40, seed=3, hole_probability=0.02, discount=0.999)
    model, watch = model_of(mdp), Watch()
    policy = np.full(mdp.n_states, 1)
    one, cut = Sparse(model, Watch()), Sparse(model, watch)
    watch.interrupt()
    one.rebase(policy)
    cut.rebase(policy)
    assert cut.value <= one.value
    assert cut.evaluate(policy) <= one.value


def test_rules_permit_policies_that_name_allowed_actions_only() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(40):
        mdp = random_mdp(rng)
        mdp = omdt.MDP(
            mdp.transitions,
            mdp.rewards,
            mdp.initial,
            mdp.features,
            discount=mdp.discount,
            available=availability(rng, *mdp.rewards.shape),
        )
        policy = rng.integers(mdp.n_actions, size=mdp.n_states)
        states = np.flatnonzero(mdp.reached)
        kept = bool(mdp.available[states, policy[states]].all())
        assert model_of(mdp, rules=[AvailableOnly()]).task.permits(policy) == kept
        assert model_of(mdp).task.permits(policy)
        seen.add(kept)
    assert seen == {False, True}
