"""Partial trees: sizes, paths, replacing, and the policies of complete trees."""

import numpy as np
import pytest

from omdt import Splits
from omdt.methods.search.partial_tree import (
    HOLE,
    Leaf,
    SizeLimit,
    Split,
    asked_questions,
    count_leaves,
    leaf_actions,
    replaced,
    sibling_action,
    to_policy,
)
from omdt.task import Size
from strategies import environment

TREE = Split(3, Split(1, Leaf(0), HOLE), Leaf(2))


@pytest.mark.parametrize(
    ("size", "limit"),
    [
        (Size(0), SizeLimit(0, 1)),
        (Size(2), SizeLimit(2, 4)),
        (Size(None, 5), SizeLimit(4, 5)),
        (Size(None, 1), SizeLimit(0, 1)),
        (Size(3, 5), SizeLimit(3, 5)),
        (Size(9, 3), SizeLimit(2, 3)),
        (Size(2, 100), SizeLimit(2, 100)),
    ],
)
def test_both_limits_are_in_force(size: Size, limit: SizeLimit) -> None:
    assert SizeLimit.of(size) == limit


def test_leaves_and_their_actions() -> None:
    assert count_leaves(TREE) == 3
    assert leaf_actions(TREE) == {0, 2}
    assert (count_leaves(HOLE), leaf_actions(HOLE)) == (1, set())
    assert (count_leaves(Leaf(4)), leaf_actions(Leaf(4))) == (1, {4})


def test_kinds_of_nodes_are_never_equal() -> None:
    assert len({Leaf(0), HOLE, Split(0, HOLE, HOLE)}) == 3


def test_a_subtree_is_replaced_at_the_end_of_a_path() -> None:
    assert replaced(TREE, (), Leaf(1)) == Leaf(1)
    assert replaced(TREE, (False, True), Leaf(1)) == Split(3, Split(1, Leaf(0), Leaf(1)), Leaf(2))
    assert replaced(TREE, (True,), HOLE) == Split(3, Split(1, Leaf(0), HOLE), HOLE)
    assert Split(3, Split(1, Leaf(0), HOLE), Leaf(2)) == TREE


@pytest.mark.parametrize(
    ("path", "action"), [((), None), ((False,), 2), ((True,), None), ((False, False), None), ((False, True), 0)]
)
def test_the_sibling_is_a_leaf_or_nothing(path: tuple[bool, ...], action: int | None) -> None:
    assert sibling_action(TREE, path) == action


def test_paths_out_of_the_tree_are_refused() -> None:
    with pytest.raises(AssertionError, match="out of the tree"):
        replaced(TREE, (True, True), HOLE)
    with pytest.raises(AssertionError, match="out of the tree"):
        sibling_action(TREE, (True, True))
    with pytest.raises(AssertionError, match="out of the tree"):
        sibling_action(TREE, (True, True, True))


def test_the_policy_of_a_complete_tree_asks_the_same_questions() -> None:
    mdp = environment("frozenlake_4x4")
    splits = Splits.of(mdp, categorical=mdp.feature_names[:1])
    sides = splits.sides()
    tree = Split(0, Leaf(1), Split(len(splits) - 1, Leaf(0), Leaf(3)))
    expected = np.where(sides[:, 0], np.where(sides[:, -1], 3, 0), 1)
    policy = to_policy(tree, splits, mdp)
    assert np.array_equal(policy.actions(splits.observations), expected)
    assert (policy.n_leaves, policy.depth) == (3, 2)
    assert policy.action_names == mdp.action_names
    with pytest.raises(AssertionError, match="hole"):
        to_policy(TREE, splits, mdp)


def test_asked_questions_are_those_of_all_splits() -> None:
    assert asked_questions(Leaf(3)) == set()
    assert asked_questions(HOLE) == set()
    assert asked_questions(Split(4, Leaf(0), Split(7, HOLE, Split(4, Leaf(1), Leaf(2))))) == {4, 7}
