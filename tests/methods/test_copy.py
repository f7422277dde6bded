"""The copying tree takes the optimal action in every state, and the best shared one where states look alike."""

import itertools

import numpy as np
import pytest
from hypothesis import given

from omdt import MDP, Splits, planning
from omdt.environments import PAPER
from omdt.methods.copy import copy_optimal_policy, grow
from omdt.solution import Limits, Stop, Watch
from strategies import environment, mdps


def copy(mdp: MDP):
    return copy_optimal_policy(mdp, Splits.of(mdp), Limits(), Watch())


def optimal_actions(mdp: MDP) -> np.ndarray:
    return planning.greedy(planning.q_values(mdp, planning.optimal_values(mdp)))


@given(mdps(observations=("distinct",)))
def test_every_state_gets_its_optimal_action(mdp):
    claim = copy(mdp)
    np.testing.assert_array_equal(claim.tree.actions(mdp.features), optimal_actions(mdp))
    assert claim.stop is Stop.COMPLETE


@pytest.mark.parametrize("name", [name for name in PAPER if name != "tictactoe_vs_random"])
def test_every_state_of_the_environments_gets_its_optimal_action(name):
    mdp = environment(name)
    np.testing.assert_array_equal(copy(mdp).tree.actions(mdp.features), optimal_actions(mdp))


@given(mdps(observations=("repeated", "constant")))
def test_the_bound_is_that_of_the_optimal_policy(mdp):
    claim = copy(mdp)
    best = planning.expected_return(mdp, planning.optimal_values(mdp))
    value = planning.tree_return(mdp, claim.tree)
    assert best.value <= claim.bound <= best.upper
    assert value.lower <= claim.bound
    agrees = np.array_equal(claim.tree.actions(mdp.features), optimal_actions(mdp))
    assert claim.stop is (Stop.COMPLETE if agrees else Stop.HEURISTIC)


def test_zero_and_minus_zero_look_alike():
    P = np.full((2, 2, 2), 0.5)
    mdp = MDP.from_dense(P, [[1.0, 0.0], [0.0, 2.0]], [0.5, 0.5], [0.0, -0.0], discount=0.5)
    claim = copy(mdp)
    assert claim.tree.to_dict() == {"action": "action_1"}
    assert claim.stop is Stop.HEURISTIC


def test_states_that_never_occur_do_not_outvote_those_that_do():
    P = np.zeros((3, 2, 3))
    P[0, :, 0] = P[1, :, 1] = P[2, :, 2] = 1
    rewards = [[1.0, 0.0], [0.0, 5.0], [0.0, 5.0]]
    mdp = MDP.from_dense(P, rewards, [1.0, 0.0, 0.0], [4.0, 4.0, 4.0], discount=0.5)
    assert copy(mdp).tree.to_dict() == {"action": "action_0"}


def test_neighbouring_floats_are_told_apart():
    P = np.full((2, 2, 2), 0.5)
    X = [1.0, np.nextafter(1.0, 2.0)]
    mdp = MDP.from_dense(P, [[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5], X, discount=0.5)
    assert copy(mdp).tree.actions(mdp.features).tolist() == [0, 1]


def test_the_question_that_says_most_comes_first():
    X = np.array(list(itertools.product([0.0, 1.0, 2.0], [0.0, 1.0])))
    P = np.ones((6, 2, 6)) / 6
    mdp = MDP.from_dense(P, np.zeros(6), np.full(6, 1 / 6), X, feature_names=("noise", "signal"))
    tree = grow(mdp, X, (X[:, 1] > 0.5).astype(int))
    assert tree.to_dict() == {
        "feature": "signal",
        "threshold": 0.5,
        "left": {"action": "action_0"},
        "right": {"action": "action_1"},
    }
