"""Chances: options are asked again as long as that helps, and what is shown does not depend on it."""

from dataclasses import replace

import numpy as np

from omdt.methods.search.chances import Chances
from omdt.methods.search.exploration import explore
from omdt.methods.search.model import Model
from omdt.watch import Watch
from search_parts import goal_of, knowledge_of, model_of, root_of
from strategies import environment
from tasks import RandomTask


def test_chances_end_unless_they_help() -> None:
    chances = Chances(model_of(environment("frozenlake_4x4"), first_chances=2, gained_chances=3))
    for helped, left in [(False, True), (True, True), (False, True), (False, True), (False, True), (False, False)]:
        chances.take(helped=helped)
        assert chances.left == left


def test_without_chances_there_are_none() -> None:
    assert not Chances(model_of(environment("frozenlake_4x4"), first_chances=0)).left


def test_with_many_successors_there_are_none() -> None:
    assert not Chances(model_of(environment("system_administrator_1"))).left


def test_the_best_tree_is_found_with_and_without_chances() -> None:
    for seed in range(40):
        task = RandomTask.random(np.random.default_rng(900_000 + seed))
        for first in (0, 1, 1000):
            settings = replace(task.search_settings, blind_ancestors=1, first_chances=first)
            model = Model.of(task.asked, settings, Watch())
            knowledge = knowledge_of(model, symmetric=True)
            rounding = 1e-9 * max(abs(task.best), model.scale)
            target = task.best - 0.01 * model.scale
            findings = explore(knowledge, root_of(knowledge), goal_of(knowledge, target), 10**6, Watch())
            assert findings.open == []
            assert abs(findings.value - task.best) <= rounding, (seed, first)


def test_on_a_lake_chances_close_what_losses_leave_open() -> None:
    """To show that no tree of depth 3 returns more than the best one, which returns .39268, takes fewer nodes."""
    nodes = []
    for first in (0, 3):
        knowledge = knowledge_of(model_of(environment("frozenlake_8x8"), 3, first_chances=first))
        findings = explore(knowledge, root_of(knowledge), goal_of(knowledge, 0.3927), 2000, Watch())
        assert findings.open == []
        nodes.append(findings.nodes)
    assert nodes[1] < nodes[0]
