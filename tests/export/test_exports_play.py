"""Every executable export takes the tree's action: on every observation of every environment, and near thresholds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from players import PLAYERS, assert_plays_like, assert_plays_like_within_its_numbers, node, play_onnx, python_module

from omdt import Splits, TreePolicy
from omdt.environments import PAPER
from omdt.errors import InputError
from omdt.export import export_tree, sklearn, to_sklearn
from omdt.mdp import MDP
from omdt.tree import Nodes
from strategies import environment, random_tree, trees

NEEDS = {
    "c": pytest.mark.needs_program("gcc"),
    "javascript": pytest.mark.needs_program("node"),
    "onnx": [pytest.mark.needs("onnx"), pytest.mark.needs("onnxruntime")],
    "sklearn": pytest.mark.needs("sklearn"),
    "sklearn script": pytest.mark.needs("sklearn"),
}
every_language = pytest.mark.parametrize(
    "language", [pytest.param(language, marks=NEEDS.get(language, ())) for language in PLAYERS]
)


def tree_over(mdp: MDP, seed: int, depth: int = 7) -> TreePolicy:
    """A random tree that asks the questions of the MDP, every other feature for equality, and one predicate."""
    rng = np.random.default_rng(seed)
    predicate = mdp.features[:, :1] > np.median(mdp.features[:, 0])
    splits = Splits.of(mdp, categorical=mdp.feature_names[1::2], predicates=predicate, labels=["high"])
    grown = Nodes()
    stack: list = [(0, None)]
    while stack:
        level, attach = stack.pop()
        if level == depth or (level > 3 and rng.random() < 0.2):
            grown.leaf(int(rng.integers(mdp.n_actions)), attach)
            continue
        k = int(rng.integers(len(splits)))
        index = grown.split(int(splits.feature[k]), float(splits.threshold[k]), bool(splits.equality[k]), attach)
        stack += [(level + 1, (index, "right")), (level + 1, (index, "left"))]
    integer = tuple((splits.observations == np.floor(splits.observations)).all(axis=0).tolist())
    return grown.tree(TreePolicy, splits.feature_names, mdp.action_names, integer)


def observations_of(mdp: MDP) -> np.ndarray:
    return np.hstack([mdp.features, mdp.features[:, :1] > np.median(mdp.features[:, 0])])


def near(tree: TreePolicy, seed: int, count: int = 200) -> np.ndarray:
    """[count, F] observations on the thresholds, one bit beside them, and further away."""
    rng = np.random.default_rng(seed)
    X = np.empty((count, len(tree.feature_names)))
    for j in range(X.shape[1]):
        asked = np.append(tree.threshold[tree.feature == j], [0.0, -1e300, 1e300, 5e-324])
        on = rng.choice(asked, count)
        beside = np.nextafter(on, rng.choice([-np.inf, np.inf], count))
        X[:, j] = np.choose(
            rng.integers(0, 4, count), [on, beside, np.nextafter(beside, 0), on + rng.normal(size=count)]
        )
    return X


@every_language
@pytest.mark.parametrize("name", PAPER)
def test_on_every_observation_of_every_environment(tmp_path, name, language):
    mdp = environment(name)
    tree = tree_over(mdp, seed=len(name))
    assert tree.n_leaves > 10
    assert_plays_like(language, tree, np.unique(observations_of(mdp), axis=0), tmp_path)
    assert_plays_like_within_its_numbers(language, tree, near(tree, seed=1), tmp_path)


@every_language
@pytest.mark.parametrize("seed", range(3))
def test_on_thresholds_of_any_size(tmp_path, language, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 3, 4, max_depth=6)
    sizes = 10.0 ** rng.integers(-300, 300, tree.n_nodes)
    threshold = np.where(rng.random(tree.n_nodes) < 0.5, rng.normal(size=tree.n_nodes) * sizes, tree.threshold + 0.1)
    tree = replace(tree, threshold=np.where(tree.feature == -1, 0.0, threshold))
    assert_plays_like_within_its_numbers(language, tree, near(tree, seed), tmp_path)


@every_language
@given(tree=trees(max_depth=5), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=12)
def test_random_trees(tmp_path_factory, language, tree, seed):
    X = near(tree, seed, count=60)
    assert_plays_like_within_its_numbers(language, tree, X, tmp_path_factory.mktemp("play"))


def chain(depth: int, sides: str) -> TreePolicy:
    """A tree of one long path that turns to the given sides over and over."""
    grown = Nodes()
    attach = None
    for i in range(depth):
        side = sides[i % len(sides)]
        index = grown.split(i % 2, float(-i if side == "left" else i), False, attach)
        grown.leaf(i % 3, (index, "left" if side == "right" else "right"))
        attach = (index, side)
    grown.leaf(2, attach)
    return grown.tree(TreePolicy, ("x", "y"), ("a", "b", "c"))


@every_language
@pytest.mark.parametrize("sides", [["left"], ["right"], ["left", "right"]], ids=["left", "right", "zigzag"])
def test_trees_of_depth_200(tmp_path, language, sides):
    tree = chain(200, sides)
    X = np.vstack([near(tree, 3), np.random.default_rng(0).uniform(-210, 210, (200, 2))])
    assert_plays_like_within_its_numbers(language, tree, X, tmp_path)


@every_language
def test_trees_of_thousands_of_leaves(tmp_path, language):
    rng = np.random.default_rng(1)
    grown = Nodes()
    stack: list = [(0, None)]
    while stack:
        level, attach = stack.pop()
        if level == 12:
            grown.leaf(int(rng.integers(5)), attach)
        else:
            index = grown.split(int(rng.integers(4)), float(rng.integers(100)) / 2, False, attach)
            stack += [(level + 1, (index, "right")), (level + 1, (index, "left"))]
    tree = grown.tree(TreePolicy, tuple("wxyz"), tuple("abcde"))
    assert tree.n_leaves == 4096
    count = 20 if language == "prism" else 1000
    assert_plays_like(language, tree, rng.integers(-1, 101, (count, 4)) / 2, tmp_path)


@every_language
def test_a_tree_of_one_leaf(tmp_path, language):
    assert_plays_like(language, TreePolicy.leaf(1, ("x",), ("a", "b")), np.zeros((3, 1)), tmp_path)
    assert_plays_like(language, TreePolicy.leaf(0, ("x", "y"), ("only",)), np.ones((1, 2)), tmp_path)


@pytest.mark.parametrize("to", ["json", "dtcontrol"])
def test_nested_json_refuses_what_no_reader_could_nest(to):
    with pytest.raises(InputError, match="depth is 5000"):
        export_tree(chain(5000, ["left"]), to)


@pytest.mark.parametrize("to", ["python", "c", "javascript"])
def test_code_nests_no_deeper_than_the_logarithm_of_the_leaves(to):
    for tree in (chain(1000, ["left", "right"]), tree_over(environment("blackjack"), 4, depth=9)):
        indents = [len(line) - len(line.lstrip(" ")) for line in export_tree(tree, to).splitlines()]
        assert max(indents) <= 4 * (1 + np.log2(tree.n_leaves))


def test_python_compares_32_bit_observations_as_the_tree_does():
    tree = replace(chain(1, ["left"]), threshold=np.array([0.1, 0.0, 0.0]))
    policy = python_module(tree, "python")["policy"]
    for x in np.float32([[0.1, 0], [0.09999999, 0]]):
        assert policy(x) == tree.predict(x)[0]


def test_python_refuses_an_observation_of_wrong_length():
    policy = python_module(chain(3, ["left"]), "python")["policy"]
    with pytest.raises(ValueError, match="2 numbers, not 3"):
        policy([1, 2, 3])


@pytest.mark.needs_program("node")
def test_javascript_refuses_an_observation_of_wrong_length(tmp_path):
    with pytest.raises(AssertionError, match="2 numbers, not 1"):
        node(chain(3, ["left"]), np.zeros((1, 1)), tmp_path)


@pytest.mark.needs("onnxruntime")
def test_onnx_keeps_thresholds_that_32_bits_cannot_tell_apart(tmp_path):
    tree = replace(chain(2, ["right"]), threshold=np.array([1 + 2.0**-40, 0.0, 0.1, 0.0, 0.0]))
    X = np.array([[1 + 2.0**-40, 0], [1 + 2.0**-39, 0.1], [1 + 2.0**-39, np.nextafter(0.1, 1)]])
    assert play_onnx(tree, X, tmp_path) == tree.actions(X).tolist() == [0, 1, 2]


@pytest.mark.needs("sklearn")
def test_sklearn_and_back_is_the_same_tree():
    tree = tree_over(environment("inventory_management"), 2)
    again = TreePolicy.from_sklearn(to_sklearn(tree), tree.feature_names, tree.action_names)
    X = np.unique(observations_of(environment("inventory_management")), axis=0)
    np.testing.assert_array_equal(again.actions(X), tree.actions(X))


@pytest.mark.needs("sklearn")
def test_sklearn_tells_categories_that_are_no_32_bit_numbers():
    tree = TreePolicy.from_dict(
        {"feature": "x", "equals": 0.1, "left": {"action": "a"}, "right": {"action": "b"}}, ("x",), ("a", "b")
    )
    assert to_sklearn(tree).predict([[0.1], [0.2], [0.05]]).tolist() == [0, 1, 1]


@pytest.mark.needs("sklearn")
def test_a_fitted_tree_can_be_used_as_one():
    classifier = to_sklearn(tree_over(environment("xor"), 3))
    X = observations_of(environment("xor"))
    assert classifier.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert classifier.get_n_leaves() == (classifier.tree_.children_left == -1).sum()
    assert classifier.apply(X).max() < classifier.tree_.node_count


def test_sklearn_refuses_equalities_that_multiply(monkeypatch):
    grown = Nodes()
    attach = None
    for j in range(12):
        index = grown.split(j, 0.0, True, attach)
        grown.leaf(0, (index, "left"))
        attach = (index, "right")
    grown.leaf(1, attach)
    tree = grown.tree(TreePolicy, tuple(f"x{j}" for j in range(12)), ("a", "b"))
    monkeypatch.setattr(sklearn, "MOST_NODES", 1000)
    with pytest.raises(InputError, match=r"thresholds only.*25 nodes.*more than 1000"):
        export_tree(tree, "sklearn")
