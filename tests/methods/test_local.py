"""Local search: what it returns is locally best, and it ends when nothing is left to find."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omdt
from omdt import MDP, Splits, planning
from omdt.limits import Limits
from omdt.methods.search import method
from omdt.methods.search.local import LocalSearch, to_policy
from omdt.methods.search.ranks import Ranks
from omdt.solution import Stop
from omdt.task import Size
from omdt.task import Task as Asked
from omdt.tree import LEAF, TreePolicy
from omdt.watch import Watch
from strategies import environment, mdps
from tasks import Task, any_mdp


def small_changes(tree: TreePolicy, splits: Splits) -> list[TreePolicy]:
    """All trees with another action in one leaf or another threshold or value of the same feature in one node."""
    changed = []
    for node in range(tree.n_nodes):
        if tree.feature[node] == LEAF:
            for action in range(len(tree.action_names)):
                changed.append(_with(tree, node, action=action))
            continue
        for k in np.flatnonzero(splits.feature == tree.feature[node]):
            changed.append(_with(tree, node, threshold=splits.threshold[k], equality=splits.equality[k]))
    return changed


def _with(tree: TreePolicy, node: int, **columns: float) -> TreePolicy:
    parts = {
        name: getattr(tree, name).copy() for name in ("feature", "threshold", "left", "right", "action", "equality")
    }
    for name, value in columns.items():
        parts[name][node] = value
    return TreePolicy(**parts, feature_names=tree.feature_names, action_names=tree.action_names)


def test_a_tree_that_is_not_proven_is_locally_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the reach of exact search, no other action in a leaf and no other threshold in a node returns more."""
    monkeypatch.setattr(method, "can_search", lambda mdp: False)
    rng = np.random.default_rng(5)
    grown = 0
    for seed in range(60):
        task = Task.random(rng, any_mdp)
        solution = task.solve(node_limit=2, seed=seed)
        tree = solution.tree
        grown += tree.n_leaves > 1
        noise = 1e-9 * max(solution.scale, abs(solution.value))
        for changed in small_changes(tree, task.splits):
            assert omdt.evaluate(task.mdp, changed, task.splits.observations) <= solution.value + noise, seed
    assert grown > 20


def test_time_that_was_kept_back_makes_the_last_tree_locally_best() -> None:
    mdp = environment("frozenlake_8x8")
    splits, watch = Splits.of(mdp), Watch(1000.0)
    local = LocalSearch(Asked(mdp, splits, Size(2)), Limits(), watch)
    local.start()
    watch.reserve(500.0)
    watch.start -= 500.0
    assert watch.remaining == 0
    local.climb(1)
    assert local.best in range(mdp.n_actions)
    local.finish()
    assert watch.remaining > 0
    tree = to_policy(local.best, splits, mdp)
    assert tree.n_leaves > 1
    for changed in small_changes(tree, splits):
        assert omdt.evaluate(mdp, changed) <= local.value * (1 + 1e-9)


def test_a_run_ends_when_value_and_optimum_meet_at_any_size() -> None:
    """One action is best in all of 2,500 states; there is no exact search for so many, and none is needed."""
    S = 2500
    states = np.arange(S)
    pairs = np.repeat(states, 2), np.tile([0, 1], S)
    following = np.stack([(states + 1) % S, (states + 2) % S], axis=1)
    P = np.zeros((2 * S, S), dtype=np.float32)
    P[np.arange(2 * S), following.ravel()] = 1
    mdp = MDP.from_pairs(*pairs, P, np.tile([1.0, 0.5], S), np.eye(1, S)[0], states)
    solution = omdt.solve(mdp, max_depth=3)
    assert solution.stop is Stop.COMPLETE
    assert solution.proven
    assert solution.tree.n_leaves == 1
    assert solution.value == pytest.approx(100)


@pytest.mark.parametrize("limits", [{"max_depth": 50}, {"max_leaf_nodes": 40}, {"max_depth": 12, "max_leaf_nodes": 60}])
def test_a_copy_of_the_optimal_policy_that_fits_ends_the_run(limits: dict[str, int]) -> None:
    mdp = environment("frozenlake_8x8")
    local = LocalSearch(Asked.over_thresholds(mdp, Size(**limits)), Limits(), Watch())
    local.start()
    assert local.optimal_reached
    solution = omdt.solve(mdp, **limits)
    assert solution.proven
    assert solution.stop is Stop.COMPLETE
    assert solution.value == pytest.approx(solution.optimal_return)
    assert limits.get("max_depth", np.inf) >= solution.tree.depth
    assert limits.get("max_leaf_nodes", np.inf) >= solution.tree.n_leaves


@given(mdp=mdps(), seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_a_copy_returns_what_the_optimal_policy_returns(mdp: MDP, seed: int) -> None:
    splits = Splits.of(mdp)
    size = Size(max_leaf_nodes=int(np.random.default_rng(seed).integers(1, 8)))
    local = LocalSearch(Asked(mdp, splits, size), Limits(), Watch())
    best = planning.expected_return(mdp, planning.optimal_values(mdp))
    for tree in local._copies():
        policy = to_policy(tree, splits, mdp)
        returned = planning.tree_return(mdp, policy)
        assert policy.n_leaves <= local.size.leaves
        assert returned.upper >= best.lower - 1e-9 * max(local.scale, abs(best.value))


@given(mdp=mdps(), seed=st.integers(0, 1000))
def test_sums_by_ranks_are_sums_over_sides(mdp: MDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    categorical = mdp.feature_names[:1] if rng.random() < 0.5 else ()
    splits = Splits.of(mdp, categorical=categorical, predicates=rng.random((mdp.n_states, 1)) < 0.5, labels=["p"])
    ranks, sides = Ranks(splits), splits.sides()
    states = np.flatnonzero(rng.random(mdp.n_states) < 0.7)
    gains = rng.normal(size=(len(states), 3))
    left, right = ranks.sums(states, gains)
    for k in range(len(splits)):
        np.testing.assert_array_equal(ranks.right(states, k), sides[states, k])
        np.testing.assert_allclose(right[k], gains[sides[states, k]].sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(left[k], gains[~sides[states, k]].sum(axis=0), atol=1e-12)
