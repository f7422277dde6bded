"""The properties that come with a model: in a file beside it, or in the JANI file itself."""

import json
from pathlib import Path

import pytest
from test_from_prism_language import walk

from omdt import InputError, Objective
from omdt.formats.beside import beside, read_properties

PROPS = """// What is asked of the robot.
const int k;
label "goal" = x=2 &
    y=1;   // the far corner
label "near" = "goal" | x=1;
"first": Pmax=? [F "goal"];
Pmin=? [ F<=k "goal" ] // with a limit
"third":
  R{"energy"}min=? [ F
    "near" ]
Pmax=? [ "a // b" U x=1 ]; R{"steps"}max=? [C]
"""


@pytest.fixture
def props(tmp_path: Path) -> Path:
    path = tmp_path / "robot.props"
    path.write_text(PROPS, encoding="utf-8")
    return path


def test_names_comments_and_lines(props: Path) -> None:
    found = read_properties(props)
    assert [(listed.name, listed.text) for listed in found.properties] == [
        ("first", 'Pmax=? [F "goal"]'),
        ("", 'Pmin=? [ F<=k "goal" ]'),
        ("third", 'R{"energy"}min=? [ F "near" ]'),
        ("", 'Pmax=? [ "a // b" U x=1 ]'),
        ("", 'R{"steps"}max=? [C]'),
    ]
    assert found.labels == {"goal": "x=2 & y=1", "near": '"goal" | x=1'}
    assert [listed.refusal is None for listed in found.properties] == [True, False, True, True, True]
    assert "a limit on steps or rewards is not possible" in str(found.properties[1].refusal)


def test_a_property_is_chosen_by_place_or_name(props: Path) -> None:
    found = beside(props.with_suffix(".drn"))
    assert found.file == props
    assert found.chosen("third") is found.chosen("3") is found.properties[2]
    for wrong in ("0", "6", "fourth", ""):
        with pytest.raises(InputError, match=r"robot.props has no property .*; it has 1: \"first\": Pmax"):
            found.chosen(wrong)
    with pytest.raises(InputError, match="there are no properties beside the model"):
        beside(props.with_name("other.drn")).chosen("1")


def test_labels_of_which_a_property_speaks(props: Path) -> None:
    found = read_properties(props)
    third = Objective.parse(found.properties[2].text)
    assert list(found.labels_for(third.target)) == ["goal", "near"]
    assert found.labels_for(Objective.parse(found.properties[3].text).target) == {}
    assert found.labels_for(None) == {}


def test_a_label_that_speaks_of_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.props"
    path.write_text('label "a" = !"a";\nPmax=? [F "a"]\n')
    found = read_properties(path)
    with pytest.raises(InputError, match="expected a condition"):
        found.labels_for(Objective.parse(found.properties[0].text).target)


@pytest.mark.needs("stormpy")
def test_properties_of_jani(tmp_path: Path) -> None:
    there = {"op": "=", "left": "x", "right": 2}
    model = walk(properties=1)
    questions = {
        "reach": {"op": "Pmax", "exp": {"op": "F", "exp": there}},
        "until": {"op": "Pmin", "exp": {"op": "U", "left": {"op": "≤", "left": "x", "right": 1}, "right": there}},
        "total": {"op": "Emin", "exp": "paid", "accumulate": ["steps", "exit"], "reach": there},
        "bounded": {"op": "Pmax", "exp": {"op": "F", "exp": there, "step-bounds": {"upper": 4}}},
    }
    model["properties"] += [
        {"name": name, "expression": {"op": "filter", "fun": "max", "values": asked, "states": {"op": "initial"}}}
        for name, asked in questions.items()
    ]
    path = tmp_path / "walk.jani"
    path.write_text(json.dumps(model), encoding="utf-8")
    found = beside(path)
    asked = {listed.name: listed for listed in found.properties}
    assert Objective.parse(asked["reach"].text) == Objective.reach("x=2")
    assert Objective.parse(asked["until"].text) == Objective.reach("x=2", staying="x<=1", maximise=False)
    assert Objective.parse(asked["total"].text) == Objective.total("paid", until="x=2", maximise=False)
    # The reward stands in locations, so a sum over steps alone is not all of it.
    assert asked["p0"].refusal is not None
    assert asked["bounded"].refusal is not None
