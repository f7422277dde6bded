"""The robust search agrees with brute force over all trees, and its bound is never too low, wherever it is cut off."""

import math

import numpy as np
import pytest
from interval_cases import random_intervals

import omdt
from brute_force import best_return, threshold_questions, tree_policies
from omdt.errors import InputError
from omdt.limits import Limits
from omdt.robust.climbing import climb, neighbours
from omdt.robust.incumbent import Incumbent
from omdt.robust.interval_mdp import IntervalMDP
from omdt.robust.partial import Partial
from omdt.robust.scenarios import scenario, search_scenarios
from omdt.robust.search import Search
from omdt.robust.solve import robust_solve
from omdt.robust.values import WorstCase
from omdt.solution import Stop
from omdt.splits import Splits
from omdt.task import Size
from omdt.tree import TreePolicy
from omdt.watch import Watch
from thorough import sampled

SIZES = [Size(0), Size(1), Size(2), Size(None, 3), Size(2, 3)]


def best_guarantee(problem: IntervalMDP, size: Size) -> float:
    """The most that any tree of a size guarantees, by trying all of them."""
    leaves = size.max_leaf_nodes or 2**size.max_depth
    depth = leaves - 1 if size.max_depth is None else size.max_depth
    policies = tree_policies(threshold_questions(problem.features), *problem.rewards.shape, depth, leaves)
    worst = WorstCase(problem)
    return max(worst.of_policy(policy).value for policy in policies)


def begun(problem: IntervalMDP, node_limit: int | None = None) -> tuple[Incumbent, Splits]:
    """An incumbent with the first leaf as its tree, and all questions."""
    worst = WorstCase(problem)
    mdp = scenario(worst, worst.best())
    splits, watch = Splits.of(mdp), Watch(node_limit=node_limit)
    leaf = TreePolicy.leaf(0, splits.feature_names, problem.action_names)
    return Incumbent(worst, leaf, splits.observations, 0.0, 1.0, watch), splits


@pytest.mark.parametrize("seed", sampled(range(40), 8))
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_brute_force_over_all_trees(seed, size):
    problem = random_intervals(seed, states=6, actions=2 + seed % 2, discount=(0.6, 0.9, 0.97)[seed % 3])
    best = best_guarantee(problem, size)
    found = robust_solve(problem, size, Limits(gap=0.0), Watch())
    assert found.stop is Stop.COMPLETE
    assert found.value == pytest.approx(best, rel=1e-8)
    assert best - 1e-9 <= found.bound <= best + 1e-8
    assert found.tree.depth <= (size.max_depth if size.max_depth is not None else 99)
    assert found.tree.n_leaves <= (size.max_leaf_nodes or 99)
    played = found.tree.actions(problem.features)
    assert WorstCase(problem).of_policy(played).value == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("nodes", [1, 2, 5, 20, None])
@pytest.mark.parametrize("seed", range(4))
def test_branch_and_bound_alone_has_valid_bounds_at_every_node(seed, nodes):
    problem = random_intervals(seed, states=6, actions=2)
    best = best_guarantee(problem, Size(None, 3))
    incumbent, splits = begun(problem, nodes)
    stop = Search(incumbent, splits, Size(None, 3), incumbent.worst.best(), 100).run()
    assert incumbent.value <= best + 1e-9
    assert incumbent.bound >= best - 1e-9
    assert stop is (Stop.COMPLETE if incumbent.proven else Stop.NODES)
    if nodes is None:
        assert incumbent.value == pytest.approx(best)
        assert incumbent.bound == pytest.approx(best)


def test_a_gap_ends_the_search_with_a_bound_that_holds():
    problem = random_intervals(9, states=7, actions=3)
    best = best_guarantee(problem, Size(None, 3))
    found = robust_solve(problem, Size(None, 3), Limits(gap=0.5), Watch())
    assert found.value <= best + 1e-9 <= found.bound + 2e-9
    assert found.bound - found.value <= 0.5 * abs(found.value) + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_every_bound_of_a_scenario_holds_in_the_worst_case(seed):
    problem = random_intervals(seed, states=6, actions=2)
    incumbent, _ = begun(problem)
    search_scenarios(incumbent, incumbent.worst.best(), Size(1), Limits())
    best = best_guarantee(problem, Size(1))
    assert incumbent.value - 1e-9 <= best <= incumbent.bound + 1e-9


def test_without_uncertainty_it_is_the_ordinary_search():
    mdp = omdt.make("frozenlake_4x4")
    found = robust_solve(IntervalMDP.around(mdp, 0.0), Size(2), Limits(), Watch())
    dense = mdp.transitions.toarray().reshape(mdp.n_states, mdp.n_actions, -1)
    assert found.value == pytest.approx(
        best_return(dense, mdp.rewards, mdp.initial, mdp.features, mdp.discount, max_depth=2), rel=1e-4
    )


def test_climbing_ends_where_no_single_change_helps():
    problem = random_intervals(7, states=7, actions=3)
    incumbent, splits = begun(problem)
    root = Partial.root(problem.reached)
    split = root.split(root.regions[0], 0, splits.side(0))
    tree = split.closed(split.regions[0], 0).closed(split.regions[1], 1)
    tree = tree.policy(splits, problem.action_names)
    incumbent.consider(tree)
    before = incumbent.value
    climb(incumbent, splits)
    assert incumbent.value > before
    others = [
        incumbent.worst.of_policy(it.actions(problem.features)).value for it in neighbours(incumbent.tree, splits)
    ]
    assert len(others) == 2 * 2 + len(splits)
    assert max(others) <= incumbent.value + 1e-9


def test_a_partial_tree_becomes_a_policy():
    problem = random_intervals(0, states=6, actions=3)
    _, splits = begun(problem)
    root = Partial.root(np.ones(6, dtype=bool))
    asked = root.split(root.regions[0], 1, splits.side(1))
    left, right = asked.regions
    done = asked.closed(left, 2)
    assert done.allowed(3).sum() == left.states.sum() + 3 * right.states.sum()
    assert done.repeats(right, 2)
    assert not done.repeats(right, 1)
    done = done.closed(right, 0)
    played = done.policy(splits, problem.action_names).actions(splits.observations)
    assert played.tolist() == np.where(splits.side(1), 0, 2).tolist() == done.actions.tolist()


def test_memory_and_time_end_the_search():
    problem = random_intervals(3, states=8, actions=3)
    incumbent, splits = begun(problem)
    search = Search(incumbent, splits, Size(3), incumbent.worst.best(), 1)
    search._most_nodes = 5
    assert search.run() is Stop.MEMORY
    assert incumbent.bound >= incumbent.value
    incumbent, splits = begun(problem)
    incumbent.watch.interrupt()
    assert Search(incumbent, splits, Size(3), incumbent.worst.best(), 1).run() is Stop.INTERRUPTED
    assert incumbent.bound == math.inf


def test_a_size_is_needed():
    with pytest.raises(InputError, match="a robust search needs a size limit"):
        robust_solve(random_intervals(0), Size(), Limits(), Watch())
