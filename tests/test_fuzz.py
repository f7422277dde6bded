"""The fuzzer: what it has found stays found, it recognises wrong answers, and it makes them small."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fuzz
from fuzz import REGRESSIONS, WAYS, checked, fault_of, save, shrunk, task_of
from omdt.solution import Solution
from tasks import RandomTask, best_return, exact_return, rare_paths

FOUND = sorted(REGRESSIONS.glob("*.json"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_stays_mended(path: Path) -> None:
    task = RandomTask.load(path)
    for name, way in WAYS.items():
        if name != "two processes":
            assert checked(way, task) is None, name


def test_there_is_something_to_replay() -> None:
    assert len(FOUND) >= 3


def test_a_short_run_compares_every_way(tmp_path: Path) -> None:
    tally = fuzz.fuzz(seconds=600, seed=123, most=40, folder=tmp_path)
    assert (tally.problems, tally.faults) == (40, 0)
    assert tally.answers["search"] == 40
    assert set(tally.answers) == set(WAYS)
    assert list(tmp_path.iterdir()) == []


def test_the_same_seed_gives_the_same_problems() -> None:
    assert [task_of(5, i).to_json() for i in range(20)] == [task_of(5, i).to_json() for i in range(20)]
    assert task_of(5, 0).to_json() != task_of(6, 0).to_json()


def test_problems_have_many_shapes() -> None:
    tasks = [task_of(0, i) for i in range(400)]
    seen: Counter[str] = Counter()
    for task in tasks:
        mdp = task.mdp
        probabilities = mdp.transitions.data
        largest = np.abs(mdp.rewards).max()
        seen["one state"] += mdp.n_states == 1
        seen["one action"] += mdp.n_actions == 1
        seen["one feature"] += mdp.n_features == 1
        seen["no questions"] += len(task.splits) == 0
        seen["deterministic"] += bool(np.all(probabilities == 1))
        seen["absorbing"] += bool(mdp.terminal.any())
        seen["huge"] += largest > 1e8
        seen["tiny"] += 0 < largest < 1e-7
        seen["no rewards"] += largest == 0
        seen["patient"] += mdp.discount > 0.999
        seen["impatient"] += mdp.discount < 0.02
        seen["same observation twice"] += len(np.unique(mdp.features, axis=0)) < mdp.n_states
        seen["useless feature"] += bool(np.any(np.ptp(mdp.features, axis=0) == 0))
        seen["categorical"] += len(task.categorical) > 0
        seen["predicates"] += task.predicates.size > 0
        seen["leaves"] += task.max_leaves is not None
        seen["rare paths"] += len(task.settings) > 0
    assert min(seen.values()) > 4, seen


def test_exact_returns_are_those_of_floating_point_but_for_rounding() -> None:
    for number in range(30):
        task = task_of(1, number)
        best = best_return(task.mdp, task.splits.sides(), *task.size)
        scale = fuzz.largest_return(task.mdp)
        assert float(exact_return(task.mdp, task.best_policy)) == pytest.approx(best, abs=1e-9 * scale)


def a_task() -> RandomTask:
    """One whose best tree is better than every leaf."""
    for number in range(100):
        task = replace(task_of(2, number), settings={}, gap=1e-6)
        solution = task.solve()
        if solution.tree.n_leaves > 1 and solution.value > 0.1:
            return task
    raise AssertionError


def test_every_kind_of_wrong_answer_is_recognised() -> None:
    task = a_task()
    right = task.solve()
    assert fault_of(task, right) is None
    wrong: dict[str, Solution] = {
        "is below the return": replace(right, bound=right.value * (1 - 1e-6)),
        "is not the return": replace(right, value=right.value * (1 + 1e-6), bound=right.bound * (1 + 1e-5)),
        "called proven": replace(right, **leaf_of(task, right)),
    }
    for complaint, solution in wrong.items():
        assert complaint in (fault_of(task, solution) or ""), complaint
    assert fault_of(replace(task, max_depth=0, max_leaves=None), right) == "the tree is too large"


def leaf_of(task: RandomTask, right: Solution) -> dict[str, object]:
    """A worse tree with its own value, called proven by a large gap."""
    leaf = replace(task, max_depth=0, max_leaves=None).solve()
    return {"tree": leaf.tree, "value": leaf.value, "requested_gap": 1e9, "bound": right.bound}


def test_a_wrong_answer_is_shrunk_and_saved(tmp_path: Path) -> None:
    def wrong_beyond_two_states(task: RandomTask) -> str | None:
        return "wrong" if task.mdp.n_states > 2 and task.mdp.n_actions > 1 else None

    task = next(task for i in range(100) if (task := task_of(3, i)).mdp.n_states > 6 and task.mdp.n_actions > 1)
    small = shrunk(task, wrong_beyond_two_states)
    assert (small.mdp.n_states, small.mdp.n_actions) == (3, 2)
    assert small.settings == {}
    assert small.size[0] == 0 or small.size[1] == 1
    path = save(small, tmp_path)
    again = RandomTask.load(path)
    assert again.to_json() == small.to_json()
    assert save(again, tmp_path) == path


def test_an_unknown_setting_of_a_saved_problem_is_named(tmp_path: Path) -> None:
    path = save(replace(task_of(0, 0), settings={"patience": 0.0, "patients": 3}), tmp_path)
    with pytest.raises(ValueError, match="patients: no field of SearchSettings"):
        RandomTask.load(path)


def test_settings_are_saved_by_name_and_reach_the_search(tmp_path: Path) -> None:
    settings = rare_paths(np.random.default_rng(1))
    again = RandomTask.load(save(replace(task_of(0, 0), settings=settings), tmp_path))
    assert again.settings == settings
    assert again.search_settings.first_climbs == settings["first_climbs"]
    assert again.search_settings.max_growing_subtrees == settings["max_growing_subtrees"]


def test_a_crash_is_a_wrong_answer() -> None:
    assert checked(lambda task: str(1 // 0), task_of(0, 0)) == "ZeroDivisionError: integer division or modulo by zero"
