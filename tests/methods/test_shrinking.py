"""Of equally good trees the one with fewer leaves, and never one that returns less."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omdt
from omdt import MDP, TreePolicy, planning
from omdt.methods.shrinking import shrunk
from omdt.task import Size, Task
from omdt.watch import Watch
from random_mdps import any_mdp
from strategies import mdps, random_tree
from tasks import RandomTask


def tree_for(mdp: MDP, seed: int, max_depth: int) -> TreePolicy:
    tree = random_tree(np.random.default_rng(seed), mdp.n_features, mdp.n_actions, max_depth)
    return replace(tree, feature_names=mdp.feature_names, action_names=mdp.action_names)


@given(mdp=mdps(), seed=st.integers(0, 2**32 - 1))
def test_a_shrunk_tree_is_no_larger_and_returns_as_much(mdp: MDP, seed: int) -> None:
    task = Task.over_thresholds(mdp, Size(4))
    tree = tree_for(mdp, seed, 4)
    small = shrunk(tree, task, Watch())
    before, after = (planning.tree_return(mdp, it) for it in (tree, small))
    scale = max(planning.scale(mdp), abs(before.value))
    assert small.n_leaves <= tree.n_leaves
    assert small.depth <= tree.depth
    assert after.upper >= before.lower - 2 * planning.ROUNDING * scale
    again = shrunk(small, task, Watch())
    assert again.n_leaves == small.n_leaves


@given(mdp=mdps(), seed=st.integers(0, 2**32 - 1))
def test_no_question_of_a_shrunk_tree_is_needless(mdp: MDP, seed: int) -> None:
    """Putting any action or any side in place of any question lowers the return."""
    task = Task.over_thresholds(mdp, Size(4))
    small = shrunk(tree_for(mdp, seed, 3), task, Watch())
    scale = planning.scale(mdp)
    value = planning.tree_return(mdp, small)
    for node in np.flatnonzero(small.feature >= 0).tolist():
        less = [small.with_leaf(node, action) for action in range(mdp.n_actions)]
        less += [small.with_child(node, int(child)) for child in (small.left[node], small.right[node])]
        for candidate in less:
            returned = planning.tree_return(mdp, candidate)
            tie = planning.ROUNDING * max(scale, abs(value.value)) + value.error + returned.error
            assert returned.value < value.value + tie


@pytest.mark.needs("gymnasium")
def test_leaves_that_are_never_visited_are_left_out() -> None:
    """CliffWalking at depth 3 had five leaves, two of them never visited; three return as much."""
    solution = omdt.solve(omdt.read("gym:CliffWalking-v1", discount=0.99), max_depth=3)
    assert solution.proven
    assert solution.tree.n_leaves == 3
    assert solution.tree.depth == 2


@pytest.mark.needs("sklearn")
@pytest.mark.needs("highspy")
@pytest.mark.parametrize("method", ["search", "milp", "viper", "iddt"])
def test_every_method_shrinks_its_tree(method: str) -> None:
    """One question decides everything; the others tell apart what is never visited or earns the same."""
    S = 8
    P = np.zeros((S, 2, S))
    P[0, :, 1] = P[1, :, 0] = 1.0
    P[range(2, S), :, range(2, S)] = 1.0
    rewards = np.zeros((S, 2))
    rewards[0, 0] = rewards[1, 1] = 1.0
    rewards[2:] = np.random.default_rng(0).random((S - 2, 2))
    mdp = MDP.from_dense(P, rewards, np.eye(S)[0], np.arange(S)[:, None], discount=0.9)
    solution = omdt.solve(mdp, max_depth=3, method=method, time_limit=20)
    assert solution.value == pytest.approx(10)
    assert solution.tree.n_leaves == 2


def test_a_leaf_does_where_every_tree_returns_the_same() -> None:
    mdp = MDP.from_dense(
        np.eye(3)[:, None, :].repeat(2, axis=1), np.ones((3, 2)), np.ones(3) / 3, np.arange(3)[:, None]
    )
    solution = omdt.solve(mdp, max_depth=2)
    assert solution.tree.n_leaves == 1
    assert solution.proven


def test_no_single_leaf_returns_as_much_as_a_larger_tree() -> None:
    rng = np.random.default_rng(11)
    larger = 0
    for _ in range(80):
        task = RandomTask.random(rng, any_mdp)
        solution = task.solve()
        names = task.splits.feature_names, task.mdp.action_names
        leaves = [TreePolicy.leaf(action, *names) for action in range(task.mdp.n_actions)]
        best_leaf = max(omdt.evaluate(task.mdp, leaf, task.splits.observations) for leaf in leaves)
        if solution.tree.n_leaves > 1:
            larger += 1
            assert best_leaf < solution.value
    assert larger > 20
