"""Objectives without a discount on problems too large for brute force: values, bounds and proofs of every method."""

import math

import numpy as np
import pytest

import omdt
from omdt import planning
from omdt.errors import InputError
from omdt.mdp import MDP
from omdt.solution import Stop
from omdt.task import Size, Task
from walks import maze


def objectives(goal: np.ndarray) -> dict[str, omdt.Objective]:
    """Questions about a maze."""
    return {
        "steps": omdt.Objective.total(until=goal, maximise=False),
        "probability": omdt.Objective.reach(goal),
        "risk": omdt.Objective.reach(goal, maximise=False),
    }


@pytest.mark.parametrize(("kind", "size"), [("steps", 15), ("steps", 30), ("probability", 15), ("risk", 40)])
def test_the_best_question_of_a_maze_is_proven(kind: str, size: int) -> None:
    mdp, goal = maze(size, traps=0.0 if kind == "steps" else 0.02)
    objective = objectives(goal)[kind]
    solution = omdt.solve(mdp, max_depth=1, objective=objective, time_limit=120)
    assert solution.stop is Stop.COMPLETE
    assert solution.proven
    task = Task.over_thresholds(mdp, Size(1), objective)
    returned = planning.tree_return(task.problem, solution.tree)
    assert solution.value == pytest.approx(task.shown(returned.value), rel=1e-9)


@pytest.mark.parametrize("kind", ["steps", "probability"])
def test_hundreds_of_states_have_a_tree_and_a_bound_after_few_nodes(kind: str) -> None:
    """Every leaf misses the goal in the middle, so that its steps are infinite and its probability is next to 0."""
    mdp, goal = maze(20, goal=(10, 10), walls=0.0)
    objective = objectives(goal)[kind]
    solution = omdt.solve(mdp, max_depth=2, objective=objective, node_limit=8)
    leaf = omdt.solve(mdp, max_depth=0, objective=objective)
    if kind == "steps":
        assert solution.optimal_return * (1 - 1e-9) <= solution.bound <= solution.value < leaf.value == math.inf
    else:
        assert solution.optimal_return + 1e-9 >= solution.bound >= solution.value > leaf.value


def test_copy_reaches_the_optimum_of_a_maze() -> None:
    mdp, goal = maze(12, traps=0.02)
    for objective in objectives(goal).values():
        solution = omdt.solve(mdp, method="copy", objective=objective)
        assert solution.value == pytest.approx(solution.optimal_return, rel=1e-7, abs=1e-12)
        assert solution.proven


@pytest.mark.parametrize("method", ["viper", "iddt"])
def test_imitation_of_a_guide_finds_the_goal(method: str) -> None:
    mdp, goal = maze(6, goal=(3, 3))
    leaf = omdt.solve(mdp, max_depth=0, objective=objectives(goal)["steps"])
    assert leaf.value == math.inf
    options = {"iterations": 3} if method == "viper" else {}
    solution = omdt.solve(mdp, max_depth=3, method=method, objective=objectives(goal)["steps"], **options)
    assert solution.bound <= solution.value
    if method == "viper":
        assert solution.value < 200


def stairs() -> MDP:
    """Ten steps up, each with a chance to slip one back, and an action that jumps at a cost; every policy ends."""
    S = 11
    P = np.zeros((S, 2, S))
    for s in range(S - 1):
        P[s, 0, s + 1], P[s, 0, max(s - 1, 0)] = 0.7, 0.3
        P[s, 1, min(s + 3, S - 1)] = 1.0
    P[-1, :, -1] = 1.0
    rewards = np.array([[1.0, 2.0 + 3 * (s % 2)] for s in range(S - 1)] + [[0.0, 0.0]])
    X = np.column_stack([np.arange(S), np.arange(S) % 2])
    return MDP.from_dense(P, rewards, np.eye(S)[0], X, discount=0.9)


@pytest.mark.parametrize("form", ["strong", "paper"])
@pytest.mark.parametrize("maximise", [False, True])
def test_the_program_counts_visits_where_every_policy_ends(form: str, maximise: bool) -> None:
    mdp = stairs()
    top = np.arange(11) == 10
    objective = omdt.Objective.total(until=top, maximise=maximise)
    by_search = omdt.solve(mdp, max_depth=2, objective=objective, gap=1e-6)
    solution = omdt.solve(
        mdp, max_depth=2, objective=objective, method="milp", form=form, start_seconds=0.0, time_limit=60, gap=1e-6
    )
    assert by_search.proven
    assert solution.value == pytest.approx(by_search.value, rel=1e-6)
    assert solution.bound == pytest.approx(by_search.value, rel=1e-3)


def test_the_program_is_refused_where_a_policy_never_ends() -> None:
    mdp, goal = maze(4)
    with pytest.raises(InputError, match=r"every policy comes to an end.*use the method search"):
        omdt.solve(mdp, max_depth=1, objective=objectives(goal)["steps"], method="milp")


def test_methods_are_compared_without_a_discount() -> None:
    mdp, goal = maze(5, goal=(2, 2))
    comparison = omdt.compare(mdp, max_depth=2, objective=objectives(goal)["steps"], seeds=2, time_limit=5)
    best = comparison["optimal"].value
    assert math.isfinite(best)
    assert all(row.value >= best * (1 - 1e-9) for row in comparison.rows)
    assert comparison["search"].value <= comparison["viper"].value
    assert comparison["copy"].value == pytest.approx(best)


def test_a_time_limit_ends_the_search() -> None:
    mdp, goal = maze(30, traps=0.01)
    solution = omdt.solve(mdp, max_depth=3, objective=objectives(goal)["probability"], time_limit=1)
    assert solution.stop is Stop.TIME
    assert solution.value <= solution.bound
