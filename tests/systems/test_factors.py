"""Factors: the order of elimination is one, the predicted fill is the true one, and both solutions are exact."""

import numpy as np
import pytest
from scipy import sparse

from chains import SHAPES, acyclic, grid, mixing, star
from omdt.systems import dissection
from omdt.systems.components import Components
from omdt.systems.dissection import elimination
from omdt.systems.factors import Plan
from omdt.watch import Watch


def symmetric(M: sparse.csr_array) -> sparse.csr_array:
    pattern = sparse.csr_array(M + M.T)
    pattern.setdiag(0)
    pattern.eliminate_zeros()
    return pattern


def filled(pattern: sparse.csr_array, order: np.ndarray) -> int:
    """Non-zeros below the diagonal after elimination in an order, by eliminating node by node."""
    dense, total = pattern.toarray()[np.ix_(order, order)] != 0, 0
    for k in range(len(order)):
        below = np.flatnonzero(dense[k + 1 :, k]) + k + 1
        total += len(below)
        dense[np.ix_(below, below)] = True
    return total


@pytest.mark.parametrize("shape", SHAPES)
def test_components_come_after_those_that_they_lead_to(shape):
    M = SHAPES[shape](200, 0.9, np.random.default_rng(0))
    parts = Components.of(M)
    assert np.array_equal(np.sort(parts.states), np.arange(M.shape[0]))
    assert np.array_equal(np.repeat(np.arange(len(parts.starts) - 1), np.diff(parts.starts)), parts.label[parts.states])
    rows, columns = M.nonzero()
    assert np.all(parts.label[rows] >= parts.label[columns])
    reach = np.linalg.matrix_power((M.toarray() > 0) + np.eye(M.shape[0]), M.shape[0]) > 0
    assert np.array_equal(reach & reach.T, parts.label[:, None] == parts.label)


def test_components_that_come_in_another_order_count_as_one(monkeypatch):
    M = sparse.csr_array(np.array([[0.0, 0.5], [0.0, 0.0]]))
    backwards = lambda *_, **__: (2, np.array([0, 1], dtype=np.int32))  # noqa: E731
    monkeypatch.setattr("omdt.graph.csgraph.connected_components", backwards)
    assert Components.of(M).starts.tolist() == [0, 2]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_predicted_fill_is_the_true_one(shape):
    M = SHAPES[shape](120, 0.9, np.random.default_rng(0))
    pattern, n = symmetric(M), M.shape[0]
    found = elimination(pattern, np.arange(n), np.array([0, n]), 10**6)
    assert np.array_equal(np.sort(found.order), np.arange(n))
    assert np.array_equal(found.order[found.place], np.arange(n)) or np.array_equal(
        found.place[found.order], np.arange(n)
    )
    assert found.entries == filled(pattern, found.order)


def test_dissection_saves_fill_on_grids_and_stars():
    rng = np.random.default_rng(0)
    for M in (grid(900, 0.9, rng), star(900, 0.9, rng)):
        pattern, n = symmetric(M), M.shape[0]
        ours = elimination(pattern, np.arange(n), np.array([0, n]), 10**6).entries
        assert ours < 0.5 * filled(pattern, np.arange(n))


def test_hubs_are_eliminated_last():
    pattern = symmetric(star(2000, 0.9, np.random.default_rng(0)))
    assert dissection._hubs(pattern).nonzero()[0].tolist() == [0]
    assert elimination(pattern, np.arange(2000), np.array([0, 2000]), 10**6).order[-1] == 0


def test_a_part_with_too_many_entries_is_marked_and_the_others_are_counted():
    rng = np.random.default_rng(0)
    pattern = symmetric(sparse.csr_array(sparse.block_diag([mixing(200, 0.9, rng), grid(100, 0.9, rng)], format="csr")))
    found = elimination(pattern, np.arange(300), np.array([0, 200, 300]), 2000)
    assert found.too_large.tolist() == [True, False]
    assert found.counts[:200].sum() == 0 < found.counts[200:].sum()


@pytest.mark.parametrize("shape", SHAPES)
def test_factors_solve_both_ways(shape):
    rng = np.random.default_rng(3)
    for states in (1, 2, 30, 500):
        M = SHAPES[shape](states, 0.999, rng)
        b = rng.normal(size=M.shape[0])
        factors = Plan.of(M, 10**7).factors()
        dense = np.eye(M.shape[0]) - M.toarray()
        size = np.abs(np.linalg.inv(dense)).sum(axis=1).max()
        np.testing.assert_allclose(factors.solve(b), np.linalg.solve(dense, b), rtol=0, atol=1e-11 * size)
        np.testing.assert_allclose(factors.solve_transposed(b), np.linalg.solve(dense.T, b), rtol=0, atol=1e-9 * size)


def test_a_factorisation_ends_when_time_is_up(monkeypatch):
    monkeypatch.setattr("omdt.systems.factors.CHUNK", 10)
    watch = Watch(1.0)
    watch.interrupt()
    plan = Plan.of(grid(400, 0.9, np.random.default_rng(0)), 10**6)
    assert plan.factors(watch) is None
    assert plan.factors() is not None


def test_factors_without_some_components_keep_their_diagonal():
    M = sparse.csr_array(np.array([[0.2, 0.3, 0.0], [0.3, 0.2, 0.0], [0.1, 0.0, 0.5]]))
    plan = Plan.of(M, 100)
    large = np.diff(plan.components.starts) == 2
    factors = plan.without(large).factors()
    x = np.zeros(3)
    third = int(plan.components.label[2])
    x[:2] = 7.0
    factors.solve_some(np.ones(3), x, third, third + 1)
    assert x[2] == pytest.approx((1 + 0.1 * 7.0) / 0.5)


def test_a_plan_without_cycles_has_nothing_to_eliminate() -> None:
    M = acyclic(400, 0.99, np.random.default_rng(1))
    plan = Plan.of(M, 10**6)
    assert plan is not None
    assert plan.operations.tolist() == [0.0] * 400
    factors, b = plan.factors(), np.random.default_rng(2).normal(size=400)
    assert factors is not None
    exact = np.linalg.inv(np.eye(400) - M.toarray())
    np.testing.assert_allclose(factors.solve(b), exact @ b, rtol=0, atol=1e-10)
    np.testing.assert_allclose(factors.solve_transposed(b), exact.T @ b, rtol=0, atol=1e-10)
