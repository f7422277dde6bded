"""Judging against an independent reading of every rule, on many random trees of random problems."""

import re
from collections import Counter

import numpy as np
import pytest

from omdt.judging import net_return, violations
from omdt.rules import Rules
from rules.brute import Problem, Tree, nested, plain
from rules.judged import grown, task_for
from rules.random_rules import KINDS, random_problem

WORDS = {
    "features": "asks about",
    "root": "does not ask first about",
    "leaves": "has [0-9]+ lea(f|ves) for",
    "monotone": "takes .* but",
    "keep": "does not keep|in place of",
    "min_share": "of the visits",
    "at_most energy": "has .* energy, not",
    "at_most wear": "has .* wear, not",
}
"""What a violation of each rule is told by; those of rules about actions depend on the rule."""


def trees_of(problem: Problem, rng: np.random.Generator, count: int) -> list[Tree]:
    """Some trees: those that a kept tree leaves, and any others."""
    free = Problem(problem.mdp, Rules(), 2, 3)
    some = [list(problem.trees()), list(free.trees())]
    return [trees[i] for trees in some if trees for i in rng.integers(len(trees), size=count)]


@pytest.mark.parametrize("kind", [*KINDS, "pairs"])
def test_judging_agrees_with_the_meaning_of_every_rule(kind: str) -> None:
    seen: Counter[str] = Counter()
    for number in range(40 if kind == "pairs" else 12):
        rng = np.random.default_rng([number, 77, len(kind)])
        problem = random_problem(rng, None if kind == "pairs" else (kind,))
        task = task_for(problem)
        if task is None:
            assert problem.best.obeying == 0
            continue
        for tree in trees_of(problem, rng, 6):
            verdict, policy = problem.judged(tree), grown(tree, problem)
            assert plain(policy) == tree
            if not verdict.doubtful:
                found = list(violations(task, policy))
                assert bool(found) == bool(verdict.broken), (problem.rules, nested(tree, problem.mdp), found)
                told = [word for rule, word in WORDS.items() if rule in verdict.broken]
                assert all(any(re.search(word, text) for text in found) for word in told), (found, verdict.broken)
                seen["broken" if found else "kept"] += 1
            value = net_return(task, policy).value
            assert value == pytest.approx(verdict.value, abs=1e-10 * max(1.0, problem.scale))
    assert seen["kept"] > 0


def test_problems_have_many_shapes() -> None:
    seen: Counter[str] = Counter()
    for number in range(250):
        problem = random_problem(np.random.default_rng([3, number]))
        mdp, best = problem.mdp, problem.best
        seen["one state"] += mdp.n_states == 1
        seen["one action"] += mdp.n_actions == 1
        seen["one feature"] += mdp.n_features == 1
        seen["no discount"] += mdp.discount == 1
        seen["terminal"] += bool(problem.terminal.any())
        seen["unreachable"] += not all(problem.reached)
        seen["unavailable"] += not mdp.all_available
        seen["same observation twice"] += len(np.unique(mdp.features, axis=0)) < mdp.n_states
        seen["infeasible"] += best.value is None
        seen["some trees obey"] += 0 < best.obeying < best.trees
        seen["pairs"] += len(problem.rules.to_dict()) > 1
        seen["no size"] += problem.max_depth is None and problem.max_leaves is None
        for kind in KINDS:
            seen[kind] += kind in problem.rules.to_dict() or kind == problem.unavailable == "forbid"
    del seen["unavailable"]
    assert min(seen.values()) > 4, seen
