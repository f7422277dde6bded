"""Visits, losses and runners-up are those that dense linear algebra and brute force find."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_cases import solution_of, tree_for

import omdt
from omdt import MDP, InputError, InputWarning, Splits, TreePolicy, planning
from omdt.report import runners_up as module
from omdt.report.analysis import analyse
from restricted import restricted
from strategies import environment, mdps

LEAF = -1
ENVIRONMENTS = ["frozenlake_4x4", "blackjack", "traffic_intersection", "system_administrator_1", "tictactoe_vs_random"]


def dense_return(mdp: MDP, policy: np.ndarray) -> float:
    S, A = mdp.rewards.shape
    P = mdp.transitions.toarray().reshape(S, A, S)[np.arange(S), policy]
    return float(mdp.initial @ np.linalg.solve(np.eye(S) - mdp.discount * P, mdp.rewards[np.arange(S), policy]))


def size(mdp: MDP) -> float:
    """What returns can be, and so the unit of their rounding."""
    return float(np.abs(mdp.rewards).max()) / (1 - mdp.discount)


@given(mdps(), st.integers(0, 1000))
def test_the_costs_of_all_states_add_up_to_the_shortfall(mdp, seed):
    tree = tree_for(mdp, seed)
    solution = solution_of(mdp, tree)
    found = analyse(solution, mdp)
    assert (found.cost >= 0).all()
    assert found.cost.sum() == pytest.approx(found.shortfall, rel=1e-9, abs=1e-9 * size(mdp))
    best = solution.optimal_return - dense_return(mdp, tree.actions(mdp.features))
    assert found.shortfall == pytest.approx(best, rel=1e-9, abs=1e-9 * size(mdp))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_costs_add_up_on_environments(name):
    mdp = environment(name)
    for seed in range(3):
        found = analyse(solution_of(mdp, tree_for(mdp, seed)), mdp)
        assert found.shortfall > 0
        assert found.cost.sum() == pytest.approx(found.shortfall, rel=1e-8)
        disagree = found.cost > 0
        assert (found.best[disagree] != found.action[disagree]).all()
        q = planning.q_values(mdp, planning.optimal_values(mdp)).value
        np.testing.assert_allclose(q[np.arange(mdp.n_states), found.best], q.max(axis=1), rtol=1e-9, atol=1e-9)


@given(mdps(), st.integers(0, 1000))
def test_every_visit_passes_the_root_and_one_side_of_each_question(mdp, seed):
    tree = tree_for(mdp, seed)
    found = analyse(solution_of(mdp, tree), mdp)
    visited = found.visits[~mdp.terminal].sum() > 0 or mdp.terminal.all()
    assert found.node_share[0] == pytest.approx(1.0 if visited else 0.0)
    assert found.node_states[0] == mdp.n_states
    for i in np.flatnonzero(tree.feature != LEAF):
        for through in (found.node_share, found.node_cost, found.node_states):
            assert through[i] == pytest.approx(through[tree.left[i]] + through[tree.right[i]])
    for i in np.flatnonzero(tree.feature == LEAF):
        assert found.node_states[i] == (found.leaf == i).sum()
        assert found.node_share[i] == pytest.approx(found.share[found.leaf == i].sum())


@given(mdps(), st.integers(0, 1000))
def test_exactly_the_states_that_can_be_reached_are_visited(mdp, seed):
    found = analyse(solution_of(mdp, tree_for(mdp, seed)), mdp)
    S, A = mdp.rewards.shape
    step = mdp.transitions.toarray().reshape(S, A, S)[np.arange(S), found.action] > 0
    reached = mdp.initial > 0
    for _ in range(S):
        reached = reached | (reached @ step)
    np.testing.assert_array_equal(found.visits > 0, reached)
    assert found.visits.sum() == pytest.approx(1 / (1 - mdp.discount))


def test_terminal_states_take_no_part_in_the_shares():
    mdp = environment("frozenlake_4x4")
    tree = TreePolicy.leaf(1, mdp.feature_names, mdp.action_names)
    found = analyse(solution_of(mdp, tree), mdp)
    assert found.visits[mdp.terminal].sum() > found.visits[~mdp.terminal].sum()
    assert (found.share[mdp.terminal] == 0).all()
    assert found.share.sum() == pytest.approx(1)
    np.testing.assert_array_equal(found.deciding, ~mdp.terminal)


@given(mdps(max_states=6, rewards=("few values", "normal", "negative")), st.integers(0, 1000))
@settings(max_examples=40)
def test_the_runner_up_is_the_best_other_action(mdp, seed):
    tree = tree_for(mdp, seed)
    found = analyse(solution_of(mdp, tree), mdp)
    value = dense_return(mdp, found.action)
    for i in np.flatnonzero(tree.feature == LEAF):
        if found.node_share[i] == 0 or mdp.n_actions == 1:
            assert i not in found.runners_up
            continue
        others = {
            a: dense_return(mdp, np.where(found.leaf == i, a, found.action))
            for a in range(mdp.n_actions)
            if a != tree.action[i]
        }
        runner_up = found.runners_up[i]
        near = 1e-9 * size(mdp)
        assert others[runner_up.action] == pytest.approx(max(others.values()), abs=near)
        assert runner_up.loss == pytest.approx(value - max(others.values()), abs=near)


@given(restricted(max_states=6), st.integers(0, 1000), st.sampled_from(["fallback", "forbid"]))
@settings(max_examples=40)
def test_a_runner_up_is_available_where_it_would_be_played(problem, seed, rule):
    mdp = problem.mdp
    tree = tree_for(mdp, seed)
    found = analyse(solution_of(mdp, tree, unavailable=rule), mdp)
    played = mdp.played[np.arange(mdp.n_states), found.action]
    counted = mdp.reached if rule == "forbid" else problem.visited(played) & found.deciding
    for i in np.flatnonzero((tree.feature == LEAF) & (found.node_share > 0)):
        others = {
            a: dense_return(mdp, np.where(found.leaf == i, a, found.action))
            for a in range(mdp.n_actions)
            if a != tree.action[i] and mdp.available[counted & (found.leaf == i), a].all()
        }
        assert (i in found.runners_up) == bool(others)
        if others:
            near = 1e-9 * size(mdp)
            assert others[found.runners_up[i].action] == pytest.approx(max(others.values()), abs=near)


def test_nothing_is_as_good_as_unloading_a_full_truck():
    """A full truck can unload or wait; nobody may be told to drive it instead."""
    with pytest.warns(InputWarning, match="5 of 5 states"):
        mdp = omdt.read(Path(__file__).parent.parent / "data" / "models" / "truck.csv", discount=0.9)
    full = omdt.solve(mdp, max_depth=1, unavailable="forbid")
    names = [mdp.action_names[found.action] for found in analyse(full, mdp).runners_up.values()]
    assert full.tree.n_leaves == 2
    assert sorted(names) == ["unload", "wait"]


@pytest.mark.parametrize(("name", "depth"), [("frozenlake_4x4", 2), ("traffic_intersection", 1)])
def test_no_runner_up_gains_at_a_proven_optimum(name, depth):
    mdp = environment(name)
    solution = omdt.solve(mdp, max_depth=depth, gap=0)
    assert solution.gap == 0
    runners_up = analyse(solution, mdp).runners_up
    assert runners_up
    assert all(runner_up.loss >= 0 for runner_up in runners_up.values())


def test_the_most_visited_leaves_come_first_when_there_are_too_many(monkeypatch):
    mdp = environment("system_administrator_1")
    solution = omdt.solve(mdp, method="copy")
    tree = solution.tree
    monkeypatch.setattr(module, "MOST_EVALUATIONS", 3 * (mdp.n_actions - 1))
    found = analyse(solution, mdp)
    visited = np.where(tree.feature == LEAF, found.node_share, 0)
    assert (visited > 0).sum() > 3
    assert set(found.runners_up) == set(np.argsort(-visited, kind="stable")[:3])


def test_the_optimal_policy_loses_nothing():
    mdp = environment("blackjack")
    found = analyse(omdt.solve(mdp, method="copy"), mdp)
    assert found.shortfall == 0
    assert found.cost.sum() == 0


def test_predicates_are_read_from_the_observations():
    mdp = environment("frozenlake_4x4")
    splits = Splits.of(mdp, predicates=(mdp.features.sum(axis=1) > 3)[:, None], labels=["beyond the diagonal"])
    solution = omdt.solve(mdp, max_depth=2, splits=splits)
    assert solution.tree.feature_names[-1] == "beyond the diagonal"
    assert analyse(solution, mdp, splits.observations).node_share[0] == pytest.approx(1)
    assert analyse(solution, mdp).node_share[0] == pytest.approx(1)
    with pytest.raises(InputError, match=r"'beyond the diagonal'.*splits\.observations"):
        analyse(replace(solution, questions=None), mdp)
    with pytest.raises(InputError, match="predicates are about 16 states, the model has 64"):
        analyse(solution, environment("frozenlake_8x8"))


def test_another_problem_is_refused():
    mdp = environment("frozenlake_4x4")
    solution = omdt.solve(mdp, max_depth=1)
    with pytest.raises(InputError, match="actions are 'Left', 'Down', 'Right', 'Up', those of xor are"):
        analyse(solution, environment("xor"))
    with pytest.raises(InputError, match=r"features are 'X', 'Y', those of .* are 'a', 'b'"):
        analyse(solution, replace(mdp, feature_names=("a", "b")))
    with pytest.raises(InputError, match=r"discount is 0\.99, that of frozenlake_4x4 is 0\.9;"):
        analyse(solution, replace(mdp, discount=0.9))
    with pytest.raises(InputError, match="by the solution the tree returns"):
        analyse(solution, environment("frozenlake_8x8"))
    with pytest.raises(InputError, match="by the solution the optimal policy returns"):
        analyse(replace(solution, optimal_return=solution.optimal_return + 1e-6), mdp)
    with pytest.raises(InputError, match="by the solution the random policy returns"):
        analyse(replace(solution, random_return=0.5), mdp)
