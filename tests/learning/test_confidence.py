"""Confidence: limits hold at all numbers of samples at once, agree with exact sums, and shrink as they should."""

import math
from fractions import Fraction

import numpy as np
import pytest

from omdt.learning.confidence import mean_lower_limits, novelty_limits, parts, probability_limits


def wealth(k: int, n: int, p: Fraction) -> Fraction:
    """K_n(p) by the rising products of the Beta function, exactly."""
    total = Fraction(1)
    for i in range(k):
        total *= (Fraction(1, 2) + i) / (1 + i)
    for i in range(n - k):
        total *= (Fraction(1, 2) + i) / (1 + k + i)
    return total / (p**k * (1 - p) ** (n - k))


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 20), (3, 10), (10, 10), (250, 1000)])
def test_the_limits_of_a_probability_are_where_the_exact_process_reaches_one_over_delta(k: int, n: int) -> None:
    lower, upper = (float(end[0]) for end in probability_limits(np.array([k]), np.array([n]), np.array([0.05])))
    assert 0 <= lower <= k / n <= upper <= 1
    if k:
        assert wealth(k, n, Fraction(lower)) >= 20
        assert wealth(k, n, Fraction(lower + 1e-6)) < 20
    else:
        assert lower == 0
    if k < n:
        assert wealth(k, n, Fraction(upper)) >= 20 or upper == 1
        assert wealth(k, n, Fraction(upper - 1e-6)) < 20
    else:
        assert upper == 1


def test_without_samples_nothing_is_known() -> None:
    lower, upper = probability_limits(np.array([0]), np.array([0]), np.array([0.05]))
    assert (lower[0], upper[0]) == (0, 1)
    assert novelty_limits(np.array([0]), np.array([0.05]))[0] == 1


def test_the_exact_process_does_not_grow_on_average() -> None:
    p, n = Fraction(3, 10), 8
    mean = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) * wealth(k, n, p) for k in range(n + 1))
    assert mean == 1


def test_the_parts_of_many_statements_sum_to_less_than_one() -> None:
    n = 100_000
    found = parts(np.arange(1, n + 1))
    assert (found > 0).all()
    # What is left of the sum lies between two integrals of i^(−3/2) / ζ(3/2), with ζ(3/2) = 2.612….
    rest = [2 / math.sqrt(n + shift) / 2.612375348685488 for shift in (1, 0)]
    assert 1 - rest[1] <= math.fsum(found) + 1e-9
    assert math.fsum(found) - 1e-9 <= 1 - rest[0]


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_a_probability_rarely_ever_leaves_its_limits_at_any_number_of_samples(p: float) -> None:
    rng = np.random.default_rng(1)
    runs, n = 800, 150
    k = np.cumsum(rng.random((runs, n)) < p, axis=1)
    trials = np.broadcast_to(np.arange(1, n + 1), k.shape)
    lower, upper = probability_limits(k.ravel(), trials.ravel(), np.full(k.size, 0.1))
    missed = ((lower > p) | (upper < p)).reshape(k.shape).any(axis=1).mean()
    assert 0.005 < missed <= 0.1


def test_a_mean_is_rarely_ever_below_its_limit_and_samples_that_vary_little_prove_much() -> None:
    rng = np.random.default_rng(2)
    runs, n = 600, 60
    for draw in (lambda: 5.0 * (rng.random(runs * n) < 0.4), lambda: rng.exponential(2.0, runs * n)):
        groups, samples = np.repeat(np.arange(runs), n), draw()
        limits = mean_lower_limits(groups, samples, np.full(runs, 0.1))
        assert (limits > 2.0).mean() <= 0.1
        assert limits.mean() > 0.8
    constant = mean_lower_limits(np.zeros(500, dtype=int), np.full(500, 7.0), np.array([0.01]))[0]
    assert 7 * (1 - 10 / 500) < constant < 7


def test_the_limit_of_a_mean_of_zeros_and_ones_agrees_with_a_direct_search() -> None:
    samples = np.array([0.0, 1, 1, 0, 1, 1, 1, 0, 1, 1])
    wagers = [0.5**i for i in range(10, 0, -1)] + [0.75, 0.875, 0.9375, 1.0]

    def wealth_at(m: float) -> float:
        return sum(math.prod(1 - c + c * x / m for x in samples) for c in wagers) / len(wagers)

    limit = float(mean_lower_limits(np.zeros(10, dtype=int), samples, np.array([0.05]))[0])
    assert wealth_at(limit) >= 20 > wealth_at(limit * (1 + 1e-6))


def test_groups_of_samples_do_not_disturb_each_other_and_zeros_have_the_limit_zero() -> None:
    groups, samples = np.array([1, 0, 1, 2, 0, 1]), np.array([3.0, 0, 4, 0, 0, 3])
    together = mean_lower_limits(groups, samples, np.array([0.1, 0.2, 0.3]))
    alone = mean_lower_limits(np.zeros(3, dtype=int), np.array([3.0, 4, 3]), np.array([0.2]))
    assert together.tolist() == [0, pytest.approx(alone[0]), 0]


def test_what_is_new_is_rarely_more_probable_than_its_limit() -> None:
    rng = np.random.default_rng(3)
    first = rng.geometric(0.05, 4000) - 1
    assert (novelty_limits(first, np.full(4000, 0.1)) < 0.05).mean() <= 0.1
    assert novelty_limits(np.array([45]), np.array([0.1]))[0] == pytest.approx(1 - 0.1 ** (1 / 45))
