"""The copying tree takes the optimal action in every state, and the best shared one where states look alike."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import omdt
from omdt import MDP, InputError, TreePolicy, planning
from omdt.environments import PAPER
from omdt.limits import Limits
from omdt.methods.copy import copy_optimal_policy, grow
from omdt.methods.options import CopyOptions
from omdt.solution import Claim, Stop
from omdt.task import Size, Task
from omdt.watch import Watch
from strategies import environment, mdps

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "reference.json").read_text())["environments"]

# In the other five, states have several optimal actions, and the reference takes the one that rounding put first.
WITH_THE_REFERENCE = [
    "3d_navigation",
    "blackjack",
    "frozenlake_4x4",
    "inventory_management",
    "system_administrator_2",
    "tictactoe_vs_random",
    "traffic_intersection",
    "xor",
]


def copy(mdp: MDP, **options: str) -> Claim:
    return copy_optimal_policy(Task.over_thresholds(mdp, Size()), Limits(), Watch(), CopyOptions(**options))


def optimal_actions(mdp: MDP) -> np.ndarray:
    return planning.greedy(planning.q_values(mdp, planning.optimal_values(mdp)))


def acts_optimally(mdp: MDP, tree: TreePolicy) -> bool:
    best = planning.best_actions(planning.q_values(mdp, planning.optimal_values(mdp)))
    return bool(best[np.arange(mdp.n_states), tree.actions(mdp.features)].all())


@pytest.mark.parametrize("name", WITH_THE_REFERENCE)
def test_sizes_are_those_of_the_reference(name):
    published = name == "inventory_management"
    mdp = omdt.make(name, as_published=True) if published else environment(name)
    expected = REFERENCE[f"{name}_as_published" if published else name]["copy_optimal_policy_tree_nodes"]
    assert copy(mdp).tree.n_decision_nodes == expected


@pytest.mark.parametrize(
    ("name", "lowest", "any_of_them"),
    [
        ("frozenlake_4x4", 10, 7),
        ("frozenlake_8x8", 40, 31),
        ("tiger_vs_antelope", 545, 445),
        ("traffic_intersection", 32, 32),
    ],
)
def test_the_freedom_of_ties_makes_smaller_trees_that_are_still_optimal(name, lowest, any_of_them):
    mdp = environment(name)
    free = copy(mdp, ties="any")
    assert copy(mdp).tree.n_decision_nodes == lowest
    assert free.tree.n_decision_nodes == any_of_them
    assert free.stop is Stop.COMPLETE
    assert acts_optimally(mdp, free.tree)
    best = planning.expected_return(mdp, planning.optimal_values(mdp))
    assert omdt.evaluate(mdp, free.tree) == pytest.approx(best.value, rel=1e-9)


@given(mdps())
def test_any_optimal_action_never_costs_nodes_or_value(mdp):
    lowest, free = copy(mdp), copy(mdp, ties="any")
    assert free.tree.n_nodes <= lowest.tree.n_nodes
    if lowest.stop is Stop.COMPLETE:
        assert free.stop is Stop.COMPLETE
    assert free.stop is (Stop.COMPLETE if acts_optimally(mdp, free.tree) else Stop.HEURISTIC)


def test_states_that_look_alike_share_an_action_that_is_optimal_in_all():
    P = np.full((2, 3, 2), 0.5)
    mdp = MDP.from_dense(P, [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], [0.5, 0.5], [7.0, 7.0], discount=0.5)
    claim = copy(mdp, ties="any")
    assert claim.tree.to_dict() == {"action": "action_1"}
    assert claim.stop is Stop.COMPLETE


def test_ties_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="ties is 'first'; it must be lowest or any"):
        copy(environment("xor"), ties="first")


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
    assert claim.stop is (Stop.COMPLETE if acts_optimally(mdp, claim.tree) else Stop.HEURISTIC)


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
    tree = grow(mdp, X, np.eye(2, dtype=bool)[(X[:, 1] > 0.5).astype(int)])
    assert tree.to_dict() == {
        "feature": "signal",
        "threshold": 0.5,
        "left": {"action": "action_0"},
        "right": {"action": "action_1"},
    }
