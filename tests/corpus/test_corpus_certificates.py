"""Certificates of the corpus convince the checker, which shares nothing with the solver."""

import math

import pytest
from corpus_cases import cases
from corpus_trees import read
from stumps import best_stump

import omdt
from omdt.checking import verify

SMALL = ("lake", "portals", "resend")
"""Models with holes, with end components without rewards and without a way out, and with waiting that costs nothing."""


@pytest.mark.parametrize("case", [case for case in cases("drn") if case.model in SMALL], ids=lambda case: case.id)
def test_the_checker_verifies_the_certificate(case, tmp_path):
    mdp, certificate = read(case.path("drn")), tmp_path / "certificate.json"
    objective = omdt.Objective.parse(case.property)
    solution = omdt.solve(mdp, max_depth=1, objective=objective, certificate=certificate)
    assert solution.proven
    verdict = verify(solution.to_dict(), mdp, certificate)
    assert verdict.value == pytest.approx(solution.value, rel=1e-9, abs=1e-12)
    assert verdict.bound is not None
    best = best_stump(case, mdp)
    if math.isfinite(best):
        slack = 1e-9 * max(1.0, abs(best))
        assert verdict.bound <= best + slack if case.minimises else verdict.bound >= best - slack
