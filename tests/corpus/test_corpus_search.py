"""Trees of the corpus: their values are those of Storm, and no tree is better than the bound."""

import math

import pytest
from corpus_cases import FOLDER, cases, properties
from corpus_trees import read
from stumps import best_stump

import omdt
from omdt import InputError
from omdt.export import to_prism

SMALL = ("bets", "lake", "portals", "resend")
"""Models whose trees of depth 1 can all be evaluated in a second."""

WITNESSED = [case for case in cases() if case.property in properties(case.model)[: 3 if case.states <= 400 else 1]]
"""The first properties of the smaller models, and the very first one of each of the others."""

ENDING = ('bets R{"bets"}min=? [F "over"]', 'lake Pmax=? ["southern" U "goal"]')
"""Questions under which every policy comes to an end, and whose integer programs are solved in seconds."""


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


@pytest.mark.parametrize("case", [case for case in cases("drn") if case.model in SMALL], ids=lambda case: case.id)
def test_the_tree_that_copies_the_optimal_policy_has_its_value(case):
    mdp = read(case.path("drn"))
    solution = omdt.solve(mdp, method="copy", objective=omdt.Objective.parse(case.property))
    assert solution.value == pytest.approx(case.optimum, rel=1e-9, abs=1e-12)


@pytest.mark.needs("highspy")
@pytest.mark.parametrize("case", [case for case in cases("drn") if case.id in ENDING], ids=lambda case: case.id)
def test_the_integer_program_finds_the_tree_of_brute_force(case):
    mdp = read(case.path("drn"))
    best = best_stump(case, mdp)
    solution = omdt.solve(mdp, max_depth=1, method="milp", objective=omdt.Objective.parse(case.property))
    assert solution.proven
    assert solution.value == pytest.approx(best, rel=1e-4)
    slack = 1e-9 * max(1.0, abs(best))
    assert solution.bound <= best + slack if case.minimises else solution.bound >= best - slack


@pytest.mark.needs("highspy")
def test_the_integer_program_refuses_policies_without_end():
    mdp = read(FOLDER / "portals.drn")
    with pytest.raises(InputError, match="every policy comes to an end"):
        omdt.solve(mdp, max_depth=1, method="milp", objective=omdt.Objective.parse('Pmax=? [F "out"]'))


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("case", WITNESSED, ids=lambda case: case.id)
def test_storm_finds_the_value_of_a_found_tree_in_its_chain_and_with_its_module(case, tmp_path):
    from storm_witness import value_of_module, value_of_tree

    mdp = read(case.path("prism"))
    objective = omdt.Objective.parse(case.property)
    solution = omdt.solve(mdp, max_depth=2, objective=objective, time_limit=1)
    chain = value_of_tree(case.path("prism"), case.property, solution.tree)
    assert solution.value == pytest.approx(chain, rel=1e-9, abs=1e-12)
    module = value_of_module(case.path("prism"), case.property, to_prism(solution.tree), tmp_path)
    assert solution.value == pytest.approx(module, rel=1e-9, abs=1e-12)
    if case.minimises:
        assert case.optimum <= solution.value * (1 + 1e-9)
        assert solution.bound <= solution.value
    else:
        assert case.optimum >= solution.value * (1 - 1e-9)
        assert solution.bound >= solution.value
