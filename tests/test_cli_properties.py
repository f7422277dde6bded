"""--property and --label on the command line: from the question to the tree, the page and the check."""

import json
import shutil
from pathlib import Path

import pytest

from omdt import Solution, load
from omdt.solution import wording

MODELS = Path(__file__).parent / "data" / "models"
LAKE = ("frozenlake_4x4", "--depth", 1)
GOAL = ("--property", 'Pmax=? [F "goal"]', "--label", "goal: X=3 & Y=3")


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    return Path(shutil.copy(MODELS / "robot.drn", tmp_path))


def test_a_probability_of_a_registered_environment(run, tmp_path) -> None:
    path = tmp_path / "policy.json"
    status, out, err = run("solve", *LAKE, *GOAL, "--output", path)
    assert status == 0, err
    assert "maximising the probability to reach goal" in out
    assert "no tree of depth ≤ 1 has a higher probability" in out
    data = json.loads(path.read_text(encoding="utf-8"))
    assert (data["objective"], data["sense"], data["discount"]) == ('Pmax=? [F "goal"]', "max", 1.0)
    assert data["source"] == {"problem": "frozenlake_4x4", "settings": [], "labels": ["goal: X=3 & Y=3"]}
    assert 0 < data["value"] <= data["bound"] <= data["optimal_return"] + 1e-9
    # The label is found again, and the objective need not be named; if it is, it must be the same.
    for words in ((), ("frozenlake_4x4",), ("--property", 'Pmax=? [F "goal"]')):
        status, out, err = run("report", path, *words)
        assert (status, err) == (0, "")
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    assert "; maximising the probability to reach goal." in page
    assert "--label &#39;goal: X=3 &amp; Y=3&#39;" in page
    assert "discounted" not in page.partition("<script")[0]
    status, _, err = run("report", path, "--property", 'Pmin=? [F "goal"]')
    assert status == 2
    assert 'is about Pmax=? [F "goal"], not about Pmin=? [F "goal"]' in err
    status, _, err = run("report", path, "--label", "goal: X=3 & Y=2")
    assert status == 2
    assert "not the problem that was solved" in err


def test_a_certificate_of_a_probability_is_checked(run, tmp_path) -> None:
    path, proof = tmp_path / "policy.json", tmp_path / "proof.omdt"
    assert run("solve", *LAKE, *GOAL, "--output", path, "--certificate", proof)[0] == 0
    for words in ((), ("frozenlake_4x4",), GOAL):
        status, out, err = run("check", path, *words, "--certificate", proof)
        assert status == 0, err
        assert out.startswith("VERIFIED")
        assert 'Pmax=? [F "goal"]' in out
    status, _, err = run("check", path, "--property", 'Pmax=? [F "init"]')
    assert status == 2
    assert "is about Pmax" in err
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(data | {"value": data["value"] + 0.01}), encoding="utf-8")
    assert run("check", path)[0] == 1


def test_a_cost_is_minimised_in_its_own_words(run, robot) -> None:
    status, out, _ = run("solve", robot, "--depth", 1, "--property", 'R{"energy"}min=? [F "goal"]')
    assert status == 0
    assert "minimising the expected energy until goal" in out
    assert "no tree of depth ≤ 1 needs less" in out


def test_an_infinite_cost_is_called_so(run, robot, tmp_path) -> None:
    path = tmp_path / "policy.json"
    status, out, _ = run("solve", robot, "--depth", 0, "--property", 'R{"energy"}max=? [F "goal"]', "--output", path)
    assert status == 0
    assert "infinite: this tree may never come to goal" in out
    assert "there is no scale from random to optimal if one of them is infinite" in out
    data = json.loads(path.read_text(encoding="utf-8"))
    assert (data["value"], data["normalized_return"], data["gap"]) == ("inf", None, 0.0)
    again = load(path)
    assert again.value == again.bound == float("inf")
    assert again.proven
    assert Solution.from_dict(again.to_dict()).to_json() == again.to_json()
    assert run("report", path)[0] == 0
    assert "∞" in path.with_suffix(".html").read_text(encoding="utf-8")


def test_several_rewards_are_asked_back(run, robot) -> None:
    status, out, err = run("solve", robot, "--depth", 1)
    assert (status, out) == (2, "")
    assert "'steps', 'energy'; choose one with reward=NAME (on the command line --set reward=NAME)" in err
    assert '--property \'R{"steps"}min=? [F "goal"]\'' in err


def test_info_lists_what_can_be_asked(run, robot) -> None:
    robot.with_suffix(".props").write_text('"far": Pmax=? [F "goal"]\nPmin=? [F "wet"]\n')
    status, out, _ = run("info", robot)
    assert status == 0
    for text in ("wet (1), goal (1)", "2: steps, energy", '1: "far": Pmax=? [F "goal"]', '2: Pmin=? [F "wet"]'):
        assert text in out
    status, out, _ = run("info", robot, "--property", "far", "--json")
    facts = json.loads(out)
    assert status == 0
    assert (facts["labels"], facts["rewards"]) == ({"wet": 1, "goal": 1}, ["steps", "energy"])
    assert (facts["objective"], facts["optimal_return"]) == ('Pmax=? [F "goal"]', pytest.approx(1.0))


def test_a_single_property_beside_the_model_is_used_and_said(run, robot) -> None:
    props = robot.with_suffix(".props")
    props.write_text('label "far" = x=2;\nPmax=? [F "far"];\n')
    status, out, err = run("solve", robot, "--depth", 0)
    assert status == 0
    assert f'asking for Pmax=? [F "far"], the property of {props}' in err
    assert "maximising the probability to reach far" in out
    status, out, err = run("solve", robot, "--depth", 0, "--discount", 0.9, "--set", "reward=steps")
    assert status == 0
    assert "asking for" not in err
    assert "maximising" not in out
    props.write_text('Pmax=? [F<=3 "goal"];\n')
    status, _, err = run("solve", robot, "--depth", 0)
    assert status == 2
    assert f"the property of {props} cannot be asked" in err


def test_a_property_is_chosen_by_its_place_or_name(run, robot) -> None:
    robot.with_suffix(".props").write_text('"far": Pmax=? [F "goal"]\nPmin=? [F "wet"]\n')
    status, _, err = run("solve", robot, "--depth", 0)
    assert status == 2
    assert "has 2 properties; --property with a number or name asks for one" in err
    for which, words in (("far", "maximising the probability to reach goal"), ("2", "minimising the probability")):
        status, out, err = run("solve", robot, "--depth", 0, "--property", which)
        assert status == 0
        assert "asking for P" in err
        assert words in out
    status, _, err = run("solve", robot, "--depth", 0, "--property", "3")
    assert status == 2
    assert "has no property '3'; it has 1:" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--property", "Pmax=? [F"), "column 10: expected a condition"),
        (("--property", 'Pmax=? [F "gaol"]'), 'has no label "gaol"'),
        (("--property", 'Pmax=? [F "goal"]', "--discount", 0.9), "--discount is 0.9, but Pmax"),
        (("--property", 'R{"steps"}max=? [Cdiscount=0.5]', "--discount", 0.9), "has the discount 0.5; leave one out"),
        (("--property", 'R{"time"}max=? [C]'), "but not 'time'"),
        (("--property", 'Pmax=? [F "goal"]', "--set", "cost=steps"), "leave one out"),
        (("--property", "1"), "there are no properties beside the model"),
        (("--property", 'Pmax=? [F "goal"]', "--label", "goal: x=1"), "has a label 'goal' already"),
        (("--property", 'Pmax=? [F "goal"]', "--label", "x=1"), "gives no label"),
        (("--property", "Rmax=? [C]"), "'steps', 'energy'; choose one"),
    ],
)
def test_what_cannot_be_asked_ends_with_status_2(run, robot, words, message) -> None:
    for command in ("solve", "compare"):
        status, out, err = run(command, robot, "--depth", 1, *words)
        assert (status, out) == (2, "")
        assert message in err


def test_no_state_of_the_target_is_said(run, robot) -> None:
    status, _, err = run("solve", robot, "--depth", 0, "--property", "Pmax=? [F x=7]")
    assert status == 0
    assert "no state of" in err
    assert "satisfies x=7" in err


def test_discount_1_is_the_expected_total(run) -> None:
    status, out, _ = run("solve", *LAKE, "--discount", 1)
    assert status == 0
    assert "maximising the expected total reward" in out
    assert "no tree of depth ≤ 1 earns more" in out


@pytest.mark.needs("sklearn")
def test_a_comparison_names_the_objective(run, robot) -> None:
    words = ("--depth", 1, "--seeds", 1, "--time-limit", 5, "--processes", 1)
    status, out, _ = run("compare", robot, "--property", 'R{"energy"}min=? [F "goal"]', *words)
    assert status == 0
    assert "minimising the expected energy until goal" in out
    status, out, _ = run("compare", robot, "--property", 'R{"energy"}min=? [F "goal"]', *words, "--json")
    data = json.loads(out)
    assert (data["objective"], data["sense"]) == ('R{"energy"}min=? [F "goal"]', "min")
    rows = {row["method"]: row for row in data["rows"]}
    assert rows["optimal"]["value"] <= rows["search"]["value"] <= rows["random"]["value"]
    assert rows["search"]["normalized_return"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("objective", "sense", "better", "room"),
    [
        (None, "max", "returns more", "return up to 0.5 more"),
        ('Pmax=? [F "a"]', "max", "has a higher probability", "have a probability up to 0.5 higher"),
        ('Pmin=? [F "a"]', "min", "has a lower probability", "have a probability up to 0.5 lower"),
        ('R{"time"}min=? [F "a"]', "min", "needs less", "need up to 0.5 less"),
        ("Rmax=? [C]", "max", "earns more", "earn up to 0.5 more"),
        ("cost in cents", "min", "has less", "have up to 0.5 less"),
    ],
)
def test_words_for_better_trees(objective, sense, better, room) -> None:
    says = wording(objective, sense)
    assert says.better == better
    assert says.room(0.5, "0.5") == room
    assert says.default == (objective is None)
