"""Regions: parts, questions that divide, and sums over both sides, against plain loops over states."""

import numpy as np
import pytest

from omdt.methods.search.regions import Regions, key_of


def random_regions(rng: np.random.Generator) -> Regions:
    """Regions of up to nine states under up to six questions, some of which divide alike or not at all."""
    sides = rng.random((int(rng.integers(1, 10)), int(rng.integers(0, 7)))) < rng.choice([0.1, 0.5])
    if sides.shape[1] > 1 and rng.random() < 0.5:
        sides[:, -1] = ~sides[:, 0]
    return Regions(sides)


def some_states(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.sort(rng.choice(n, size=int(rng.integers(1, n + 1)), replace=False))


@pytest.mark.parametrize("seed", range(30))
def test_questions_are_the_first_of_those_that_divide_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    regions = random_regions(rng)
    region = regions.region(some_states(rng, len(regions.sides)))
    first: dict[frozenset[frozenset[int]], int] = {}
    expected = np.full(regions.sides.shape[1], -1)
    for k, column in enumerate(regions.sides[region.states].T):
        halves = frozenset({frozenset(region.states[column].tolist()), frozenset(region.states[~column].tolist())})
        if column.any() and not column.all():
            expected[k] = first.setdefault(halves, k)
    assert regions.questions(region).tolist() == sorted(first.values())
    assert regions.representatives(region).tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(10))
def test_parts_are_the_states_of_both_answers(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    regions = random_regions(rng)
    region = regions.region(some_states(rng, len(regions.sides)))
    for k in range(regions.sides.shape[1]):
        left, right = regions.split(region, k)
        assert right.states.tolist() == [s for s in region.states if regions.sides[s, k]]
        assert left.states.tolist() == [s for s in region.states if not regions.sides[s, k]]
        assert regions.split(region, k) == (left, right)


def test_the_same_states_are_the_same_region() -> None:
    regions = Regions(np.array([[False, True], [True, False], [True, True]]))
    assert regions.region(np.array([0, 1, 2])) is regions.everything
    one, other = regions.region(np.array([0, 2])), regions.region(np.array([0, 2]))
    assert one is other
    assert one.number != regions.region(np.array([1, 2])).number
    left, right = regions.split(regions.everything, 0)
    assert (left.states.tolist(), right.states.tolist()) == ([0], [1, 2])
    assert right is regions.region(np.array([1, 2]))


@pytest.mark.parametrize("seed", range(10))
def test_sums_of_both_sides(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    regions = random_regions(rng)
    region = regions.region(some_states(rng, len(regions.sides)))
    gains = rng.normal(size=(len(region.states), 3))
    inside = regions.sides[region.states]
    left, right = regions.side_sums(region, gains)
    for k in range(regions.sides.shape[1]):
        assert right[k] == pytest.approx(gains[inside[:, k]].sum(axis=0))
        assert left[k] == pytest.approx(gains[~inside[:, k]].sum(axis=0))
    some = regions.questions(region)
    assert regions.side_sums(region, gains, some)[1] == pytest.approx(right[some])


def test_regions_among_some_states_ask_the_same_questions() -> None:
    regions = Regions(np.array([[False, True], [True, False], [True, True]]))
    among = regions.among(np.array([1, 2]))
    assert among.everything.states.tolist() == [1, 2]
    assert among.questions(among.everything).tolist() == [1]
    assert among.weights is regions.weights


def test_keys_tell_sets_of_states_apart() -> None:
    keys = [key_of(np.flatnonzero([number >> s & 1 for s in range(9)]), 9) for number in range(512)]
    assert len(set(keys)) == 512
