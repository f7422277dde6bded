"""Guided search: trees for objectives without a discount, found on discounted guides and judged by the task itself."""

import math

import numpy as np
import pytest

import omdt
from omdt import planning
from omdt.errors import InputError
from omdt.methods.search.guided import DISCOUNTS, GuidedSearch
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split
from omdt.methods.search.settings import SearchSettings
from omdt.rules import AvailableOnly
from omdt.task import Size, Task
from omdt.watch import Watch
from tasks import policies_of_trees
from total_tasks import TotalTask
from walks import maze


def guided(task: Task, **fields: object) -> GuidedSearch:
    """A guided search that has not begun."""
    watch = Watch()
    model = Model.of(task, SearchSettings(**fields), watch)  # type: ignore[arg-type]
    return GuidedSearch(model, Incumbent(model, 1e-4, watch), 0, watch)


def true_value(search: GuidedSearch) -> float:
    """What the incumbent returns on the task itself."""
    policy = search.questions.actions(search.best, np.arange(search.model.mdp.n_states))
    return planning.policy_return(search.model.mdp, policy).value


@pytest.mark.parametrize("seed", range(25))
def test_the_incumbent_has_its_value_on_the_task_itself(seed: int) -> None:
    search = guided(TotalTask.random(np.random.default_rng(seed)).asked)
    search.start()
    search.climb(2)
    search.finish()
    assert search.incumbent.tree is not None
    assert search.incumbent.value == pytest.approx(true_value(search), rel=1e-9)
    assert search.incumbent.value <= search.incumbent.unrestricted


def test_it_gets_off_the_ground_where_every_leaf_misses_the_goal() -> None:
    """A single action leads to a wall and along it, and never to the middle of a maze."""
    mdp, goal = maze(11, goal=(5, 5))
    task = Task.over_thresholds(mdp, Size(2), omdt.Objective.total(until=goal, maximise=False))
    search = guided(task)
    for action in range(mdp.n_actions):
        search.consider(Leaf(action))
    assert search.incumbent.value == -math.inf
    search.start()
    assert math.isfinite(search.incumbent.value)
    assert isinstance(search.best, Split)


def test_small_changes_are_tried_on_the_task_itself() -> None:
    mdp, goal = maze(8)
    search = guided(Task.over_thresholds(mdp, Size(2), omdt.Objective.total(until=goal, maximise=False)))
    search.start()
    search.polish()
    best = search.incumbent.value
    tree = search.best
    assert isinstance(tree, Split)
    for k in np.flatnonzero(search.questions.feature == search.questions.feature[tree.question]).tolist():
        policy = search.questions.actions(Split(k, tree.left, tree.right), np.arange(mdp.n_states))
        assert planning.policy_return(search.model.mdp, policy).value <= best + search.incumbent.noise


def test_the_same_seed_finds_the_same_tree() -> None:
    mdp, goal = maze(8)
    task = Task.over_thresholds(mdp, Size(2), omdt.Objective.reach(goal))
    found = []
    for _ in range(2):
        search = guided(task)
        search.start()
        search.climb(2 * len(DISCOUNTS))
        found.append((search.best, search.incumbent.value, search.evaluations))
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(30))
def test_rules_are_kept_also_where_every_allowed_tree_is_infinitely_bad(seed: int) -> None:
    task = TotalTask.random(np.random.default_rng([seed, 3]))
    asked = Task(task.mdp, task.splits, Size(*task.size), task.objective, (AvailableOnly(),))
    policies = [it for it in policies_of_trees(task.mdp, task.splits.sides(), *task.size) if asked.permits(it)]
    if not policies:
        with pytest.raises(InputError, match="no tree of depth"):
            task.solve(unavailable="forbid")
        return
    values = [task.value(policy) for policy in policies]
    best = max(values) if task.maximise else min(values)
    solution = task.solve({"first_climbs": 0}, unavailable="forbid")
    assert solution.proven
    assert solution.value == pytest.approx(float(best), rel=1e-4, abs=1e-9)
    assert not task.better(best, solution.bound if math.isinf(solution.bound) else best.__class__(solution.bound))


def test_nothing_is_left_to_do_once_a_tree_is_infinitely_good() -> None:
    mdp, goal = maze(7, goal=(3, 3))
    solution = omdt.solve(mdp, max_depth=2, objective=omdt.Objective.total(until=goal))
    assert (solution.value, solution.bound, solution.gap, solution.proven) == (math.inf, math.inf, 0.0, True)
    assert solution.tree.n_leaves == 1
