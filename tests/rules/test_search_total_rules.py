"""The search under rules without a discount, where policies need not end, against judging all trees."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import omdt
from omdt import InputError, Rules, judging
from omdt.methods.search.enumeration import _trees
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import to_policy
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.settings import SearchSettings
from omdt.solution import MAX
from omdt.task import Task
from omdt.tree import TreePolicy
from omdt.watch import Watch
from total_tasks import TotalTask

MOST_TREES = 150
"""Maximum number of trees per problem: judging them takes about a third of a second."""

KINDS = ("root", "max_features", "prices", "prices_once", "min_share", "max_leaves", "monotone", "at_most")


def trees_of(task: Task) -> list[TreePolicy]:
    """All trees of a task but those with a question that divides nothing."""
    model = Model.of(task, SearchSettings(), Watch())
    found = _trees(model, Ranks(task.splits), np.arange(task.mdp.n_states), model.size.depth, model.size.leaves)
    return [to_policy(tree, task.splits, task.mdp) for tree in found]


def random_rule(kind: str, task: Task, trees: list[TreePolicy], rng: np.random.Generator) -> dict[str, Any]:
    feature = str(rng.choice(task.mdp.feature_names))
    if kind == "at_most":
        costs = Task(task.mdp, task.splits, task.size, task.objective, (), Rules(at_most=["energy <= 0"])).ceilings[0]
        some = trees[int(rng.integers(len(trees)))].actions(task.observations)
        total = judging.cost_of(task, costs, some).value
        return {"at_most": [f"energy <= {(total if np.isfinite(total) else 3.0) + float(rng.choice([0.3, -0.3])):.6f}"]}
    given: dict[str, Any] = {
        "root": feature,
        "max_features": int(rng.integers(2)),
        "prices": {feature: float(rng.random())},
        "prices_once": {"every": float(rng.random())},
        "min_share": 0.5 * float(rng.random()),
        "max_leaves": {"every": 1},
        "monotone": [feature],
    }
    return {kind: given[kind]}


def small_task(rng: np.random.Generator) -> tuple[Task, list[TreePolicy]]:
    """A random task with further rewards, and all its trees."""
    while True:
        drawn = TotalTask.random(rng)
        shape, sign = drawn.mdp.rewards.shape, rng.choice([1, 1, -1])
        energy = sign * rng.integers(0, 3, shape) * (rng.random(shape) < 0.7) * 1.0
        task = replace(drawn, mdp=replace(drawn.mdp, reward_models={**drawn.mdp.reward_models, "energy": energy})).asked
        trees = trees_of(task)
        if 1 < len(trees) <= MOST_TREES:
            return task, trees


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_best_tree_under_a_rule_without_a_discount(kind: str, seed: int) -> None:
    rng = np.random.default_rng([106, seed, KINDS.index(kind)])
    task, trees = small_task(rng)
    rules = Rules(**random_rule(kind, task, trees, rng))
    ruled = Task(task.mdp, task.splits, task.size, task.objective, (), rules)
    obeying = [tree for tree in trees if next(judging.violations(ruled, tree), None) is None]
    size = {"max_depth": task.size.max_depth, "max_leaf_nodes": task.size.max_leaf_nodes}

    def solved() -> omdt.Solution:
        return omdt.solve(task.mdp, splits=task.splits, objective=task.objective, rules=rules, gap=1e-7, **size)

    if not obeying:
        with pytest.raises(InputError, match="no tree"):
            solved()
        return
    best = ruled.shown(max(judging.net_return(ruled, tree).value for tree in obeying))
    solution = solved()
    assert solution.value == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert solution.proven
    beyond = solution.bound - best if solution.sense == MAX else best - solution.bound
    assert solution.bound == best or beyond >= -1e-9 * max(1.0, abs(best))
