"""Logs: what columns and cells mean, where episodes begin and end, and what is said about a wrong row."""

import gzip
import lzma
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omdt
from omdt.learning import logs
from omdt.learning.logs import Log, log_of
from omdt.learning.steps import Steps

FULL = """x,load,action,reward,next x,next load,terminated,truncated,episode,probability
0,1.5,go,1,1,2.5,false,false,a,0.5
1,2.5,stay,-2,1,2.5,False,0,a,0.25
1,2.5,go,3,7,,1,false,a,0.5
0,0.5,go,1,1,2.5,no,true,b,1
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(text)
    return path


def test_every_column_of_a_log_is_read(tmp_path: Path) -> None:
    log = log_of(written(tmp_path, FULL))
    steps = log.steps
    assert steps.feature_names == ("x", "load")
    assert steps.action_names == ("go", "stay")
    assert steps.observations.tolist() == [[0, 1.5], [1, 2.5], [1, 2.5], [0, 0.5]]
    assert steps.next_observations.tolist() == [[1, 2.5], [1, 2.5], [7, 2.5], [1, 2.5]]
    assert steps.actions.tolist() == [0, 1, 0, 0]
    assert steps.rewards.tolist() == [1, -2, 3, 1]
    assert steps.terminated.tolist() == [False, False, True, False]
    assert steps.episodes.tolist() == [0, 0, 0, 1]
    assert log.probabilities is not None
    assert log.probabilities.tolist() == [0.5, 0.25, 0.5, 1]
    assert log.name == str(tmp_path / "log.csv")


@pytest.mark.needs("pandas")
def test_a_data_frame_and_a_dictionary_give_the_same_log_as_the_file(tmp_path: Path) -> None:
    import pandas

    path = written(tmp_path, FULL)
    frame = pandas.read_csv(path)
    for source in (frame, frame.to_dict("list")):
        one, other = log_of(path).steps, log_of(source).steps
        for name in ("observations", "actions", "rewards", "next_observations", "terminated", "episodes"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_recorded_steps_are_a_log() -> None:
    steps = log_of({"x": [0, 1], "action": ["0", "0"], "reward": [1, 1], "done": [0, 1]}).steps
    log = log_of(steps)
    assert log.steps is steps
    assert log_of(log) is log
    assert isinstance(log.steps, Steps)
    assert isinstance(log, Log)


def test_blocks_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, FULL)
    whole = log_of(path).steps
    monkeypatch.setattr(logs, "BLOCK", 1)
    parts = log_of(path).steps
    np.testing.assert_array_equal(whole.observations, parts.observations)
    np.testing.assert_array_equal(whole.next_observations, parts.next_observations)
    assert whole.action_names == parts.action_names


def test_without_next_columns_the_next_row_of_the_episode_is_what_followed() -> None:
    log = log_of(
        {
            "x": [0, 10, 1, 11, 2, 12],
            "action": list("abaaab"),
            "reward": [0, 1, 2, 3, 4, 5],
            "episode": ["one", "two", "one", "two", "one", "two"],
            "done": [False, False, False, False, True, False],
        }
    )
    # The last step of episode two did not end the process, so that nothing is known of what followed.
    steps = log.steps
    assert steps.observations[:, 0].tolist() == [0, 1, 2, 10, 11]
    assert steps.next_observations[:, 0].tolist() == [1, 2, 2, 11, 12]
    assert steps.terminated.tolist() == [False, False, True, False, False]
    assert steps.rewards.tolist() == [0, 2, 4, 1, 3]
    assert steps.episodes.tolist() == [0, 0, 0, 1, 1]


def test_without_names_of_episodes_one_begins_where_the_state_jumps_and_after_an_ending() -> None:
    log = log_of(
        {
            "x": [0, 1, 5, 6, 0, 1],
            "next_x": [1, 2, 6, 0, 1, 2],
            "action": ["a"] * 6,
            "reward": [0] * 6,
            "done": [0, 0, 0, 1, 0, 0],
        }
    )
    assert log.steps.episodes.tolist() == [0, 0, 1, 1, 2, 2]


def test_done_and_truncated_together_mean_that_the_episode_was_only_cut_off() -> None:
    columns = {"x": [0, 0], "next_x": [1, 1], "action": ["a", "a"], "reward": [0, 0], "truncated": [True, False]}
    assert log_of({**columns, "done": [True, True]}).steps.terminated.tolist() == [False, True]
    assert log_of({**columns, "terminated": [True, True]}).steps.terminated.tolist() == [True, True]


def test_texts_and_truth_values_of_the_state_become_features() -> None:
    log = log_of(
        {
            "weather": ["sun", "rain", "sun"],
            "late": [True, False, False],
            "action": ["walk", "bus", "walk"],
            "reward": [1, 2, 3],
            "next_weather": ["rain", "sun", "fog"],
            "next_late": [False, False, True],
            "done": [0, 0, 0],
        }
    )
    assert log.steps.feature_names == ("weather = fog", "weather = rain", "weather = sun", "late")
    assert log.truths == log.steps.feature_names
    assert log.steps.observations.tolist() == [[0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 1, 0]]
    assert log.steps.next_observations.tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]]


def test_actions_that_are_whole_numbers_are_sorted_by_size_and_others_appear_in_their_order() -> None:
    columns = {"x": [0, 1, 2], "reward": [0, 0, 0], "done": [0, 0, 1]}
    numbered = log_of({**columns, "action": [10, 2, 10]}).steps
    assert numbered.action_names == ("2", "10")
    assert numbered.actions.tolist() == [1, 0, 1]
    named = log_of({**columns, "action": ["up", "down", "up"]}).steps
    assert named.action_names == ("up", "down")


def test_semicolons_and_decimal_commas_are_read(tmp_path: Path) -> None:
    log = log_of(written(tmp_path, "x;action;reward;next x;done\n0,5;a;-1,25;1,5;0\n1,5;a;0;0;1\n"))
    assert log.steps.observations[:, 0].tolist() == [0.5, 1.5]
    assert log.steps.rewards.tolist() == [-1.25, 0]


def test_a_log_without_endings_says_so_and_unused_columns_are_told() -> None:
    columns = {
        "x": [0, 1],
        "next_x": [1, 0],
        "action": ["a", "a"],
        "reward": [0, 0],
        "comment": ["", "hm"],
        "t": [0, 1],
    }
    with pytest.warns(omdt.InputWarning) as told:
        log_of(columns)
    said = [str(one.message) for one in told]
    assert len(said) == 2
    assert "not used: 'comment' and 't'; the state is 'x'; 'action' is the column 'action'" in said[0]
    assert "no column 'terminated' or 'done'" in said[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("x,action,reward,done\n", "has no rows"),
        ("x,reward,done\n0,1,1\n", "log.csv:1: there is no column 'action'. The columns are 'x', 'reward' and 'done'"),
        ("x,action,done\n0,a,1\n", "there is no column 'reward'"),
        ("action,reward,done\na,1,1\n", "no column belongs to the state"),
        ("x,next y,action,reward,done\n0,0,a,1,1\n", "'next y' is a part of the next state, but the state has no such"),
        ("x,x,action,reward,done\n0,0,a,1,1\n", "two columns are called 'x'"),
        ("x,action,r,rewards,done\n0,a,1,1,1\n", "the columns 'rewards' and 'r' could both be the reward"),
        ("x,action,reward,done\n0,a,1\n", "log.csv:2: expected 4 columns, found 3"),
        (
            "x,action,reward,done\n0,a,1,0\n0,,1,1\n",
            "log.csv:3: column 'action' is ''; expected the name of the action",
        ),
        ("x,action,reward,done\n0,a,inf,1\n", "log.csv:2: column 'reward' is 'inf'; expected a finite number"),
        ("x,action,reward,done\n0,a,1_0,1\n", "log.csv:2: column 'reward' is '1_0'; expected a finite number"),
        ("x,action,reward,done\n0,a,1,maybe\n", "log.csv:2: column 'done' is 'maybe'; expected true or false"),
        ("x,action,reward,done\n0,a,1,0\nb,a,1,1\n", "log.csv:3: column 'x' is 'b'; expected a finite number as in"),
        ("x,action,reward,done\nb,a,1,0\n2,a,1,1\n", "log.csv:3: column 'x' is '2'; expected a text as in other rows"),
        ("x,action,reward,done\n,a,1,0\n", "log.csv:2: column 'x' is ''; expected a number or a text"),
        ("x,next x,action,reward,done\n1,,a,1,0\n", "log.csv:2: column 'next x' is ''; expected a number or a text"),
        ("x,action,reward,done,prob\n0,a,1,1,0\n", "log.csv:2: column 'prob' is '0'; expected the probability of the"),
        (
            "x,action,reward,done,probabilty\n0,a,1,1,0\n",
            "column 'probabilty' is unknown; if it is the",
        ),
        (
            "x,next x,action,reward,terminatd\n0,0,a,1,1\n",
            "column 'terminatd' is unknown; if it is the",
        ),
        ("x,action,reward,done\n0,a,1,0\n", "no row is followed by another one of its episode"),
    ],
)
def test_a_wrong_log_is_answered_with_row_and_column(tmp_path: Path, text: str, expected: str) -> None:
    path = written(tmp_path, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omdt.InputWarning)
        with pytest.raises(omdt.InputError) as caught:
            log_of(path)
    assert expected in str(caught.value)


def test_too_many_texts_and_missing_files_are_refused(tmp_path: Path) -> None:
    names = [f"s{i}" for i in range(101)]
    with pytest.raises(omdt.InputError, match=r"row 100 .*column 'x' is 's100'; expected one of at most 100 texts"):
        log_of({"x": names, "action": ["a"] * 101, "reward": [0] * 101, "done": [0] * 101})
    with pytest.raises(omdt.InputError, match="there is no such file"):
        log_of(tmp_path / "none.csv")


TABLE = "x,action,next x,probability,reward\n0,a,0,0.25,1\n0,a,1,0.75,1\n1,a,1,1,0\n"


def test_a_table_of_transitions_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    path.write_text(TABLE)
    with (
        pytest.warns(omdt.InputWarning, match="no column 'terminated'"),
        pytest.raises(omdt.InputError, match=r"shop\.csv is a table of transitions and no log.*omdt solve"),
    ):
        log_of(path)
    # With what was chosen how probably, the same columns are a log.
    path.write_text(TABLE.replace("0.25", "0.5"))
    with pytest.warns(omdt.InputWarning, match="no column 'terminated'"):
        assert log_of(path).probabilities.tolist() == [0.5, 0.75, 1]


@pytest.mark.parametrize("pack", [gzip, lzma])
def test_a_compressed_file_is_unpacked_while_it_is_read(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / {gzip: "log.csv.gz", lzma: "log.csv.xz"}[pack]
    text = "x,action,reward,next x,done\n0,a,1,1,0\n1,b,2,0,1\n"
    with pack.open(path, "wt") as stream:
        stream.write(text)
    assert log_of(path).steps.rewards.tolist() == [1, 2]
    with pack.open(path, "wt") as stream:
        stream.write(TABLE)
    assert omdt.read(path, discount=0.9).n_states == 2
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(omdt.InputError, match="cannot unpack"):
        log_of(path)
    path.write_bytes(b"x,action")
    with pytest.raises(omdt.InputError, match=r"cannot (unpack|read)"):
        log_of(path)
