"""What is wrong with the parts of an MDP is named, and what is off by rounding is mended."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from omdt import MDP, InputError
from omdt.mdp_checks import ROW_SUM_TOLERANCE
from strategies import BAD_MODELS, good_arrays, mdp_from, models


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
