"""Early trees: reported before anything else, never above the truth, and no tree that is returned is worse."""

import numpy as np
import pytest

import omdt
from omdt import planning
from omdt.mdp import MDP
from omdt.methods.search import early
from omdt.task import Size, Task
from omdt.watch import Watch
from random_mdps import random_mdp


@pytest.fixture(autouse=True)
def few_states_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "EARLY_STATES", 1)


@pytest.fixture(scope="module")
def car() -> MDP:
    return omdt.make("mountain_car", size=25)


@pytest.mark.parametrize("steps", [1, 3, 10])
@pytest.mark.parametrize("seed", range(20))
def test_least_return_is_never_above_the_return(seed: int, steps: int) -> None:
    random = np.random.default_rng(seed)
    mdp = random_mdp(random)
    policy = random.integers(mdp.n_actions, size=mdp.n_states)
    start = random.normal(size=mdp.n_states)
    assert planning.least_return(mdp, policy, start, steps) <= planning.policy_return(mdp, policy).upper


def test_least_return_comes_close_after_many_steps(car: MDP) -> None:
    policy = np.zeros(car.n_states, dtype=np.int64)
    least = planning.least_return(car, policy, planning.optimal_values(car).value, 200)
    assert least == pytest.approx(planning.policy_return(car, policy).value, rel=1e-6)


def test_a_solution_is_at_least_as_good_as_its_early_tree(car: MDP) -> None:
    solution = omdt.solve(car, max_depth=2, node_limit=1, threads=1)
    _, first, bound = solution.trace[0]
    assert first <= solution.value
    assert bound >= solution.optimal_return
    assert [value for _, value, _ in solution.trace] == sorted(value for _, value, _ in solution.trace)


def test_a_tree_that_is_fitted_to_a_sample_is_reported(car: MDP, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "SAMPLED_STATES", 200)
    task, watch = Task.over_thresholds(car, Size(2)), Watch()
    early.find_early_tree(task, watch)
    found = early.early_tree(task)
    assert found is not None
    assert watch.trace[0][1] == found.value


@pytest.mark.parametrize("size", [Size(0), Size(None, 1)])
def test_single_leaves_need_no_early_tree(car: MDP, size: Size) -> None:
    task = Task.over_thresholds(car, size)
    early.find_early_tree(task, Watch())
    assert early.early_tree(task) is None


def test_no_early_tree_without_time(car: MDP) -> None:
    task = Task.over_thresholds(car, Size(2))
    early.find_early_tree(task, Watch(0.0))
    assert early.early_tree(task) is None
