"""Systems: every way to solve them agrees with dense linear algebra on chains of every shape, both ways round."""

import numpy as np
import pytest
from scipy import sparse

from chains import SHAPES, grid, mixing
from omdt.systems import System, Use, choice, equation
from omdt.systems.blocks import Blocks
from omdt.systems.dense import DenseFactors
from omdt.systems.factors import Factors
from omdt.systems.gauss_seidel import GaussSeidel
from omdt.watch import Watch

DISCOUNTS = (0.5, 0.99, 0.999999)


def assert_solved(M: sparse.csr_array, system: System, seed: int, discount: float) -> None:
    """Both solutions are those of dense linear algebra, as far as the condition of the system lets them be."""
    n, rng = M.shape[0], np.random.default_rng(seed)
    dense = np.eye(n) - M.toarray()
    b, p = rng.normal(size=n), rng.dirichlet(np.ones(n))
    expected, visits = np.linalg.solve(dense, b), np.linalg.solve(dense.T, p)
    tolerance = max(1e-10, 1e-13 / (1 - discount))
    np.testing.assert_allclose(system.solve(b), expected, rtol=0, atol=tolerance * np.abs(expected).max())
    np.testing.assert_allclose(system.solve_transposed(p), visits, rtol=0, atol=tolerance * visits.sum())


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("states", [1, 7, 60, 400])
def test_solutions_agree_with_dense_linear_algebra(shape, discount, states):
    M = SHAPES[shape](states, discount, np.random.default_rng(states))
    for use in Use:
        assert_solved(M, System(M, 1 - discount, use=use), states, discount)


WAYS = {
    "dense": {"DENSE_STATES": 1000},
    "factors": {"DENSE_STATES": 0, "FIRST_STEPS": 0, "STEP_SECONDS": 1.0},
    "sweeps first": {"DENSE_STATES": 0, "STEP_SECONDS": 0.0, "STATE_SECONDS": 0.0, "FIRST_STEPS": 0},
    "multigrid": {"DENSE_STATES": 0, "FACTOR_OPERATIONS": 50.0, "FIRST_STEPS": 1},
    "forced factors": {"DENSE_STATES": 0, "FACTOR_OPERATIONS": 50.0, "FIRST_STEPS": 1, "MAX_STEPS": 1},
    "plain sweeps": {
        "DENSE_STATES": 0,
        "FACTOR_OPERATIONS": -1.0,
        "LAST_OPERATIONS": -1.0,
        "MAX_STEPS": 1,
        "FIRST_STEPS": 1,
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_solve_a_system_is_right(shape, way, monkeypatch):
    for name, value in WAYS[way].items():
        monkeypatch.setattr(choice, name, value)
    for discount in (0.5, 0.99):
        M = SHAPES[shape](150, discount, np.random.default_rng(1))
        assert_solved(M, System(M, 1 - discount), 2, discount)


def test_what_solves_a_system_depends_on_its_shape():
    rng = np.random.default_rng(0)
    few, structured, entangled = grid(100, 0.99, rng), grid(2500, 0.9999, rng), mixing(5000, 0.9, rng)
    found = []
    for M in (few, structured, entangled):
        system = System(M, 0.01)
        system.solve(np.ones(M.shape[0]))
        found.append(type(system.inverse))
    assert found == [DenseFactors, Factors, GaussSeidel]


def test_a_component_that_fills_up_is_left_to_multigrid(monkeypatch):
    monkeypatch.setattr(choice, "FACTOR_OPERATIONS", 1e4)
    monkeypatch.setattr(choice, "FIRST_STEPS", 1)
    M = grid(2500, 0.9999, np.random.default_rng(0))
    system = System(M, 1e-4)
    x = system.solve(np.ones(M.shape[0]))
    assert isinstance(system.inverse, Blocks)
    assert np.abs(1 + M @ x - x).max() <= 1e-13 * np.abs(x).max()


def test_factors_of_a_similar_system_take_one_step_per_changed_row():
    """The low-rank update: GMRES with kept factors ends after as many steps as rows differ, and one more."""
    rng = np.random.default_rng(0)
    M = grid(1600, 0.999, rng)
    base = System(M, 1e-3, use=Use.MANY)
    start = base.solve(np.ones(1600))
    assert isinstance(base.inverse, Factors)
    other = M.tolil()
    for s in rng.choice(1600, 4, replace=False):
        other[s] = 0
        other[s, (s + 700) % 1600] = 0.999
    changed = sparse.csr_array(other)
    one = equation.Equation(changed, np.ones(1600), start, transposed=False, relative=1e-13, accuracy=0.0)
    one.iterate(base.inverse, 6, None)
    assert one.solved
    near = System(changed, 1e-3, near=base.inverse)
    expected = System(changed, 1e-3).solve(np.ones(1600))
    np.testing.assert_allclose(near.solve(np.ones(1600), start), expected, rtol=1e-10)


@pytest.mark.parametrize("use", list(Use))
def test_a_watch_that_is_over_ends_every_solution_at_once(use):
    M = grid(10_000, 0.9999, np.random.default_rng(0))
    late = Watch(1.0)
    late.interrupt()
    start = np.full(10_000, 3.0)
    system = System(M, 1e-4, use=use)
    assert np.array_equal(system.solve(np.ones(10_000), start, watch=late), start)
    assert system.inverse is None


def test_a_rough_solution_is_as_good_as_asked_for():
    M = grid(2500, 0.9999, np.random.default_rng(0))
    x = System(M, 1e-4, use=Use.ROUGH).solve(np.ones(2500), accuracy=0.1)
    residual = np.abs(1 + M @ x - x).max()
    assert 1e-12 < residual <= 0.1


def test_starts_are_not_changed():
    M = mixing(500, 0.9, np.random.default_rng(0))
    start = np.ones(500)
    System(M, 0.1).solve(np.arange(500.0), start)
    assert np.array_equal(start, np.ones(500))
