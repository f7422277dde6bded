"""An MDP says which actions can be played, and an unavailable one means the fallback or the first available one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omdt import MDP, planning
from random_mdps import availability
from strategies import environment, good_arrays, mdp_from, mdps, models, refusal, restricted_mdps


def rule(mdp: MDP, s: int, a: int) -> int:
    """The action that is played, word by word as the documentation has it."""
    if mdp.available[s, a]:
        return a
    if mdp.fallback is not None and mdp.available[s, mdp.action_names.index(mdp.fallback)]:
        return mdp.action_names.index(mdp.fallback)
    return next(b for b in range(mdp.n_actions) if mdp.available[s, b])


@given(restricted_mdps())
def test_what_is_played_follows_the_rule_and_gives_row_and_reward(mdp):
    P = mdp.transitions.toarray().reshape(*mdp.rewards.shape, mdp.n_states)
    for s in range(mdp.n_states):
        for a in range(mdp.n_actions):
            b = rule(mdp, s, a)
            assert mdp.played[s, a] == b
            np.testing.assert_array_equal(P[s, a], P[s, b])
            assert mdp.rewards[s, a] == mdp.rewards[s, b]


@given(models(), st.integers(0, 2**32 - 1))
def test_rows_and_rewards_of_unavailable_actions_may_come_as_anything(model, seed):
    rng = np.random.default_rng(seed)
    S, A, _ = model.P.shape
    available = availability(rng, S, A)
    expected = replace(model.mdp(), available=available)
    P, r = model.P.copy(), model.r
    P[~available] = rng.choice([0.0, -1.0, 5.0, np.nan, np.inf], size=P[~available].shape)
    r[~available] = rng.choice([np.nan, -np.inf, 1e300])
    built = [
        MDP.from_dense(P, r, model.p0, model.X, discount=model.discount, available=available),
        MDP.from_matrices(
            P.transpose(1, 0, 2), r, model.p0, model.X, discount=model.discount, available=available.tolist()
        ),
    ]
    for mdp in built:
        np.testing.assert_array_equal(mdp.transitions.toarray(), expected.transitions.toarray())
        np.testing.assert_allclose(mdp.rewards, expected.rewards, rtol=1e-13)
        np.testing.assert_array_equal(mdp.available, available)


@given(models(), st.integers(0, 2**32 - 1))
def test_missing_pairs_and_tuples_are_unavailable_actions_if_told_so(model, seed):
    rng = np.random.default_rng(seed)
    S, A, _ = model.P.shape
    available = availability(rng, S, A)
    # Tuples number the actions in the order in which they appear.
    available[0] = True
    expected = replace(model.mdp(), available=available)
    r = model.r
    s, a = (places[order] for order in [rng.permutation(available.sum())] for places in np.nonzero(available))
    names = {"discount": expected.discount, "action_names": expected.action_names}
    from_pairs = MDP.from_pairs(s, a, model.P[s, a], r[s, a], model.p0, model.X, missing="unavailable", **names)
    entries = [(s, a, t, model.P[s, a, t], model.R[s, a, t]) for s, a in np.argwhere(available) for t in range(S)]
    first = dict(enumerate(model.p0.tolist()))
    from_tuples = MDP.from_transitions(entries, first, model.X.__getitem__, missing="unavailable", **names)
    for mdp in (from_pairs, from_tuples):
        np.testing.assert_array_equal(mdp.available, available)
        np.testing.assert_allclose(mdp.transitions.toarray(), expected.transitions.toarray(), rtol=1e-12)
        np.testing.assert_allclose(mdp.rewards, expected.rewards, rtol=1e-9, atol=1e-12)


@given(restricted_mdps(), st.data())
def test_another_fallback_is_another_meaning_of_the_same_choices(mdp, data):
    fallback = data.draw(st.sampled_from([None, *mdp.action_names]))
    other = replace(mdp, fallback=fallback)
    P, Q = (m.transitions.toarray().reshape(*m.rewards.shape, m.n_states) for m in (mdp, other))
    np.testing.assert_array_equal(P[mdp.available], Q[mdp.available])
    assert all(other.played[s, a] == rule(other, s, a) for s, a in np.ndindex(*mdp.rewards.shape))


@given(mdps())
def test_where_everything_is_available_it_costs_nothing(mdp):
    plain = mdp.nbytes
    assert mdp.all_available
    assert replace(mdp, available=np.ones(mdp.rewards.shape)).nbytes == plain
    np.testing.assert_array_equal(mdp.played, np.tile(np.arange(mdp.n_actions), (mdp.n_states, 1)))
    assert not any(mdp.available.strides)
    assert not mdp.available.flags.writeable


def test_a_mask_is_counted_copied_and_frozen():
    mask = np.array([[True, False], [True, True], [False, True]])
    mdp = replace(mdp_from(good_arrays()), available=mask)
    P = mdp.transitions
    arrays = (P.data, P.indices, P.indptr, mdp.rewards, mdp.initial, mdp.features, mdp.origin, mask)
    assert mdp.nbytes == sum(array.nbytes for array in arrays)
    mask[0] = [False, True]
    assert mdp.available.tolist() == [[True, False], [True, True], [False, True]]
    for array in (mdp.available, mdp.played, mdp.reached):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@given(restricted_mdps())
def test_reachable_keeps_what_is_available(mdp):
    part = mdp.reachable()
    np.testing.assert_array_equal(part.origin, np.flatnonzero(mdp.reached))
    np.testing.assert_array_equal(part.available, mdp.available[mdp.reached])
    assert part.fallback == mdp.fallback
    np.testing.assert_array_equal(part.played, mdp.played[mdp.reached])


def test_a_state_behind_an_unavailable_action_is_not_reached():
    P = np.zeros((2, 2, 2))
    P[0, 0, 0] = P[0, 1, 1] = P[1, :, 1] = 1
    X = np.arange(2.0)
    assert MDP.from_dense(P, np.zeros(2), [1, 0], X).reached.tolist() == [True, True]
    lonely = MDP.from_dense(P, np.zeros(2), [1, 0], X, available=[[1, 0], [1, 1]])
    assert lonely.reached.tolist() == [True, False]
    assert lonely.reachable().n_states == 1


@given(restricted_mdps())
def test_the_random_policy_draws_among_available_actions(mdp):
    policy = planning.random_policy(mdp)
    assert np.all((policy > 0) == mdp.available)
    np.testing.assert_allclose(policy.sum(axis=1), 1)
    for row in policy:
        assert len(set(row[row > 0])) == 1
    # An action that stands for another is never better than that one, so the optimum is that of the available ones.
    best = planning.optimal_values(mdp)
    q = planning.q_values(mdp, best).value
    np.testing.assert_array_equal(np.where(mdp.available, q, -np.inf).max(axis=1), q.max(axis=1))


def test_the_random_policy_is_as_before_where_everything_is_available():
    mdp = environment("blackjack")
    np.testing.assert_array_equal(planning.random_policy(mdp), np.full(mdp.rewards.shape, 1 / mdp.n_actions))


@pytest.mark.parametrize(
    ("change", "fragments"),
    [
        ({"available": [[1, 1], [0, 0], [1, 1]]}, ["state 1 has no available action"]),
        ({"available": [[1, 1], [1, 1]]}, ["available must have shape [S, A] = [3, 2]", "(2, 2)"]),
        ({"available": [[2, 1], [0, 1], [1, 1]]}, ["truth values"]),
        ({"available": [["yes", "no"]] * 3}, ["truth values"]),
        ({"fallback": "fly"}, ["fallback 'fly' is not an action", "'stay', 'go'"]),
        ({"fallback": 1}, ["fallback 1 is not an action"]),
    ],
)
def test_what_is_wrong_is_said(change, fragments):
    message = str(refusal(lambda: replace(mdp_from(good_arrays()), **change)))
    assert all(fragment in message for fragment in fragments), message


def test_a_fault_is_reported_for_the_available_action_that_has_it():
    P, r = np.zeros((2, 2, 2)), np.zeros((2, 2))
    P[:, :, 0] = 1
    P[1, 1] = [0.5, 0.25]
    available = [[True, True], [False, True]]
    message = str(refusal(lambda: MDP.from_dense(P, r, [1, 0], np.arange(2.0), available=available)))
    assert "state 1, action 1 ('action_1') sum to 0.75" in message
    P[1, 1], r[1, 1] = [0.5, 0.5], np.nan
    message = str(refusal(lambda: MDP.from_dense(P, r, [1, 0], np.arange(2.0), available=available)))
    assert "reward of state 1, action 1 ('action_1') is nan" in message
