"""Points between grid points are spread over the corners around them, and keep their mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omdt.environments._grid import Axis, Grid

# Without a deadline, since the first example of a slow machine takes long.
REPEATABLE = settings(max_examples=60, deadline=None, derandomize=True)
AXES = st.builds(
    lambda low, width, n: Axis(low, low + width, n),
    st.floats(-10, 10),
    st.floats(0.01, 10),
    st.integers(2, 9),
)


@REPEATABLE
@given(st.lists(AXES, min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_spreading_keeps_the_mean(axes, seed):
    grid = Grid(tuple(axes))
    rng = np.random.default_rng(seed)
    points = [rng.uniform(axis.low, axis.high, 20) for axis in axes]
    numbers, weights = grid.spread(points)
    assert numbers.shape == weights.shape == (20, 2 ** len(axes))
    assert (np.diff(numbers, axis=1) > 0).all()
    assert numbers.min() >= 0
    assert numbers.max() < grid.size
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-14)
    for values, given_points, axis in zip(grid.points(slice(grid.size)), points, axes, strict=True):
        np.testing.assert_allclose(
            (weights * values[numbers]).sum(axis=1), given_points, atol=1e-8 * (axis.high - axis.low)
        )


@REPEATABLE
@given(st.lists(AXES, min_size=1, max_size=3))
def test_a_grid_point_is_spread_over_itself_alone(axes):
    grid = Grid(tuple(axes))
    numbers, weights = grid.spread(grid.points(slice(grid.size)))
    assert ((weights > 0).sum(axis=1) == 1).all()
    assert numbers[weights > 0].tolist() == list(range(grid.size))


def test_a_point_between_four_corners():
    grid = Grid((Axis(0.0, 2.0, 3), Axis(0.0, 10.0, 2)))
    numbers, weights = grid.spread([np.array([1.25]), np.array([4.0])])
    assert numbers.tolist() == [[2, 3, 4, 5]]
    assert weights[0] == pytest.approx([0.75 * 0.6, 0.75 * 0.4, 0.25 * 0.6, 0.25 * 0.4])


def test_points_beyond_the_ends_count_as_the_ends():
    interval, share = Axis(-1.0, 1.0, 5).locate(np.array([-7.0, -1.0, 1.0, 9.0]))
    assert (interval + share).tolist() == [0, 0, 4, 4]


@REPEATABLE
@given(st.floats(0.01, 100), st.integers(2, 50))
def test_symmetric_axes_are_symmetric_to_the_last_bit(largest, n):
    values = Axis(-largest, largest, n).values
    assert (values == -values[::-1]).all()
    assert (values[0], values[-1]) == (-largest, largest)
    assert n % 2 == 0 or values[n // 2] == 0


@pytest.mark.parametrize("n", [2, 5, 6, 100])
@pytest.mark.parametrize(("low", "high"), [(-0.6, -0.4), (0.3, 0.3), (-1.0, 1.0)])
def test_a_uniform_distribution_keeps_its_mean(n, low, high):
    axis = Axis(-1.0, 1.0, n)
    weights = axis.uniform(low, high)
    assert weights.shape == (n,)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert weights @ axis.values == pytest.approx((low + high) / 2)
    beyond = (axis.values < low - 2 / (n - 1)) | (axis.values > high + 2 / (n - 1))
    assert not weights[beyond].any()
