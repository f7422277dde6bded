"""The grid: cuts, cells and what represents them, and trees whose thresholds are cuts."""

import numpy as np
import pytest

from omdt.learning.estimating import estimate
from omdt.learning.grid import Grid, roundest
from omdt.learning.steps import Steps
from omdt.mdp import Floats
from omdt.tree import LEAF, TreePolicy

NAMES, ACTIONS = ("x", "y", "n"), ("left", "right")


def observed(n: int, seed: int = 0) -> Floats:
    """[n, 3] two continuous features, one of them skewed, and one that takes four whole numbers."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(0, 3, n), rng.exponential(0.01, n), rng.integers(0, 4, n)])


def walk(observations: Floats) -> Steps:
    """Steps from each observation to the next one, in episodes of ten steps."""
    n = len(observations) - 1
    return Steps(
        observations[:-1],
        np.arange(n) % 2,
        observations[:-1, 0],
        observations[1:],
        np.arange(n) % 10 == 9,
        np.arange(n) // 10,
        NAMES,
        ACTIONS,
    )


def random_tree(rng: np.random.Generator, thresholds: list[Floats]) -> TreePolicy:
    """A full tree of depth 3 over some thresholds per feature."""
    features = [j for j in range(len(thresholds)) if len(thresholds[j])]

    def below(depth: int) -> dict[str, object]:
        if depth == 0:
            return {"action": ACTIONS[rng.integers(2)]}
        j = int(rng.choice(features))
        threshold = float(rng.choice(thresholds[j]))
        return {"feature": NAMES[j], "threshold": threshold, "left": below(depth - 1), "right": below(depth - 1)}

    return TreePolicy.from_dict(below(3), NAMES, ACTIONS)


def test_bins_hold_about_equally_many_observations_and_whole_numbers_keep_their_values() -> None:
    X = observed(2400)
    grid = Grid.of(X, bins=12)
    bins = grid.bins(X)
    for j in (0, 1):
        counts = np.bincount(bins[:, j], minlength=12)
        assert len(grid.cuts[j]) == 11
        assert counts.min() > 200 / 2
        assert counts.max() < 200 * 2
    assert grid.cuts[2].tolist() == [0.5, 1.5, 2.5]
    assert grid.representatives[2].tolist() == [0, 1, 2, 3]


def test_every_number_is_in_the_bin_between_its_neighbouring_cuts_and_so_is_what_represents_it() -> None:
    X = observed(500)
    grid = Grid.of(X, bins=7)
    bins = grid.bins(X)
    for j, cuts in enumerate(grid.cuts):
        low, high = np.append(-np.inf, cuts)[bins[:, j]], np.append(cuts, np.inf)[bins[:, j]]
        assert ((low < X[:, j]) & (X[:, j] <= high)).all()
    np.testing.assert_array_equal(grid.bins(grid.features(bins)), bins)
    at_a_cut = np.array([[grid.cuts[0][0], 0.0, 0.0], [np.nextafter(grid.cuts[0][0], 1.0), 0.0, 0.0]])
    assert grid.bins(at_a_cut)[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_over_cuts_decides_alike_on_observations_and_on_their_cells(seed: int) -> None:
    rng, X = np.random.default_rng(seed), observed(300, seed)
    tuned = random_tree(rng, [rng.normal(0, 3, 5), rng.exponential(0.01, 5), np.array([0.5, 1.2])])
    grid = Grid.of(X, bins=5, trees=[tuned])
    grouping = grid.grouping(walk(X))
    for tree in (tuned, random_tree(rng, list(grid.cuts))):
        on_cells = tree.actions(grouping.features)
        np.testing.assert_array_equal(on_cells[grouping.states], tree.actions(X[:-1]))
        np.testing.assert_array_equal(on_cells[grouping.next_states], tree.actions(X[1:]))


@pytest.mark.parametrize("seed", range(10))
def test_thresholds_between_cells_move_to_cuts_and_divide_the_cells_as_before(seed: int) -> None:
    rng, X = np.random.default_rng(seed), observed(300, seed)
    grid = Grid.of(X, bins=6)
    cells = grid.grouping(walk(X)).features
    midway = [(values[:-1] + values[1:]) / 2 for values in map(np.unique, cells.T)]
    tree = random_tree(rng, midway)
    moved = grid.at_cuts(tree)
    np.testing.assert_array_equal(moved.actions(cells), tree.actions(cells))
    for j, threshold in zip(moved.feature, moved.threshold, strict=True):
        assert j == LEAF or threshold in grid.cuts[j]


def test_a_threshold_that_divides_no_cells_stays() -> None:
    X = observed(50)
    nested = {"feature": "x", "threshold": 99.0, "left": {"action": "left"}, "right": {"action": "right"}}
    tree = TreePolicy.from_dict(nested, NAMES, ACTIONS)
    assert Grid.of(X, bins=4).at_cuts(tree).threshold[0] == 99.0


def test_bins_are_halved_on_both_sides_of_a_threshold_and_nowhere_else() -> None:
    X = observed(2000)
    coarse = Grid.of(X, bins=8)
    cut = float(coarse.cuts[0][3])
    nested = {"feature": "x", "threshold": cut, "left": {"action": "left"}, "right": {"action": "right"}}
    fine = coarse.refined(X, [TreePolicy.from_dict(nested, NAMES, ACTIONS)])
    added = np.setdiff1d(fine.cuts[0], coarse.cuts[0])
    assert coarse.cuts[0][2] < added[0] < cut < added[1] < coarse.cuts[0][4]
    assert len(added) == 2
    halves = np.bincount(fine.bins(X)[:, 0])[3:7]
    assert halves.min() > 0.25 * halves.max()
    for j in (1, 2):
        np.testing.assert_array_equal(fine.cuts[j], coarse.cuts[j])


def test_cells_are_the_distinct_rows_of_bins_also_with_very_many_features() -> None:
    X = np.random.default_rng(1).normal(size=(200, 40)).round(1)
    steps = Steps(
        X[:-1],
        np.zeros(199, dtype=int),
        np.zeros(199),
        X[1:],
        np.zeros(199, dtype=bool),
        np.zeros(199, dtype=int),
        tuple(f"x{j}" for j in range(40)),
        ACTIONS,
    )
    grid = Grid.of(X, bins=3)
    grouping = grid.grouping(steps)
    rows, numbers = np.unique(grid.bins(X), axis=0, return_inverse=True)
    np.testing.assert_array_equal(grouping.states, numbers.ravel()[:-1])
    np.testing.assert_array_equal(grouping.next_states, numbers.ravel()[1:])
    np.testing.assert_array_equal(grouping.features, grid.features(rows))


def test_a_feature_that_never_changes_has_one_bin() -> None:
    X = np.column_stack([np.full(30, 2.5), np.arange(30) / 7])
    grid = Grid.of(X, bins=4)
    assert grid.cuts[0].tolist() == []
    assert grid.representatives[0].tolist() == [2.5]
    assert grid.bins(X)[:, 0].tolist() == [0] * 30


def test_the_model_of_the_cells_counts_every_step() -> None:
    steps = walk(observed(400))
    found = estimate(steps, Grid.of(steps.observations, bins=4).grouping(steps), 0.9, "walk")
    assert found.visits.sum() == len(steps)
    np.testing.assert_allclose(found.mdp.initial.sum(), 1)


@pytest.mark.parametrize(
    ("low", "high", "short"),
    [
        (0.0123, 0.0189, 0.016),
        (-0.4, 0.3, 0.0),
        (1234.4, 1260.2, 1250.0),
        (-7.31, -7.29, -7.3),
        (5.0, 5.0, 5.0),
        (0.30000000000000004, 0.3000000000000001, 0.30000000000000004),
    ],
)
def test_the_roundest_number_of_a_range(low: float, high: float, short: float) -> None:
    assert roundest(low, high) == short
