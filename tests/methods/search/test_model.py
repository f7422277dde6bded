"""The model: facts about an MDP agree with what dense arrays and enumeration say."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import omdt
from omdt import MDP
from omdt.methods.search.model import Arrays
from omdt.methods.search.partial_tree import SizeLimit
from omdt.rules import AvailableOnly
from random_mdps import game, random_mdp, shaped_mdp
from search_parts import all_policies, model_of, returns_of
from strategies import environment
from tasks import dense

ONE_STATE = MDP.from_dense([[[1.0], [1.0]]], [[1.0, -2.0]], [1.0], [[0.0]], discount=0.5)


def test_arrays_hold_the_mdp() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        mdp = random_mdp(rng)
        arrays, (P, rewards, initial, discount) = Arrays.of(mdp), dense(mdp)
        S, A = rewards.shape
        again = np.zeros((S * A, S))
        for row in range(S * A):
            for k in range(arrays.indptr[row], arrays.indptr[row + 1]):
                again[row, arrays.indices[k]] += arrays.probabilities[k]
        assert np.array_equal(again.reshape(S, A, S), P)
        assert np.array_equal(arrays.discounted, discount * arrays.probabilities)
        assert np.array_equal(arrays.rewards, rewards)
        assert np.array_equal(arrays.initial, initial)


def test_likely_successors_come_first() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        model = model_of(random_mdp(rng))
        arrays, likely = model.arrays, model.likely_first
        for begin, end in pairwise(arrays.indptr.tolist()):
            pairs = [
                sorted(zip(it.indices[begin:end], it.probabilities[begin:end], it.discounted[begin:end], strict=True))
                for it in (arrays, likely)
            ]
            assert pairs[0] == pairs[1]
            assert np.all(np.diff(likely.probabilities[begin:end]) <= 0)


def test_predecessors_are_the_states_that_lead_to_a_state() -> None:
    rng = np.random.default_rng(2)
    for mdp in [random_mdp(rng) for _ in range(20)] + [game(rng) for _ in range(20)]:
        starts, states = model_of(mdp).predecessors
        leads = (dense(mdp)[0] > 0).any(axis=1)
        for t, (begin, end) in enumerate(pairwise(starts.tolist())):
            assert states[begin:end].tolist() == np.flatnonzero(leads[:, t]).tolist()


def test_the_optimum_is_that_of_all_policies() -> None:
    for seed in range(40):
        mdp = random_mdp(np.random.default_rng(seed))
        if mdp.n_actions**mdp.n_states > 300:
            continue
        model = model_of(mdp)
        best = float(returns_of(mdp, all_policies(mdp)).max())
        assert model.optimal_return.value == pytest.approx(best, abs=1e-8 * max(abs(best), model.scale)), seed
        assert model.optimal_return.upper >= best - 1e-12 * max(abs(best), model.scale), seed


def test_a_state_is_decisive_if_its_actions_differ() -> None:
    seen = set()
    for seed in range(200):
        mdp = shaped_mdp(np.random.default_rng(seed))
        P, rewards, _, _ = dense(mdp)
        expected = np.any(rewards != rewards[:, :1], axis=1) | np.any(P != P[:, :1], axis=(1, 2))
        assert np.array_equal(model_of(mdp).decisive, expected), seed
        seen |= set(expected.tolist())
    assert seen == {False, True}


def test_entries_of_probability_0_do_not_make_a_state_decisive() -> None:
    model = model_of(MDP.from_dense(np.full((2, 2, 2), 0.5), np.zeros((2, 2)), [1, 0], [[0], [1]]))
    assert not model.decisive.any()


def test_games_are_swept_once_and_small_cycles_not_at_all() -> None:
    model = model_of(game(np.random.default_rng(1)))
    assert model.acyclic
    assert not model.swept
    assert model.order is not None
    assert model.topological is not None
    assert np.array_equal(model.order, model.topological[::-1])
    lake = model_of(environment("frozenlake_4x4"))
    assert not lake.acyclic
    assert lake.order is None
    assert not lake.swept


def test_settings_decide_what_is_swept_and_what_is_searched() -> None:
    lake = environment("frozenlake_4x4")
    swept = model_of(lake, swept_states=0)
    assert swept.swept
    assert swept.order is not None
    assert sorted(swept.order.tolist()) == list(range(lake.n_states))
    assert not model_of(lake, swept_states=0, few_successors=1).swept
    assert model_of(lake, dense_states=lake.n_states).searchable
    assert not model_of(lake, dense_states=lake.n_states - 1).searchable
    assert model_of(game(np.random.default_rng(1)), dense_states=1).searchable


def test_too_many_answers_are_not_kept() -> None:
    """A line of states, each with a threshold of its own."""
    n = 5000
    line = sparse.csr_array((np.ones(n), (np.arange(n), np.minimum(np.arange(n) + 1, n - 1))), shape=(n, n))
    model = model_of(MDP(line, np.zeros((n, 1)), np.eye(1, n)[0], np.arange(float(n))[:, None]))
    assert model.acyclic
    assert not model.searchable


def test_a_problem_with_many_states_and_few_successors_is_swept() -> None:
    mdp = omdt.make("tiger_vs_antelope")
    assert model_of(mdp).order is not None
    assert model_of(omdt.make("system_administrator_1")).order is None
    solution = omdt.solve(mdp, max_depth=1)
    assert solution.proven
    assert solution.value == pytest.approx(0.538037, abs=1e-5)


def test_what_leaves_may_name_follows_from_the_rules() -> None:
    mdp = MDP.from_dense(
        np.full((2, 2, 2), 0.5), [[1, 0], [0, 1]], [1, 0], [[0], [1]], available=[[True, True], [True, False]]
    )
    assert model_of(mdp).allowed.all()
    assert np.array_equal(model_of(mdp, rules=[AvailableOnly()]).allowed, [[True, True], [True, False]])


def test_looking_ahead_is_one_step_of_planning() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        mdp = random_mdp(rng)
        P, rewards, _, discount = dense(mdp)
        values = rng.normal(size=mdp.n_states)
        assert model_of(mdp).look_ahead(values) == pytest.approx(rewards + discount * P @ values)


def test_one_state_is_a_model_as_well() -> None:
    model = model_of(ONE_STATE)
    assert model.acyclic
    assert model.decisive.tolist() == [True]
    assert model.sides.shape == (1, 0)
    assert model.optimal_return.value == pytest.approx(2.0)
    assert model_of(ONE_STATE, 3, 5).size == SizeLimit(3, 5)
    assert model_of(ONE_STATE, None, 5).size == SizeLimit(4, 5)


def test_whether_bounds_are_swept_is_known_without_the_order_of_the_sweeps() -> None:
    seen = set()
    for seed in range(60):
        mdp = shaped_mdp(np.random.default_rng(seed))
        for states in (1, 10_000):
            model = model_of(mdp, swept_states=states)
            swept = model.swept
            assert "order" not in model.__dict__
            assert swept == (model.order is not None and not model.acyclic), seed
            seen.add((swept, model.acyclic))
    assert seen == {(True, False), (False, False), (False, True)}
