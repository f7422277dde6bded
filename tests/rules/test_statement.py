"""What rules state: what they mean for a problem, what files have of them, and how wrong ones are refused."""

import json
from pathlib import Path

import numpy as np
import pytest

import omdt
from omdt import InputError, Rules
from omdt.questions import splits_of
from omdt.rules import (
    OPEN,
    Ceiling,
    FeatureCount,
    Forbidden,
    Kept,
    LeastShare,
    LeavesPerAction,
    Monotone,
    Outline,
    Prices,
    Required,
    Root,
    outline_of,
)
from omdt.rules.grammar import comparison, on_action
from omdt.rules.kept import freed, parsed_tree
from omdt.rules.reading import joined, kept_tree, read_rules
from omdt.solving import task_of
from omdt.task import Size, Task
from strategies import environment

ACTIONS = ("drive", "drive: far", "stop")
TREE = {
    "feature": "X",
    "threshold": 1.5,
    "left": {"action": "Left"},
    "right": {"feature": "Y", "equals": 2.0, "left": {"open": True, "depth": 1}, "right": {"action": "Up"}},
}


def lake() -> omdt.MDP:
    return environment("frozenlake_4x4")


SMALL = Size(2)


def task(rules: Rules, size: Size = SMALL) -> Task:
    return task_of(lake(), size, None, omdt.Objective.parse("Rmax=? [Cdiscount=0.99]"), "fallback", rules)


def test_every_entry_becomes_its_rule() -> None:
    stated = Rules(
        max_features=1,
        prices={"X": 0.5},
        prices_once={"every": 0.25},
        forbid="Left: X > 2",
        require="Up: X = 0 and not Y > 1",
        root="Y",
        min_share=0.1,
        max_leaves={"Left": 1, "every": 2},
        monotone=["X", "Y:down"],
        keep=TREE,
    )
    rules = task(stated).rules
    assert [type(rule) for rule in rules] == [
        Forbidden,
        Required,
        Root,
        FeatureCount,
        LeavesPerAction,
        Monotone,
        Monotone,
        LeastShare,
        Prices,
        Kept,
    ]
    assert [rule.words for rule in rules] == [
        "never takes Left where X>2",
        "takes Up where X=0 & !(Y>1)",
        "asks first about Y",
        "asks about at most 1 feature",
        "has at most 1 leaf for Left and at most 2 leaves for Down and at most 2 leaves for Right and at most 2 leaves "
        "for Up",
        "never takes a lower action (Left < Down < Right < Up) where X is larger",
        "never takes a higher action (Left < Down < Right < Up) where Y is larger",
        "gives every leaf at least 10 % of the visits",
        "pays 0.5 per question about X and 0.25 once for X and 0.25 once for Y",
        "keeps the given tree but for tree.right.left",
    ]


def test_rules_about_features_become_the_questions() -> None:
    assert set(task(Rules(without=["X"])).splits.feature.tolist()) == {1}
    assert set(task(Rules(features="X")).splits.feature.tolist()) == {0}
    mixed = task(Rules(categorical=["Y"])).splits
    assert mixed.equality[mixed.feature == 1].all()
    assert not mixed.equality[mixed.feature == 0].any()
    with pytest.raises(InputError, match="without names the feature 'Z', which is not one of X, Y"):
        task(Rules(without=["Z"]))


def test_limits_are_on_other_rewards_of_the_problem() -> None:
    mdp = lake()
    energy = np.arange(mdp.rewards.size, dtype=float).reshape(mdp.rewards.shape)
    mdp = omdt.MDP(mdp.transitions, mdp.rewards, mdp.initial, mdp.features, 0.9, reward_models={"energy": energy})
    rules = Rules(at_most=["energy <= 3.5", "energy >= -2"]).on(mdp, omdt.Splits.of(mdp))
    assert [rule.words for rule in rules] == ["has at most 3.5 energy", "has at least -2 energy"]
    most, least = rules
    assert isinstance(most, Ceiling)
    assert isinstance(least, Ceiling)
    np.testing.assert_array_equal(most.costs, mdp.reward_models["energy"])
    np.testing.assert_array_equal(least.costs, -mdp.reward_models["energy"])
    assert least.limit == 2.0
    with pytest.raises(InputError, match=r"is about 'fuel', but .* has no such rewards; it has energy"):
        Rules(at_most="fuel <= 1").on(mdp, omdt.Splits.of(mdp))


def test_a_statement_goes_to_a_file_and_back(tmp_path: Path) -> None:
    stated = Rules(features=["X"], forbid=["Left: X > 2"], prices=0.5, max_leaves=2, keep=TREE, root="X", min_share=0.1)
    assert Rules.from_dict(json.loads(json.dumps(stated.to_dict()))) == stated
    assert Rules().to_dict() == {}
    assert stated.to_dict() == {
        "features": ["X"],
        "prices": {"every": 0.5},
        "forbid": ["Left: X > 2"],
        "root": "X",
        "min_share": 0.1,
        "max_leaves": {"every": 2},
        "keep": TREE,
    }


def test_yaml_reads_as_people_write_it(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(json.dumps(TREE))
    (tmp_path / "rules.yaml").write_text(
        "features: [X, Y]\n"
        "forbid:\n  - Left: X > 2 and Y <= 1\n  - 'Up: not (X = 0 or Y == 3)'\n"
        "require: {Down: X = 0}\n"
        "prices: 0.1\n"
        "at_most: {energy: 3.5}\n"
        "keep: old.json\n"
        "free: tree.left\n"
    )
    rules = read_rules(tmp_path / "rules.yaml")
    assert rules.forbid == ("Left: X > 2 and Y <= 1", "Up: not (X = 0 or Y == 3)")
    assert rules.require == ("Down: X = 0",)
    assert rules.at_most == ("energy <= 3.5",)
    assert rules.prices == {"every": 0.1}
    assert rules.keep == {**TREE, "left": {"open": True}}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.yaml", "forbid: [", "is not a YAML file"),
        ("r.yaml", "- 1", r"rules must be entries with names, not \[1\]"),
        ("r.json", "{", "is not a JSON file"),
        ("r.json", '{"forbidden": []}', "'forbidden' is no rule; there are features, without"),
        ("r.json", '{"prices": {"X": -1}}', "prices has -1 for 'X'; it must be a number from 0 on"),
        ("r.json", '{"max_leaves": 1.5}', "max_leaves has 1.5 for 'every'; it must be a whole number from 0 on"),
        ("r.json", '{"min_share": 2}', "min_share is 2; it must be a share of the visits"),
        ("r.json", '{"max_features": "two"}', "max_features is 'two'; it must be a whole number"),
        ("r.json", '{"max_features": 1.5}', "max_features is 1.5; it must be a whole number"),
        ("r.json", '{"forbid": [3]}', "forbid has 3, which is not a text"),
        ("r.json", '{"free": ["tree.left"]}', "free lists places of the tree in the file that keep names"),
    ],
)
def test_files_that_are_no_rules_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read_rules(tmp_path / name)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"forbid": "Left"}, "has no condition; write it as in 'ACTION: load > 3'"),
        ({"forbid": "Jump: X > 1"}, "names the action 'Jump', which is not one of Left, Down, Right, Up"),
        ({"forbid": "Left: Z > 1"}, "has no feature 'Z'; it has X, Y"),
        ({"forbid": "Left: X >"}, "column"),
        ({"root": "Z"}, "root names the feature 'Z', which is not one of X, Y"),
        ({"monotone": "Z"}, "monotone names the feature 'Z', which is not one of X, Y"),
        ({"monotone": "X:sideways"}, "monotone names the feature 'X:sideways'"),
        ({"monotone": "X", "order": ["Left"]}, "order must have every action once: Left, Down, Right, Up"),
        ({"prices": {"Z": 1}}, "prices names 'Z', which is not one of X, Y"),
        ({"max_leaves": {"Jump": 1}}, "max_leaves names 'Jump', which is not one of Left, Down, Right, Up"),
        ({"at_most": "energy < 3"}, "is none; write it as in 'energy <= 3.5'"),
        ({"at_most": "energy <= 3"}, "has no such rewards; it has no further rewards"),
        ({"keep": {"feature": "X"}}, "tree lacks left, right, threshold"),
        ({"keep": {"open": 1}}, "tree.open is 1; it must be true, or left out"),
        ({"keep": {"open": True, "size": 3}}, "tree is open and has 'size'; it may have depth and leaves"),
        ({"keep": {"open": True, "leaves": 0}}, "tree.leaves is 0; it must be a whole number from 1 on"),
        ({"keep": {"action": "Jump"}}, "tree names the action 'Jump'"),
    ],
)
def test_rules_that_do_not_fit_the_problem_are_refused(rules: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        task(Rules(**rules)).allowed  # type: ignore[arg-type]  # noqa: B018


def test_actions_may_have_colons_and_quotes() -> None:
    assert on_action("drive: far: X > 1", ACTIONS).action == "drive: far"
    assert on_action("drive : X > 1", ACTIONS).action == "drive"
    assert on_action('"drive": X > 1', ACTIONS).action == "drive"
    assert comparison('"kilo watts" >= -2.5') == ("kilo watts", True, -2.5)


def test_rules_of_flags_and_file_go_together() -> None:
    one, other = Rules(forbid="a: x>1", prices={"x": 1.0}), Rules(forbid="b: x>2", prices={"y": 2.0}, root="x")
    both = joined(one, other)
    assert both.forbid == ("a: x>1", "b: x>2")
    assert both.prices == {"x": 1.0, "y": 2.0}
    assert both.root == "x"
    with pytest.raises(InputError, match="prices is given twice for x"):
        joined(one, Rules(prices={"x": 3.0}))
    with pytest.raises(InputError, match="root is given twice"):
        joined(Rules(root="y"), other)


def test_places_of_a_kept_tree_are_opened(tmp_path: Path) -> None:
    solution = omdt.solve(lake(), max_depth=2)
    solution.save(tmp_path / "s.json")
    nested = kept_tree(tmp_path / "s.json", ["left"])
    assert nested["left"] == {"open": True}
    assert nested["right"] == solution.tree.to_dict()["right"]
    assert freed(TREE, "tree") == {"open": True}
    assert freed(TREE, "right/left")["right"]["left"] == {"open": True}
    with pytest.raises(InputError, match=r"has no place 'tree.left.left': it has a leaf above it"):
        freed(TREE, "tree.left.left")
    with pytest.raises(InputError, match=r"write it as in tree.left.right"):
        freed(TREE, "up")


def test_a_kept_tree_tells_where_another_tree_differs() -> None:
    mdp = lake()
    kept = parsed_tree(TREE, mdp.feature_names, mdp.action_names)
    assert kept.depth == 3
    assert task(Rules(keep=TREE), Size()).size == Size(3)

    def tree(**changes: object) -> omdt.TreePolicy:
        filled = json.loads(json.dumps(TREE))
        filled["right"]["left"] = {"action": "Down"}
        filled.update(changes)
        return omdt.TreePolicy.from_dict(filled, mdp.feature_names, mdp.action_names)

    assert kept.difference(tree()) is None
    assert kept.difference(tree(threshold=1.25)) == "does not keep tree"
    assert kept.difference(tree(left={"action": "Up"})) == "does not keep tree.left"
    deep = {"feature": "X", "threshold": 2.5, "left": {"action": "Up"}, "right": {"action": "Left"}}
    grown = json.loads(json.dumps(TREE["right"])) | {"left": {**deep, "right": deep}}
    assert kept.difference(tree(right=grown)) == "has a subtree of depth 2 in place of tree.right.left"


def test_rules_about_shape_see_partial_trees() -> None:
    mdp = lake()
    partial = Outline(
        {(): 0, (True,): 1}, {(False,): 2, (True, False): OPEN, (True, True): 2}, lambda: np.zeros(16, int)
    )
    assert not partial.complete
    assert partial.leaves_below((True,)) == 2
    assert Root(0, "X").broken_by(partial) is None
    assert Root(1, "Y").broken_by(partial) == "does not ask first about Y"
    assert FeatureCount(1).broken_by(partial) == "asks about 2 features, at most 1 may be"
    assert LeavesPerAction({2: 1}, mdp.action_names).broken_by(partial) == "has 2 leaves for Right, at most 1 may be"
    assert LeavesPerAction({1: 0}, mdp.action_names).broken_by(partial) is None
    leaf = outline_of(omdt.TreePolicy.leaf(0, mdp.feature_names, mdp.action_names), mdp.features)
    assert leaf.complete
    assert Root(1, "Y").broken_by(leaf) is None


def test_monotone_compares_states_that_differ_in_one_feature_alone() -> None:
    mdp = lake()
    rule = Monotone(mdp, mdp.features, 0, "X", np.arange(4))
    x, y = mdp.features.T
    reached = mdp.reached
    pairs = {tuple(pair) for pair in rule.neighbours.tolist()}
    assert pairs
    for s, t in pairs:
        assert reached[[s, t]].all()
        assert (y[s] == y[t], x[s] < x[t]) == (True, True)
        assert not any(reached[u] and y[u] == y[s] and x[s] < x[u] < x[t] for u in range(16))

    def outline(policy: np.ndarray) -> Outline:
        return Outline({}, {(): OPEN}, lambda: policy)

    assert rule.broken_by(outline(np.minimum(x, 3).astype(int))) is None
    assert rule.broken_by(outline((3 - x).astype(int))) is not None
    open_between = np.where(x == 0, 3, np.where(x == 3, 0, OPEN)).astype(int)
    assert rule.broken_by(outline(open_between)) is not None
    assert Monotone(mdp, mdp.features, 0, "X", np.arange(4), falling=True).broken_by(outline(open_between)) is None
    assert rule.broken_by(outline(np.full(16, OPEN))) is None


def test_columns_that_divide_alike_are_told_apart_where_rules_are_about_columns() -> None:
    mdp = lake()
    twice = omdt.MDP(
        mdp.transitions,
        mdp.rewards,
        mdp.initial,
        np.column_stack((mdp.features, mdp.features[:, 0] * 2)),
        0.9,
        feature_names=("X", "Y", "double"),
        action_names=mdp.action_names,
    )
    assert set(omdt.Splits.of(twice).feature.tolist()) == {0, 1}
    objective = omdt.Objective.parse("Rmax=? [Cdiscount=0.9]")
    for rules in (Rules(root="double"), Rules(max_features=1), Rules(prices={"X": 1.0}), Rules(prices_once=1.0)):
        made = task_of(twice, SMALL, None, objective, "fallback", rules)
        assert made.splits.feature.tolist() == [0] * 3 + [1] * 3 + [2] * 3
        assert made.questions is None
    told = task_of(twice, SMALL, None, objective, "fallback", Rules(root="double", categorical=["X"]))
    assert set(told.splits.feature.tolist()) == {0, 1, 2}
    assert told.questions is not None
    assert told.questions.words()
    same = splits_of(told.questions, twice, per_column=True)
    assert (same.feature.tolist(), same.threshold.tolist()) == (
        told.splits.feature.tolist(),
        told.splits.threshold.tolist(),
    )
