"""Fitting: gains are first-order changes of the return, and fitted trees have as high a gain as they should."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omdt import MDP, Splits
from omdt.methods.search.fitting import Fitting, gains_around, shared_leaves, weighted_gains
from omdt.methods.search.low_rank import Dense
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree, count_leaves
from omdt.methods.search.ranks import Ranks
from omdt.rules import AvailableOnly
from omdt.watch import Watch
from random_mdps import random_mdp
from search_parts import model_of, random_splits, returns_of, scale_of, tree_policies
from strategies import environment, mdps


def fitting_of(model: Model, watch: Watch | None = None) -> Fitting:
    return Fitting(model, Ranks(model.task.splits), Watch() if watch is None else watch)


def gain_of(model: Model, tree: Tree, gains: np.ndarray) -> float:
    """The sum of the gains of what a tree does."""
    states = np.arange(model.mdp.n_states)
    return float(gains[states, Ranks(model.task.splits).actions(tree, states)].sum())


def depth_of(tree: Tree) -> int:
    return 1 + max(depth_of(tree.left), depth_of(tree.right)) if isinstance(tree, Split) else 0


def mixed_return(mdp: MDP, base: np.ndarray, other: np.ndarray, share: float) -> float:
    """The return of a policy that plays `other` with the given probability and `base` else."""
    P, states = mdp.transitions.toarray().reshape(*mdp.rewards.shape, mdp.n_states), np.arange(mdp.n_states)
    rows = (1 - share) * P[states, base] + share * P[states, other]
    rewards = (1 - share) * mdp.rewards[states, base] + share * mdp.rewards[states, other]
    return float(mdp.initial @ np.linalg.solve(np.eye(mdp.n_states) - mdp.discount * rows, rewards))


def test_gains_are_the_derivative_of_the_return() -> None:
    """Without mixing, the gains of a policy change the return as little steps towards it do."""
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        if mdp.discount > 0.99:
            continue
        model = model_of(mdp, mixing=0.0)
        base, other = (rng.integers(mdp.n_actions, size=mdp.n_states) for _ in range(2))
        engine = Dense(model)
        engine.rebase(base)
        gain = gains_around(engine, model)[np.arange(mdp.n_states), other].sum()
        step = 1e-4 * (1 - mdp.discount)
        slope = (mixed_return(mdp, base, other, step) - mixed_return(mdp, base, other, -step)) / (2 * step)
        assert slope == pytest.approx(gain, rel=1e-5, abs=1e-5 * scale_of(mdp)), seed
        checked += 1
    assert checked > 30


def test_mixing_gives_weight_to_states_that_are_never_visited() -> None:
    """The first state is never left; in the second one the second action would be better."""
    P = np.tile(np.eye(2)[:, None], (1, 2, 1))
    mdp = MDP.from_dense(P, [[0.0, 0.0], [0.0, 1.0]], [1, 0], [[0], [1]], discount=0.5)
    for mixing in (0.0, 0.02):
        model = model_of(mdp, mixing=mixing)
        engine = Dense(model)
        engine.rebase(np.zeros(2, dtype=np.int64))
        assert engine.occupancies == pytest.approx(np.array([2.0, 0.0]))
        assert gains_around(engine, model) == pytest.approx(np.array([[0.0, 0.0], [0.0, mixing]]))


def test_a_forbidden_action_costs_more_than_all_others_can_gain() -> None:
    mdp = MDP.from_dense(
        np.full((3, 2, 3), 1 / 3), np.zeros((3, 2)), [1, 0, 0], np.arange(3), available=[[1, 0], [1, 1], [0, 1]]
    )
    free, bound = model_of(mdp), model_of(mdp, rules=[AvailableOnly()])
    advantages, weights = np.array([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]]), np.array([1.0, 2.0, 0.5])
    gains = weighted_gains(free, advantages, weights)
    assert np.array_equal(gains, [[1.0, 2.0], [6.0, -8.0], [2.5, 3.0]])
    limited = weighted_gains(bound, advantages, weights)
    allowed = np.array([[True, False], [True, True], [False, True]])
    assert np.array_equal(limited[allowed], gains[allowed])
    assert np.all(limited[~allowed] < -np.abs(gains).sum())
    assert np.all(weighted_gains(bound, 0 * advantages, weights)[~allowed] < 0)


@given(mdp=mdps(), seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_leaves_and_stumps_have_the_highest_gain(mdp: MDP, seed: int) -> None:
    """Of all leaves and stumps, fitted ones gain most; deeper fitted trees gain no less, within their size."""
    rng = np.random.default_rng(seed)
    splits = random_splits(mdp, rng)
    gains = rng.normal(size=mdp.rewards.shape)
    states = np.arange(mdp.n_states)
    before = -np.inf
    for depth, leaves in ((0, 1), (1, 2), (2, 4), (3, 6)):
        model = model_of(mdp, depth, leaves, splits=splits)
        tree = fitting_of(model).whole_tree(gains)
        gain = gain_of(model, tree, gains)
        if depth < 2 or len(splits) == 0:
            best = max(gains[states, policy].sum() for policy in tree_policies(model))
            assert gain == pytest.approx(best, abs=1e-9)
        assert gain >= before - 1e-9
        assert depth_of(tree) <= depth
        assert count_leaves(tree) <= leaves
        before = gain
        if len(splits) == 0:
            break


def test_stumps_have_the_best_actions_of_both_sides() -> None:
    rng = np.random.default_rng(2)
    mdp = environment("frozenlake_4x4")
    model = model_of(mdp)
    gains, states = rng.normal(size=mdp.rewards.shape), np.flatnonzero(rng.random(mdp.n_states) < 0.6)
    stumps = fitting_of(model).stumps(gains, states)
    for k in range(len(model.task.splits)):
        right = model.sides[states, k]
        left_gains, right_gains = gains[states[~right]].sum(axis=0), gains[states[right]].sum(axis=0)
        assert stumps.scores[k] == pytest.approx(left_gains.max() + right_gains.max())
        assert stumps.stump(k) == Split(k, Leaf(int(left_gains.argmax())), Leaf(int(right_gains.argmax())))


@pytest.mark.parametrize("seed", range(20))
def test_with_many_states_a_tree_asks_the_first_question_with_the_best_stumps(seed: int) -> None:
    """With few thresholds, the passes over few and over many states choose a question of the same worth."""
    rng = np.random.default_rng(seed)
    mdp = environment("frozenlake_8x8")
    gains = rng.normal(size=mdp.rewards.shape)
    found = []
    for states in (1, 10**6):
        model = model_of(mdp, 2, candidates_per_node=1000, impatient_states=states)
        found.append(gain_of(model, fitting_of(model).whole_tree(gains), gains))
    assert found[0] == pytest.approx(found[1])


def test_without_room_for_a_histogram_promising_questions_are_tried_one_by_one() -> None:
    mdp = environment("frozenlake_8x8")
    gains = np.random.default_rng(0).normal(size=mdp.rewards.shape)
    usual, small = (model_of(mdp, 2, impatient_states=states, pair_entries=0) for states in (10**6, 1))
    assert fitting_of(small).whole_tree(gains) == fitting_of(usual).whole_tree(gains)


def test_a_tree_is_a_leaf_where_one_action_is_best_everywhere() -> None:
    model = model_of(environment("frozenlake_4x4"), 3)
    gains = np.zeros(model.mdp.rewards.shape)
    gains[:, 2] = 1.0
    assert fitting_of(model).whole_tree(gains) == Leaf(2)


def test_when_time_is_up_what_remains_is_a_leaf() -> None:
    model, watch = model_of(environment("frozenlake_4x4"), 3), Watch()
    gains = np.random.default_rng(0).normal(size=model.mdp.rewards.shape)
    assert isinstance(fitting_of(model).whole_tree(gains), Split)
    watch.interrupt()
    assert fitting_of(model, watch).whole_tree(gains) == Leaf(int(gains.sum(axis=0).argmax()))


def test_the_estimate_of_one_changed_state_points_the_right_way() -> None:
    """A change of one state has the sign of its advantage, as the exact return confirms."""
    checked = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        model = model_of(mdp)
        engine = Dense(model)
        base = rng.integers(mdp.n_actions, size=mdp.n_states)
        engine.rebase(base)
        gains = gains_around(engine, model)
        scale = np.abs(mdp.rewards).max() / (1 - mdp.discount)
        for s, a in product(range(mdp.n_states), range(mdp.n_actions)):
            if engine.occupancies[s] > 1e-3 and abs(gains[s, a]) > 1e-6 * scale:
                policy = base.copy()
                policy[s] = a
                change = returns_of(mdp, np.array([policy, base]))
                assert (change[0] - change[1]) * gains[s, a] > 0, seed
                checked += 1
    assert checked > 50


@pytest.mark.parametrize(
    ("leaves", "depth", "worth", "shares"),
    [
        (8, 3, (0.0, 1.0), (4, 4)),
        (9, 3, (1.0, 0.0), (4, 4)),
        (5, 3, (1.0, 0.0), (4, 1)),
        (5, 3, (0.0, 1.0), (1, 4)),
        (4, 3, (0.0, 0.0), (2, 2)),
        (6, 3, (0.0, 1.0), (2, 4)),
        (3, 8, (2.0, 1.0), (2, 1)),
        (3, 8, (1.0, 2.0), (1, 2)),
    ],
)
def test_leaves_go_where_they_are_worth_most(
    leaves: int, depth: int, worth: tuple[float, float], shares: tuple[int, int]
) -> None:
    assert shared_leaves(leaves, depth, *worth) == shares


def test_no_side_gets_more_leaves_than_it_can_use_or_none() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        depth = int(rng.integers(2, 6))
        leaves = int(rng.integers(2, 2**depth + 3))
        left, right = shared_leaves(leaves, depth, float(rng.exponential()), float(rng.exponential()))
        assert 1 <= left <= 2 ** (depth - 1)
        assert 1 <= right <= 2 ** (depth - 1)
        assert left + right == min(leaves, 2**depth)


def test_splits_are_questions_of_the_task() -> None:
    """A fitted tree asks questions by the numbers that the splits give them."""
    mdp = environment("frozenlake_8x8")
    splits = Splits.of(mdp)
    model = model_of(mdp, 2, splits=splits)
    gains = np.zeros(mdp.rewards.shape)
    side = splits.sides()[:, 5]
    gains[side, 1], gains[~side, 3] = 1.0, 1.0
    tree = fitting_of(model).whole_tree(gains)
    assert gain_of(model, tree, gains) == mdp.n_states
