"""Every constructor builds the same MDP, keeps it unchangeable, and names what is wrong with bad input."""

from collections import deque
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from omdt import MDP, InputError
from omdt.environments import PAPER
from omdt.mdp_checks import ROW_SUM_TOLERANCE
from random_mdps import Model
from strategies import BAD_MODELS, environment, good_arrays, mdp_from, mdps, models


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


def test_names_have_defaults():
    mdp = MDP(np.eye(4)[[0, 0, 1, 1], :2], np.zeros((2, 2)), [1, 0], np.zeros((2, 3)))
    assert mdp.feature_names == ("feature_0", "feature_1", "feature_2")
    assert mdp.action_names == ("action_0", "action_1")
    assert mdp.name == "mdp"
    assert mdp.discount == 0.99


def test_its_representation_gives_the_sizes():
    text = repr(replace(mdp_from(good_arrays()), name="small"))
    for part in ("'small'", "3 states", "2 actions", "2 features", "8 transitions", "0.9"):
        assert part in text


@pytest.mark.parametrize("kind", BAD_MODELS)
def test_bad_models_are_refused_with_their_message(kind):
    changes, fragments = BAD_MODELS[kind]
    with pytest.raises(InputError) as caught:
        mdp_from(good_arrays() | changes)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_the_good_model_is_accepted():
    assert mdp_from(good_arrays()).n_states == 3


ONE = {"initial": [1.0], "features": [0.0]}
TWO = {"initial": [1.0, 0.0], "features": [0.0, 1.0]}
STAY = np.eye(2)


def tuples(*changes: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return [("s", "a", "t", 1.0, 0.0), ("t", "a", "s", 1.0, 0.0), *changes]


REFUSED = {
    "rewards of one axis": (lambda: MDP(STAY, [0.0, 0.0], **TWO), ["rewards", "[S, A]", "(2,)"]),
    "rewards that are words": (lambda: MDP(STAY, [["a"], ["b"]], **TWO), ["rewards", "numbers"]),
    "rewards that are complex": (lambda: MDP(STAY, np.array([[1j], [0]]), **TWO), ["rewards", "numbers"]),
    "ragged rewards": (lambda: MDP(STAY, [[1.0], [0.0, 2.0]], **TWO), ["rewards", "numbers"]),
    "no states": (lambda: MDP(np.zeros((0, 0)), np.zeros((0, 2)), [], np.zeros((0, 1))), ["no states"]),
    "no actions": (lambda: MDP(np.zeros((0, 2)), np.zeros((2, 0)), **TWO), ["no actions"]),
    "transitions of wrong shape": (lambda: MDP(np.eye(3), [[0.0], [0.0]], **TWO), ["transitions", "(2, 2)", "(3, 3)"]),
    "transitions of three axes": (
        lambda: MDP(np.ones((1, 1, 1)), [[0.0]], **ONE),
        ["transitions", "(1, 1, 1)", "MDP.from_dense", "MDP.from_matrices"],
    ),
    "transitions that are words": (lambda: MDP([["x"]], [[0.0]], **ONE), ["transitions", "numbers"]),
    "transitions that are complex": (lambda: MDP(np.array([[1 + 1j]]), [[0.0]], **ONE), ["transitions", "numbers"]),
    "an empty row": (
        lambda: MDP(sparse.csr_array((2, 2)), [[0.0], [0.0]], **TWO),
        ["state 0, action 0", "sum to 0,"],
    ),
    "features of wrong length": (lambda: MDP([[1.0]], [[0.0]], [1.0], [0.0, 1.0]), ["features", "[1, at least 1]"]),
    "features that are words": (lambda: MDP([[1.0]], [[0.0]], [1.0], ["blue"]), ["features", "numbers"]),
    "a string of names": (lambda: MDP([[1.0]], [[0.0]], **ONE, action_names="go"), ["action_names", "list"]),
    "names that are not strings": (lambda: MDP([[1.0]], [[0.0]], **ONE, feature_names=[3]), ["feature 0", "3"]),
    "discount that is no number": (lambda: MDP([[1.0]], [[0.0]], **ONE, discount="high"), ["discount", "'high'"]),
    "discount that is missing": (lambda: MDP([[1.0]], [[0.0]], **ONE, discount=None), ["discount", "None"]),
    "a name that is no string": (lambda: MDP([[1.0]], [[0.0]], **ONE, name=3), ["name", "3"]),
    "origin of wrong length": (lambda: MDP([[1.0]], [[0.0]], **ONE, origin=[0, 1]), ["origin", "[1]"]),
    "dense transitions of two axes": (lambda: MDP.from_dense(STAY, [0, 0], **TWO), ["[S, A, S]", "(2, 2)"]),
    "dense transitions in the other order": (
        lambda: MDP.from_dense(np.ones((2, 2, 3)), [0, 0], **TWO),
        ["(2, 2, 3)", "[S, A, S]", "axes='SSA'"],
    ),
    "dense transitions in the first order": (
        lambda: MDP.from_dense(np.ones((2, 3, 2)), [0, 0], **TWO, axes="SSA"),
        ["(2, 3, 2)", "[S, S, A]", "axes='SAS'"],
    ),
    "an unknown order of axes": (lambda: MDP.from_dense(np.ones((1, 1, 1)), [0], **ONE, axes="ASS"), ["'ASS'"]),
    "dense rewards of wrong shape": (
        lambda: MDP.from_dense(STAY[:, None], np.zeros((3, 3)), **TWO),
        ["rewards", "(3, 3)", "[S, A] = (2, 1)"],
    ),
    "dense with no states": (lambda: MDP.from_dense(np.zeros((0, 2, 0)), np.zeros((0, 2)), [], []), ["no states"]),
    "dense with no actions": (lambda: MDP.from_dense(np.zeros((2, 0, 2)), np.zeros((2, 0)), **TWO), ["no actions"]),
    "dense NaN reward of a possible transition": (
        lambda: MDP.from_dense(STAY[:, None], np.array([[[0, np.nan]], [[0, np.nan]]]), **TWO),
        ["reward of state 1, action 0 ('action_0') is nan"],
    ),
    "no matrices": (lambda: MDP.from_matrices([], [], **TWO), ["no actions"]),
    "matrices of no states": (lambda: MDP.from_matrices([np.zeros((0, 0))], np.zeros((0, 1)), [], []), ["no states"]),
    "matrices of different shapes": (
        lambda: MDP.from_matrices([STAY, np.eye(3)], [0, 0], **TWO),
        ["action 1", "(3, 3)", "(2, 2)"],
    ),
    "a matrix that is not square": (
        lambda: MDP.from_matrices([np.ones((2, 3))], [0, 0], **TWO),
        ["action 0", "(2, 3)"],
    ),
    "too few reward matrices": (
        lambda: MDP.from_matrices([STAY, STAY], [STAY], **TWO),
        ["2 transition matrices", "1 reward"],
    ),
    "a bad row in the second matrix": (
        lambda: MDP.from_matrices([STAY, STAY * [[1], [0.5]]], [0, 0], **TWO),
        ["state 1, action 1", "sum to 0.5"],
    ),
    "a single number as reward of matrices": (lambda: MDP.from_matrices([STAY], 1.0, **TWO), ["rewards"]),
    "pairs of different lengths": (lambda: MDP.from_pairs([0], [0, 0], [[1.0]], [0.0], **ONE), ["(2,)", "[1]"]),
    "no pairs": (
        lambda: MDP.from_pairs(np.zeros(0, int), np.zeros(0, int), np.zeros((0, 1)), [], **ONE),
        ["no state-"],
    ),
    "states that are not whole numbers": (
        lambda: MDP.from_pairs([0.5], [0], [[1.0]], [0.0], **ONE),
        ["states", "whole"],
    ),
    "a pair with an unknown state": (
        lambda: MDP.from_pairs([0, 2], [0, 0], STAY, [0.0, 0.0], **TWO),
        ["pair 1", "state 2", "2 states"],
    ),
    "a pair with a negative action": (
        lambda: MDP.from_pairs([0, 1], [0, -1], STAY, [0.0, 0.0], **TWO),
        ["pair 1", "action -1"],
    ),
    "a pair given twice": (
        lambda: MDP.from_pairs([0, 0], [0, 0], STAY, [0.0, 0.0], **TWO),
        ["state 0 and action 0", "2 times"],
    ),
    "a missing pair": (
        lambda: MDP.from_pairs([0, 0, 1], [0, 1, 1], np.eye(3)[:, :2] + np.eye(3)[2:, :2].sum(), [0.0] * 3, **TWO),
        ["state 1 and action 0", "missing", "pass missing='unavailable'"],
    ),
    "a pair with an absurd action": (
        lambda: MDP.from_pairs([0, 1], [0, 10**15], STAY, [0.0, 0.0], **TWO),
        ["state 0 and action 1", "missing"],
    ),
    "an absurd action among missing pairs": (
        lambda: MDP.from_pairs([0, 1], [0, 10**15], STAY, [0.0, 0.0], **TWO, missing="unavailable"),
        ["no pair has action 1"],
    ),
    "a state of which all pairs are missing": (
        lambda: MDP.from_pairs([0, 0], [0, 1], STAY, [0.0, 0.0], **TWO, missing="unavailable"),
        ["state 1 has no available action"],
    ),
    "an unknown meaning of missing pairs": (
        lambda: MDP.from_pairs([0, 1], [0, 0], STAY, [0.0, 0.0], **TWO, missing="ok"),
        ["missing is 'ok'", "refused, unavailable"],
    ),
    "missing tuples and a mask": (
        lambda: MDP.from_transitions(tuples(), "s", missing="unavailable", available=[[1], [1]]),
        ["leave out available, or missing"],
    ),
    "no tuples": (lambda: MDP.from_transitions([], "s"), ["no states"]),
    "a tuple of four": (lambda: MDP.from_transitions([*tuples(), ("s", "a", "t", 1.0)], "s"), ["transition 2"]),
    "a tuple that is a number": (lambda: MDP.from_transitions([*tuples(), 7], "s"), ["transition 2", "7"]),
    "a state without transitions of its own": (
        lambda: MDP.from_transitions(tuples(("s", "a", "end", 0.0, 0.0)), "s"),
        ["transition 2", "'s'", "'a'", "'end'"],
    ),
    "a state without some action": (
        lambda: MDP.from_transitions(tuples(("s", "b", "s", 1.0, 0.0)), "s"),
        ["state 't'", "action 'b'", "pass missing='unavailable'"],
    ),
    "a tuple with a negative probability": (
        lambda: MDP.from_transitions(tuples(("t", "a", "t", -0.5, 0.0)), "s"),
        ["transition 2", "'t'", "'a'", "-0.5"],
    ),
    "a tuple with a NaN probability": (
        lambda: MDP.from_transitions(tuples(("t", "a", "t", np.nan, 0.0)), "s"),
        ["transition 2", "'t'", "'a'", "nan"],
    ),
    "tuples that do not sum to 1": (
        lambda: MDP.from_transitions(tuples(("t", "a", "t", 0.5, 0.0)), "s", lambda s: 0.0),
        ["state 't', action 'a'", "sum to 1.5"],
    ),
    "tuples with a NaN reward": (
        lambda: MDP.from_transitions([("s", "a", "s", 1.0, np.nan)], "s", lambda s: 0.0),
        ["reward of state 0, action 0 ('a') is nan"],
    ),
    "tuples with a word for a probability": (
        lambda: MDP.from_transitions([("s", "a", "s", "often", 0.0)], "s", lambda s: 0.0),
        ["probabilities", "numbers"],
    ),
    "an unknown initial state": (lambda: MDP.from_transitions(tuples(), "u", lambda s: 0.0), ["initial state 'u'"]),
    "a word for an initial probability": (
        lambda: MDP.from_transitions(tuples(), {"s": "always"}, lambda s: 0.0),
        ["initial", "'s'"],
    ),
    "an initial mapping that is no distribution": (
        lambda: MDP.from_transitions(tuples(), {"s": 0.25, "t": 0.25}, lambda s: 0.0),
        ["initial", "sum to 0.5"],
    ),
    "states that are no features": (lambda: MDP.from_transitions(tuples(), "s"), ["features=", "numbers"]),
    "features of different lengths": (
        lambda: MDP.from_transitions(tuples(), "s", lambda s: [0.0] if s == "s" else [0.0, 1.0]),
        ["features", "one length"],
    ),
    "actions with the same spelling": (
        lambda: MDP.from_transitions([(0, 1, 0, 1.0, 0.0), (0, "1", 0, 1.0, 0.0)], 0),
        ["actions 0 and 1", "'1'", "distinct"],
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_bad_input_is_refused_with_its_message(kind):
    build, fragments = REFUSED[kind]
    with pytest.raises(InputError) as caught:
        build()
    for fragment in fragments:
        assert fragment in str(caught.value)


@pytest.mark.parametrize("place", ["indices", "indptr"])
def test_a_broken_sparse_matrix_is_refused(place):
    matrix = sparse.csr_array(np.eye(2))
    getattr(matrix, place)[1] = 99
    with pytest.raises(InputError, match="transitions is not a valid sparse matrix"):
        MDP(matrix, np.zeros((2, 1)), [1, 0], [0, 1])


@given(models(max_states=9), st.integers(0, 2**32 - 1))
def test_rows_off_by_rounding_are_normalised_once_and_for_all(model, seed):
    rng = np.random.default_rng(seed)
    S, A, _ = model.P.shape
    P = model.P * (1 + rng.uniform(-0.9, 0.9, (S, A, 1)) * ROW_SUM_TOLERANCE)
    p0 = model.p0 * (1 + rng.uniform(-0.9, 0.9) * ROW_SUM_TOLERANCE)
    once = MDP.from_dense(P, np.zeros(S), p0, model.X)
    assert np.abs(once.transitions.sum(axis=1) - 1).max() <= S * np.finfo(float).eps
    assert abs(once.initial.sum() - 1) <= S * np.finfo(float).eps
    np.testing.assert_allclose(once.transitions.toarray(), model.P.reshape(S * A, S), rtol=1e-14)
    twice = MDP(once.transitions, once.rewards, once.initial, once.features)
    assert twice.transitions.data.tobytes() == once.transitions.data.tobytes()
    assert twice.transitions.indices.tobytes() == once.transitions.indices.tobytes()
    assert twice.initial.tobytes() == once.initial.tobytes()


def test_the_expected_reward_is_that_of_the_normalised_row():
    off = 1 + 0.5 * ROW_SUM_TOLERANCE
    mdp = MDP.from_dense([[[off, 0.0]], [[0.0, 1.0]]], [[[1e9, 0.0]], [[0.0, 0.0]]], [1, 0], [0, 1])
    assert mdp.rewards[0, 0] == pytest.approx(1e9, rel=1e-15)


@given(mdps())
def test_arrays_cannot_be_written(mdp):
    matrix = mdp.transitions
    arrays = (
        matrix.data,
        matrix.indices,
        matrix.indptr,
        mdp.rewards,
        mdp.initial,
        mdp.features,
        mdp.origin,
        mdp.terminal,
    )
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_fields_cannot_be_set():
    mdp = mdp_from(good_arrays())
    with pytest.raises(FrozenInstanceError):
        mdp.discount = 0.5


def test_the_users_own_arrays_stay_free_and_do_not_reach_inside():
    P, r = sparse.csr_array(np.array([[0.5, 0.5], [0.0, 1.0]])), np.array([[1.0], [0.0]])
    p0, X, origin = np.array([1.0, 0.0]), np.array([[0.0], [1.0]]), np.array([4, 7])
    mdp = MDP(P, r, p0, X, origin=origin)
    for array in (P.data, P.indices, P.indptr, r, p0, X, origin):
        array[0] = 9
    assert mdp.transitions.toarray().tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert mdp.rewards.tolist() == [[1.0], [0.0]]
    assert mdp.initial.tolist() == [1.0, 0.0]
    assert mdp.features.tolist() == [[0.0], [1.0]]
    assert mdp.origin.tolist() == [4, 7]


@given(models())
def test_dense_input_is_not_changed(model):
    before = [array.copy() for array in (model.P, model.R, model.p0, model.X)]
    MDP.from_dense(model.P, model.R, model.p0, model.X)
    for array, old in zip((model.P, model.R, model.p0, model.X), before, strict=True):
        assert array.flags.writeable
        np.testing.assert_array_equal(array, old)


@given(models())
def test_terminal_states_return_to_themselves_for_nothing(model):
    mdp = model.mdp()
    expected = [
        all(model.P[s, a, s] == 1 and mdp.rewards[s, a] == 0 for a in range(mdp.n_actions)) for s in range(mdp.n_states)
    ]
    assert mdp.terminal.tolist() == expected


def reached_by_breadth_first_search(mdp: MDP) -> list[int]:
    P = mdp.transitions.toarray().reshape(mdp.n_states, mdp.n_actions, mdp.n_states)
    seen = {s for s in range(mdp.n_states) if mdp.initial[s] > 0}
    queue = deque(seen)
    while queue:
        s = queue.popleft()
        for t in range(mdp.n_states):
            if t not in seen and P[s, :, t].any():
                seen.add(t)
                queue.append(t)
    return sorted(seen)


@given(mdps())
def test_reachable_keeps_what_a_search_reaches(mdp):
    small = mdp.reachable()
    kept = reached_by_breadth_first_search(mdp)
    rows = [s * mdp.n_actions + a for s in kept for a in range(mdp.n_actions)]
    assert small.origin.tolist() == kept
    np.testing.assert_array_equal(small.transitions.toarray(), mdp.transitions.toarray()[rows][:, kept])
    np.testing.assert_array_equal(small.rewards, mdp.rewards[kept])
    np.testing.assert_allclose(small.initial, mdp.initial[kept], rtol=1e-15)
    np.testing.assert_array_equal(small.features, mdp.features[kept])
    assert (small.discount, small.name) == (mdp.discount, mdp.name)
    assert (small.feature_names, small.action_names) == (mdp.feature_names, mdp.action_names)
    assert small.reachable() is small


def test_origin_points_to_the_first_of_several_mdps():
    P = np.eye(4)[[1, 1, 3, 3]]
    mdp = MDP(P, np.zeros((4, 1)), [0, 0, 1, 0], np.arange(4), origin=[10, 11, 12, 13])
    assert mdp.reachable().origin.tolist() == [12, 13]


@pytest.mark.parametrize("name", PAPER)
def test_environments_reach_what_a_search_reaches(name):
    mdp = environment(name)
    S, A = mdp.rewards.shape
    starts = mdp.transitions.indptr[::A]
    neighbours = [set(mdp.transitions.indices[starts[s] : starts[s + 1]]) for s in range(S)]
    seen = set(np.flatnonzero(mdp.initial))
    queue = deque(seen)
    while queue:
        new = neighbours[queue.popleft()] - seen
        seen |= new
        queue.extend(new)
    assert mdp.reachable().origin.tolist() == mdp.origin[sorted(seen)].tolist()


def test_another_discount_leaves_the_rest():
    mdp = mdp_from(good_arrays())
    other = replace(mdp, discount=0.25)
    assert other.discount == 0.25
    assert mdp.discount == 0.9
    assert other.transitions.data.tobytes() == mdp.transitions.data.tobytes()
    assert (other.feature_names, other.action_names) == (mdp.feature_names, mdp.action_names)
    with pytest.raises(InputError, match="discount is 1"):
        replace(mdp, discount=1)


def test_memory_grows_with_the_transitions():
    small, large = (
        MDP(sparse.eye_array(S, format="csr"), np.zeros((S, 1)), np.eye(1, S)[0], np.zeros(S)) for S in (1000, 2000)
    )
    assert 1.9 < large.nbytes / small.nbytes < 2.1
