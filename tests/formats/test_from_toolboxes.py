"""The arrays of QuantEcon and pymdptoolbox become the MDP they describe."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import omdt
from omdt import InputWarning, planning
from random_mdps import availability, random_model
from strategies import models, refusal


def optimal(mdp: omdt.MDP) -> np.ndarray:
    return planning.optimal_values(mdp).value


def pairs(P: np.ndarray, R: np.ndarray, kept: np.ndarray, *, dense: bool) -> SimpleNamespace:
    """A DiscreteDP by state-action pairs, those that are kept."""
    states, actions = np.nonzero(kept)
    Q = P[states, actions]
    return SimpleNamespace(
        R=R[states, actions], Q=Q if dense else sparse.csr_matrix(Q), s_indices=states, a_indices=actions, beta=0.9
    )


@given(models(max_states=5, rewards=("few values", "normal")), st.booleans(), st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore:.*some but not all")
def test_both_forms_of_a_problem_are_the_same_mdp(model, dense, seed):
    rng = np.random.default_rng(seed)
    S, A, _ = model.P.shape
    r = model.r
    kept = availability(rng, S, A, share=0.7)
    kept[0, A - 1] = True
    product = SimpleNamespace(R=np.where(kept, r, -np.inf), Q=model.P, beta=0.9)
    one, other = omdt.from_quantecon(product), omdt.from_quantecon(pairs(model.P, r, kept, dense=dense))
    np.testing.assert_allclose(one.transitions.toarray(), other.transitions.toarray(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.rewards, other.rewards, rtol=0, atol=1e-12)
    P = one.transitions.toarray().reshape(S, A, S)
    np.testing.assert_allclose(P[kept], model.P[kept], rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.rewards[kept], r[kept], rtol=1e-12, atol=1e-12)
    for s, a in np.argwhere(~kept):
        first = int(np.argmax(kept[s]))
        np.testing.assert_allclose(P[s, a], model.P[s, first], rtol=0, atol=1e-12)
        np.testing.assert_allclose(one.rewards[s, a], r[s, first], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(one.available, kept)
    np.testing.assert_array_equal(other.available, kept)


@pytest.mark.needs("quantecon")
@pytest.mark.filterwarnings("default::DeprecationWarning", "default::PendingDeprecationWarning")
def test_the_optimal_values_are_quantecons():
    from quantecon.markov import DiscreteDP

    model = random_model(np.random.default_rng(0), states=6, actions=3, dynamics="ergodic", reward_axes="SA")
    model.R[[0, 2, 5], [1, 0, 2]] = -np.inf
    ddp = DiscreteDP(model.R, model.P, 0.95)
    for problem in (ddp, ddp.to_sa_pair_form(), ddp.to_sa_pair_form(sparse=False)):
        with pytest.warns(InputWarning, match="3 of 6 states offer some but not all of the 3 actions"):
            mdp = omdt.from_quantecon(problem)
        np.testing.assert_allclose(optimal(mdp), ddp.solve(method="policy_iteration").v, rtol=0, atol=1e-9)
        assert mdp.discount == 0.95
        assert mdp.initial.tolist() == [1 / 6] * 6
        assert mdp.feature_names == ("state",)


def test_a_state_without_feasible_actions_is_named():
    ddp = SimpleNamespace(R=np.array([[0.0, 1.0], [-np.inf, -np.inf]]), Q=np.full((2, 2, 2), 0.5), beta=0.9)
    assert "state 1 has no feasible action" in str(refusal(lambda: omdt.from_quantecon(ddp)))
    ddp.R[:, 0] = 0
    ddp.R[0] = -np.inf
    assert "state 0 has no feasible action" in str(refusal(lambda: omdt.from_quantecon(ddp)))


@pytest.mark.parametrize(
    ("R", "Q", "beta", "fragment"),
    [
        ([[np.nan, 0.0]], [[[1.0], [1.0]]], 0.9, "reward of state 0"),
        ([[0.0, 0.0]], [[[0.5], [1.0]]], 0.9, "state 0, action 'action_0' has probabilities that sum to 0.5"),
        ([[0.0, 0.0]], [[[1.0], [1.0]]], 1.5, "discount is 1.5"),
    ],
)
def test_bad_problems_are_refused(R, Q, beta, fragment):
    ddp = SimpleNamespace(R=np.array(R), Q=np.array(Q), beta=beta)
    assert fragment in str(refusal(lambda: omdt.from_quantecon(ddp)))


def test_features_and_names_are_taken():
    ddp = SimpleNamespace(R=np.zeros((2, 2)), Q=np.full((2, 2, 2), 0.5), beta=0.9)
    mdp = omdt.from_quantecon(
        ddp, initial=[1, 0], features=[[3], [4]], feature_names=("k",), action_names=("save", "spend"), name="growth"
    )
    assert (mdp.name, mdp.feature_names, mdp.action_names) == ("growth", ("k",), ("save", "spend"))
    assert mdp.features.tolist() == [[3], [4]]
    assert mdp.initial.tolist() == [1, 0]
    assert "2 actions but 1 action name" in str(refusal(lambda: omdt.from_quantecon(ddp, action_names=("save",))))


def forest() -> tuple[np.ndarray, np.ndarray]:
    """The forest of pymdptoolbox's introduction: three ages, wait or cut; it burns with probability 0.1."""
    P = np.array([[[0.1, 0.9, 0.0], [0.1, 0.0, 0.9], [0.1, 0.0, 0.9]], [[1.0, 0, 0], [1, 0, 0], [1, 0, 0]]])
    return P, np.array([[0.0, 0.0], [0.0, 1.0], [4.0, 2.0]])


def test_the_forest_has_its_published_values():
    mdp = omdt.from_pymdptoolbox(*forest(), 0.9)
    # Always waiting is optimal; the values are those of policy iteration in pymdptoolbox's documentation.
    np.testing.assert_allclose(optimal(mdp), [26.244, 29.484, 33.484], atol=1e-3)
    assert mdp.initial.tolist() == [1 / 3] * 3
    assert mdp.feature_names == ("state",)


def test_every_shape_of_rewards_and_matrices_is_taken():
    P, R = forest()
    per_transition = np.broadcast_to(R.T[:, :, None], P.shape)
    objects = np.empty(2, dtype=object)
    objects[:] = [sparse.csr_matrix(matrix) for matrix in P]
    expected = omdt.from_pymdptoolbox(P, R, 0.9)
    for transitions in (P, tuple(P), objects, [sparse.csc_matrix(matrix) for matrix in P]):
        rewards_of_objects = np.empty(2, dtype=object)
        rewards_of_objects[:] = [sparse.csr_matrix(matrix) for matrix in per_transition]
        for rewards in (R, sparse.csr_matrix(R), per_transition, rewards_of_objects, list(rewards_of_objects)):
            mdp = omdt.from_pymdptoolbox(transitions, rewards, 0.9)
            np.testing.assert_allclose(mdp.transitions.toarray(), expected.transitions.toarray(), rtol=0, atol=1e-15)
            np.testing.assert_allclose(mdp.rewards, R, rtol=0, atol=1e-15)
    by_state = omdt.from_pymdptoolbox(P, np.array([1.0, 2.0, 3.0]), 0.9)
    assert by_state.rewards.tolist() == [[1, 1], [2, 2], [3, 3]]


def test_nothing_is_refused_with_a_message():
    assert "no actions" in str(refusal(lambda: omdt.from_pymdptoolbox([], [], 0.9)))
    assert "sum to" in str(refusal(lambda: omdt.from_pymdptoolbox(np.full((1, 2, 2), 0.25), np.zeros(2), 0.9)))
