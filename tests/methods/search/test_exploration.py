"""Exploration: what is closed is not better than the target, what is found is the best, and time is kept."""

from dataclasses import replace

import numpy as np
import pytest

from omdt.methods.search.bounds.bases import budget_of
from omdt.methods.search.exploration import Exploration, explore
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Case, Goal, Partial
from omdt.methods.search.partial_tree import HOLE, Leaf, Split
from omdt.watch import OutOfTimeError, Watch
from random_mdps import game, random_mdp
from search_parts import (
    basis_of,
    goal_of,
    knowledge_of,
    model_of,
    returns_of,
    root_of,
)
from strategies import environment
from tasks import RandomTask, rare_paths


def test_a_node_that_runs_out_of_time_is_late_even_if_it_is_the_last() -> None:
    knowledge = knowledge_of(model_of(environment("frozenlake_4x4")))
    target = 0.3
    exploration = Exploration(knowledge, basis_of(knowledge, target), goal_of(knowledge, target), Watch(1000))

    def run_out(bound: float, partial: Partial) -> None:
        raise OutOfTimeError

    exploration._bound = run_out  # type: ignore[method-assign]
    root = root_of(knowledge)
    findings = exploration.run(root, 1)
    assert findings.late
    assert findings.open == [root]


def test_without_time_for_a_basis_the_case_remains() -> None:
    knowledge = knowledge_of(model_of(environment("frozenlake_4x4")))
    late = Watch()
    late.interrupt()
    findings = explore(knowledge, root_of(knowledge), goal_of(knowledge, 0.3), 8, late)
    assert (findings.late, findings.nodes, findings.tree) == (True, 0, None)
    assert [case.partial.tree for case in findings.open] == [HOLE]
    # With a basis that is known already, the time is up before the first node.
    basis_of(knowledge, 0.3)
    findings = explore(knowledge, root_of(knowledge), goal_of(knowledge, 0.3), 8, late)
    assert (findings.late, findings.nodes, len(findings.open)) == (True, 0, 1)


@pytest.mark.parametrize("block", range(3))
def test_the_best_tree_is_found_if_it_returns_more_than_the_target(block: int) -> None:
    closed = 0
    for seed in range(12 * block, 12 * block + 12):
        rng = np.random.default_rng(300 + seed)
        task = replace(RandomTask.random(rng), settings=rare_paths(rng))
        model = Model.of(task.asked, task.search_settings, Watch())
        knowledge = knowledge_of(model, symmetric=True)
        best = task.best
        rounding = 1e-9 * max(abs(best), model.scale)
        optimum = knowledge.bases.losses.optimum
        for target in (best - 0.01 * model.scale, best + 0.01 * (optimum - best) + rounding):
            if target >= optimum:
                continue
            raised = bool(rng.random() < 0.5)
            cases, found, highest = [root_of(knowledge)], -np.inf, -np.inf
            goal = goal_of(knowledge, target, raised=raised)
            while cases:
                findings = explore(knowledge, cases.pop(), goal, int(rng.integers(1, 9)), Watch())
                cases += findings.open
                highest, found = max(highest, findings.closed), max(found, findings.value)
            assert highest >= best - rounding, seed
            assert found <= best + rounding, seed
            assert (found >= best - rounding) if target < best else (highest <= target + rounding), seed
            closed += highest <= target
    assert closed > 0


def test_pinned_states_close_no_tree_that_reaches_the_target() -> None:
    """Of the trees that return more than a target the best one is found; if there are none, the target holds.

    Pins may come late, when some questions and leaves are decided already.
    """
    pins = late = 0
    for seed in range(150):
        rng = np.random.default_rng(80_000 + seed)
        task = RandomTask.random(rng, game)
        part = float(rng.choice([0.5, 1.0]))
        model = model_of(task.mdp, *task.size, splits=task.splits, surviving_actions=part)
        knowledge = knowledge_of(model, symmetric=True)
        optimum, rounding = knowledge.bases.losses.optimum, 1e-9 * max(1.0, abs(task.best))
        for target in (task.best - 1e-6, task.best + 1e-6, task.best + (optimum - task.best) * rng.random()):
            if target >= optimum:
                continue
            # The budget shrinks in between, as when a better tree is found.
            targets = [target - (optimum - target) * rng.random()] * int(rng.integers(4))
            raised, unpinned = bool(rng.random() < 0.5), int(rng.integers(4))
            cases, closed, value = [root_of(knowledge)], -np.inf, -np.inf
            while cases:
                now = targets.pop() if targets else target
                unpinned, case = unpinned - 1, cases.pop()
                goal = Goal(-np.inf, now, budget_of(optimum, now), raised=raised, may_pin=unpinned < 0)
                found = explore(knowledge, case, goal, 8, Watch())
                first = not case.partial.pins and any(it.partial.pins for it in found.open)
                late += first and case.partial.tree != HOLE
                closed, value = max(closed, found.closed), max(value, found.value)
                cases += found.open
                pins = max([pins, *(len(partial.pins) for _, partial in found.open)])
            assert closed >= task.best - rounding, seed
            assert value <= task.best + rounding, seed
            assert (value >= task.best - rounding) if target < task.best else (closed <= target + rounding), seed
    assert pins > 2
    assert late > 10


def test_a_complete_tree_is_closed_by_its_own_return() -> None:
    model = model_of(random_mdp(np.random.default_rng(7)), 1)
    knowledge = knowledge_of(model)
    for action in range(model.mdp.n_actions):
        value = float(returns_of(model.mdp, np.full((1, model.mdp.n_states), action))[0])
        goal = goal_of(knowledge, value - 0.1 * model.scale)
        findings = explore(knowledge, Case(model.optimal_return.upper, Partial(Leaf(action))), goal, 5, Watch())
        assert findings.tree == Leaf(action)
        assert findings.open == []
        assert findings.closed == pytest.approx(value)


def test_an_incumbent_that_is_as_good_is_kept() -> None:
    model = model_of(random_mdp(np.random.default_rng(7)), 1)
    knowledge = knowledge_of(model)
    value = float(returns_of(model.mdp, np.zeros((1, model.mdp.n_states), dtype=np.int64))[0])
    goal = replace(goal_of(knowledge, value - 0.1 * model.scale), value=value + 1e-9 * model.scale)
    findings = explore(knowledge, Case(model.optimal_return.upper, Partial(Leaf(0))), goal, 5, Watch())
    assert findings.tree is None
    assert findings.value == goal.value


def test_a_place_where_nobody_goes_any_more_is_not_branched() -> None:
    """A case may ask for a region that a smaller budget has left without states: it is bounded anew."""
    rng = np.random.default_rng(80_010)
    task = RandomTask.random(rng, game)
    model = model_of(task.mdp, 2, splits=task.splits)
    knowledge = knowledge_of(model)
    goal = goal_of(knowledge, task.best - 0.5 * model.scale)
    nowhere = Partial(Split(0, HOLE, HOLE), choice=(True, True))
    whole = Partial(Split(0, HOLE, HOLE))
    cases = [Case(model.optimal_return.upper, partial) for partial in (nowhere, whole)]
    found = [explore(knowledge, case, goal, 1 << 40, Watch()) for case in cases]
    assert (found[0].closed, found[0].value, found[0].tree) == (found[1].closed, found[1].value, found[1].tree)
    assert found[0].nodes == found[1].nodes + 1
