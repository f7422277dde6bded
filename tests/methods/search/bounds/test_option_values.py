"""What both solvers of options share: products that are rounded up."""

from fractions import Fraction

import numpy as np
import pytest

from omdt.methods.search.bounds.option_values import product_from_above


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e12])
def test_a_product_from_above_is_above_and_near(size: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.dirichlet(np.ones(30))
        v = size * rng.normal(size=30)
        exact = sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(p, v, strict=True)), Fraction(0))
        found = product_from_above(p, v)
        assert Fraction(found) >= exact
        assert found == pytest.approx(float(exact), abs=1e-13 * size * 30)


def test_nothing_is_added_to_0() -> None:
    assert product_from_above(np.array([1.0]), np.array([0.0])) == 0.0
