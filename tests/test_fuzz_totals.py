"""Objectives without a discount: a sample of random problems by every method, and wrong answers are recognised."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import fuzz_totals
from exact_chains import totals, totals_until
from fuzz_totals import WAYS, fault_of, fuzz
from omdt.solution import Solution
from total_tasks import KINDS, TotalTask


@pytest.mark.parametrize("seed", range(4))
def test_every_method_agrees_with_brute_force(seed: int) -> None:
    tally = fuzz(25, 1000 + seed)
    assert (tally.problems, tally.faults) == (25, 0)
    assert set(tally.answers) == set(WAYS)


def test_problems_have_many_shapes() -> None:
    seen: Counter[str] = Counter()
    for number in range(120):
        task = TotalTask.random(np.random.default_rng([5, number]))
        mdp, problem = task.mdp, task.asked.problem
        seen[f"{task.maximise} {task.kind}"] += 1
        seen["one state"] += mdp.n_states == 1
        seen["one action"] += mdp.n_actions == 1
        seen["unavailable"] += not mdp.all_available
        seen["no target"] += not task.target.any()
        seen["start in the target"] += bool(task.target[mdp.initial > 0].all())
        seen["infinite"] += isinstance(task.best, float)
        seen["trap"] += bool((problem.terminal & ~task.target).any())
        seen["needs a question"] += task.needs_questions
        seen["needs several questions"] += task.size[0] > 1 and task.needs_questions
        seen["categorical"] += len(task.categorical) > 0
        seen["predicates"] += task.predicates.size > 0
    assert min(seen.values()) > 0, seen
    assert len(seen) == 11 + 2 * len(KINDS)


def a_task() -> tuple[TotalTask, Solution]:
    """One with a finite value whose best tree is better than every leaf."""
    for number in range(100):
        task = TotalTask.random(np.random.default_rng([6, number]), "total until")
        if task.needs_questions and not task.maximise and not isinstance(task.best, float) and task.best > 1:
            return task, task.solve()
    raise AssertionError


def test_every_kind_of_wrong_answer_is_recognised() -> None:
    task, right = a_task()
    assert fault_of(task, right) is None
    leaf = replace(task, size=(0, 1)).solve()
    wrong = {
        "is not that of the tree": replace(right, value=right.value * (1 + 1e-6)),
        "is beyond the value": replace(right, bound=right.value * (1 + 1e-12)),
        "beyond the bound": replace(right, bound=right.value * 1.1),
        "called proven": replace(right, tree=leaf.tree, value=leaf.value, requested_gap=np.inf),
    }
    for complaint, solution in wrong.items():
        assert complaint in (fault_of(task, solution) or ""), complaint
    assert fault_of(replace(task, size=(0, 1)), right) == "the tree is too large"


def test_a_crash_is_a_wrong_answer() -> None:
    task, _ = a_task()
    assert "ZeroDivisionError" in (fuzz_totals.checked(lambda task: str(1 // 0), task) or "")


def test_exact_totals_of_a_gambler() -> None:
    """With 2 coins and a chance of 1/3 per round, 4 coins are reached with probability 1/5, after 18/5 rounds."""
    third, one = Fraction(1, 3), Fraction(1)
    chain = [{0: one}, {0: 2 * third, 2: third}, {1: 2 * third, 3: third}, {2: 2 * third, 4: third}, {4: one}]
    rewards = [Fraction(0), one, one, one, Fraction(0)]
    assert totals_until(chain, rewards, {0, 4})[2] == totals(chain, rewards)[2] == Fraction(18, 5)
    assert totals_until(chain, rewards, {4})[2] == float("inf")
    assert totals(chain, [one] * 5)[2] == float("inf")
    assert totals(chain, [-one] * 5)[2] == -float("inf")
