"""Sweeps, multigrid and GMRES: each comes closer to the solution, and a transpose is a transpose."""

import numpy as np
import pytest

from chains import SHAPES, acyclic, grid, ring
from omdt.systems.components import Components
from omdt.systems.gauss_seidel import GaussSeidel
from omdt.systems.krylov import GMRES
from omdt.systems.multigrid import Multigrid
from omdt.systems.products import product, product_transposed


@pytest.mark.parametrize("copied", [0, 10**6])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_accurate(shape, copied, monkeypatch):
    monkeypatch.setattr("omdt.systems.products.TRANSPOSED_ENTRIES", copied)
    rng = np.random.default_rng(0)
    M = SHAPES[shape](300, 0.99, rng)
    x = rng.normal(size=M.shape[0]) * 10.0 ** rng.integers(-8, 8, size=M.shape[0])
    exact = M.toarray().astype(np.longdouble)
    for ours, true in ((product(M, x), exact @ x), (product_transposed(M, x), exact.T @ x)):
        sizes = np.maximum(np.abs(exact) @ np.abs(x), np.abs(exact).T @ np.abs(x))
        assert np.all(np.abs(ours - true) <= 1.01 * np.finfo(float).eps * sizes)


def test_one_sweep_solves_what_has_no_cycles():
    M = acyclic(200, 0.99, np.random.default_rng(0))
    sweeps = GaussSeidel(M, Components.of(M).states)
    b = np.random.default_rng(1).random(200)
    dense = np.eye(200) - M.toarray()
    np.testing.assert_allclose(sweeps.solve(b), np.linalg.solve(dense, b), rtol=1e-12)
    np.testing.assert_allclose(sweeps.solve_transposed(b), np.linalg.solve(dense.T, b), rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_cycle_comes_closer_to_the_solution_both_ways(shape, monkeypatch):
    monkeypatch.setattr("omdt.systems.multigrid.COARSEST_STATES", 40)
    M = SHAPES[shape](600, 0.99, np.random.default_rng(0))
    n = M.shape[0]
    cycle, plain = Multigrid(M), GaussSeidel(M)
    dense, b = np.eye(n) - M.toarray(), np.random.default_rng(1).random(n)
    x, y = np.linalg.solve(dense, b), np.linalg.solve(dense.T, b)
    assert np.linalg.norm(cycle.solve(b) - x) <= np.linalg.norm(plain.solve(b) - x) + 1e-9 * np.linalg.norm(x)
    assert np.linalg.norm(cycle.solve_transposed(b) - y) < np.linalg.norm(y)


@pytest.mark.parametrize("method", [Multigrid, GaussSeidel])
def test_approximations_are_linear(method):
    M = grid(400, 0.99, np.random.default_rng(0))
    inverse, rng = method(M), np.random.default_rng(1)
    one, other = rng.normal(size=400), rng.normal(size=400)
    for solve in (inverse.solve, inverse.solve_transposed):
        np.testing.assert_allclose(solve(2 * one - other), 2 * solve(one) - solve(other), rtol=0, atol=1e-10)


def test_gmres_solves_in_as_many_steps_as_there_are_states():
    M = ring(15, 0.999, np.random.default_rng(0))
    A = np.eye(15) - M.toarray()
    method = GMRES(lambda x: A @ x, lambda x: x, 15, None)
    b = np.random.default_rng(1).normal(size=15)
    np.testing.assert_allclose(method.correction(b, 1e-14), np.linalg.solve(A, b), rtol=1e-8)


@pytest.mark.parametrize(
    ("reduced", "missing", "expected"),
    [(0.5, 2.0, True), (0.95, 0.5, False), (1e-3, 1e-6, True), (0.5, 1e-12, False), (0.0, 1e-12, True)],
)
def test_gmres_gives_up_when_it_foresees_too_many_steps(reduced, missing, expected):
    M = ring(40, 0.999, np.random.default_rng(0))
    method = GMRES(lambda x: x - M @ x, lambda x: x, 60, None)
    method.correction(np.arange(40.0), 1e-300)
    assert method.can_reach(reduced, missing) == expected


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_gmres_copes_with_any_unit(unit):
    M = ring(10, 0.9, np.random.default_rng(0))
    method = GMRES(lambda x: x - M @ x, lambda x: x, 10, None)
    b = unit * np.arange(1.0, 11.0)
    expected = np.linalg.solve(np.eye(10) - M.toarray(), b / unit)
    np.testing.assert_allclose(method.correction(b, 1e-14) / unit, expected, rtol=1e-8)
