"""Front and alternatives under rules, against all trees that keep them."""

from dataclasses import replace

import numpy as np
import pytest

import omdt
from omdt.methods.search.model import Model
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.settings import DEFAULTS
from omdt.tradeoffs.alternatives_domains import Domains
from omdt.watch import Watch
from rules.brute import Problem
from rules.random_rules import random_problem
from rules.test_judging import grown, task_for


def certain_problem(rng: np.random.Generator) -> Problem:
    """A random problem under rules beyond those about leaves, in which rounding decides nothing and some tree obeys."""
    while True:
        problem = random_problem(rng)
        task = task_for(problem)
        limited = problem.max_depth is not None or problem.max_leaves is not None
        if task is None or task.only_leaf_rules or not limited or problem.best.doubtful:
            continue
        if problem.best.value is not None:
            return problem


def values_of_all(problem: Problem, least: float) -> list[float]:
    """The returns of all that obeying trees can do, each with the best of its trees, best first."""
    task = task_for(problem)
    assert task is not None
    domains = Domains(Model.of(task, DEFAULTS, Watch()), Ranks(task.splits))
    found: dict[bytes, float] = {}
    for tree in problem.trees():
        verdict = problem.judged(tree)
        if verdict.broken or verdict.value < least:
            continue
        key = domains.plays(grown(tree, problem).actions(task.observations)).tobytes()
        found[key] = max(found.get(key, -np.inf), verdict.value)
    return sorted(found.values(), reverse=True)


@pytest.mark.parametrize("seed", range(40))
def test_alternatives_are_all_obeying_trees_that_are_good_enough(seed: int) -> None:
    rng = np.random.default_rng([104, seed])
    problem = certain_problem(rng)
    assert problem.best.value is not None
    # No tree is so close to the limit that rounding decides.
    within = float(rng.choice([0.1, 0.3, 1.0])) * problem.scale * 0.1 + 1e-7
    listed = omdt.alternatives(
        problem.mdp,
        max_depth=problem.max_depth,
        max_leaf_nodes=problem.max_leaves,
        rules=problem.rules,
        unavailable=problem.unavailable,
        within=within,
        absolute=True,
        limit=10_000,
    )
    wanted = values_of_all(problem, problem.best.value - within)
    assert listed.complete
    assert [member.value for member in listed.members] == pytest.approx(wanted, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_a_front_has_the_best_obeying_tree_of_every_size(seed: int) -> None:
    rng = np.random.default_rng([105, seed])
    problem = certain_problem(rng)
    largest = problem.max_leaves or 2 ** (problem.max_depth or 0)
    best = {n: replace(problem, max_leaves=n).best for n in range(1, largest + 1)}
    front = omdt.front(
        problem.mdp,
        max_depth=problem.max_depth,
        max_leaf_nodes=largest,
        rules=problem.rules,
        unavailable=problem.unavailable,
        gap=1e-7,
    )
    wanted = {n: it.value for n, it in best.items() if it.value is not None}
    assert {point.n_leaves: point.value for point in front.points} == pytest.approx(wanted, rel=1e-6, abs=1e-9)
    assert front.proven
