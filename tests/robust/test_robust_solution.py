"""omdt.solve takes interval MDPs; the solution says that its figures are guaranteed, and is the same in every run."""

import pytest
from interval_cases import random_intervals

import omdt
from omdt.errors import InputError
from omdt.robust.values import WorstCase


@pytest.fixture(scope="module")
def lake():
    return omdt.IntervalMDP.around(omdt.make("frozenlake_4x4"), 0.05)


def test_the_solution_of_an_interval_mdp(lake, tmp_path):
    points = []
    solution = omdt.solve(lake, max_depth=2, progress=points.append)
    worst = WorstCase(lake)
    assert solution.proven
    assert solution.value == pytest.approx(worst.of_policy(solution.tree.actions(lake.features)).value, abs=1e-9)
    assert solution.optimal_return == pytest.approx(worst.best().value, abs=1e-9)
    assert solution.random_return == pytest.approx(worst.of_random().value, abs=1e-9)
    assert solution.random_return < solution.value < solution.optimal_return
    assert solution.value < omdt.evaluate(omdt.make("frozenlake_4x4"), solution.tree)
    assert points[-1][1:] == (solution.value, solution.bound)
    assert "maximising the guaranteed discounted return" in str(solution)
    assert "no tree of depth ≤ 2 guarantees more" in str(solution)
    solution.save(tmp_path / "lake.json")
    again = omdt.load(tmp_path / "lake.json")
    assert again.objective == "guaranteed discounted return"
    assert again.to_dict() == solution.to_dict()


def test_with_a_limit_on_nodes_every_run_is_the_same():
    problem = random_intervals(2, states=12, actions=3)
    solutions = [omdt.solve(problem, max_depth=3, node_limit=30).to_dict() for _ in range(2)]
    assert solutions[0] == solutions[1]
    assert solutions[0]["seconds"] is None


def test_a_time_limit_leaves_a_tree_and_a_bound():
    problem = random_intervals(2, states=40, actions=4)
    solution = omdt.solve(problem, max_depth=3, time_limit=0.01)
    worst = WorstCase(problem)
    assert solution.value <= worst.of_policy(solution.tree.actions(problem.features)).upper
    assert solution.bound >= omdt.solve(problem, max_depth=1).value


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"method": "viper"}, "method"),
        ({"objective": "Pmax=? [F x]"}, "objective"),
        ({"unavailable": "forbid"}, "unavailable"),
        ({"rules": omdt.Rules(features=["feature_0"])}, "rules"),
        ({"certificate": "proof.json"}, "certificate"),
    ],
)
def test_what_is_not_for_interval_mdps_is_refused(given, name):
    with pytest.raises(InputError, match=f"{name} is not for interval MDPs; give a size, limits and a seed only"):
        omdt.solve(random_intervals(0), max_depth=1, **given)


def test_other_verbs_refuse_interval_mdps():
    with pytest.raises(InputError, match="expected an MDP or a Gymnasium environment, not IntervalMDP"):
        omdt.front(random_intervals(0), max_leaf_nodes=2)
