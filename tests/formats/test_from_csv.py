"""A CSV of transitions becomes the MDP it describes; a log of steps becomes the model that its averages estimate."""

import random
from pathlib import Path

import numpy as np
import pytest
from choice_models import MODELS, assert_is, choice_models, read_quietly, read_with_warnings, write_csv
from hypothesis import given

import omdt
from omdt import read
from strategies import refusal

MACHINE = (MODELS / "machine.csv").read_text()


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "model.csv"
    path.write_text(text, encoding="utf-8")
    return path


@given(choice_models())
def test_random_models_are_read_as_defined(tmp_path_factory, model):
    path = tmp_path_factory.mktemp("csv") / "model.csv"
    write_csv(model, path)
    mdp = read_quietly(path, discount=0.9)
    order = [int(np.flatnonzero((mdp.features == x).all(axis=1))[0]) for x in model.X]
    actions = [mdp.action_names.index(name) for name in model.names]
    S, A = mdp.rewards.shape
    sorted_mdp = omdt.MDP.from_dense(
        mdp.transitions.toarray().reshape(S, A, S)[order][:, actions][:, :, order],
        mdp.rewards[order][:, actions],
        mdp.initial[order],
        mdp.features[order],
        available=mdp.available[order][:, actions],
        action_names=tuple(model.names),
        discount=mdp.discount,
    )
    assert_is(sorted_mdp, model, 0.9)


def test_the_machine_is_what_its_table_says():
    mdp, messages = read_with_warnings(MODELS / "machine.csv", discount=0.9)
    assert mdp.feature_names == ("wear",)
    assert mdp.action_names == ("run", "repair")
    assert mdp.features.ravel().tolist() == [0, 1, 2, 3]
    assert mdp.initial.tolist() == [1, 0, 0, 0]
    half, one = [0.5, 0.5, 0, 0], [1, 0, 0, 0]
    rows = [half, half, [0, 0.5, 0.5, 0], one, [0, 0, 0.5, 0.5], one, [0, 0, 0, 1], [0, 0, 0, 1]]
    np.testing.assert_array_equal(mdp.transitions.toarray(), rows)
    np.testing.assert_array_equal(mdp.rewards, [[4, 4], [3, -2], [1, -2], [0, 0]])
    np.testing.assert_array_equal(mdp.available, [[True, False], [True, True], [True, True], [True, True]])
    assert len(messages) == 1
    assert "1 of 4 states offers some but not all of the 2 actions" in messages[0]


def test_its_best_tree_repairs_in_time():
    solution = omdt.solve(read_quietly(MODELS / "machine.csv", discount=0.9), max_depth=1)
    # Run while the wear is 0, repair as soon as it is 1: V0 = 4 + 0.45 V0 + 0.45 V1 and V1 = −2 + 0.9 V0;
    # run while it is 1 as well, repair at 2: V0 = 4 + 0.45 V0 + 0.45 V1, V1 = 3 + 0.45 V1 + 0.45 V2, V2 = −2 + 0.9 V0.
    early = (4 - 0.45 * 2) / (1 - 0.45 - 0.45 * 0.9)
    late = (4 + 0.45 * (3 - 0.9) / 0.55) / (0.55 - 0.45 * 0.45 * 0.9 / 0.55)
    assert solution.proven
    assert solution.value == pytest.approx(max(early, late), abs=1e-9)


def test_a_log_is_averaged(tmp_path):
    steps = ["0,a,1,2", "1,b,0,0", "0,a,1,4", "1,b,0,0", "0,a,2,6", "0,a,0,0", "1,b,2,1"]
    mdp, messages = read_with_warnings(write(tmp_path, "\n".join(["x,action,next x,reward", *steps])), discount=0.9)
    assert mdp.features.ravel().tolist() == [0, 1, 2]
    np.testing.assert_allclose(
        mdp.transitions.toarray().reshape(3, 2, 3),
        [[[0.25, 0.5, 0.25]] * 2, [[2 / 3, 0, 1 / 3]] * 2, [[0, 0, 1]] * 2],
    )
    np.testing.assert_allclose(mdp.rewards, [[3, 3], [1 / 3, 1 / 3], [0, 0]])
    np.testing.assert_allclose(mdp.initial, [2 / 3, 1 / 3, 0])
    assert len(messages) == 2
    assert "2 of 3 states offer some but not all of the 2 actions" in messages[1]
    assert "2 of 2 observed pairs of state and action were seen fewer than 10 times" in messages[0]
    assert "the rarest 3 times (state x=1, action 'b')" in messages[0]


def test_a_long_log_approaches_the_truth(tmp_path):
    rng, wear, rows = random.Random(0), 0, ["wear,action,next wear,reward"]
    for _ in range(20_000):
        action = "run" if wear == 0 or (wear < 3 and rng.random() < 0.6) else "repair"
        following = min(wear + (rng.random() < 0.5), 3) if action == "run" else 0
        rows.append(f"{wear},{action},{following},{[4, 3, 1][wear] if action == 'run' else -2}")
        wear = following
    truth = MACHINE + "3,repair,0,1,-2\n"
    mdp, messages = read_with_warnings(write(tmp_path, "\n".join(rows)), discount=0.9)
    exact = read_quietly(write(tmp_path, truth), discount=0.9)
    assert len(messages) == 1
    assert "2 of 4 states offer some but not all" in messages[0]
    assert mdp.action_names == exact.action_names
    np.testing.assert_allclose(mdp.transitions.toarray(), exact.transitions.toarray(), rtol=0, atol=0.03)
    np.testing.assert_allclose(mdp.rewards, exact.rewards, rtol=0, atol=1e-12)


def test_columns_may_stand_in_any_order_and_names_be_quoted(tmp_path):
    text = 'reward,next x,"next a ""b""",action,"a ""b""",x,probability\n1,0,2,"up, ""now""",2,0,1\n'
    mdp = read(write(tmp_path, text), discount=0.5)
    assert mdp.feature_names == ('a "b"', "x")
    assert mdp.action_names == ('up, "now"',)
    assert mdp.features.tolist() == [[2, 0]]


def test_rows_of_one_transition_add_up(tmp_path):
    text = "x,action,next x,probability,reward\n0,a,1,0.25,4\n0,a,1,0.25,0\n0,a,0,0.5,2\n"
    mdp = read(write(tmp_path, text), discount=0.5)
    assert mdp.transitions.toarray().tolist() == [[0.5, 0.5], [0, 1]]
    assert mdp.rewards.tolist() == [[2], [0]]


def test_initial_probabilities_are_given_by_a_column(tmp_path):
    text = "x,action,next x,probability,initial\n0,a,1,1,0.25\n1,a,0,1,0.75\n"
    assert read(write(tmp_path, text), discount=0.5).initial.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("line", "text", "fragment"),
    [
        (1, "wear,wear,action,next wear,probability,reward", "two columns are called 'wear'"),
        (1, "wear,action,next state,probability,reward", "no column belongs to the state"),
        (1, "wear,do,next wear,probability,reward", "no column 'action'"),
        (1, "wear,action,next wear,probabilty,reward", "column 'probabilty' is unknown; if it is the probability"),
        (3, "0,run,0,0.5", "expected 5 columns, found 4"),
        (3, "0,run,0,0.5,4,4", "expected 5 columns, found 6"),
        (3, "0,run,new,0.5,4", "state column 'wear' is 'new'"),
        (3, "nan,run,0,0.5,4", "state column 'wear' is 'nan'"),
        (3, "0,,0,0.5,4", "the action has no name"),
        (3, "0,run,0,1.5,4", "between 0 and 1"),
        (3, "0,run,0,-0.5,4", "between 0 and 1"),
        (3, "0,run,0,,4", "the probability is ''"),
        (3, "0,run,0,0.5,inf", "the reward is 'inf'"),
        (2, "0,run,1,0.25,4", "state wear=0, action 'run' has probabilities that sum to 0.75"),
        (3, '0,"run"x,0,0.5,4', "expected after"),
    ],
)
def test_a_bad_line_is_refused_by_its_number(tmp_path, line, text, fragment):
    lines = MACHINE.splitlines()
    lines[line - 1] = text
    path = write(tmp_path, "\n".join(lines))
    message = str(refusal(lambda: read_quietly(path)))
    assert fragment in message
    assert message.startswith(f"{path}:{line}: ")


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "is empty"),
        ("x,action,next x,probability\n", "no rows"),
        ("x,action,next x,probability,initial\n0,a,0,1,0.5\n", "initial probabilities of its states sum to 0.5"),
        ("x,action,next x,probability,initial\n0,a,0,0.5,1\n0,a,0,0.5,0.5\n", ":3: the same state was given another"),
        ('x,action,next x\n0,"a,0\n', "unexpected end of data"),
    ],
)
def test_other_faults_are_named(tmp_path, text, fragment):
    path = write(tmp_path, text)
    message = str(refusal(lambda: read_quietly(path)))
    assert str(path) in message
    assert fragment in message
