"""Norms: what a discount below 1 says, and that nobody else computes it."""

import gc
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import omdt
from omdt import MDP, planning
from omdt.mdp import EPSILON
from omdt.norms import _NORMS, Norms, norms, row_excess
from strategies import good_arrays, mdp_from, mdps

ROOT = Path(omdt.__file__).parent
OWN = {"norms.py", *(f"check/{path.name}" for path in (ROOT / "check").glob("*.py"))}
"""Files that may compute with 1 − γ: norms itself, and the checker, which shares nothing with the solver. The checks of
an MDP come before there is an MDP to ask."""


@given(mdps())
def test_norms_bound_what_they_say(mdp: MDP) -> None:
    known = norms(mdp)
    largest = max(math.fsum(row) for row in mdp.transitions.toarray())
    assert known.contraction <= 1 - mdp.discount * largest
    assert known.contraction == pytest.approx(known.shrinkage, rel=1e-6)
    assert known.shrinkage == 1 - mdp.discount
    assert known.horizon == 1 / (1 - mdp.discount)
    assert known.total(3.0) == 3.0 / (1 - mdp.discount)
    visits = planning.occupancies(mdp, planning.random_policy(mdp)).value
    assert visits.sum() == pytest.approx(known.horizon, rel=1e-6)
    values = planning.optimal_values(mdp).value
    assert np.abs(values).max() <= known.total(float(np.abs(mdp.rewards).max())) * (1 + 1e-9)


@given(mdps(max_states=6))
def test_a_residual_bounds_the_distance_to_the_fixpoint(mdp: MDP) -> None:
    exact = planning.optimal_values(mdp)
    guess = exact.value + np.random.default_rng(0).normal(size=mdp.n_states)
    q = mdp.rewards + mdp.discount * (mdp.transitions @ guess).reshape(mdp.rewards.shape)
    residual = float(np.abs(q.max(axis=1) - guess).max())
    slack = 1e-9 * (1 + np.abs(exact.value).max())
    assert np.abs(guess - exact.value).max() <= norms(mdp).error_of(residual) + exact.error + slack


def test_the_figures_are_those_of_the_formula() -> None:
    mdp = mdp_from(good_arrays())
    longest = int(np.diff(mdp.transitions.indptr).max())
    assert row_excess(mdp.transitions) == 4 * EPSILON * longest
    contraction = 1 - mdp.discount * (1 + 4 * EPSILON * longest)
    assert norms(mdp).contraction == contraction
    assert norms(mdp).error_of(0.25) == 0.25 / contraction * (1 + 4 * EPSILON)
    assert Norms(1e-20, 0.0).error_of(1e-300) == math.inf


def test_norms_are_computed_once_and_forgotten_with_their_mdp() -> None:
    mdp = mdp_from(good_arrays())
    assert norms(mdp) is norms(mdp)
    assert mdp in _NORMS
    gc.collect()
    before = len(_NORMS)
    del mdp
    gc.collect()
    assert len(_NORMS) == before - 1


def test_nobody_else_subtracts_the_discount_from_one() -> None:
    written_out = re.compile(r"1(\.0)? - (\w+\.)*discount\b(?! \* (stay|_staying))")
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).as_posix() not in OWN and written_out.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"mdp_checks.py"}, "ask omdt.norms instead"
