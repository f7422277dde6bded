"""Trees act as they read, prune without changing an action, and compare, convert and print faithfully."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omdt import InputError, Splits, TreePolicy
from omdt.environments import PAPER
from omdt.tree import printable
from strategies import environment, random_tree, trees

LEAF = -1


def naive_action(tree: TreePolicy, observation: np.ndarray, node: int = 0) -> int:
    if tree.feature[node] == LEAF:
        return int(tree.action[node])
    value, threshold = observation[tree.feature[node]], tree.threshold[node]
    goes_left = value == threshold if tree.equality[node] else value <= threshold
    return naive_action(tree, observation, int((tree.left if goes_left else tree.right)[node]))


def naive_depth(tree: TreePolicy, node: int = 0) -> int:
    if tree.feature[node] == LEAF:
        return 0
    return 1 + max(naive_depth(tree, int(tree.left[node])), naive_depth(tree, int(tree.right[node])))


def grid(*several: TreePolicy) -> np.ndarray:
    """A point in every cell that the thresholds of the trees cut out of space, and on all of their borders."""
    axes = []
    for j in range(len(several[0].feature_names)):
        cuts = np.unique(np.concatenate([tree.threshold[tree.feature == j] for tree in several]))
        between = (cuts[:-1] + cuts[1:]) / 2
        around = [np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)]
        outside = [cuts.min() - 1, cuts.max() + 1] if len(cuts) else [0.0]
        axes.append(np.unique(np.concatenate([cuts, between, *around, outside])))
    return np.array(list(itertools.product(*axes)))


def observations(seed: int, F: int, count: int = 12) -> np.ndarray:
    """[count, F] observations on the grid of the random trees' thresholds, often exactly on one of them."""
    return np.random.default_rng(seed).integers(-3, 7, (count, F)) / 2


def question(feature: str, threshold: float, left: dict, right: dict, key: str = "threshold") -> dict:
    return {"feature": feature, key: threshold, "left": left, "right": right}


def act(name: str) -> dict:
    return {"action": name}


def tree_of(
    nested: dict, features: tuple[str, ...] = ("x", "y"), actions: tuple[str, ...] = ("a", "b", "c")
) -> TreePolicy:
    return TreePolicy.from_dict(nested, features, actions)


seeds = st.integers(0, 2**32 - 1)


@given(trees(), seeds)
def test_actions_are_those_of_the_questions_one_by_one(tree, seed):
    X = observations(seed, len(tree.feature_names))
    assert tree.actions(X).tolist() == [naive_action(tree, x) for x in X]
    assert tree.actions(X.tolist()).tolist() == tree.actions(X).tolist()


@given(trees(), seeds)
def test_predict_answers_for_one_and_for_many(tree, seed):
    X = observations(seed, len(tree.feature_names))
    memory = object()
    many, state = tree.predict(X, memory, np.ones(len(X), bool), deterministic=True)
    assert state is memory
    np.testing.assert_array_equal(many, tree.actions(X))
    one, nothing = tree.predict(X[0])
    assert nothing is None
    assert np.ndim(one) == 0
    assert one == many[0]
    assert int(one) in range(len(tree.action_names))


@given(trees())
def test_sizes(tree):
    assert tree.n_leaves == sum(1 for action in tree.action if action != LEAF)
    assert tree.n_decision_nodes == tree.n_leaves - 1
    assert tree.n_nodes == tree.n_leaves + tree.n_decision_nodes
    assert tree.depth == naive_depth(tree)


@given(trees(), seeds, st.integers(0, 12))
@settings(max_examples=150)
def test_pruning_keeps_every_action_and_never_grows(tree, seed, count):
    X = observations(seed, len(tree.feature_names), count)
    pruned = tree.pruned(X)
    np.testing.assert_array_equal(pruned.actions(X), tree.actions(X))
    assert pruned.n_nodes <= tree.n_nodes
    assert pruned.depth <= tree.depth


@given(trees(), seeds)
def test_pruning_twice_changes_nothing(tree, seed):
    X = observations(seed, len(tree.feature_names))
    once = tree.pruned(X)
    twice = once.pruned(X)
    for column in ("feature", "threshold", "left", "right", "action", "equality"):
        np.testing.assert_array_equal(getattr(once, column), getattr(twice, column))
    assert once.integer == twice.integer


def subtree_action(tree: TreePolicy, node: int, X: np.ndarray) -> list[int]:
    return [naive_action(tree, x, node) for x in X]


@given(trees(), seeds)
def test_after_pruning_every_split_matters(tree, seed):
    X = observations(seed, len(tree.feature_names))
    pruned = tree.pruned(X)
    stack = [(0, X)]
    while stack:
        node, rows = stack.pop()
        assert len(rows) > 0 or pruned.n_nodes == 1
        if pruned.feature[node] == LEAF:
            continue
        left, right = int(pruned.left[node]), int(pruned.right[node])
        wanted = subtree_action(pruned, node, rows)
        assert subtree_action(pruned, left, rows) != wanted
        assert subtree_action(pruned, right, rows) != wanted
        value, threshold = rows[:, pruned.feature[node]], pruned.threshold[node]
        goes_left = value == threshold if pruned.equality[node] else value <= threshold
        stack += [(left, rows[goes_left]), (right, rows[~goes_left])]


@given(trees(equalities=False), seeds)
def test_pruned_thresholds_lie_midway_between_values_that_occur(tree, seed):
    X = observations(seed, len(tree.feature_names))
    pruned = tree.pruned(X)
    for node in np.flatnonzero(pruned.feature != LEAF):
        values = np.unique(X[:, pruned.feature[node]])
        assert pruned.threshold[node] in (values[:-1] + values[1:]) / 2


def test_pruning_removes_a_side_that_no_observation_reaches():
    tree = tree_of(question("x", 5.0, question("y", 0.0, act("a"), act("b")), act("c")))
    pruned = tree.pruned([[0.0, -1.0], [1.0, 1.0]])
    assert pruned.to_dict() == question("y", 0.0, act("a"), act("b"))


def test_pruning_removes_a_split_whose_sides_act_alike():
    same = question("y", 0.0, act("a"), act("b"))
    tree = tree_of(question("x", 0.0, same, same))
    X = list(itertools.product([-1.0, 1.0], repeat=2))
    assert tree.pruned(X).to_dict() == same


def test_pruning_removes_a_repeated_question():
    tree = tree_of(question("x", 0.0, question("x", 0.0, act("a"), act("b")), question("x", 0.0, act("b"), act("c"))))
    assert tree.pruned([[-1.0, 0.0], [1.0, 0.0]]).to_dict() == question("x", 0.0, act("a"), act("c"))


def test_pruning_without_observations_leaves_a_leaf():
    tree = tree_of(question("x", 0.0, act("a"), act("b")))
    assert tree.pruned(np.zeros((0, 2))).n_nodes == 1


def test_pruning_moves_thresholds_midway_and_marks_whole_numbers():
    tree = tree_of(question("x", 1.001, act("a"), question("y", 0.2, act("b"), act("c"))))
    pruned = tree.pruned([[1.0, 0.0], [4.0, 0.25], [4.0, 0.0]])
    assert pruned.to_dict() == question("x", 2.5, act("a"), question("y", 0.125, act("b"), act("c")))
    assert pruned.integer == (True, False)


def test_pruning_separates_neighbouring_floats():
    above = np.nextafter(1.0, 2.0)
    tree = tree_of(question("x", 1.0, act("a"), act("b")))
    assert tree.pruned([[1.0, 0.0], [above, 0.0]]).actions([[1.0, 0.0], [above, 0.0]]).tolist() == [0, 1]


@pytest.mark.parametrize("name", PAPER)
def test_pruning_on_the_environments_keeps_every_action(name):
    mdp = environment(name)
    splits = Splits.of(mdp)
    rng = np.random.default_rng(7)
    for _ in range(3):
        tree = random_tree(rng, mdp.n_features, mdp.n_actions, 6)
        pruned = tree.pruned(splits.observations)
        np.testing.assert_array_equal(pruned.actions(mdp.features), tree.actions(mdp.features))


@given(trees(F=2, A=2, max_depth=3), trees(F=2, A=2, max_depth=3))
@settings(max_examples=200)
def test_trees_are_equal_exactly_when_they_act_alike_everywhere(first, second):
    X = grid(first, second)
    alike = np.array_equal(first.actions(X), second.actions(X))
    assert (first == second) is alike
    assert (second == first) is alike
    if alike:
        assert hash(first) == hash(second)


def with_useless_splits(nested: dict, rng: np.random.Generator) -> dict:
    """The same behaviour, asked in more words."""
    if "action" not in nested:
        nested = {**nested, "left": with_useless_splits(nested["left"], rng)}
        nested = {**nested, "right": with_useless_splits(nested["right"], rng)}
    if rng.random() < 0.4:
        key = rng.choice(["threshold", "equals"])
        return question(str(rng.choice(["x0", "x1"])), float(rng.integers(-2, 5) / 2), nested, nested, str(key))
    return nested


@given(trees(F=2, A=3, max_depth=3), seeds)
@settings(max_examples=100)
def test_useless_splits_do_not_make_a_tree_different(tree, seed):
    wordy = TreePolicy.from_dict(
        with_useless_splits(tree.to_dict(), np.random.default_rng(seed)), tree.feature_names, tree.action_names
    )
    assert wordy == tree
    assert hash(wordy) == hash(tree)


@given(trees(F=2, A=3, max_depth=3), st.data())
def test_one_changed_leaf_that_can_be_reached_makes_a_tree_different(tree, data):
    node = data.draw(st.sampled_from(np.flatnonzero(tree.action != LEAF).tolist()))
    action = tree.action.copy()
    action[node] = (action[node] + 1) % 3
    other = replace(tree, action=action)
    X = grid(tree)
    assert (other == tree) is np.array_equal(other.actions(X), tree.actions(X))


def test_equality_of_questions_about_the_same_number():
    below_or_at = question("x", 1.0, act("a"), act("b"))
    spelled_out = question("x", 1.0, act("a"), question("x", 1.0, act("a"), act("b")), "equals")
    assert tree_of(below_or_at) == tree_of(spelled_out)
    only_at = question("x", 1.0, act("a"), act("b"), "equals")
    assert tree_of(below_or_at) != tree_of(only_at)


def test_trees_over_other_names_and_other_things_are_different():
    tree = TreePolicy.leaf(0, ("x",), ("a", "b"))
    assert tree != TreePolicy.leaf(0, ("y",), ("a", "b"))
    assert tree != TreePolicy.leaf(0, ("x",), ("a", "c"))
    assert tree != TreePolicy.leaf(1, ("x",), ("a", "b"))
    assert tree != "a"
    assert tree == TreePolicy.leaf(0, ["x"], ["a", "b"])


@given(trees(), seeds)
def test_json_keeps_the_tree(tree, seed):
    X = observations(seed, len(tree.feature_names))
    pruned = tree.pruned(X)
    for original in (tree, pruned):
        nested = json.loads(json.dumps(original.to_dict()))
        copy = TreePolicy.from_dict(nested, original.feature_names, original.action_names, original.integer)
        assert copy.to_dict() == original.to_dict()
        for column in ("feature", "threshold", "left", "right", "action", "equality"):
            np.testing.assert_array_equal(getattr(copy, column), getattr(original, column))
        assert copy.integer == original.integer
        assert copy == original


def test_the_dictionary_is_that_of_the_interface():
    tree = TreePolicy(
        [0, LEAF, LEAF], [0.5, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF], [LEAF, 0, 1], ("X",), ("Left", "Down")
    )
    assert tree.to_dict() == {
        "feature": "X",
        "threshold": 0.5,
        "left": {"action": "Left"},
        "right": {"action": "Down"},
    }


@pytest.mark.needs("sklearn")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("labels", ["ints", "names"])
def test_a_scikit_learn_tree_decides_alike_on_every_float(seed, labels):
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-6, 7)
    X = rng.normal(size=(200, 3)) * scale
    X[:, 2] = rng.integers(0, 3, 200) + 16_777_216
    names = ("north", "east", "south", "west")
    y = rng.integers(1, 4, 200) if labels == "ints" else np.array(names)[rng.integers(1, 4, 200)]
    estimator = DecisionTreeClassifier(random_state=seed).fit(X, y)
    tree = TreePolicy.from_sklearn(estimator, ("x", "y", "z"), names)

    points = [X, rng.normal(size=(500, 3)) * scale]
    source = estimator.tree_
    for node in np.flatnonzero(source.children_left >= 0):
        threshold, feature = source.threshold[node], source.feature[node]
        single = np.float32(threshold)
        near = [threshold, float(single), tree.threshold[node]]
        for neighbour in (np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf))):
            near += [float(neighbour), (float(single) + float(neighbour)) / 2]
        near += [np.nextafter(value, side) for value in near for side in (-np.inf, np.inf)]
        rows = X[rng.integers(0, len(X), len(near))].copy()
        rows[:, feature] = near
        points.append(rows)
    points = np.vstack(points)
    predicted = estimator.predict(points)
    expected = predicted if labels == "ints" else [names.index(name) for name in predicted]
    np.testing.assert_array_equal(tree.actions(points), expected)
    assert tree.n_leaves == estimator.get_n_leaves()
    assert tree.depth == estimator.get_depth()


@pytest.mark.needs("sklearn")
def test_a_scikit_learn_tree_of_one_class_is_a_leaf():
    from sklearn.tree import DecisionTreeClassifier

    tree = TreePolicy.from_sklearn(DecisionTreeClassifier().fit([[0.0], [1.0]], [2, 2]), ["x"], ["a", "b", "c"])
    assert tree.to_dict() == {"action": "c"}


@pytest.mark.needs("sklearn")
@pytest.mark.parametrize(
    ("y", "features", "fragments"),
    [
        ([0, 3], ["x"], ["3", "2 actions"]),
        ([-1, 0], ["x"], ["-1", "2 actions"]),
        (["a", "z"], ["x"], ["'z'", "2 actions"]),
        ([0, 1], ["x", "y"], ["1 feature ", "2 are named"]),
        ([[0, 1], [1, 0]], ["x"], ["one output"]),
    ],
    ids=["too large", "negative", "unknown name", "features", "outputs"],
)
def test_scikit_learn_trees_that_are_no_policies_are_refused(y, features, fragments):
    from sklearn.tree import DecisionTreeClassifier

    estimator = DecisionTreeClassifier().fit([[0.0], [1.0]], y)
    with pytest.raises(InputError) as caught:
        TreePolicy.from_sklearn(estimator, features, ["a", "b"])
    for fragment in fragments:
        assert fragment in str(caught.value)


GOLDEN = """\
row ≤ 2
├── yes: speed ≤ 0.25
│        ├── yes: left
│        └── no:  colour = 3
│                 ├── yes: right
│                 └── no:  left
└── no:  stop"""


def golden_tree() -> TreePolicy:
    nested = question(
        "row",
        2.5,
        question("speed", 0.25, act("left"), question("colour", 3.0, act("right"), act("left"), "equals")),
        act("stop"),
    )
    return TreePolicy.from_dict(nested, ("row", "speed", "colour"), ("left", "right", "stop"), (True, False, True))


def test_text():
    assert golden_tree().to_text() == GOLDEN
    assert GOLDEN in repr(golden_tree())
    assert "3 decision nodes, depth 3" in repr(golden_tree())
    assert TreePolicy.leaf(1, ["x"], ["a", "b"]).to_text() == "b"


@pytest.mark.parametrize(("threshold", "shown"), [(2.5, "2"), (-0.5, "-1"), (1234567.5, "1234567"), (7.0, "7")])
def test_thresholds_between_whole_numbers_are_shown_as_whole_numbers(threshold, shown):
    tree = TreePolicy.from_dict(question("n", threshold, act("a"), act("b")), ["n"], ["a", "b"], [True])
    assert tree.question(0) == f"n ≤ {shown}"


@pytest.mark.parametrize("value", [3, -2, 1234567])
def test_whole_numbers_in_equalities_are_shown_as_whole_numbers(value):
    tree = TreePolicy.from_dict(question("n", value, act("a"), act("b"), "equals"), ["n"], ["a", "b"], [True])
    assert tree.question(0) == f"n = {value}"


def test_control_characters_in_names_are_spelled_out():
    names = ("two\nlines", "bell\x07", "red\x1b[31m", "tab\t")
    nested = question(names[0], 0.5, act(names[1]), question(names[2], 0.5, act(names[3]), act(names[1])))
    text = TreePolicy.from_dict(nested, (names[0], names[2]), (names[1], names[3])).to_text()
    assert all(character.isprintable() or character == "\n" for character in text)
    assert len(text.splitlines()) == 5
    for spelled in (r"two\nlines", r"bell\x07", r"red\x1b[31m", r"tab\t"):
        assert spelled in text


@given(st.text())
def test_printable_names_fit_on_one_line(name):
    shown = printable(name)
    assert shown.isprintable()
    if name.isprintable():
        assert shown == name


TWO_LEAVES = {
    "feature": [0, LEAF, LEAF],
    "threshold": [0.5, 0, 0],
    "left": [1, LEAF, LEAF],
    "right": [2, LEAF, LEAF],
    "action": [LEAF, 0, 1],
    "feature_names": ("x",),
    "action_names": ("a", "b"),
}
MALFORMED = {
    "no nodes": ({key: [] for key in ("feature", "threshold", "left", "right", "action")}, "no nodes"),
    "columns of different lengths": ({"threshold": [0.5]}, "threshold has shape"),
    "equality of wrong length": ({"equality": [True]}, "equality has shape"),
    "unknown feature": ({"feature": [1, LEAF, LEAF]}, "feature that is not among the 1"),
    "negative feature": ({"feature": [-2, LEAF, LEAF]}, "feature that is not among the 1"),
    "unknown action": ({"action": [LEAF, 0, 2]}, "action that is not among the 2"),
    "leaf without action": ({"action": [LEAF, 0, LEAF]}, "action that is not among the 2"),
    "NaN threshold": ({"threshold": [np.nan, 0, 0]}, "not a finite number"),
    "infinite threshold": ({"threshold": [np.inf, 0, 0]}, "not a finite number"),
    "child beyond the end": ({"right": [3, LEAF, LEAF]}, "do not form a tree"),
    "child of itself": ({"left": [0, LEAF, LEAF]}, "do not form a tree"),
    "the same child twice": ({"right": [1, LEAF, LEAF]}, "do not form a tree"),
    "missing child": ({"right": [LEAF, LEAF, LEAF]}, "do not form a tree"),
    "integer marks of wrong length": ({"integer": (True, False)}, "1 feature but 2 integer marks"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_arrays_are_refused(kind):
    changes, message = MALFORMED[kind]
    with pytest.raises(InputError, match=message):
        TreePolicy(**TWO_LEAVES | changes)


def test_a_parent_after_its_child_is_refused():
    with pytest.raises(InputError, match="every parent before its children"):
        TreePolicy(
            [0, LEAF, 0, LEAF, LEAF],
            [0.0] * 5,
            [3, LEAF, 1, LEAF, LEAF],
            [2, LEAF, 4, LEAF, LEAF],
            [LEAF, 0, LEAF, 0, 0],
            ("x",),
            ("a",),
        )


MALFORMED_DICTIONARIES = {
    "a list": ([], ["tree", "object"]),
    "nothing": (None, ["tree", "None"]),
    "empty": ({}, ["tree lacks feature, left, right, threshold"]),
    "no right": ({"feature": "x", "threshold": 1, "left": act("a")}, ["tree lacks right"]),
    "an unknown feature": (question("z", 1, act("a"), act("b")), ["tree", "'z'", "2 features"]),
    "an unknown action deep inside": (
        question("x", 1, act("a"), question("y", 1, act("b"), act("fly"))),
        ["tree.right.right", "'fly'", "3 actions"],
    ),
    "a list for an action": ({"action": ["a"]}, ["tree", "['a']"]),
    "a text for a child": (question("x", 1, "a", act("b")), ["tree.left", "'a'"]),
    "a text for a threshold": (question("x", "1", act("a"), act("b")), ["tree", "'1'", "not a number"]),
    "a truth for a threshold": (question("x", True, act("a"), act("b")), ["tree", "True", "not a number"]),
    "a NaN for a threshold": (question("x", float("nan"), act("a"), act("b")), ["finite"]),
    "a number beyond all floats": (question("x", 10**400, act("a"), act("b")), ["tree"]),
    "nothing for an equality": (question("x", None, act("a"), act("b"), "equals"), ["tree", "None"]),
}


@pytest.mark.parametrize("kind", MALFORMED_DICTIONARIES)
def test_malformed_dictionaries_are_refused_with_their_place(kind):
    nested, fragments = MALFORMED_DICTIONARIES[kind]
    with pytest.raises(InputError) as caught:
        tree_of(nested)
    for fragment in fragments:
        assert fragment in str(caught.value)


@pytest.mark.parametrize("X", [[0.0], [[0.0]], [[0.0, 1.0, 2.0]], [[[0.0, 1.0]]], 3.0])
def test_observations_of_wrong_shape_are_refused(X):
    tree = tree_of(act("a"))
    with pytest.raises(InputError, match=r"shape \[n, 2\] \(x, y\)"):
        tree.actions(X)
    with pytest.raises(InputError, match=r"shape \[n, 2\]"):
        tree.pruned(X)


def test_a_single_observation_of_wrong_length_is_refused():
    with pytest.raises(InputError, match=r"shape \[n, 2\]"):
        tree_of(act("a")).predict([1.0, 2.0, 3.0])


def test_arrays_cannot_be_written_and_are_not_the_users_own():
    columns = {key: np.array(value) for key, value in TWO_LEAVES.items() if not key.endswith("names")}
    tree = TreePolicy(**TWO_LEAVES | columns)
    for key, column in columns.items():
        column[0] = 1
        assert getattr(tree, key)[0] == TWO_LEAVES[key][0]
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, key)[0] = 1


def test_very_deep_trees_are_no_deeper_than_memory():
    depth = 3000
    nested = act("a")
    for k in range(depth):
        nested = question("x", float(k), act("b"), nested)
    tree = tree_of(nested)
    assert tree.depth == depth
    assert tree.actions([[-1.0, 0.0], [depth + 1.0, 0.0]]).tolist() == [1, 0]
    assert len(tree.to_text().splitlines()) == tree.n_nodes
    assert tree == tree_of(nested)


@given(trees(F=2), st.integers(0, 1000))
def test_leaves_are_the_nodes_at_which_observations_end(tree, seed):
    X = np.random.default_rng(seed).integers(-3, 7, (20, 2)) / 2
    leaves = tree.leaves(X)
    assert (tree.feature[leaves] == -1).all()
    np.testing.assert_array_equal(tree.action[leaves], tree.actions(X))
    for x, leaf in zip(X, leaves, strict=True):
        node = 0
        while tree.feature[node] != -1:
            value, threshold = x[tree.feature[node]], tree.threshold[node]
            yes = value == threshold if tree.equality[node] else value <= threshold
            node = tree.left[node] if yes else tree.right[node]
        assert node == leaf
