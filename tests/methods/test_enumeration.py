"""Where there are few trees all of them are evaluated, and that is a proof."""

import numpy as np
import pytest

import omdt
from omdt.methods.search import enumeration, exact, frontier
from omdt.methods.search.enumeration import count_trees
from omdt.solution import Stop
from tasks import Task, exact_return, shaped_mdp


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enumerate whatever is small enough, and fail where the exact search is begun."""

    def begun(*arguments: object, **rest: object) -> None:
        raise AssertionError("the search was begun")

    monkeypatch.setattr(enumeration, "ENUMERATED_STATES", 0)
    monkeypatch.setattr(frontier, "Frontier", begun)
    monkeypatch.setattr("omdt.methods.search.method.Frontier", begun)


@pytest.mark.usefixtures("no_search")
def test_enumeration_agrees_with_brute_force() -> None:
    rng = np.random.default_rng(3)
    proven = 0
    for _ in range(150):
        task = Task.random(rng, shaped_mdp)
        if count_trees(len(task.splits), task.mdp.n_actions, task.size[0]) > 5000:
            continue
        solution = task.solve()
        best = exact_return(task.mdp, task.best_policy)
        assert solution.bound >= best
        assert solution.stop is Stop.COMPLETE
        assert solution.proven
        assert solution.bound - solution.value <= max(solution.rounding, task.gap * max(abs(solution.value), 1e-12))
        proven += 1
    assert proven > 60


def test_the_count_is_that_of_all_trees() -> None:
    assert count_trees(5, 3, 0) == 3
    assert count_trees(5, 3, 1) == 3 + 5 * 9
    assert count_trees(2, 2, 2) == 2 + 2 * (2 + 2 * 4) ** 2
    assert count_trees(10, 10, 100) > 1e15


@pytest.mark.parametrize(("depth", "leaves"), [(0, None), (None, 1), (1, None), (None, 2)])
def test_small_trees_are_proven_beyond_the_size_of_exact_search(depth: int | None, leaves: int | None) -> None:
    """With 1,600 states there was no bound but the optimum, not even for the four single leaves."""
    mdp = omdt.make("frozenlake", size=40, seed=3, hole_probability=0.02, discount=0.999)
    assert not exact.can_search(mdp)
    solution = omdt.solve(mdp, max_depth=depth, max_leaf_nodes=leaves)
    assert solution.proven
    assert solution.stop is Stop.COMPLETE
    assert solution.bound < 0.9 * solution.optimal_return
    leaf = max(omdt.evaluate(mdp, omdt.TreePolicy.leaf(a, mdp.feature_names, mdp.action_names)) for a in range(4))
    assert solution.value >= leaf


def test_time_ends_an_enumeration_without_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enumeration, "ENUMERATED_SECONDS", 1e9)
    mdp = omdt.make("frozenlake", size=60, seed=3, hole_probability=0.02, discount=0.999)
    solution = omdt.solve(mdp, max_depth=2, time_limit=2)
    assert solution.stop is Stop.TIME
    assert solution.bound >= solution.optimal_return


@pytest.mark.parametrize("nodes", [1, 50])
def test_a_limit_on_nodes_counts_trees(nodes: int) -> None:
    mdp = omdt.make("frozenlake", size=40, seed=3, hole_probability=0.02, discount=0.999)
    first, second = (omdt.solve(mdp, max_depth=1, node_limit=nodes).to_json() for _ in range(2))
    assert first == second
    assert '"stop": "nodes"' in first
