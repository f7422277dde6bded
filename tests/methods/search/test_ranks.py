"""Ranks: answers, sums and actions are those of the matrix of all answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omdt import MDP, Splits
from omdt.methods.search.partial_tree import HOLE, Leaf, Split, to_policy
from omdt.methods.search.ranks import Ranks
from strategies import environment, mdps


def all_kinds_of_questions(mdp: MDP, rng: np.random.Generator) -> Splits:
    """Thresholds, often equalities, and a predicate."""
    categorical = mdp.feature_names[:1] if rng.random() < 0.5 else ()
    return Splits.of(mdp, categorical=categorical, predicates=rng.random((mdp.n_states, 1)) < 0.5, labels=["p"])


@given(mdp=mdps(), seed=st.integers(0, 1000))
def test_sums_by_ranks_are_sums_over_sides(mdp: MDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    splits = all_kinds_of_questions(mdp, rng)
    ranks, sides = Ranks(splits), splits.sides()
    assert len(ranks) == len(splits)
    np.testing.assert_array_equal(ranks.feature, splits.feature)
    states = np.flatnonzero(rng.random(mdp.n_states) < 0.7)
    gains = rng.normal(size=(len(states), 3))
    left, right = ranks.sums(states, gains)
    for k in range(len(splits)):
        np.testing.assert_array_equal(ranks.right(states, k), sides[states, k])
        np.testing.assert_allclose(right[k], gains[sides[states, k]].sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(left[k], gains[~sides[states, k]].sum(axis=0), atol=1e-12)


@given(mdp=mdps(), seed=st.integers(0, 1000))
def test_actions_are_those_of_the_tree_policy(mdp: MDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    splits = all_kinds_of_questions(mdp, rng)
    tree: Leaf | Split = Leaf(int(rng.integers(mdp.n_actions)))
    for _ in range(int(rng.integers(6)) if len(splits) else 0):
        other = Leaf(int(rng.integers(mdp.n_actions)))
        left, right = (tree, other) if rng.random() < 0.5 else (other, tree)
        tree = Split(int(rng.integers(len(splits))), left, right)
    expected = to_policy(tree, splits, mdp).actions(splits.observations)
    ranks, states = Ranks(splits), np.flatnonzero(rng.random(mdp.n_states) < 0.7)
    np.testing.assert_array_equal(ranks.actions(tree, np.arange(mdp.n_states)), expected)
    np.testing.assert_array_equal(ranks.actions(tree, states), expected[states])


def test_an_open_region_has_no_actions() -> None:
    mdp = environment("frozenlake_4x4")
    ranks = Ranks(Splits.of(mdp))
    with pytest.raises(AssertionError, match="hole"):
        ranks.actions(Split(0, Leaf(1), HOLE), np.arange(mdp.n_states))


def test_sums_over_no_states_are_0() -> None:
    ranks = Ranks(Splits.of(environment("frozenlake_4x4")))
    left, right = ranks.sums(np.arange(0), np.zeros((0, 4)))
    assert left.shape == right.shape == (len(ranks), 4)
    assert not left.any()
    assert not right.any()
