"""Trees of the corpus: their values are those of Storm, and no tree is better than the bound."""

import math

import pytest
from corpus_cases import cases
from corpus_trees import read
from stumps import best_stump

import omdt

SMALL = ("bets", "lake", "portals", "resend")
"""Models whose trees of depth 1 can all be evaluated in a second."""


@pytest.mark.parametrize("case", [case for case in cases("drn") if case.model in SMALL], ids=lambda case: case.id)
def test_the_best_tree_of_depth_1_is_that_of_brute_force(case):
    mdp = read(case.path("drn"))
    best = best_stump(case, mdp)
    solution = omdt.solve(mdp, max_depth=1, objective=omdt.Objective.parse(case.property))
    assert solution.proven
    assert solution.sense == ("min" if case.minimises else "max")
    assert solution.value == pytest.approx(best, rel=1e-4, abs=1e-9)
    if math.isfinite(best):
        slack = 1e-9 * max(1.0, abs(best))
        assert solution.bound <= best + slack if case.minimises else solution.bound >= best - slack
        assert solution.value >= best - slack if case.minimises else solution.value <= best + slack


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("case", cases(most_states=400), ids=lambda case: case.id)
def test_the_value_of_a_found_tree_is_that_of_storm(case):
    from storm_witness import value_of_tree

    mdp = read(case.path("prism"))
    objective = omdt.Objective.parse(case.property)
    solution = omdt.solve(mdp, max_depth=2, objective=objective, time_limit=1)
    expected = value_of_tree(case.path("prism"), case.property, solution.tree)
    assert solution.value == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if case.minimises:
        assert case.optimum <= solution.value * (1 + 1e-9)
        assert solution.bound <= solution.value
    else:
        assert case.optimum >= solution.value * (1 - 1e-9)
        assert solution.bound >= solution.value
