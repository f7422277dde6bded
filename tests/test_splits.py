"""The candidate questions are exactly the partitions of the states that thresholds, equalities and predicates make."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from omdt import MDP, InputError, Splits
from omdt.environments import PAPER
from omdt.splits import midpoints
from strategies import environment, mdps


def with_features(*columns: list[float], names: tuple[str, ...] = ()) -> MDP:
    X = np.array(columns, dtype=float).T
    S = len(X)
    return MDP(sparse.eye_array(S, format="csr"), np.zeros((S, 1)), np.eye(1, S)[0], X, feature_names=names)


def partition(side: np.ndarray) -> frozenset[frozenset[int]]:
    return frozenset({frozenset(np.flatnonzero(side).tolist()), frozenset(np.flatnonzero(~side).tolist())})


def threshold_partitions(X: np.ndarray) -> set[frozenset[frozenset[int]]]:
    return {partition(column > value) for column in X.T for value in np.unique(column)[:-1]}


def partitions(splits: Splits) -> list[frozenset[frozenset[int]]]:
    return [partition(splits.side(k)) for k in range(len(splits))]


def test_thresholds_lie_midway_between_neighbouring_values():
    splits = Splits.of(with_features([3, 0, 1, 3]))
    assert splits.threshold.tolist() == [0.5, 2.0]
    assert splits.feature.tolist() == [0, 0]
    assert splits.equality.tolist() == [False, False]


@given(mdps())
def test_thresholds_make_every_partition_once(mdp):
    found = partitions(Splits.of(mdp))
    assert len(found) == len(set(found))
    assert set(found) == threshold_partitions(mdp.features)


@given(mdps())
def test_equalities_make_every_partition_once(mdp):
    splits = Splits.of(mdp, categorical=mdp.feature_names)
    found = partitions(splits)
    expected = {
        partition(column != value)
        for column in mdp.features.T
        for value in np.unique(column)
        if len(np.unique(column)) > 1
    }
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert splits.equality.all()


@given(mdps(), st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_predicates_add_their_partitions(mdp, seed, count):
    holds = np.random.default_rng(seed).random((mdp.n_states, count)) < 0.5
    labels = [f"predicate {i}" for i in range(count)]
    splits = Splits.of(mdp, predicates=holds, labels=labels)
    found = partitions(splits)
    divided = {partition(column) for column in holds.T if column.any() and not column.all()}
    assert len(found) == len(set(found))
    assert set(found) == threshold_partitions(mdp.features) | divided
    assert splits.feature_names == (*mdp.feature_names, *labels)
    np.testing.assert_array_equal(splits.observations, np.hstack([mdp.features, holds]))


@given(mdps(), st.booleans())
def test_side_and_sides_agree_with_the_questions(mdp, categorical):
    splits = Splits.of(mdp, categorical=mdp.feature_names if categorical else ())
    sides = splits.sides()
    assert sides.shape == (mdp.n_states, len(splits))
    for k in range(len(splits)):
        column = splits.observations[:, splits.feature[k]]
        expected = column != splits.threshold[k] if categorical else column > splits.threshold[k]
        np.testing.assert_array_equal(splits.side(k), expected)
        np.testing.assert_array_equal(sides[:, k], expected)


def test_the_same_partition_by_two_features_is_one_question_of_the_first():
    splits = Splits.of(with_features([0, 0, 1, 2], [5, 5, 9, 9]))
    assert splits.feature.tolist() == [0, 0]
    assert splits.threshold.tolist() == [0.5, 1.5]


def test_the_opposite_partition_is_the_same_question():
    splits = Splits.of(with_features([0, 0, 1, 1], [1, 1, 0, 0]))
    assert splits.feature.tolist() == [0]


def test_a_category_of_two_values_is_one_question():
    splits = Splits.of(with_features([4, 7, 4], names=("colour",)), categorical=["colour"])
    assert (splits.threshold.tolist(), splits.equality.tolist()) == ([4.0], [True])


def test_categories_ask_for_each_value_and_numbers_for_order():
    mdp = with_features([0, 1, 2, 2], [0, 1, 2, 3], names=("colour", "size"))
    splits = Splits.of(mdp, categorical=["colour"])
    asked = list(zip(splits.feature.tolist(), splits.threshold.tolist(), splits.equality.tolist(), strict=True))
    assert asked == [(0, 0.0, True), (0, 1.0, True), (0, 2.0, True), (1, 2.5, False)]


def test_predicates_are_columns_with_a_threshold_of_one_half():
    mdp = with_features([0, 1, 2], names=("x",))
    splits = Splits.of(mdp, predicates=np.array([[True], [False], [True]]), labels=["even"])
    assert splits.feature.tolist() == [0, 0, 1]
    assert splits.threshold.tolist() == [0.5, 1.5, 0.5]
    assert splits.side(2).tolist() == [True, False, True]


def test_only_the_features_that_are_named_are_asked():
    mdp = with_features([0, 1, 2], [0, 5, 5], [3, 1, 2], names=("x", "y", "z"))
    splits = Splits.of(
        mdp, features=["z", "y"], categorical=["y"], predicates=np.eye(3, dtype=bool)[:, 1:2], labels=["p"]
    )
    asked = list(zip(splits.feature.tolist(), splits.threshold.tolist(), splits.equality.tolist(), strict=True))
    # The equality on y divides as z > 2.5 does, and the predicate as z > 1.5.
    assert asked == [(1, 0.0, True), (2, 1.5, False)]
    assert splits.feature_names == ("x", "y", "z", "p")
    np.testing.assert_array_equal(Splits.of(mdp, features=mdp.feature_names).threshold, Splits.of(mdp).threshold)
    assert len(Splits.of(mdp, features=[])) == 0


def test_constant_features_and_predicates_ask_nothing():
    mdp = with_features([3, 3, 3])
    assert len(Splits.of(mdp)) == 0
    assert len(Splits.of(mdp, categorical=mdp.feature_names)) == 0
    splits = Splits.of(mdp, predicates=np.array([[True, False]] * 3), labels=["always", "never"])
    assert len(splits) == 0
    assert splits.sides().shape == (3, 0)


def test_zero_and_minus_zero_are_one_value():
    assert len(Splits.of(with_features([0.0, -0.0]))) == 0


NEIGHBOURS = [1.0, 0.1, -1.0, 1e300, -1e300, 1e-300, 0.0, 5e-324, -5e-324, 1.7976931348623155e308]


@pytest.mark.parametrize("value", NEIGHBOURS)
def test_neighbouring_floats_are_separated(value):
    splits = Splits.of(with_features([value, np.nextafter(value, np.inf)]))
    assert splits.sides().tolist() == [[False], [True]]


def test_the_most_distant_floats_are_separated():
    largest = np.finfo(float).max
    splits = Splits.of(with_features([-largest, largest]))
    assert splits.threshold.tolist() == [0.0]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_midpoints_lie_at_or_above_the_lower_and_below_the_upper_value(numbers):
    values = np.unique(numbers)
    middle = midpoints(values)
    assert len(middle) == len(values) - 1
    assert np.isfinite(middle).all()
    assert (values[:-1] <= middle).all()
    assert (middle < values[1:]).all()


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        ({"categorical": ["z"]}, ["'z'", "x, y"]),
        ({"features": ["z"]}, ["'z'", "x, y"]),
        ({"features": "x"}, ["list of names", "'x'"]),
        ({"features": ["x"], "categorical": ["y"]}, ["categorical", "'y'", "one of x"]),
        ({"predicates": [[True], [False]], "labels": ["p"]}, ["[3, P]", "(2, 1)"]),
        ({"predicates": [True, False, True], "labels": ["p"]}, ["[3, P]", "(3,)"]),
        ({"predicates": [[1], [0], [1]], "labels": ["p"]}, ["true or false", "int"]),
        ({"predicates": [[True], [False], [True]]}, ["there is 1 predicate but 0 labels"]),
        ({"labels": ["p"]}, ["there are 0 predicates but 1 label"]),
        ({"predicates": [[True], [False], [True]], "labels": ["x"]}, ["'x'", "twice"]),
        ({"predicates": [[True, False]] * 3, "labels": ["p", "p"]}, ["'p'", "twice"]),
    ],
)
def test_bad_questions_are_refused(arguments, fragments):
    mdp = with_features([0, 1, 2], [0, 1, 4], names=("x", "y"))
    with pytest.raises(InputError) as caught:
        Splits.of(mdp, **arguments)
    for fragment in fragments:
        assert fragment in str(caught.value)


@pytest.mark.parametrize("name", PAPER)
def test_environments_have_the_partitions_of_their_features(name):
    mdp = environment(name)
    splits = Splits.of(mdp)
    sides = splits.sides()
    signatures = {(column ^ column[0]).tobytes() for column in sides.T}
    expected = {
        (side ^ side[0]).tobytes()
        for column in mdp.features.T
        for value in np.unique(column)[:-1]
        for side in [column > value]
    }
    assert len(splits) == len(expected)
    assert signatures == expected
