"""Ranks: answers, sums and actions are those of the matrix of all answers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from omdt import MDP, Splits
from omdt.methods.search.partial_tree import HOLE, Leaf, Split, to_policy
from omdt.methods.search.ranks import Ranks
from random_mdps import any_mdp
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


def numbers(count: int) -> Ranks:
    """Questions about `count` numbers, and about the same numbers modulo 4."""
    states = np.arange(count)
    mdp = MDP(
        sparse.eye_array(count, format="csr"),
        np.zeros((count, 1)),
        np.eye(1, count)[0],
        np.stack([states, states % 4], axis=1),
    )
    return Ranks(Splits.of(mdp))


def test_steps_go_to_thresholds_farther_and_farther_away() -> None:
    questions = numbers(100)
    assert sorted(questions.stepped(10)) == [2, 6, 8, 9, 11, 12, 14, 18, 26, 42, 74]
    assert sorted(questions.stepped(0)) == [1, 2, 4, 8, 16, 32, 64]
    assert sorted(questions.stepped(99)) == [100, 101]


def test_questions_of_high_score_are_spread_where_there_are_many_thresholds() -> None:
    questions, states = numbers(1000), np.arange(1000)
    scores = -np.abs(np.arange(len(questions)) - 500.2)
    assert questions.spread(states, scores, 3, 1000) == [500, 501, 499]
    # With ten thresholds that count as different, 49 steps on either side are as good as none.
    assert questions.spread(states, scores, 3, 10) == [500, 550, 450]
    # Within a small region, fewer thresholds are neighbours.
    assert questions.spread(np.arange(450, 550), scores, 3, 10) == [500, 505, 495]
    assert len(questions.spread(states, scores, 10**6, 10)) > 20
    assert questions.spread(np.arange(0), scores, 2, 10) == [500, 501]


def test_few_questions_of_high_score_are_the_best_ones() -> None:
    rng = np.random.default_rng(0)
    for seed in range(20):
        mdp = any_mdp(np.random.default_rng(seed))
        questions = Ranks(Splits.of(mdp))
        scores = rng.integers(0, 4, len(questions)).astype(float)
        expected = np.argsort(-scores, kind="stable")[:5].tolist()
        assert questions.spread(np.arange(mdp.n_states), scores, 5, 64) == expected


def test_quantiles_divide_the_weights_evenly() -> None:
    questions, states = numbers(1000), np.arange(1000)
    chosen = questions.quantiles(states, np.ones(1000), 9)
    assert chosen.tolist() == [*(100 * i - 1 for i in range(1, 10)), 999, 1000, 1001]
    heavy = np.where(states < 20, 1.0, 1e-9)
    assert np.sum(questions.quantiles(states, heavy, 9) < 20) == 9
    some = questions.quantiles(np.arange(500, 520), np.ones(20), 4)
    assert np.all((some[:4] >= 500) & (some[:4] < 520))
    assert len(questions.quantiles(states, np.ones(1000), 10**6)) == len(questions)


@pytest.mark.parametrize("equality", [False, True])
def test_a_value_below_all_others_has_nobody_on_its_left(equality: bool) -> None:
    mdp = environment("frozenlake_4x4")
    splits = Splits.of(mdp)
    below = replace(splits, threshold=np.full(len(splits), -1.0), equality=np.full(len(splits), equality))
    left, right = Ranks(below).sums(np.arange(mdp.n_states), mdp.rewards)
    np.testing.assert_array_equal(left, 0.0)
    np.testing.assert_array_equal(right, np.tile(mdp.rewards.sum(axis=0), (len(splits), 1)))
