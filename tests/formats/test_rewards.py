"""What is asked about a model from a file is said, unless the user has said it."""

from array import array
from pathlib import Path

import pytest
from choice_models import MODELS, read_with_warnings

from omdt import read
from strategies import refusal

DRN = "@type: MDP\n@reward_models\n{}\n@nr_states\n1\n@model\nstate 0 [{}] init{}\n//[x=1]\n\taction a\n\t\t0 : 1\n"
ASK = "; objective=… (on the command line --property) asks for them"
ALL_TIME = "its discounted sum over all time; targets and properties are not looked at"


def written(tmp_path: Path, *parts: object) -> Path:
    path = tmp_path / "model.drn"
    path.write_text(DRN.format(*parts), encoding="utf-8")
    return path


def test_a_reward_that_nobody_asked_for_is_not_maximised_without_a_word(tmp_path):
    path = written(tmp_path, "time", 1, "")
    _, messages = read_with_warnings(path, discount=0.5)
    said = f"{path}: maximising the reward 'time', {ALL_TIME}; for minimising it: cost=time"
    assert messages == [f"{said} (on the command line --set cost=time)"]


def test_what_never_earns_anything_is_not_advised_to_be_minimised(tmp_path):
    path = written(tmp_path, "time", -1, "")
    _, messages = read_with_warnings(path, discount=0.5)
    assert messages == [f"{path}: maximising the reward 'time', {ALL_TIME}"]


@pytest.mark.parametrize("parameters", [{"reward": "time"}, {"cost": "time"}])
def test_what_the_user_asked_for_needs_no_word_where_nothing_else_is_in_sight(tmp_path, parameters):
    _, messages = read_with_warnings(written(tmp_path, "time", 1, ""), discount=0.5, **parameters)
    assert messages == []


def test_labels_and_files_of_properties_are_passed_over_aloud(tmp_path):
    path = written(tmp_path, "time", 1, ' goal "far away" b a deadlock')
    (tmp_path / "model.pctl").touch()
    _, messages = read_with_warnings(path, discount=0.5, cost="time")
    here = f"the labels 'a', 'b', 'far away', … and {tmp_path / 'model.pctl'}"
    assert messages == [f"{path}: minimising the reward 'time', {ALL_TIME} (here {here}){ASK}"]


def test_a_reward_that_is_0_everywhere_is_doubted(tmp_path):
    path = written(tmp_path, "time", 0, "")
    _, messages = read_with_warnings(path, discount=0.5, reward="time")
    assert messages == [f"{path}: the reward 'time' is 0 in every state, so all trees return 0; is another one meant?"]


def test_a_file_with_a_discount_asks_for_a_discounted_sum_itself(tmp_path):
    path = written(tmp_path, "time", 1, " goal")
    path.write_text("// discount 0.5\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert read(path).discount == 0.5


def test_the_command_line_says_it_too(run):
    status, _, err = run("info", MODELS / "robot.tra", "--set", "cost=energy", "--discount", 0.9)
    assert status == 0
    assert f"minimising the reward 'energy', {ALL_TIME} (here the labels 'goal', 'wet')" in err


@pytest.mark.parametrize(("ending", "advice"), [(".drn", "below @reward_models"), (".tra", "ends in .srew or .trew")])
def test_a_model_without_rewards_is_refused_with_what_to_do(tmp_path, ending, advice):
    path = tmp_path / f"model{ending}"
    path.write_text(DRN.format("", "", "").replace(" []", "") if ending == ".drn" else "1 1 1\n0 0 0 1\n")
    message = str(refusal(lambda: read(path)))
    assert message.startswith(f"{path} has no rewards, and a discounted sum of nothing is 0 whatever a tree does")
    assert advice in message


@pytest.mark.parametrize(("digits", "missing"), [(10, "1.0e-10"), (6, "1.0e-06")])
def test_rounded_probabilities_are_counted_and_their_largest_error_said(tmp_path, digits, missing):
    third, sixth = f"{1 / 3:.{digits}f}", f"{1 / 6:.{digits}f}"
    rows = [f"0 0 {t} {third} a\n" for t in range(3)] + [f"1 0 {t} {third} a\n" for t in range(3)]
    rows += [f"2 0 {t} {p} a\n" for t, p in enumerate((third, sixth, "0.5"))]
    path = tmp_path / "model.tra"
    path.write_text("3 3 9\n" + "".join(rows))
    path.with_suffix(".srew").write_text("3 1\n0 1\n")
    path.with_suffix(".sta").write_text("(x)\n0:(0)\n1:(1)\n2:(2)\n")
    mdp, messages = read_with_warnings(path, discount=0.5, reward="")
    assert messages == [
        f"{path}:2: state 0, action 'a' has probabilities whose sum misses 1 by {missing}, the most among 2 such "
        "choices; all such probabilities are divided by their sum"
    ]
    assert array("d", mdp.transitions.sum(axis=1)) == pytest.approx([1, 1, 1], abs=1e-15)


def test_rounded_probabilities_of_a_table_are_said_too(tmp_path):
    path = tmp_path / "model.csv"
    rows = "".join(f"0,a,{t},0.3333333333,0.9999999999\n" for t in range(3))
    path.write_text("x,action,next x,probability,initial\n" + rows)
    _, messages = read_with_warnings(path, discount=0.5)
    assert len(messages) == 2
    assert "misses 1 by 1.0e-10; all such probabilities are divided by their sum" in "".join(messages)
    assert "the sum of the initial probabilities misses 1 by 1.0e-10; they are divided by it" in "".join(messages)


def test_the_rounding_of_doubles_needs_no_word(tmp_path):
    path = tmp_path / "model.csv"
    path.write_text("x,action,next x,probability\n" + "".join(f"0,a,{t},0.1\n" for t in range(10)))
    _, messages = read_with_warnings(path, discount=0.5)
    assert messages == []
