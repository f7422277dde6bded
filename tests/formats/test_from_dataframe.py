"""A data frame is read as the same table in a file is."""

import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import omdt
from omdt import MDP, errors
from omdt.errors import MissingExtraError
from strategies import refusal

TRIPS = {
    "Weather": ["sun", "sun", "rain", "snow"],
    "late": [False, False, True, False],
    "load": [0.5, 0.5, 1.25, 0.1],
    "Action": ["walk", "walk", "bus", "bus"],
    "next_weather": ["rain", "snow", "sun", "sun"],
    "late_next": [True, False, False, False],
    "Next Load": [1.25, 0.1, 0.5, 0.5],
    "prob": [0.25, 0.75, 1, 1],
    "reward": [3, 3, 1, 2],
}


def quietly(frame: object, **rest: object) -> MDP:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omdt.InputWarning)
        return MDP.from_dataframe(frame, **rest)


def assert_same(one: MDP, other: MDP) -> None:
    np.testing.assert_array_equal(one.transitions.toarray(), other.transitions.toarray())
    for name in ("rewards", "initial", "features", "available"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("action_names", "feature_names", "truths"):
        assert getattr(one, name) == getattr(other, name)


def test_a_dictionary_of_columns_is_what_the_file_is(tmp_path: Path) -> None:
    lines = [",".join(TRIPS), *(",".join(map(str, row)) for row in zip(*TRIPS.values(), strict=True))]
    (tmp_path / "trips.csv").write_text("\n".join(lines))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omdt.InputWarning)
        from_file = omdt.read(tmp_path / "trips.csv", discount=0.9)
    mdp = quietly(TRIPS, discount=0.9, name="trips")
    assert_same(mdp, from_file)
    assert (mdp.name, mdp.discount) == ("trips", 0.9)
    assert mdp.feature_names == ("Weather = rain", "Weather = snow", "Weather = sun", "late", "load")


def test_numbers_keep_their_last_digit() -> None:
    values = [0.1 + 0.2, 1e-300, float(np.float32(0.1)), np.float64(1) / 3]
    columns = {"x": values, "action": ["a"] * 4, "next x": values, "probability": [1] * 4, "reward": values}
    mdp = quietly(columns, discount=0.5)
    assert mdp.features.ravel().tolist() == values
    assert mdp.rewards.ravel().tolist() == values


def test_actions_may_be_numbers() -> None:
    columns = {"x": [0, 1], "action": [0, np.int64(1)], "next x": [1, 0], "probability": [1, 1]}
    assert quietly(columns, discount=0.5).action_names == ("0", "1")


@pytest.mark.needs("pandas")
def test_pandas_frames_are_read(tmp_path: Path) -> None:
    import pandas

    frame, expected = pandas.DataFrame(TRIPS), quietly(TRIPS, discount=0.9)
    for changed in (
        frame,
        frame.set_index(frame.index + 7),
        frame.convert_dtypes(),
        frame.astype({"Weather": "category", "next_weather": "category"}),
    ):
        assert_same(quietly(changed, discount=0.9), expected)
    frame.to_csv(tmp_path / "trips.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omdt.InputWarning)
        assert_same(omdt.read(tmp_path / "trips.csv", discount=0.9), expected)


@pytest.mark.needs("pandas")
def test_pandas_missing_values_and_repeated_columns_are_refused() -> None:
    import pandas

    frame = pandas.DataFrame(TRIPS)
    for missing in (None, float("nan"), pandas.NA):
        gaps = frame.astype({"prob": object})
        gaps.loc[2, "prob"] = missing
        message = str(refusal(lambda gaps=gaps: quietly(gaps)))
        assert message == "data frame, row 2 (counted from 0): the probability (column 'prob') is ''; " + (
            "expected a finite number"
        )
    twice = frame.rename(columns={"late": "Weather"})
    assert "two columns are called 'Weather'" in str(refusal(lambda: quietly(twice)))


@pytest.mark.needs("polars")
def test_polars_frames_are_read() -> None:
    import polars

    frame, expected = polars.DataFrame(TRIPS, strict=False), quietly(TRIPS, discount=0.9)
    assert_same(quietly(frame, discount=0.9), expected)
    assert_same(quietly(frame.lazy(), discount=0.9), expected)


@pytest.mark.needs("narwhals")
def test_what_is_no_table_is_refused() -> None:
    message = str(refusal(lambda: quietly(3)))
    assert message == "expected a data frame of pandas or polars, or a dictionary of columns, not int"


def test_an_unknown_frame_needs_narwhals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"a table that is a SimpleNamespace needs narwhals.*omdt\[dataframe\]"):
        quietly(SimpleNamespace())


def test_faults_name_the_frame_and_the_row() -> None:
    short = TRIPS | {"reward": [1]}
    assert "the columns have different numbers of rows: 'Weather' has 4" in str(refusal(lambda: quietly(short)))
    wrong = TRIPS | {"reward": [3, 3, "?", 2]}
    message = str(refusal(lambda: quietly(wrong, name="trips")))
    assert message == "trips, row 2 (counted from 0): the reward is '?'; expected a finite number"
    assert "data frame has no rows" in str(refusal(lambda: quietly({name: [] for name in TRIPS})))
    lacking = {name: values for name, values in TRIPS.items() if name != "Action"}
    assert "data frame: there is no column 'action'. The columns are 'Weather'" in str(
        refusal(lambda: quietly(lacking))
    )


def test_a_missing_discount_is_assumed_with_a_warning() -> None:
    with pytest.warns(omdt.InputWarning, match="data frame has no discount of its own; 0.99 is assumed"):
        MDP.from_dataframe({"x": [0], "action": ["a"], "next x": [0], "probability": [1]})
