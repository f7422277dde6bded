"""Dense systems are solved in compiled code as numpy solves them, and refused where they have no solution."""

import numpy as np
import pytest
from numba import njit

from omdt.lapack import solve_in_place


@njit
def _solved(system, right):  # type: ignore[no-untyped-def]
    system, right = system.copy(), right.copy()
    solve_in_place(system, right)
    return right


@pytest.mark.parametrize("n", [1, 2, 7, 60])
@pytest.mark.parametrize("m", [1, 2])
def test_every_row_becomes_the_solution_of_its_system(n: int, m: int) -> None:
    random = np.random.default_rng(n)
    system, right = random.normal(size=(n, n)) + 3 * np.eye(n), random.normal(size=(m, n))
    found = _solved(system, right)
    assert found == pytest.approx(np.linalg.solve(system, right.T).T)
    assert system @ found.T == pytest.approx(right.T)


def test_without_compilation_the_result_is_the_same() -> None:
    system, right = np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([[4.0, 8.0], [1.0, 0.0]])
    compiled = _solved(system, right)
    solve_in_place(system.copy(), right)
    assert right.tolist() == compiled.tolist() == [[1.0, 2.0], [0.5, 0.0]]


@pytest.mark.parametrize("entry", [0.0, np.nan, np.inf])
def test_a_system_without_a_finite_solution_is_refused(entry: float) -> None:
    with pytest.raises(np.linalg.LinAlgError, match="singular or not finite"):
        _solved(np.array([[1.0, 0.0], [0.0, entry]]), np.array([[1.0, entry]]))
