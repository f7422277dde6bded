"""solve() reports what the tree is worth on the MDP, whatever the method says, and refuses what cannot be true."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import omdt
from fakes import fake
from omdt import MDP, InputError, Splits, TreePolicy, planning
from omdt.environments import PAPER
from omdt.errors import FalseClaimError
from omdt.methods.registry import METHODS
from omdt.solution import Claim, Stop
from strategies import environment, good_arrays, mdp_from, mdps, refusal


def optimum(mdp: MDP) -> planning.Certified[float]:
    return planning.expected_return(mdp, planning.optimal_values(mdp))


def method(monkeypatch, claim) -> None:
    monkeypatch.setitem(METHODS, "fake", fake(claim))


def two_actions(mdp: MDP) -> TreePolicy:
    return TreePolicy.from_dict(
        {"feature": "x", "threshold": 0.9, "left": {"action": "stay"}, "right": {"action": "go"}},
        mdp.feature_names,
        mdp.action_names,
    )


@pytest.mark.parametrize("name", PAPER)
def test_copy_reaches_the_optimum_of_the_environments(name):
    mdp = environment(name)
    solution = omdt.solve(mdp, method="copy")
    best = optimum(mdp)
    scale = abs(best.value)
    assert solution.problem == name
    assert solution.value == pytest.approx(best.value, rel=1e-9, abs=1e-12)
    assert solution.optimal_return == best.value
    assert solution.value == omdt.evaluate(mdp, solution.tree)
    assert solution.bound >= best.lower - 1e-12 * scale
    assert solution.proven
    assert solution.gap <= 1e-9
    assert solution.normalized_return == pytest.approx(1, abs=1e-6)


@given(mdps(observations=("distinct",)))
def test_copy_reaches_the_optimum_where_states_look_different(mdp):
    solution = omdt.solve(mdp, method="copy")
    values = planning.optimal_values(mdp).value
    assert abs(solution.value - optimum(mdp).value) <= 1e-9 * np.abs(values).max()
    assert solution.stop is Stop.COMPLETE
    assert solution.bound >= solution.value


@given(mdps())
def test_values_stay_within_bounds_and_bounds_hold_for_every_policy(mdp):
    solution = omdt.solve(mdp, method="copy")
    best = optimum(mdp)
    assert solution.value <= solution.bound
    assert solution.bound >= best.lower - 1e-9 * max(abs(best.value), abs(solution.value))
    assert solution.value == pytest.approx(omdt.evaluate(mdp, solution.tree), rel=1e-12)
    for action in range(mdp.n_actions):
        constant = TreePolicy.leaf(action, mdp.feature_names, mdp.action_names)
        assert omdt.evaluate(mdp, constant) <= solution.bound + 1e-9 * max(abs(best.value), abs(solution.bound))


def test_where_no_tree_can_copy_the_bound_stays_above_the_value():
    P = np.zeros((2, 2, 2))
    P[:, :, 1] = P[:, :, 0] = 0.5
    mdp = MDP.from_dense(P, [[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5], [7.0, 7.0], discount=0.5)
    solution = omdt.solve(mdp, method="copy")
    assert solution.value == pytest.approx(1.0)
    assert solution.bound == pytest.approx(2.0)
    assert solution.gap == pytest.approx(1.0)
    assert not solution.proven
    assert solution.stop is Stop.HEURISTIC
    assert solution.tree.n_nodes == 1


def test_a_forbidding_penalty_does_not_spoil_the_copy():
    mdp = MDP.from_dense(np.ones((1, 3, 1)), [[1.5, 2.0, -1e9]], [1.0], [0.0], discount=0.9)
    assert omdt.solve(mdp, method="copy").value == pytest.approx(20.0)


def test_a_small_advantage_that_adds_up_is_copied():
    mdp = MDP.from_dense(np.ones((1, 2, 1)), [[1 - 5e-6, 1.0]], [1.0], [0.0], discount=0.9999)
    assert omdt.solve(mdp, method="copy").value == pytest.approx(1e4, rel=1e-9)


def test_one_state_and_one_action():
    mdp = MDP(np.ones((1, 1)), [[-2.0]], [1.0], [0.0], discount=0.5)
    solution = omdt.solve(mdp, method="copy")
    assert (solution.value, solution.gap, solution.proven) == (-4.0, 0.0, True)
    assert -4.0 <= solution.bound <= -4.0 + 1e-12
    assert solution.normalized_return == 1.0
    assert solution.tree.to_dict() == {"action": "action_0"}


def test_nothing_to_earn():
    mdp = MDP(np.eye(2)[[0, 0, 1, 1]], np.zeros((2, 2)), [1.0, 0.0], [0.0, 1.0])
    solution = omdt.solve(mdp, method="copy")
    assert (solution.value, solution.gap, solution.normalized_return) == (0.0, 0.0, 1.0)
    assert 0.0 <= solution.bound < 1e-290
    assert solution.tree.n_nodes == 1


def test_the_copy_is_pruned_with_thresholds_midway():
    mdp = environment("frozenlake_4x4")
    tree = omdt.solve(mdp, method="copy").tree
    assert tree.n_nodes == tree.pruned(mdp.features).n_nodes
    assert all(k % 1 == 0.5 for k in tree.threshold[tree.feature >= 0])
    assert tree.integer == (True, True)


@pytest.mark.parametrize("name", ["frozenlake_8x8", "traffic_intersection"])
def test_the_same_call_gives_the_same_solution(name):
    def once() -> dict:
        data = omdt.solve(environment(name), method="copy", seed=5).to_dict()
        return {key: value for key, value in data.items() if key not in ("seconds", "trace")}

    assert once() == once()


def test_the_trace_ends_with_the_result_and_is_heard():
    heard = []
    solution = omdt.solve(environment("frozenlake_4x4"), method="copy", progress=heard.append)
    assert solution.trace[-1][1:] == (solution.value, solution.bound)
    assert tuple(heard[-len(solution.trace) :]) == solution.trace
    assert 0 <= solution.trace[-1][0] <= solution.seconds + 1e-3


def test_saved_solutions_of_real_problems_load_alike(tmp_path):
    solution = omdt.solve(environment("xor"), method="copy")
    solution.save(tmp_path / "xor.json")
    loaded = omdt.load(tmp_path / "xor.json")
    assert loaded.to_json() == solution.to_json()
    assert loaded.tree == solution.tree
    assert omdt.evaluate(environment("xor"), loaded.tree) == solution.value


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        ({"method": "magic"}, ["'magic'", "copy"]),
        ({"method": "copy", "max_depth": 2}, ["copy", "size limit"]),
        ({"method": "copy", "max_leaf_nodes": 2}, ["copy", "size limit"]),
        ({"method": "copy", "max_depth": -1}, ["max_depth", "-1"]),
        ({"gap": -1}, ["gap", "-1"]),
        ({"time_limit": -1}, ["time_limit", "-1"]),
        ({"seed": "x"}, ["seed", "'x'"]),
        ({"threads": 0}, ["threads", "0"]),
    ],
)
def test_calls_that_do_not_fit_are_refused(arguments, fragments):
    with pytest.raises(InputError) as caught:
        omdt.solve(mdp_from(good_arrays()), **arguments)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_whole_numbers_of_numpy_are_whole_numbers():
    solution = omdt.solve(mdp_from(good_arrays()), method="copy", seed=np.int64(3))
    assert solution.seed == 3
    assert json.loads(solution.to_json())["seed"] == 3


def test_an_unknown_setting_of_a_method_is_refused():
    with pytest.raises((InputError, TypeError), match="colour"):
        omdt.solve(mdp_from(good_arrays()), method="copy", colour="red")


@pytest.mark.parametrize(
    "splits", [{"categorical": ["x"]}, {"predicates": [[True], [False], [True]], "labels": ["even"]}]
)
def test_copy_asks_only_questions_that_were_given_or_refuses_them(splits):
    mdp = mdp_from(good_arrays())
    given_splits = Splits.of(mdp, **splits)
    error = refusal(lambda: omdt.solve(mdp, method="copy", splits=given_splits))
    if error is None:
        tree = omdt.solve(mdp, method="copy", splits=given_splits).tree
        inner = tree.feature >= 0
        asked = set(zip(tree.feature[inner].tolist(), tree.equality[inner].tolist(), strict=True))
        assert asked <= set(zip(given_splits.feature.tolist(), given_splits.equality.tolist(), strict=True))
    else:
        assert "copy" in str(error)


@pytest.mark.parametrize("shortfall", [1e-6, 1.0, math.inf])
def test_a_bound_below_the_value_of_its_own_tree_is_refused(monkeypatch, shortfall):
    mdp = mdp_from(good_arrays())
    tree = two_actions(mdp)
    value = omdt.evaluate(mdp, tree)
    method(monkeypatch, lambda *_: Claim(tree, value - shortfall, Stop.COMPLETE))
    with pytest.raises(FalseClaimError, match="no tree returns more than"):
        omdt.solve(mdp, method="fake")


@pytest.mark.parametrize("stop", list(Stop))
def test_a_bound_that_is_no_number_is_refused(monkeypatch, stop):
    mdp = mdp_from(good_arrays())
    method(monkeypatch, lambda *_: Claim(two_actions(mdp), math.nan, stop))
    with pytest.raises(FalseClaimError):
        omdt.solve(mdp, method="fake")


@pytest.mark.parametrize("limits", [{"max_depth": 0}, {"max_leaf_nodes": 1}, {"max_depth": 0, "max_leaf_nodes": 9}])
def test_a_tree_beyond_the_size_limit_is_refused(monkeypatch, limits):
    mdp = mdp_from(good_arrays())
    method(monkeypatch, lambda *_: Claim(two_actions(mdp), 1e6, Stop.TIME))
    with pytest.raises(FalseClaimError):
        omdt.solve(mdp, method="fake", **limits)


def test_a_tree_within_the_limit_after_pruning_is_fine(monkeypatch):
    mdp = mdp_from(good_arrays())
    leaf, same = {"action": "go"}, {"action": "go"}
    tree = TreePolicy.from_dict(
        {"feature": "x", "threshold": 0.5, "left": leaf, "right": same}, mdp.feature_names, mdp.action_names
    )
    method(monkeypatch, lambda *_: Claim(tree, 1e6, Stop.TIME))
    assert omdt.solve(mdp, method="fake", max_depth=0).tree.n_nodes == 1


def test_an_exhausted_search_has_a_gap_of_exactly_zero(monkeypatch):
    mdp = mdp_from(good_arrays())
    tree = two_actions(mdp)
    value = omdt.evaluate(mdp, tree)
    method(monkeypatch, lambda *_: Claim(tree, value * (1 + 1e-15), Stop.COMPLETE))
    solution = omdt.solve(mdp, method="fake")
    assert (solution.value, solution.gap) == (value, 0.0)
    assert value <= solution.bound == pytest.approx(value, rel=1e-12)


def test_a_bound_that_rounding_puts_below_the_value_is_raised_to_it(monkeypatch):
    mdp = mdp_from(good_arrays())
    tree = two_actions(mdp)
    value = omdt.evaluate(mdp, tree)
    method(monkeypatch, lambda *_: Claim(tree, value * (1 - 1e-13), Stop.TIME))
    assert value <= omdt.solve(mdp, method="fake").bound == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("stop", [Stop.TIME, Stop.MEMORY, Stop.INTERRUPTED, Stop.HEURISTIC, Stop.COMPLETE])
def test_a_loose_bound_is_no_proof_whatever_the_reason_for_stopping(monkeypatch, stop):
    mdp = mdp_from(good_arrays())
    tree = TreePolicy.leaf(0, mdp.feature_names, mdp.action_names)
    method(monkeypatch, lambda *_: Claim(tree, optimum(mdp).upper, stop))
    solution = omdt.solve(mdp, method="fake")
    assert solution.stop is stop
    assert solution.gap > 0.1
    assert not solution.proven


def test_an_infinite_bound_is_still_a_solution_that_json_can_hold(monkeypatch):
    mdp = mdp_from(good_arrays())
    method(monkeypatch, lambda *_: Claim(two_actions(mdp), math.inf, Stop.HEURISTIC))
    solution = omdt.solve(mdp, method="fake")
    assert solution.bound >= optimum(mdp).value
    assert json.loads(solution.to_json())["bound"] == pytest.approx(optimum(mdp).value)


def test_the_value_is_recomputed_on_the_mdp_with_the_discount_of_the_mdp():
    mdp = environment("frozenlake_4x4")
    other = replace(mdp, discount=0.5)
    solution = omdt.solve(other, method="copy")
    assert solution.discount == 0.5
    assert solution.value == pytest.approx(optimum(other).value)
    assert solution.value < omdt.solve(mdp, method="copy").value


def test_an_evaluation_that_was_cut_off_proves_nothing(monkeypatch):
    """Where every step costs, an unfinished evaluation is far above the truth; only what is certain counts."""
    mdp = environment("mountain_car")
    best = omdt.solve(mdp, max_depth=1)

    def unfinished(*arguments):
        return planning.Certified(-5.0, 495.0)

    monkeypatch.setattr(planning, "tree_return", unfinished)
    method(monkeypatch, lambda task: Claim(best.tree, optimum(mdp).upper, Stop.TIME))
    solution = omdt.solve(mdp, max_depth=1, method="fake")
    assert solution.value <= best.value
    assert solution.value <= solution.optimal_return
    assert not solution.proven
