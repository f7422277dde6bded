"""Changes: rows of numbers describe trees, with the gains and policies that these trees have."""

import numpy as np
import pytest

from omdt.methods.search import changes
from omdt.methods.search.changes import Around, Changes, Marks, changed_policy, simple_changes
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree, count_leaves, replaced
from omdt.methods.search.ranks import Ranks
from random_mdps import random_mdp
from search_parts import model_of, random_splits

DEPTH, LEAVES, MOST = 3, 5, 4


def random_tree(rng: np.random.Generator, model: Model, depth: int) -> Tree:
    questions = len(model.task.splits)
    if depth == 0 or questions == 0 or rng.random() < 0.3:
        return Leaf(int(rng.integers(model.mdp.n_actions)))
    left, right = (random_tree(rng, model, depth - 1) for _ in range(2))
    return Split(int(rng.integers(questions)), left, right)


def case(seed: int) -> tuple[Ranks, Around, np.ndarray]:
    """Questions, a random tree with at most four leaves, and random gains."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    model = model_of(mdp, DEPTH, LEAVES, splits=random_splits(mdp, rng))
    questions = Ranks(model.task.splits)
    around = Around(random_tree(rng, model, 2), questions, model.size)
    return questions, around, rng.normal(size=mdp.rewards.shape)


@pytest.mark.parametrize("seed", range(20))
def test_every_row_describes_a_tree_with_its_gain_and_its_policy(seed: int) -> None:
    questions, around, gains = case(seed)
    states = np.arange(len(gains))
    assert np.array_equal(around.actions, questions.actions(around.tree, states))
    before = gains[states, around.actions].sum()
    found = Changes.joined(simple_changes(around, gains, Marks.of(*gains.shape), MOST, 64))
    assert len(found.gain) > 0
    for node, k, left, right, gain, changed, key in zip(*found, strict=True):
        tree = replaced(around.tree, around.paths[node], around.subtree(k, left, right))
        policy = questions.actions(tree, states)
        assert count_leaves(tree) <= LEAVES
        assert np.array_equal(policy, changed_policy(around, node, k, left, right))
        assert gain == pytest.approx(gains[states, policy].sum() - before, abs=1e-9)
        assert (changed, key) == Marks.of(*gains.shape).difference(around.actions, policy)


def test_keys_tell_policies_apart() -> None:
    policies = np.random.default_rng(0).integers(3, size=(500, 20))
    marks = Marks.of(20, 3)
    keys = {marks.difference(policies[0], policy)[1] for policy in policies}
    assert len(keys) == len(np.unique(policies, axis=0))
    assert marks.difference(policies[0], policies[0]) == (0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_some_nodes_at_a_time_give_the_same_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, around, gains = case(seed)
    at_once = Changes.joined(simple_changes(around, gains, Marks.of(*gains.shape), MOST, 64))
    monkeypatch.setattr(changes, "OPERATIONS", 1)
    parts = list(simple_changes(around, gains, Marks.of(*gains.shape), MOST, 64))
    assert len(parts) == len(around.paths)
    for whole, joined in zip(at_once, Changes.joined(parts), strict=True):
        assert np.array_equal(whole, joined)


def test_the_best_leaf_and_the_best_stump_are_among_the_rows() -> None:
    questions, around, gains = case(1)
    states = np.arange(len(gains))
    found = Changes.joined(simple_changes(around, gains, Marks.of(*gains.shape), MOST, 64))
    at_root = found.rows(found.node == 0)
    before = gains[states, around.actions].sum()
    leaf = gains.sum(axis=0).max()
    left, right = questions.sums(states, gains)
    stump = (left.max(axis=1) + right.max(axis=1)).max()
    assert at_root.gain[0] == pytest.approx(leaf - before)
    assert at_root.gain.max() >= stump - before - 1e-9
