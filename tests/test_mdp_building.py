"""Every constructor builds the same MDP."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from omdt import MDP
from random_mdps import Model
from strategies import models


def assert_same(built: MDP, expected: MDP) -> None:
    assert built.rewards.shape == expected.rewards.shape
    np.testing.assert_array_equal(built.transitions.toarray(), expected.transitions.toarray())
    scale = np.abs(expected.rewards).max()
    np.testing.assert_allclose(built.rewards, expected.rewards, rtol=0, atol=1e-13 * scale)
    np.testing.assert_array_equal(built.initial, expected.initial)
    np.testing.assert_array_equal(built.features, expected.features)
    assert built.discount == expected.discount


def impossible_as_nan(model: Model) -> np.ndarray:
    return np.where(model.P > 0, model.R, np.nan)


@given(models(), st.integers(0, 2**32 - 1))
def test_every_constructor_builds_the_same_mdp(model, seed):
    P, R, p0, X = model.P, model.R, model.p0, model.X
    S, A, _ = P.shape
    expected = model.mdp()
    r = expected.rewards
    rest = {"discount": model.discount}
    per_transition = impossible_as_nan(model)
    by_action, rewards_by_action = P.transpose(1, 0, 2), per_transition.transpose(1, 0, 2)
    order = np.random.default_rng(seed).permutation(S * A)
    rows = P.reshape(S * A, S)[order]
    pairs = (order // A, order % A)
    built = [
        MDP.from_dense(P, r, p0, X, **rest),
        MDP.from_dense(P, per_transition, p0, X, **rest),
        MDP.from_dense(P.transpose(0, 2, 1), r, p0, X, axes="SSA", **rest),
        MDP.from_dense(P.transpose(0, 2, 1), per_transition.transpose(0, 2, 1), p0, X, axes="SSA", **rest),
        MDP.from_dense(P.tolist(), per_transition.tolist(), p0.tolist(), X.tolist(), **rest),
        MDP.from_matrices(by_action, r, p0, X, **rest),
        MDP.from_matrices(list(by_action), rewards_by_action, p0, X, **rest),
        MDP.from_matrices([sparse.csr_array(matrix) for matrix in by_action], list(rewards_by_action), p0, X, **rest),
        MDP.from_matrices([sparse.coo_matrix(matrix) for matrix in by_action], r.tolist(), p0, X, **rest),
        MDP.from_matrices(
            [sparse.csc_array(matrix) for matrix in by_action],
            [sparse.lil_array(matrix) for matrix in R.transpose(1, 0, 2)],
            p0,
            X,
            **rest,
        ),
        MDP.from_pairs(*pairs, rows, r.ravel()[order], p0, X, **rest),
        MDP.from_pairs(*pairs, sparse.coo_array(rows), r.ravel()[order], p0, X, **rest),
    ]
    for mdp in built:
        assert_same(mdp, expected)


@given(models(), st.integers(0, 2**32 - 1))
def test_transition_tuples_of_hashable_states_build_the_same_mdp(model, seed):
    rng = np.random.default_rng(seed)
    S, A, _ = model.P.shape
    label = [("state", s) if s % 2 else frozenset({s}) for s in range(S)]
    observation = dict(zip(label, model.X, strict=True))
    rewards = impossible_as_nan(model)
    tuples = [
        (label[s], f"act {a}", label[t], model.P[s, a, t], rewards[s, a, t])
        for s in range(S)
        for a in range(A)
        for t in range(S)
    ]
    first_of_each_state = [tuples[s * A * S] for s in range(S)]
    first_of_each_action = [tuples[a * S] for a in range(A)]
    head = list(dict.fromkeys([*first_of_each_action, *first_of_each_state]))
    remaining = [entry for entry in tuples if not any(entry is other for other in head)]
    shuffled = head + [remaining[i] for i in rng.permutation(len(remaining))]
    initial = dict(zip(label, model.p0, strict=True))

    mdp = MDP.from_transitions(shuffled, initial, observation.__getitem__, discount=model.discount)

    expected = model.mdp()
    assert_same(mdp, expected)
    assert mdp.action_names == tuple(f"act {a}" for a in range(A))


def test_transition_tuples_for_the_same_transition_add_up():
    mdp = MDP.from_transitions(
        [(0, "a", 0, 0.25, 4.0), (0, "a", 1, 0.5, 2.0), (0, "a", 0, 0.25, 0.0), (1, "a", 1, 1.0, 0.0)], initial=0
    )
    np.testing.assert_array_equal(mdp.transitions.toarray(), [[0.5, 0.5], [0, 1]])
    np.testing.assert_array_equal(mdp.rewards, [[2.0], [0.0]])
    np.testing.assert_array_equal(mdp.features, [[0.0], [1.0]])
    np.testing.assert_array_equal(mdp.initial, [1.0, 0.0])


def test_tuple_states_are_their_own_features():
    mdp = MDP.from_transitions([((0, 7), 0, (1, 8), 1.0, 1.0), ((1, 8), 0, (0, 7), 1.0, 0.0)], initial=(1, 8))
    np.testing.assert_array_equal(mdp.features, [[0, 7], [1, 8]])
    np.testing.assert_array_equal(mdp.initial, [0, 1])
    assert mdp.action_names == ("0",)


@given(models())
def test_rewards_of_states_hold_for_every_action(model):
    S, A, _ = model.P.shape
    rewards = np.arange(S) - 1.5
    for mdp in (
        MDP.from_dense(model.P, rewards, model.p0, model.X),
        MDP.from_dense(model.P.transpose(0, 2, 1), rewards, model.p0, model.X, axes="SSA"),
        MDP.from_matrices(model.P.transpose(1, 0, 2), rewards, model.p0, model.X),
    ):
        np.testing.assert_array_equal(mdp.rewards, np.repeat(rewards[:, None], A, axis=1))


@pytest.mark.parametrize("impossible", [np.nan, np.inf, -np.inf])
def test_rewards_of_impossible_transitions_do_not_count(impossible):
    P = np.array([[[1.0, 0.0]], [[0.5, 0.5]]])
    R = np.array([[[3.0, impossible]], [[1.0, 2.0]]])
    stored = sparse.csr_array((np.array([1.0, 0.0, 0.5, 0.5]), ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))
    built = [
        MDP.from_dense(P, R, [1, 0], [0, 1]),
        MDP.from_matrices(P.transpose(1, 0, 2), R.transpose(1, 0, 2), [1, 0], [0, 1]),
        MDP.from_matrices([stored], R.transpose(1, 0, 2), [1, 0], [0, 1]),
        MDP.from_transitions(
            [(s, 0, t, P[s, 0, t], R[s, 0, t]) for s in range(2) for t in range(2)],
            initial=0,
        ),
    ]
    for mdp in built:
        np.testing.assert_array_equal(mdp.rewards, [[3.0], [1.5]])


def test_a_sparse_reward_left_out_is_zero():
    P = [sparse.csr_array([[0.5, 0.5], [0.0, 1.0]])]
    R = [sparse.csr_array([[0.0, 4.0], [0.0, 0.0]])]
    np.testing.assert_array_equal(MDP.from_matrices(P, R, [1, 0], [0, 1]).rewards, [[2.0], [0.0]])


def test_probabilities_of_zero_are_not_stored():
    stored = sparse.csr_array((np.array([1.0, 0.0, 0.0, 1.0]), ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))
    mdp = MDP(stored, np.zeros((2, 1)), [1, 0], [0, 1])
    assert mdp.transitions.nnz == 2
    assert stored.nnz == 4


def test_duplicate_entries_of_a_sparse_matrix_add_up():
    stored = sparse.csr_array((np.array([0.5, 0.5]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    mdp = MDP(stored, [[1.0]], [1.0], [0.0])
    assert mdp.transitions.toarray().tolist() == [[1.0]]
    assert mdp.terminal.tolist() == [False]
