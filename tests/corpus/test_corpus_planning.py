"""Optimal values and values of trees equal those of Storm, for every property of the corpus."""

import numpy as np
import pytest
from corpus_cases import FOLDER, Case, cases
from corpus_trees import random_tree, read, shown

from omdt import planning
from omdt.objective import Objective

CASES = cases()
SMALL = [case for case in CASES if case.states <= 1_000]


def optimum(case: Case, ending: str) -> float:
    mdp, objective = read(case.path(ending)), Objective.parse(case.property)
    problem = objective.problem(mdp)
    return shown(objective, mdp, planning.expected_return(problem, planning.optimal_values(problem)))


@pytest.mark.parametrize("case", cases("drn"), ids=lambda case: case.id)
def test_optimum_of_a_drn_file_is_that_of_storm(case):
    assert optimum(case, "drn") == pytest.approx(case.optimum, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("case", cases("tra"), ids=lambda case: case.id)
def test_optimum_of_an_explicit_prism_model_is_that_of_storm(case):
    assert optimum(case, "tra") == pytest.approx(case.optimum, rel=1e-9, abs=1e-12)


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_optimum_of_a_prism_model_is_that_of_storm(case):
    assert optimum(case, "prism") == pytest.approx(case.optimum, rel=1e-9, abs=1e-12)


@pytest.mark.needs("stormpy")
@pytest.mark.parametrize("name", sorted({case.model for case in SMALL}))
def test_value_of_a_tree_is_that_of_its_markov_chain_in_storm(name):
    from storm_witness import value_of_tree

    path = FOLDER / f"{name}.prism"
    mdp = read(path)
    for seed in range(3):
        tree = random_tree(mdp, np.random.default_rng(seed))
        for case in (case for case in SMALL if case.model == name):
            objective = Objective.parse(case.property)
            found = shown(objective, mdp, planning.tree_return(objective.problem(mdp), tree))
            expected = value_of_tree(path, case.property, tree)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), (seed, case.id)
