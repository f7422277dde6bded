"""Methods against all trees where states lack actions: the fallback is played, or no leaf may name a missing one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import threshold_questions, tree_policies
from omdt import MDP, InputError, solve
from omdt.methods.search.local import LocalSearch
from omdt.solution import Stop
from restricted import Restricted, restricted
from strategies import environment

SIZES = st.sampled_from([(0, 1), (1, 2), (2, 3), (2, 4), (3, 4)])
"""Limits on depth and leaves."""


def policies(mdp: MDP, depth: int, leaves: int) -> np.ndarray:
    """[n, S] what every tree within the limits names."""
    return tree_policies(threshold_questions(mdp.features), *mdp.rewards.shape, depth, leaves)


def best(problem: Restricted, named: np.ndarray) -> float:
    """The most that any of these policies [n, S] returns when the fallback is played for what is missing."""
    states = np.arange(problem.mdp.n_states)
    return max(problem.value(problem.mdp.played[states, policy]) for policy in named)


def allowed(mdp: MDP, named: np.ndarray) -> np.ndarray:
    """Those policies that name what is available in every state that some policy can reach."""
    states = np.flatnonzero(mdp.reached)
    return named[mdp.available[states, named[:, states]].all(axis=1)]


def forbidden(mdp: MDP, size: tuple[int, int], **rest):
    return solve(mdp, max_depth=size[0], max_leaf_nodes=size[1], gap=1e-9, unavailable="forbid", **rest)


@given(restricted(max_states=5, max_actions=3, observations=("distinct", "repeated")), SIZES)
@settings(max_examples=40)
def test_the_search_finds_the_best_tree_with_its_fallback(problem, size):
    solution = solve(problem.mdp, max_depth=size[0], max_leaf_nodes=size[1], gap=1e-9)
    assert solution.stop is Stop.COMPLETE
    assert solution.value == pytest.approx(best(problem, policies(problem.mdp, *size)), rel=1e-8, abs=1e-8)


@given(restricted(max_states=4, max_actions=3), st.integers(0, 1))
@settings(max_examples=10)
def test_the_program_finds_the_best_tree_with_its_fallback(problem, depth):
    solution = solve(problem.mdp, max_depth=depth, method="milp", gap=1e-6, time_limit=60)
    assert solution.value == pytest.approx(best(problem, policies(problem.mdp, depth, 2**depth)), rel=1e-5, abs=1e-5)


@given(restricted(max_states=5, max_actions=3, observations=("distinct", "repeated")), SIZES)
@settings(max_examples=60)
def test_a_forbidding_search_finds_the_best_tree_of_available_actions(problem, size):
    named = allowed(problem.mdp, policies(problem.mdp, *size))
    if len(named) == 0:
        with pytest.raises(InputError, match="names only available actions"):
            forbidden(problem.mdp, size)
        return
    solution = forbidden(problem.mdp, size)
    assert solution.stop is Stop.COMPLETE
    assert solution.value == pytest.approx(best(problem, named), rel=1e-8, abs=1e-8)
    states = np.flatnonzero(problem.mdp.reached)
    actions = solution.tree.actions(problem.mdp.features)
    assert problem.mdp.available[states, actions[states]].all()
    assert solution.replaced == ()


def disjoint() -> MDP:
    """Four states in a circle; of each two neighbours one offers only a and the other only b."""
    P = np.zeros((4, 2, 4))
    P[np.arange(4), :, (np.arange(4) + 1) % 4] = 1
    available = [[1, 0], [0, 1], [1, 0], [0, 1]]
    names = {"feature_names": ("x",), "action_names": ("a", "b")}
    return MDP.from_dense(P, np.ones((4, 2)), [1, 0, 0, 0], np.arange(4.0), discount=0.5, available=available, **names)


def test_where_no_tree_keeps_the_rule_that_is_said():
    with pytest.raises(InputError, match=r"no tree of depth ≤ 1 names only available actions: .*fallback"):
        solve(disjoint(), max_depth=1, unavailable="forbid")
    with pytest.raises(InputError, match=r"no tree of at most 3 leaves names only available actions: .*fallback"):
        solve(disjoint(), max_leaf_nodes=3, unavailable="forbid")


def test_a_larger_tree_keeps_the_rule():
    solution = solve(disjoint(), max_depth=2, unavailable="forbid")
    assert (solution.tree.n_leaves, solution.proven) == (4, True)
    assert solution.value == pytest.approx(2.0)
    assert solve(disjoint(), max_leaf_nodes=4, unavailable="forbid").value == pytest.approx(2.0)


def test_states_that_look_alike_and_share_no_action_have_no_tree():
    mdp = disjoint()
    alike = MDP(
        mdp.transitions, mdp.rewards, mdp.initial, np.zeros(4), action_names=("a", "b"), available=mdp.available
    )
    with pytest.raises(InputError, match="names only available actions"):
        solve(alike, max_depth=3, unavailable="forbid")


def test_what_cannot_be_reached_does_not_count():
    """The second half of the circle is never entered, so one question is enough."""
    P = np.zeros((4, 2, 4))
    P[[0, 1], :, [1, 0]] = 1
    P[[2, 3], :, [3, 2]] = 1
    available = [[1, 0], [0, 1], [1, 0], [0, 1]]
    mdp = MDP.from_dense(P, np.ones((4, 2)), [1, 0, 0, 0], np.arange(4.0), discount=0.5, available=available)
    solution = solve(mdp, max_depth=1, unavailable="forbid")
    assert (solution.proven, solution.value) == (True, pytest.approx(2.0))


def test_the_rule_costs_nothing_where_everything_is_available():
    free, bound = (
        solve(environment("frozenlake_4x4"), max_depth=2, unavailable=rule) for rule in ("fallback", "forbid")
    )
    assert (free.value, free.proven) == (bound.value, bound.proven)
    assert free.tree == bound.tree


@pytest.mark.parametrize("threads", [1, 2])
def test_a_forbidding_search_on_several_threads(threads):
    solution = solve(disjoint(), max_depth=2, unavailable="forbid", threads=threads)
    assert solution.value == pytest.approx(2.0)


@pytest.mark.parametrize("reward", [0.0, -3.0, 1e-9, 1e9])
def test_a_first_tree_is_found_by_exact_search_alone(reward, monkeypatch):
    """Nothing is earned by one tree more than by another, and the local search is not asked."""
    monkeypatch.setattr(LocalSearch, "start", lambda self: None)
    monkeypatch.setattr(LocalSearch, "climb", lambda self, times: None)
    mdp = disjoint()
    same = replace(mdp, rewards=np.full((4, 2), reward))
    for gap in (0.0, 1e-4, 2.0):
        solution = solve(same, max_depth=2, unavailable="forbid", gap=gap)
        assert solution.value == pytest.approx(2 * reward)
        assert solution.tree.n_leaves == 4
        with pytest.raises(InputError, match="names only available actions"):
            solve(same, max_depth=1, unavailable="forbid", gap=gap)
