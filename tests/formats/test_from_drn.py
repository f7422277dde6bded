"""A DRN file becomes the MDP it describes, and whatever is wrong with it is reported with its line."""

import random
import re
from pathlib import Path

import numpy as np
import pytest
from choice_models import MODELS, assert_is, choice_models, read_quietly, read_with_warnings, write_drn
from hypothesis import given

from omdt import InputError, planning, read
from strategies import refusal

ROBOT = (MODELS / "robot.drn").read_text(encoding="utf-8")
LINES = ROBOT.splitlines()


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "model.drn"
    path.write_text(text, encoding="utf-8")
    return path


def changed(tmp_path: Path, old: str, new: str) -> tuple[Path, int]:
    """The robot with one line changed, and that line's number."""
    numbers = [i for i, line in enumerate(LINES) if line.strip() == old]
    lines = [*LINES[: numbers[0]], *([new] if new else []), *LINES[numbers[0] + 1 :]]
    return write(tmp_path, "\n".join(lines) + "\n"), numbers[0] + 1


def refused(path: Path, **parameters: str) -> str:
    error = refusal(lambda: read_quietly(path, **{"reward": "steps"} | parameters))
    assert error is not None
    assert str(path) in str(error)
    return str(error)


@given(choice_models())
def test_random_models_are_read_as_defined(tmp_path_factory, model):
    path = tmp_path_factory.mktemp("drn") / "model.drn"
    write_drn(model, path)
    mdp = read_quietly(path, discount=0.9)
    assert_is(mdp, model, 0.9)
    best = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    assert best == pytest.approx(model.best_return(0.9), abs=1e-9)


def test_the_robot_is_what_its_file_says():
    mdp, messages = read_with_warnings(MODELS / "robot.drn", discount=0.9, cost="energy")
    assert mdp.action_names == ("east", "north", "west")
    assert mdp.feature_names == ("x", "y")
    np.testing.assert_array_equal(mdp.features, [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]])
    np.testing.assert_array_equal(mdp.initial, [1, 0, 0, 0, 0, 0])
    P = mdp.transitions.toarray().reshape(6, 3, 6)
    np.testing.assert_allclose(P[0, 0], [0.1, 0.9, 0, 0, 0, 0])
    np.testing.assert_array_equal(
        mdp.available, np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1] * 3])
    )
    np.testing.assert_array_equal(P[0, 2], P[0, 0])
    np.testing.assert_allclose(P[3], [[0, 0, 0, 0.2, 0.8, 0]] * 3)
    np.testing.assert_allclose(P[5], [[0, 0, 0, 0, 0, 1]] * 3)
    np.testing.assert_allclose(mdp.rewards, [[-2, -3, -2], [-2, -5, -2], [-3, -3, -2], [-4] * 3, [-2] * 3, [0] * 3])
    assert len(messages) == 2
    assert "minimising the reward 'energy'" in messages[0]
    assert "4 of 6 states offer some but not all of the 3 actions" in messages[1]


def test_without_a_discount_the_usual_one_is_assumed_aloud():
    mdp, messages = read_with_warnings(MODELS / "robot.drn", reward="steps")
    assert mdp.discount == 0.99
    assert any("no discount of its own; 0.99 is assumed" in message for message in messages)


REMARKS = """\
// written by hand
// discount 0.75
// the first state is drawn with the probabilities in the reward model initial
// feature x is called "x [m]"
// action go is called "go!"
@type: MDP
@reward_models
initial r
@nr_states
2
@model
state 0 [0.25, 1] init
//[x=0]
\taction go
\t\t1 : 1
state 1 [0.75, 2] init
//[x=1]
\taction go [0, 3]
\t\t1 : 1
"""


def test_comments_tell_what_the_format_cannot(tmp_path):
    mdp = read(write(tmp_path, REMARKS))
    assert mdp.discount == 0.75
    assert mdp.initial.tolist() == [0.25, 0.75]
    assert mdp.rewards.tolist() == [[1], [5]]
    assert (mdp.feature_names, mdp.action_names) == (("x [m]",), ("go!",))
    assert read(write(tmp_path, REMARKS), cost="r").rewards.tolist() == [[-1], [-5]]


def test_a_reward_model_is_the_start_only_where_a_comment_says_so(tmp_path):
    path = write(tmp_path, re.sub("// the first .*\n", "", REMARKS))
    with pytest.raises(InputError, match="'initial', 'r'; choose one"):
        read(path)
    mdp = read(path, reward="initial")
    assert mdp.initial.tolist() == [0.5, 0.5]
    assert mdp.rewards.tolist() == [[0.25], [0.75]]


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ("discount 0.75", "discount 1.5", ":2: the discount is 1.5"),
        ("discount 0.75", "discount 1-e", ":2: the discount is '1-e'"),
        ("initial r", "start r", ":11: a comment speaks of the reward model 'initial'"),
        ("[0.75, 2]", "[0.5, 2]", "sum to 0.75, not to 1"),
        ("[0.75, 2]", "[-1, 2]", ":16: the probability is -1"),
        ('"go!"', '"go\\!"', ":5: the name of action go is no JSON text"),
    ],
)
def test_wrong_comments_are_refused(tmp_path, old, new, fragment):
    assert old in REMARKS
    assert fragment in refused(write(tmp_path, REMARKS.replace(old, new)), reward="r")


def test_several_reward_models_need_a_choice(tmp_path):
    path = write(tmp_path, ROBOT)
    for parameters, fragments in (
        ({}, ["'steps', 'energy'", "reward=NAME", "cost=NAME"]),
        ({"reward": "time"}, ["'steps', 'energy'", "not 'time'"]),
        ({"reward": "steps", "cost": "energy"}, ["not both"]),
    ):
        with pytest.raises(InputError) as caught:
            read(path, **parameters)
        for fragment in fragments:
            assert fragment in str(caught.value)


def test_a_reward_model_may_have_an_empty_name(tmp_path):
    text = "@type: MDP\n@reward_models\n{}\n@nr_states\n1\n@model\nstate 0 [{}] init\n//[x=1]\n\taction a\n\t\t0 : 1\n"
    alone = read(write(tmp_path, text.format(" ", "7")), discount=0.5, reward="")
    assert alone.rewards.tolist() == [[7]]
    first = read(write(tmp_path, text.format(" cost ", "7, 8")), discount=0.5, reward="")
    assert first.rewards.tolist() == [[7]]
    second = read(write(tmp_path, text.format(" cost ", "7, 8")), discount=0.5, cost="cost")
    assert second.rewards.tolist() == [[-8]]


def test_a_model_without_rewards_is_refused(tmp_path):
    text = "@type: MDP\n@reward_models\n\n@nr_states\n1\n@model\nstate 0 init\n\taction a\n\t\t0 : 1\n"
    with pytest.raises(InputError, match="no rewards"):
        read(write(tmp_path, text))


def test_booleans_are_features_even_where_their_name_is_left_out(tmp_path):
    text = (
        "@type: DTMC\n@reward_models\nr\n@nr_states\n3\n@model\n"
        "state 0 [1] init\n//[\t& !up\t& x=-2]\n\taction 0 [0]\n\t\t1 : 1\n"
        "state 1 [1]\n//[b=false\t& up\t& x=3]\n\taction 0 [0]\n\t\t2 : 1\n"
        "state 2 [1]\n//[!b\t& \t& x=0.5]\n\taction 0 [0]\n\t\t2 : 1\n"
    )
    mdp = read(write(tmp_path, text), discount=0.5, reward="r")
    assert mdp.feature_names == ("b", "up", "x")
    assert mdp.features.tolist() == [[1, 0, -2], [0, 1, 3], [0, 1, 0.5]]


def test_without_variables_the_state_is_the_feature(tmp_path):
    path = write(tmp_path, re.sub(r"//\[.*\n", "", ROBOT))
    mdp, messages = read_with_warnings(path, discount=0.9, reward="steps")
    assert mdp.feature_names == ("state",)
    assert mdp.features.ravel().tolist() == list(range(6))
    assert any("have no variables" in message for message in messages)


def test_a_deadlock_stays_and_earns_its_state_reward(tmp_path):
    text = (
        "@type: MDP\n@reward_models\nr\n@nr_states\n2\n@nr_choices\n2\n@model\n"
        "state 0 [0] init\n//[x=0]\n\taction a\n\t\t1 : 1\nstate 1 [3]\n//[x=1]\n"
    )
    mdp = read(write(tmp_path, text), discount=0.5, reward="r")
    assert mdp.transitions.toarray().tolist() == [[0, 1], [0, 1]]
    assert mdp.rewards.tolist() == [[0], [3]]
    assert mdp.action_names == ("a",)


def test_choices_of_the_same_name_are_told_apart(tmp_path):
    action = "\taction {}\n\t\t0 : 1\n"
    names = ["a", "a", "a", "__NOLABEL__", "__NOLABEL__"]
    text = "@type: MDP\n@reward_models\nr\n@nr_states\n1\n@model\nstate 0 init\n//[x=0]\n"
    path = write(tmp_path, text + "".join(action.format(name) for name in names))
    mdp, messages = read_with_warnings(path, discount=0.5, reward="r")
    assert mdp.action_names == ("a", "a (2)", "a (3)", "3", "4")
    assert any("1 state offers choices without a name, which are called by their place" in it for it in messages)


def test_a_markov_chain_needs_no_actions(tmp_path):
    text = "@type: DTMC\n@reward_models\nr\n@nr_states\n2\n@model\nstate 0 [1] init\n//[x=0]\n\t0 : 0.5\n\t1 : 0.5\n"
    mdp = read(write(tmp_path, text + "state 1 [0]\n//[x=1]\n\t1 : 1\n"), discount=0.5, reward="r")
    assert mdp.action_names == ("step",)
    assert mdp.transitions.toarray().tolist() == [[0.5, 0.5], [0, 1]]
    named = text + "state 1 [0]\n//[x=1]\n\taction flip\n\t\t1 : 1\n"
    assert read(write(tmp_path, named), discount=0.5, reward="r").action_names == ("step",)


def test_placeholders_stand_for_their_values(tmp_path):
    text = (
        "@type: MDP\n@value_type: rational\n@placeholders\n$p : 1/4\n$q : 0.75\n@reward_models\nr\n@nr_states\n2\n"
        "@model\n"
        "state 0 [$q] init\n//[x=0]\n\taction a [1]\n\t\t0 : $p\n\t\t1 : $q\nstate 1\n//[x=1]\n\taction a\n\t\t1 : 1\n"
    )
    mdp = read(write(tmp_path, text), discount=0.5, reward="r")
    assert mdp.transitions.toarray().tolist() == [[0.25, 0.75], [0, 1]]
    assert mdp.rewards.tolist() == [[1.75], [0]]


def test_probabilities_printed_with_six_digits_are_normalised(tmp_path):
    third = "\t\t0 : 0.333333\n" * 3
    text = f"@type: MDP\n@reward_models\nr\n@nr_states\n1\n@model\nstate 0 [1] init\n//[x=0]\n\taction a\n{third}"
    path = write(tmp_path, text)
    mdp, messages = read_with_warnings(path, discount=0.5, reward="r")
    assert mdp.transitions.toarray().tolist() == [[1.0]]
    assert len(messages) == 1
    assert messages[0].startswith(f"{path}:9: state 0, action 'a' has probabilities whose sum misses 1 by 1.0e-06")


BAD_LINES = [
    ("@type: MDP", "@type: CTMC", "type 'CTMC'"),
    ("@type: MDP", "@type: POMDP", "type 'POMDP'"),
    ("@type: MDP", "@value_type: double-interval", "'double-interval'"),
    ("@parameters", "@parametres", "'@parametres'"),
    ("6", "six", "'six'"),
    ("6", "-6", "'-6'"),
    ("6", "99999999999999999999", "whole number"),
    ("6", "3000000000", "more than can be read"),
    ("state 1 [-1, 0] wet", "state 2 [-1, 0] wet", "expected state 1"),
    ("state 1 [-1, 0] wet", "state one [-1, 0] wet", "'one'"),
    ("state 1 [-1, 0] wet", "state 1 [-1, 0 wet", "closing bracket"),
    ("state 1 [-1, 0] wet", "state 1 [-1] wet", "the model has 2 reward models, but 1 reward here"),
    ("state 1 [-1, 0] wet", "state 1 [nan, 0] wet", "'nan'"),
    ("state 1 [-1, 0] wet", "state 1 [1_0, 0] wet", "'1_0'"),
    ("//[x=1\t& y=0]", "//[x=1\t& z=0]", "expected variable 'y', found 'z'"),
    ("//[x=1\t& y=0]", "//[x=1]", "expected 2 variables, found 1"),
    ("//[x=1\t& y=0]", "//[x=one\t& y=0]", "variable 'x' is 'one'"),
    ("//[x=1\t& y=0]", "//[x=1\t& y=0", "closing bracket"),
    ("2 : 0.5", "2 : 0.25", "state 1, action 'east' has probabilities that sum to 0.75"),
    ("2 : 0.5", "2 : -0.5", "between 0 and 1"),
    ("2 : 0.5", "2 : 1.5", "between 0 and 1"),
    ("2 : 0.5", "2 : NaN", "'NaN'"),
    ("2 : 0.5", "2 : inf", "'inf'"),
    ("2 : 0.5", "2 : 1/0", "'1/0'"),
    ("2 : 0.5", "2 : 0.5_0", "'0.5_0'"),
    ("2 : 0.5", "2 : $p", "'$p'"),
    ("2 : 0.5", "2 :", "''"),
    ("2 : 0.5", "two : 0.5", "'two'"),
    ("2 : 0.5", "-2 : 0.5", "'-2'"),
    ("2 : 0.5", "6 : 0.5", "next state is 6, but the model has 6 states"),
    ("2 : 0.5", "2 0.5", "a transition, found"),
    ("2 : 0.5", "\x00\x01\x02", "a transition, found"),
]


@pytest.mark.parametrize(("old", "new", "fragment"), BAD_LINES)
def test_a_bad_line_is_refused_by_its_number(tmp_path, old, new, fragment):
    path, number = changed(tmp_path, old, new)
    message = refused(path)
    assert fragment in message
    # A sum is wrong from the line on which its choice begins, one above the changed transition.
    assert message.startswith(f"{path}:{number - 1 if 'sum to' in message else number}: ")


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ("6", "7", "declares 7 states but there are 6"),
        ("11", "12", "declares 12 choices but there are 11"),
        ("state 0 [-1, 0] init", "state 0 [-1, 0]", "no state is labelled init"),
        ("@model", "", "'state 0 [-1, 0] init' is not a part of the header"),
        ("@type: MDP", "", "does not say @type"),
    ],
)
def test_what_is_missing_is_named(tmp_path, old, new, fragment):
    assert fragment in refused(changed(tmp_path, old, new)[0])


def test_parameters_are_refused_by_their_line(tmp_path):
    path = write(tmp_path, ROBOT.replace("@parameters\n\n", "@parameters\np q\n"))
    assert refused(path).startswith(f"{path}:4: the model has the parameters 'p q'")


def test_absurd_sizes_are_counted_not_believed(tmp_path):
    path = write(tmp_path, ROBOT.replace("@nr_states\n6", "@nr_states\n2000000000"))
    assert "declares 2,000,000,000 states but there are 6" in refused(path)


def test_a_file_cut_short_anywhere_is_refused(tmp_path):
    body = ROBOT.removesuffix("\t\t5 : 1\n")
    for length in range(0, len(body), 37):
        refused(write(tmp_path, body[:length]))
    assert "no line @model" in refused(write(tmp_path, ROBOT[: ROBOT.index("@model")]))


def test_damaged_files_are_refused_or_read(tmp_path):
    path, rng, whole, bad = tmp_path / "model.drn", random.Random(0), ROBOT.encode(), 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] = rng.randrange(256)
        path.write_bytes(damaged)
        bad += refusal(lambda: read_quietly(path, reward="steps")) is not None
    assert bad > 100


@pytest.mark.parametrize("junk", [b"", b"\xff\xfe\x00", bytes(range(256)), b"\x00" * 100, b"[" * 10_000])
def test_binary_junk_is_refused(tmp_path, junk):
    path = tmp_path / "model.drn"
    path.write_bytes(junk)
    refused(path)


def test_an_endless_line_is_refused_before_it_is_read(tmp_path):
    path = write(tmp_path, "x" * (5 << 20))
    assert "more than 1,048,576 characters" in refused(path)


def test_actions_beyond_all_measure_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("omdt.formats.choices.MAX_TRANSITIONS", 25)
    assert "3 different actions" in str(refusal(lambda: read_quietly(write(tmp_path, ROBOT), reward="steps")))
