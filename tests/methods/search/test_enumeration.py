"""Where there are few trees all of them are evaluated, and that is a proof."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

import omdt
from omdt import MDP, Splits
from omdt.methods.search.enumeration import can_enumerate, count_trees, enumerate_trees
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.partial_tree import Leaf, Tree
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.settings import SearchSettings
from omdt.rules import AvailableOnly
from omdt.solution import Stop
from omdt.watch import Watch
from random_mdps import random_mdp
from search_parts import model_of, random_splits, returns_of, scale_of, started, tree_policies
from strategies import environment, restricted_mdps


def enumerated(local: LocalSearch) -> float | None:
    return enumerate_trees(local.model, local.questions, local.incumbent, local.consider, local.watch)


def large_lake() -> MDP:
    """1,600 states that can be visited again: too many for exact search."""
    return omdt.make("frozenlake", size=40, seed=3, hole_probability=0.02, discount=0.999)


def test_enumeration_agrees_with_brute_force() -> None:
    checked = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        depth, leaves = ((1, None), (2, 3), (None, 3))[seed % 3]
        model = model_of(mdp, depth, leaves, splits=random_splits(mdp, rng))
        if count_trees(len(model.task.splits), mdp.n_actions, model.size.depth, model.size.leaves) > 3000:
            continue
        local = started(model)
        best = float(returns_of(mdp, tree_policies(model)).max())
        bound, rounding = enumerated(local), 1e-10 * scale_of(mdp) + 1e-290
        assert bound is not None
        assert best - rounding <= bound <= best + rounding, seed
        assert local.incumbent.value == pytest.approx(best, abs=rounding), seed
        checked += 1
    assert checked > 40


@given(restricted_mdps(max_states=5, max_actions=3))
@settings(max_examples=25)
def test_trees_that_the_rules_forbid_do_not_count(mdp: MDP) -> None:
    model = model_of(mdp, 1, rules=[AvailableOnly()])
    local = started(model)
    bound = enumerated(local)
    policies = tree_policies(model)
    kept = policies[model.allowed[np.arange(mdp.n_states), policies].all(axis=1)]
    if len(kept) == 0:
        assert bound == -np.inf
        assert local.incumbent.tree is None
        return
    best = float(returns_of(mdp, kept).max())
    rounding = 1e-9 * scale_of(mdp) + 1e-290
    assert bound == pytest.approx(best, abs=rounding)
    assert local.incumbent.value == pytest.approx(best, abs=rounding)


def test_only_improvements_are_considered() -> None:
    model = model_of(environment("frozenlake_4x4"), 1)
    local = started(model)
    considered: list[Tree] = []
    values = [local.incumbent.value]

    def consider(tree: Tree) -> None:
        considered.append(tree)
        local.consider(tree)
        values.append(local.incumbent.value)

    bound = enumerate_trees(model, local.questions, local.incumbent, consider, local.watch)
    assert bound is not None
    assert considered
    assert values == sorted(set(values))
    assert considered[-1] == local.incumbent.tree
    assert bound == pytest.approx(values[-1])


def test_every_tree_is_a_node() -> None:
    """Four leaves, and per question that divides the states a tree per pair of different actions."""
    mdp = environment("frozenlake_4x4")
    local = started(model_of(mdp, 1))
    assert enumerated(local) is not None
    pairs = sum(a != b for a, b in product(range(4), repeat=2))
    assert local.watch.nodes == 4 + pairs * len(Splits.of(mdp))


def test_the_count_is_that_of_all_trees() -> None:
    assert count_trees(5, 3, 0, 1) == 3
    assert count_trees(5, 3, 1, 2) == 3 + 5 * 9
    assert count_trees(2, 2, 2, 4) == 2 + 2 * (2 + 2 * 4) ** 2
    assert count_trees(10, 10, 100, 2**100) > 1e15
    assert count_trees(1, 1, 10**6, 10**6 + 1) > 1e15


def trees_by_leaves(questions: int, actions: int, depth: int) -> Counter[int]:
    """How many trees of a depth have each number of leaves, by listing all of them."""
    if depth == 0:
        return Counter({1: actions})
    below = trees_by_leaves(questions, actions, depth - 1)
    found = Counter({1: actions})
    for (i, m), (j, n) in product(below.items(), repeat=2):
        found[i + j] += questions * m * n
    return found


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4])
def test_a_limit_on_leaves_counts(depth: int) -> None:
    for questions, actions in ((1, 1), (3, 2), (2, 4)):
        by_leaves = trees_by_leaves(questions, actions, depth)
        for leaves in range(1, 2**depth + 1):
            expected = sum(count for n, count in by_leaves.items() if n <= leaves)
            found = count_trees(questions, actions, depth, leaves)
            assert found == expected or (found > 1e15 and expected > 1e15)


def test_few_trees_of_many_states_are_enumerated() -> None:
    lake = environment("frozenlake_4x4")
    assert can_enumerate(model_of(lake, 0))
    assert can_enumerate(model_of(lake, None, 1))
    assert not can_enumerate(model_of(lake, 1))
    assert can_enumerate(model_of(lake, 1, enumerated_states=lake.n_states))
    assert not can_enumerate(model_of(lake, 9, enumerated_states=1))
    assert can_enumerate(model_of(lake, 9, 2, enumerated_states=1))
    assert not can_enumerate(model_of(lake, 1, enumerated_states=1, enumerated_seconds=1e-3))
    alike = MDP.from_dense(np.full((2, 2, 2), 0.5), np.eye(2), [1, 0], np.zeros(2))
    assert can_enumerate(model_of(alike, 3))


def test_the_clock_ends_an_enumeration_without_a_claim() -> None:
    local = started(model_of(environment("frozenlake_4x4"), 1))
    local.watch.interrupt()
    assert enumerated(local) is None


def test_time_that_runs_out_during_the_last_tree_makes_no_claim() -> None:
    """An evaluation that was cut off says nothing about the bound."""
    model, watch = model_of(environment("frozenlake_4x4"), 0), Watch()
    local = started(model, watch=watch)
    local.incumbent.improve(Leaf(0), -1.0)
    considered: list[Tree] = []

    def consider(tree: Tree) -> None:
        considered.append(tree)
        if len(considered) == model.mdp.n_actions:
            watch.interrupt()

    assert enumerate_trees(model, Ranks(model.task.splits), local.incumbent, consider, watch) is None
    assert considered == [Leaf(a) for a in range(model.mdp.n_actions)]


def test_a_limit_on_nodes_ends_an_enumeration() -> None:
    watch = Watch(node_limit=3)
    local = started(model_of(environment("frozenlake_4x4"), 1), watch=watch)
    assert enumerated(local) is None
    assert watch.nodes == 3


@pytest.mark.parametrize(("depth", "leaves"), [(0, None), (None, 1), (None, 2)])
def test_small_trees_are_proven_beyond_the_size_of_exact_search(depth: int | None, leaves: int | None) -> None:
    mdp = large_lake()
    assert not model_of(mdp, depth, leaves).searchable
    solution = omdt.solve(mdp, max_depth=depth, max_leaf_nodes=leaves)
    assert solution.proven
    assert solution.stop is Stop.COMPLETE
    assert solution.bound < 0.9 * solution.optimal_return
    leaf = max(omdt.evaluate(mdp, omdt.TreePolicy.leaf(a, mdp.feature_names, mdp.action_names)) for a in range(4))
    assert solution.value >= leaf


def test_time_ends_the_enumeration_of_a_run_without_a_claim() -> None:
    mdp = omdt.make("frozenlake", size=60, seed=3, hole_probability=0.02, discount=0.999)
    searched = SearchSettings(enumerated_seconds=1e9)
    solution = omdt.solve(mdp, max_depth=2, time_limit=2, settings=searched)
    assert solution.stop is Stop.TIME
    assert solution.bound >= solution.optimal_return


@pytest.mark.parametrize("nodes", [1, 50])
def test_a_limit_on_nodes_counts_trees(nodes: int) -> None:
    mdp = large_lake()
    at_once = SearchSettings(first_climbs=0)
    first, second = (omdt.solve(mdp, max_depth=1, node_limit=nodes, settings=at_once).to_json() for _ in range(2))
    assert first == second
    assert '"stop": "nodes"' in first
