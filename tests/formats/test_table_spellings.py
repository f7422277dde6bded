"""Tables are read as people write them: names, separators, decimal commas, texts, and columns that are not needed."""

from pathlib import Path

import numpy as np
import pytest
from choice_models import MODELS, read_quietly, read_with_warnings

import omdt
from omdt.formats.table_columns import Columns
from strategies import refusal

MACHINE = (MODELS / "machine.csv").read_text()


def write(tmp_path: Path, text: str, name: str = "model.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def assert_same(one: omdt.MDP, other: omdt.MDP) -> None:
    np.testing.assert_array_equal(one.transitions.toarray(), other.transitions.toarray())
    for name in ("rewards", "initial", "features", "available"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.action_names == other.action_names


HEADERS = [
    "wear,action,next_wear,probability,reward",
    "Wear,Action,Next Wear,Prob,Reward",
    "wear,a,wear_next,p,r",
    "wear,action,NextWear,proba,rewards",
    "wear,act,wear',Probability,reward",
    " wear , action , next wear , probability , reward ",
    "WEAR,ACTION,NEXT-WEAR,PROB,REWARD",
]


@pytest.mark.parametrize("header", HEADERS)
def test_names_are_understood_as_people_write_them(tmp_path, header):
    rows = MACHINE.split("\n", 1)[1]
    mdp, messages = read_with_warnings(write(tmp_path, f"{header}\n{rows}"), discount=0.9)
    assert_same(mdp, read_quietly(MODELS / "machine.csv", discount=0.9))
    assert mdp.feature_names == (header.split(",")[0].strip(),)
    assert [message for message in messages if "not used" in message] == []


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", [".csv", ".CSV", ".tsv"])
def test_separators_are_found_whatever_the_ending(tmp_path, separator, ending):
    path = write(tmp_path, MACHINE.replace(",", separator), f"model{ending}")
    assert_same(read_quietly(path, discount=0.9), read_quietly(MODELS / "machine.csv", discount=0.9))


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_are_understood_where_no_comma_separates(tmp_path, separator):
    text = MACHINE.replace(",", separator).replace("0.5", "0,5")
    path = write(tmp_path, "\ufeff" + text)
    assert_same(read_quietly(path, discount=0.9), read_quietly(MODELS / "machine.csv", discount=0.9))


def test_a_file_has_one_decimal_sign(tmp_path):
    text = "x;action;next x;probability;reward\n0;a;0;0,5;1\n0;a;1;0.5;1\n"
    path = write(tmp_path, text)
    message = str(refusal(lambda: read_quietly(path)))
    assert message == f"{path}:3: '0.5' has the decimal sign '.', but numbers in other rows ','"


def test_a_comma_between_cells_is_no_decimal_sign(tmp_path):
    path = write(tmp_path, 'x,action,next x,reward\n0,a,0,"1,234"\n')
    assert "the reward is '1,234'; expected a finite number" in str(refusal(lambda: read_quietly(path)))


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_an_index_column_is_ignored_without_a_message(tmp_path, index):
    header, *rows = MACHINE.splitlines()
    lines = [f"{index},{header}", *(f"{i},{row}" for i, row in enumerate(rows))]
    mdp, messages = read_with_warnings(write(tmp_path, "\n".join(lines)), discount=0.9)
    assert_same(mdp, read_quietly(MODELS / "machine.csv", discount=0.9))
    assert len(messages) == 1
    assert "some but not all" in messages[0]


def test_other_columns_are_named_and_ignored(tmp_path):
    header, *rows = MACHINE.splitlines()
    lines = [f"note,{header},user,next_action", *(f"?,{row},me,run" for row in rows)]
    path = write(tmp_path, "\n".join(lines))
    mdp, messages = read_with_warnings(path, discount=0.9)
    assert_same(mdp, read_quietly(MODELS / "machine.csv", discount=0.9))
    assert messages[0] == (
        f"{path}: not used: 'note', 'user' and 'next_action'; the state is 'wear'; the action is 'action'; the "
        "probability is 'probability'; the reward is 'reward'"
    )


def test_what_follows_from_missing_columns_is_told_with_those_that_are_not_used(tmp_path):
    path = write(tmp_path, "x,action,next x,cost\n0,a,0,1\n")
    _, messages = read_with_warnings(path, discount=0.9)
    assert messages[0].endswith(
        "there is no reward, so all rewards are 0 and no probability, so every row is one logged step"
    )


@pytest.mark.parametrize(
    ("header", "fragments"),
    [
        (
            "Wear,do,next_wear,prob,reward,note",
            [
                "there is no column 'action'",
                "The columns are 'Wear', 'do', 'next_wear', 'prob', 'reward' and 'note'",
                "(the state is 'Wear'; the probability is 'prob'; the reward is 'reward'; not used: 'do' and 'note')",
            ],
        ),
        (
            "wear,action,later wear,p,reward,x",
            [
                "no column belongs to the state; a state column x needs a column 'next x'",
                "(the action is 'action'; the probability is 'p'; the reward is 'reward'; not used: 'wear', 'later",
            ],
        ),
        ("wear;do;next wear;p;r;x", ["there is no column 'action'", "'wear', 'do', 'next wear', 'p', 'r' and 'x'"]),
        ("wear,action,next wear,next age,p,r", ["column 'next age' is a part of the next state"]),
        ("wear,action,next wear,prob,p,r", ["the columns 'prob' and 'p' could both be the probability"]),
        ("wear,Action,ACTION,next wear,p,r", ["the columns 'Action' and 'ACTION' could both be the action"]),
        ("wear,action,next wear,probablity,r,x", ["column 'probablity' is unknown; if it is the probability, call it"]),
    ],
)
def test_a_missing_column_shows_what_was_found(tmp_path, header, fragments):
    path = write(tmp_path, f"{header}\n0,run,1,1,1,1\n")
    message = str(refusal(lambda: read_quietly(path)))
    assert message.startswith(f"{path}:1: ")
    for fragment in fragments:
        assert fragment in message


@pytest.mark.parametrize(
    ("names", "state", "roles"),
    [
        (("x", "X", "next x", "next X", "action"), [("x", 0, 2), ("X", 1, 3)], {"action": 4}),
        (("x", "next x", "next next x", "action"), [("x", 0, 1), ("next x", 1, 2)], {"action": 3}),
        (("action", "next action"), [("action", 0, 1)], {"action": 0}),
        (("x", "next x", "action", "p", "next p"), [("x", 0, 1), ("p", 3, 4)], {"action": 2}),
        (("a", "next a", "action", "r", "reward"), [("a", 0, 1)], {"action": 2, "reward": 4}),
    ],
)
def test_names_that_are_spelled_exactly_come_first(names, state, roles):
    """These tables were read before other spellings were understood, and mean the same."""
    columns = Columns.found(names)
    assert [tuple(pair) for pair in columns.pairs] == state
    assert columns.roles == roles


def test_texts_are_categories(tmp_path):
    rows = ["sun,0,walk,rain,1,1,3", "rain,1,bus,sun,0,0.5,1", "rain,1,bus,snow,0,0.5,1", "snow,0,bus,sun,0,1,2"]
    path = write(tmp_path, "\n".join(["weather,late,action,next weather,next late,p,reward", *rows]))
    mdp = read_quietly(path, discount=0.5)
    assert mdp.feature_names == ("weather = rain", "weather = snow", "weather = sun", "late")
    assert mdp.truths == ("weather = rain", "weather = snow", "weather = sun")
    assert mdp.features.tolist() == [[0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0]]


def test_a_tree_asks_for_categories_by_their_name(tmp_path):
    places = ("home", "office", "shop")
    rows = [f"{s},{a},{a},1,{int(s == 'office' and a == 'shop')}" for s in places for a in places]
    mdp = read_quietly(
        write(tmp_path, "\n".join(["place,go,next place,prob,reward", *rows]).replace("go", "action", 1))
    )
    solution = omdt.solve(mdp, max_depth=1)
    assert solution.proven
    assert solution.tree.to_text().splitlines() == ["not place = office", "├── yes: office", "└── no:  shop"]


def test_truth_values_are_one_feature(tmp_path):
    rows = ["True,a,false,1,0", "FALSE,a,true,1,1"]
    mdp = read_quietly(write(tmp_path, "\n".join(["busy,action,next busy,p,reward", *rows])), discount=0.5)
    assert (mdp.feature_names, mdp.truths, mdp.features.tolist()) == (("busy",), ("busy",), [[1], [0]])


def test_true_and_false_among_texts_are_texts(tmp_path):
    rows = ["true,a,false,1,0", "false,a,perhaps,1,1"]
    mdp = read_quietly(write(tmp_path, "\n".join(["x,action,next x,p,reward", *rows])), discount=0.5)
    assert mdp.feature_names == ("x = false", "x = perhaps", "x = true")


@pytest.mark.parametrize(
    ("cells", "fragment"),
    [
        (("A1", "12"), "state column 'x' is '12', but there are texts in other rows"),
        (("12", "A1"), "state column 'x' is 'A1'; expected a finite number as in the rows before"),
        (("1", "true"), "state column 'x' is 'true'; expected a finite number"),
        (("home", ""), "state column 'x' is ''; expected a finite number or a text"),
        (("home", "1/0"), "state column 'x' is '1/0'; expected"),
    ],
)
def test_one_column_holds_one_kind(tmp_path, cells, fragment):
    path = write(tmp_path, f"x,action,next x,p\n{cells[0]},a,{cells[0]},1\n{cells[1]},a,{cells[0]},1\n")
    message = str(refusal(lambda: read_quietly(path)))
    assert message.startswith(f"{path}:3: ")
    assert fragment in message


def test_a_column_of_too_many_texts_is_refused(tmp_path):
    rows = "\n".join(f"k{i},a,k{i},1" for i in range(2001))
    message = str(refusal(lambda: read_quietly(write(tmp_path, f"x,action,next x,p\n{rows}"))))
    assert "column 'x' has 2,001 different texts, at most 2,000 are possible" in message


def test_a_table_with_texts_and_many_messages_can_be_solved_from_the_command_line(tmp_path, run):
    text = (
        "id;Weather;Action;Next_Weather;Prob;Reward\n1;sun;walk;rain;0,5;3\n2;sun;walk;sun;0,5;3\n3;rain;bus;sun;1;1\n"
    )
    status, output, error = run("solve", write(tmp_path, text, "TRIP.CSV"), "--depth", 1, "--discount", "0.9")
    assert status == 0
    assert "proven optimal" in output
    assert "TRIP.CSV: not used: 'id'; the state is 'Weather'; the action is 'Action'" in error


def test_columns_of_further_rewards_have_their_names(tmp_path: Path) -> None:
    text = (
        "wear,action,next wear,probability,reward,reward energy,Reward_noise\n"
        "0,run,1,0.5,3,1,0\n0,run,0,0.5,3,3,0\n0,repair,0,1,-1,0.5,2\n1,run,2,1,2,4,1\n1,repair,0,1,-1,0.5,2\n"
    )
    mdp, warnings = read_with_warnings(write(tmp_path, text))
    assert not any("not used" in warning for warning in warnings)
    np.testing.assert_array_equal(mdp.reward_models["energy"], [[2.0, 0.5], [4.0, 0.5], [0.0, 0.0]])
    np.testing.assert_array_equal(mdp.reward_models["noise"], [[0.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
    message = refusal(lambda: read_quietly(write(tmp_path, text.replace("-1,0.5,2", "-1,much,2", 1))))
    assert "model.csv:4: the reward 'energy' is 'much'" in str(message)
    pairs = Columns.found(("reward x", "next reward x", "action", "reward y"))
    assert ([pair.name for pair in pairs.pairs], pairs.further) == (["reward x"], {"y": 3})
