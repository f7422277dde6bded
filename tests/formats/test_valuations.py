"""States without variables, and variables in a file beside the model."""

import json
from pathlib import Path

import numpy as np
import pytest
from choice_models import read_with_warnings

from omdt import read
from strategies import refusal

SINK = """\
@type: MDP
@reward_models
r
@nr_states
4
@model
state 0 [0]
	action a [{reward}]
		0 : 1
	action b [0]
		0 : 1
state 1 [0] init
//[x=5	& !up]
	action a [1]
		2 : 1
	action b [0]
		0 : 1
state 2 [1]
//[x=6	& up]
	action a
		3 : 1
	action b
		0 : 1
state 3 [0]
	action a
		3 : 1
	action b
		3 : 1
"""
PLAIN = """\
@type: MDP
@reward_models
r
@nr_states
3
@model
state 0 [1] init
	action go
		1 : 1
state 1 [2]
	action go
		2 : 1
state 2 [0]
	action go
		2 : 1
"""
VALUES = [[["x", 0], ["up", False]], [["x", 2.5], ["up", True]], []]


def written(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_a_sink_without_variables_gets_zeros(tmp_path):
    path = written(tmp_path / "model.drn", SINK.format(reward=0))
    mdp, messages = read_with_warnings(path, discount=0.5, reward="r")
    assert mdp.feature_names == ("x", "up")
    assert mdp.features.tolist() == [[0, 0], [5, 0], [6, 1], [0, 0]]
    assert messages == [f"{path}: 2 states have no variables (state 0, …); all variables are taken to be 0 there"]


def test_a_state_without_variables_is_told_apart_where_it_matters_what_is_done(tmp_path):
    path = written(tmp_path / "model.drn", SINK.format(reward=7))
    mdp, messages = read_with_warnings(path, discount=0.5, reward="r")
    assert mdp.feature_names == ("x", "up", "no variables")
    assert mdp.features.tolist() == [[0, 0, 1], [5, 0, 0], [6, 1, 0], [0, 0, 1]]
    assert "the feature 'no variables' is 1 there" in messages[0]


@pytest.mark.parametrize(
    ("sink", "told_apart"),
    [("action c", True), ("action a", True), ("action a\n\t\t1 : 1\n\taction b", False), ("action __NOLABEL__", False)],
)
def test_a_state_without_variables_is_told_apart_from_one_that_offers_other_actions(tmp_path, sink, told_apart):
    text = SINK.format(reward=0).replace("x=5", "x=0").partition("state 2")[0].replace("2 : 1", "1 : 1")
    head, _, rest = text.partition("state 0 [0]\n")
    state = "state 0 [0]\n\t" + sink + "\n\t\t1 : 1\nstate 1" + rest.partition("state 1")[2]
    path = written(tmp_path / "model.drn", head.replace("\n4\n", "\n2\n") + state)
    mdp, messages = read_with_warnings(path, discount=0.5, reward="r")
    assert mdp.feature_names == (("x", "up", "no variables") if told_apart else ("x", "up"))
    assert any("the feature 'no variables' is 1 there" in message for message in messages) == told_apart


def test_a_single_state_without_variables_is_counted_as_one(tmp_path):
    path = written(
        tmp_path / "model.drn", SINK.format(reward=0).replace("state 3 [0]\n", "state 3 [0]\n//[x=7 & up]\n")
    )
    _, messages = read_with_warnings(path, discount=0.5, reward="r")
    assert messages == [f"{path}: 1 state has no variables (state 0); all variables are taken to be 0 there"]


def test_variables_may_stand_in_a_file_beside_the_model(tmp_path):
    path = written(tmp_path / "model.drn", PLAIN)
    beside = written(tmp_path / "state-valuations.json", json.dumps(VALUES))
    mdp, messages = read_with_warnings(path, discount=0.5, reward="r")
    assert mdp.feature_names == ("x", "up")
    assert mdp.features.tolist() == [[0, 0], [2.5, 1], [0, 0]]
    assert messages == [
        f"{path}: the states have no variables in this file; those of {beside} are taken",
        f"{beside}: 1 state has no variables (state 2); all variables are taken to be 0 there",
    ]


def test_variables_beside_the_model_may_be_objects_in_any_order(tmp_path):
    path = written(tmp_path / "model.drn", PLAIN)
    states = [{"x": 1, "y": 2}, {"y": 4, "x": 3}, {"x": -5, "y": 6}]
    written(tmp_path / "state-valuations.json", json.dumps(states))
    mdp, _ = read_with_warnings(path, discount=0.5, reward="r")
    np.testing.assert_array_equal(mdp.features, [[1, 2], [3, 4], [-5, 6]])


def test_the_models_own_variables_come_first(tmp_path):
    path = written(
        tmp_path / "model.drn", PLAIN.replace("init\n", "init\n//[z=1]\n").replace("[2]\n", "[2]\n//[z=2]\n")
    )
    written(tmp_path / "state-valuations.json", "nonsense")
    mdp, _ = read_with_warnings(path, discount=0.5, reward="r")
    assert mdp.feature_names == ("z",)


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        ("", "is no JSON file"),
        ("[" * 100_000, "is no JSON file"),
        ("{}", "holds no list, but there are 3 states"),
        (json.dumps(VALUES[:2]), "holds a list of 2, but there are 3 states"),
        (json.dumps([*VALUES[:2], 7]), ": state 2: expected pairs of a variable and its value"),
        (json.dumps([*VALUES[:2], [["x"]]]), ": state 2: expected pairs of a variable and its value"),
        (json.dumps([*VALUES[:2], [["x", 1], ["x", 2]]]), ": state 2: the same variable is listed twice"),
        (json.dumps([*VALUES[:2], [["x", 1]]]), ": state 2 lacks the variable 'up', unlike state 0"),
        (json.dumps([*VALUES[:2], {"x": 1, "up": 0, "z": 0}]), ": state 2 has the variable 'z', unlike state 0"),
        (json.dumps([*VALUES[:2], {"x": "1", "up": 0}]), ": state 2: variable 'x' is '1'; expected a finite number"),
        (json.dumps([*VALUES[:2], {"x": None, "up": 0}]), ": state 2: variable 'x' is None; expected a finite number"),
        (json.dumps([*VALUES[:2], {"x": 10**400, "up": 0}]), ": state 2: variable 'x' is 1000"),
        (json.dumps([*VALUES[:2], {"x": float("nan"), "up": 0}]), ": state 2: variable 'x' is nan"),
    ],
)
def test_a_malformed_file_beside_the_model_is_refused(tmp_path, content, fragment):
    path = written(tmp_path / "model.drn", PLAIN)
    beside = written(tmp_path / "state-valuations.json", content)
    message = str(refusal(lambda: read(path, discount=0.5, reward="r")))
    assert message.startswith(str(beside))
    assert fragment in message
