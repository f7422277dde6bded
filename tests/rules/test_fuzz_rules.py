"""Rules: a sample of random problems by every way, and wrong answers are recognised."""

from dataclasses import replace

import numpy as np
import pytest

import fuzz_rules
from fuzz_rules import WAYS, by, checked, fault_of, problem_of, solved, ways_for
from omdt.mdp import MDP
from omdt.rules import Rules
from omdt.solution import Solution
from rules.brute import Problem, leaves_of

SAMPLE = 12
"""Number of problems per test; together they take about ten CPU seconds."""


@pytest.mark.needs("highspy")
@pytest.mark.needs("pyscipopt")
@pytest.mark.parametrize("seed", range(5))
def test_search_programs_and_brute_force_agree(seed: int) -> None:
    tally = fuzz_rules.fuzz(SAMPLE, 1000 + seed, first=25 * seed)
    assert (tally.problems, tally.faults) == (SAMPLE, [])
    assert tally.answers["search"] == SAMPLE - tally.doubtful
    assert set(tally.answers) == set(WAYS)


@pytest.mark.needs("highspy")
@pytest.mark.parametrize("way", ["search", "search without climbs", "milp on highs"])
def test_a_cheap_question_that_saves_an_expensive_one_stays(way: str) -> None:
    """Without the first question the tree does the same in every state, but every state pays for the other one."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    rewards = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    mdp = MDP.from_dense(np.full((3, 2, 3), 1 / 3), rewards, np.full(3, 1 / 3), X, discount=0.9)
    problem = Problem(mdp, Rules(prices={"feature_0": 0.3}), max_depth=2)
    assert problem.best.value == pytest.approx(10 * (1 - 0.3 * 2 / 3))
    assert checked(WAYS[way], problem) is None


def test_every_pair_of_rules_meets_every_way() -> None:
    others = [name for name in WAYS if name != "search"]
    rounds = len(fuzz_rules.COMBINATIONS) + fuzz_rules.RANDOM_COMBINATIONS
    met = {(number % rounds, name) for number in range(rounds * len(others)) for name in ways_for(number)}
    assert len(met) >= rounds * (1 + len({name for _, name in met} - {"search"}))


def test_the_same_seed_gives_the_same_problems() -> None:
    for number in (3, 40, 130):
        one, other = problem_of(5, number), problem_of(5, number)
        assert one.rules == other.rules
        assert np.array_equal(one.mdp.rewards, other.mdp.rewards)
        assert problem_of(6, number).rules != one.rules or not np.array_equal(
            problem_of(6, number).mdp.features, one.mdp.features
        )


def a_problem() -> Problem:
    """One whose best tree under rules has questions, is better than a leaf, and is worse than the best of all trees."""
    for number in range(200):
        problem = problem_of(7, number)
        best = problem.best
        if best.tree is None or leaves_of(best.tree) < 3 or best.obeying == best.trees or problem.max_depth is None:
            continue
        free, leaf = replace(problem, rules=Rules(), unavailable="fallback"), replace(problem, max_depth=0).best.value
        if free.best.value > best.value + 0.01 and leaf is not None and leaf < best.value - 0.01:
            return problem
    raise AssertionError


def test_every_kind_of_wrong_answer_is_recognised() -> None:
    problem = a_problem()
    right = solved(problem)
    assert fault_of(problem, right) is None
    free = replace(problem, rules=Rules(), unavailable="fallback")
    wrong: dict[str, Solution] = {
        "is not that of the tree": replace(right, value=right.value + 1e-3, bound=right.bound + 1e-3),
        "is below the value": replace(right, bound=right.value - 1e-6 * abs(right.value)),
        "not proven": replace(right, bound=right.bound + 1.0),
        "the tree breaks": solved(free),
        "but another is worth": replace(solved(replace(problem, max_depth=0)), bound=right.bound),
    }
    for complaint, solution in wrong.items():
        assert complaint in (fault_of(problem, solution) or ""), complaint
    assert fault_of(replace(problem, max_depth=0, max_leaves=None), right) is not None


def test_a_false_no_and_a_false_yes_are_recognised() -> None:
    problem = a_problem()
    impossible = replace(problem, rules=replace(problem.rules, max_leaves={"every": 0}))
    assert impossible.best.value is None
    assert checked(WAYS["search"], impossible) is None
    assert "but none keeps the rules" in (fault_of(impossible, solved(problem)) or "")

    def refuse(**options: object) -> Solution:
        raise fuzz_rules.InputError("no tree of depth ≤ 2 does anything")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fuzz_rules, "solved", lambda problem, **options: refuse(**options))
        assert "but one does" in (checked(by(), problem) or "")


def test_a_crash_is_a_wrong_answer() -> None:
    assert checked(lambda problem: str(1 // 0), a_problem()) == "ZeroDivisionError: integer division or modulo by zero"
