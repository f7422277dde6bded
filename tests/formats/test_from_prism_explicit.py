"""PRISM's explicit files become the MDP they describe, and whatever is wrong with them is reported with its line."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from choice_models import MODELS, assert_is, choice_models, read_quietly, read_with_warnings, write_prism
from hypothesis import given

from omdt import InputError, planning, read
from strategies import refusal

ENDINGS = (".tra", ".sta", ".lab", "1.srew", "2.trew")


@pytest.fixture
def robot(tmp_path) -> Path:
    """The robot's files, free to be changed."""
    for ending in ENDINGS:
        shutil.copy(MODELS / f"robot{ending}", tmp_path)
    return tmp_path / "robot.tra"


def refused(path: Path, **parameters: str) -> str:
    error = refusal(lambda: read_quietly(path, **parameters or {"reward": "steps"}))
    assert error is not None
    return str(error)


@given(choice_models())
def test_random_models_are_read_as_defined(tmp_path_factory, model):
    path = tmp_path_factory.mktemp("prism") / "model.tra"
    write_prism(model, path)
    mdp = read_quietly(path, discount=0.9)
    assert_is(mdp, model, 0.9)
    best = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    assert best == pytest.approx(model.best_return(0.9), abs=1e-9)


@pytest.mark.parametrize("parameters", [{"reward": "steps"}, {"cost": "energy"}])
def test_the_robot_is_the_same_in_both_formats(parameters):
    one, messages = read_with_warnings(MODELS / "robot.tra", discount=0.9, **parameters)
    other = read_quietly(MODELS / "robot.drn", discount=0.9, **parameters)
    np.testing.assert_allclose(one.transitions.toarray(), other.transitions.toarray(), rtol=0, atol=1e-15)
    np.testing.assert_allclose(one.rewards, other.rewards, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(one.features, other.features)
    np.testing.assert_array_equal(one.initial, other.initial)
    assert (one.feature_names, one.action_names) == (other.feature_names, other.action_names)
    assert len(messages) == 2
    assert "targets and properties are not looked at (here the labels 'goal', 'wet')" in messages[0]
    assert "some but not all" in messages[1]


def test_comments_and_empty_lines_are_skipped(robot):
    for file in robot.parent.iterdir():
        file.write_text("# made by hand\n\n" + file.read_text())
    assert read_quietly(robot, reward="steps").n_states == 6


def test_several_reward_structures_need_a_choice(robot):
    assert "'steps', 'energy'" in str(refusal(lambda: read(robot)))


def test_one_reward_structure_needs_none(robot):
    (robot.parent / "robot2.trew").unlink()
    (robot.parent / "robot1.srew").rename(robot.parent / "robot.srew")
    assert read_quietly(robot).rewards[:, 0].tolist() == [-1, -1, -1, -1, -1, 0]


def test_structures_without_a_title_are_numbered_and_both_files_count(robot):
    (robot.parent / "robot1.srew").write_text("6 1\n3 10\n")
    (robot.parent / "robot1.trew").write_text("6 11 2\n3 0 4 100\n3 0 3 200\n")
    np.testing.assert_allclose(read_quietly(robot, reward="1").rewards[3], 10 + 0.8 * 100 + 0.2 * 200)


def test_titles_with_and_without_a_colon(robot):
    (robot.parent / "robot1.srew").write_text('# Reward structure: "time"\n# State rewards\n6 1\n3 10\n')
    assert read_quietly(robot, reward="time").rewards[3].tolist() == [10, 10, 10]


def test_without_rewards_the_model_is_refused(robot):
    for file in ("robot1.srew", "robot2.trew"):
        (robot.parent / file).unlink()
    assert "no rewards" in refused(robot)


def test_without_labels_state_0_is_initial_and_without_variables_the_state_is_the_feature(robot):
    for ending in (".lab", ".sta"):
        robot.with_suffix(ending).unlink()
    mdp, messages = read_with_warnings(robot, discount=0.9, reward="steps")
    assert mdp.initial.tolist() == [1, 0, 0, 0, 0, 0]
    assert mdp.feature_names == ("state",)
    missing = f"{robot.with_suffix('.sta')}: there is no such file, and the states have no variables"
    assert any(message.startswith(missing) for message in messages)


def test_several_initial_states_are_equally_likely(robot):
    robot.with_suffix(".lab").write_text('0="deadlock" 3="init"\n1: 3\n2: 0 3\n4: 0\n')
    assert read_quietly(robot, reward="steps").initial.tolist() == [0, 0.5, 0.5, 0, 0, 0]


def test_deadlocks_stay(tmp_path):
    path = tmp_path / "model.tra"
    path.write_text("5 2 3\n0 0 1 0.5 a\n0 0 4 0.5 a\n3 0 0 1 b\n")
    path.with_suffix(".srew").write_text("5 1\n4 7\n")
    path.with_suffix(".sta").write_text("(up)\n" + "".join(f"{s}:({'true' if s % 2 else 'false'})\n" for s in range(5)))
    mdp = read_quietly(path, discount=0.5, reward="")
    assert mdp.available.tolist() == [[True, False], [True] * 2, [True] * 2, [False, True], [True] * 2]
    expected = np.zeros((5, 2, 5))
    expected[0, :, [1, 4]] = 0.5
    expected[3, :, 0] = 1
    for s in (1, 2, 4):
        expected[s, :, s] = 1
    np.testing.assert_array_equal(mdp.transitions.toarray().reshape(5, 2, 5), expected)
    assert mdp.rewards.tolist() == [[0, 0], [0, 0], [0, 0], [0, 0], [7, 7]]
    assert mdp.features.ravel().tolist() == [0, 1, 0, 1, 0]


def test_a_markov_chain_has_one_action(tmp_path):
    path = tmp_path / "chain.tra"
    path.write_text("2 3\n0 0 1/3\n0 1 2/3\n1 1 1\n")
    path.with_suffix(".trew").write_text("2 1\n0 1 3\n")
    path.with_suffix(".sta").write_text("(x)\n0:(0)\n1:(1)\n")
    mdp = read(path, discount=0.5, reward="")
    assert mdp.action_names == ("step",)
    np.testing.assert_allclose(mdp.transitions.toarray(), [[1 / 3, 2 / 3], [0, 1]])
    np.testing.assert_allclose(mdp.rewards, [[2], [0]])


def test_choices_without_actions_are_called_by_their_number(robot):
    robot.write_text("\n".join(" ".join(line.split()[:4]) for line in robot.read_text().splitlines()))
    assert read_quietly(robot, reward="steps").action_names == ("0", "1", "2")


BAD_LINES = [
    (".tra", "6 11 16", "6", "numbers of states"),
    (".tra", "6 11 16", "mdp", "'mdp'"),
    (".tra", "6 11 16", "0 11 16", "0 states do not fit"),
    (".tra", "6 11 16", "1000000000 11 16", "1,000,000,000 states do not fit"),
    (".tra", "1 0 2 0.5 east", "1 0 2", "expected state, choice"),
    (".tra", "1 0 2 0.5 east", "1 0.5:2 east", "expected state, choice"),
    (".tra", "1 0 2 0.5 east", "1 0 2 0.5 east north", "expected state, choice"),
    (".tra", "1 0 2 0.5 east", "1 0 6 0.5 east", "state 6, but the model has 6 states"),
    (".tra", "1 0 2 0.5 east", "1 0 -2 0.5 east", "'-2'"),
    (".tra", "1 0 2 0.5 east", "1 1 2 0.5 east", "sorted"),
    (".tra", "1 0 2 0.5 east", "0 0 2 0.5 east", "sorted"),
    (".tra", "1 0 2 0.5 east", "1 0 2 half east", "'half'"),
    (".tra", "1 0 2 0.5 east", "1 0 2 [0.4,0.6] east", "'[0.4,0.6]'"),
    (".tra", "1 0 2 0.5 east", "1 0 2 -0.5 east", "between 0 and 1"),
    (".tra", "1 0 2 0.5 east", "1 0 2 0.25 east", "state 1, action 'east' has probabilities that sum to 0.75"),
    (".sta", "(x,y)", "x,y", "names of the variables"),
    (".sta", "1:(1,0)", "1:(1)", "expected 2 variables, found 1"),
    (".sta", "1:(1,0)", "2:(1,0)", "state 2, expected those of 1"),
    (".sta", "1:(1,0)", "1(1,0)", "expected a state such as"),
    (".sta", "1:(1,0)", "1:(nan,0)", "variable 'x' is 'nan'"),
    (".lab", "1: 2", "9: 2", "state 9, but the model has 6 states"),
    (".lab", "1: 2", "one: 2", "'one'"),
    ("1.srew", "3 -1", "6 -1", "state 6, but the model has 6 states"),
    ("1.srew", "3 -1", "3 -1 -1", "expected 2 columns, found 3"),
    ("1.srew", "3 -1", "3 -inf", "'-inf'"),
    ("2.trew", "0 1 3 3", "0 1 3", "expected 4 columns, found 3"),
    ("2.trew", "0 1 3 3", "0 2 3 3", "no transition from state 0 by choice 2"),
    ("2.trew", "0 1 3 3", "9 1 3 3", "no transition from state 9"),
    ("2.trew", "0 1 3 3", "0 1 5 3", "to state 5 has a reward but no probability"),
]


@pytest.mark.parametrize(("ending", "old", "new", "fragment"), BAD_LINES)
def test_a_bad_line_is_refused_by_its_file_and_number(robot, ending, old, new, fragment):
    path = robot.with_name(f"robot{ending}")
    lines = path.read_text().splitlines()
    number = lines.index(old) + 1
    path.write_text("\n".join([*lines[: number - 1], new, *lines[number:]]) + "\n")
    message = refused(robot, reward="energy" if ending == "2.trew" else "steps")
    assert fragment in message
    assert message.startswith(f"{path}:{number}: ")


@pytest.mark.parametrize(
    ("ending", "old", "new", "fragment"),
    [
        (".tra", "6 11 16", "6 12 16", "declares 12 choices, but there are 11"),
        (".tra", "6 11 16", "6 11 17", "declares 17 transitions, but there are 16"),
        (".lab", '0="init"', '0="start"', "no state is labelled init"),
        (".sta", "5:(2,1)\n", "", "only 5 of them have variables"),
        ("1.srew", "6 5\n", "6 6\n", "declares 6 rewards but there are 5"),
    ],
)
def test_what_is_missing_is_named(robot, ending, old, new, fragment):
    path = robot.with_name(f"robot{ending}")
    path.write_text(path.read_text().replace(old, new))
    message = refused(robot)
    assert str(path) in message
    assert fragment in message


def test_a_file_cut_short_anywhere_is_refused(robot):
    whole = robot.read_text()
    for length in range(0, len(whole) - len("5 0 5 1\n"), 11):
        robot.write_text(whole[:length])
        assert str(robot) in refused(robot)


@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files_are_refused_or_read(robot, ending):
    path, rng = robot.with_name(f"robot{ending}"), random.Random(0)
    whole, bad = path.read_bytes(), 0
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] = rng.randrange(256)
        path.write_bytes(damaged)
        bad += refusal(lambda: read_quietly(robot, reward="energy" if "2" in ending else "steps")) is not None
    assert bad > 10


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*model\.tra: there is no such file"):
        read(tmp_path / "model.tra")
