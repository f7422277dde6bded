"""The differentiable tree climbs along its true gradient, and its discretised form decides as a sharp one does."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omdt
from omdt import MDP, InputError, Splits, planning
from omdt.methods import iddt as module
from omdt.methods.iddt import SoftTree, discretised, return_gradient, scaling
from omdt.solution import Stop
from omdt.task import Size
from omdt.watch import Watch
from strategies import environment, mdps


def line(n: int = 12) -> MDP:
    """States 0 … n−1; action 0 pays below the middle, action 1 above it."""
    P = np.full((n, 2, n), 1 / n)
    low = np.arange(n) < n // 2
    return MDP.from_dense(P, np.stack([low, ~low], axis=1).astype(float), np.full(n, 1 / n), np.arange(n), discount=0.9)


def soft_return(mdp: MDP, soft: SoftTree, X: np.ndarray) -> float:
    return planning.expected_return(mdp, planning.policy_values(mdp, soft.policy(X))).value


@given(mdps(max_states=5, rewards=("few values", "normal")), st.integers(0, 2), st.integers(0, 1000))
@settings(max_examples=25)
def test_the_gradient_is_that_of_the_return(mdp, depth, seed):
    rng = np.random.default_rng(seed)
    centre, half = scaling(mdp.features)
    X = (mdp.features - centre) / half
    soft = SoftTree.random(depth, mdp.n_features, mdp.n_actions, rng)
    gradients = soft.gradient(X, return_gradient(mdp, soft.policy(X)))
    size = np.abs(mdp.rewards).max() / (1 - mdp.discount) ** 2
    for which, gradient in enumerate(gradients):
        if gradient.size == 0:
            continue
        place = tuple(int(rng.integers(n)) for n in gradient.shape)
        h, moved = 1e-5, []
        for sign in (1, -1):
            parameters = [p.copy() for p in soft.parameters]
            parameters[which][place] += sign * h
            moved.append(soft_return(mdp, SoftTree(*parameters), X))
        assert (moved[0] - moved[1]) / (2 * h) == pytest.approx(gradient[place], rel=1e-4, abs=1e-6 * size)


@given(st.integers(0, 1000), st.integers(0, 3))
@settings(max_examples=40)
def test_a_sharp_soft_tree_and_its_discretised_form_act_alike(seed, depth):
    rng = np.random.default_rng(seed)
    X = np.array(list(itertools.product(range(4), range(5))), dtype=float)
    mdp = MDP.from_dense(np.full((20, 3, 20), 1 / 20), rng.normal(size=(20, 3)), np.full(20, 1 / 20), X)
    splits = Splits.of(mdp)
    soft = SoftTree.random(depth, 2, 3, rng)
    weights = soft.weights * (np.arange(2) == rng.integers(2, size=(len(soft.offsets), 1)))
    sharp = SoftTree(1e6 * weights, 1e6 * soft.offsets * np.abs(weights).sum(axis=1), 1e3 * soft.preferences)
    centre, half = scaling(X)
    wanted = sharp.policy((X - centre) / half).argmax(axis=1)
    np.testing.assert_array_equal(discretised(sharp, splits, mdp.action_names).actions(X), wanted)


@given(mdps(), st.integers(0, 2))
@settings(max_examples=8)
def test_trees_keep_the_limit_and_the_bound(mdp, depth):
    before, module.STEPS = module.STEPS, 5
    try:
        solution = omdt.solve(mdp, method="iddt", max_depth=depth)
    finally:
        module.STEPS = before
    assert solution.tree.depth <= depth
    assert solution.value <= solution.bound
    assert solution.stop is Stop.HEURISTIC


def test_it_finds_a_threshold():
    solution = omdt.solve(line(), method="iddt", max_depth=1)
    assert solution.value == pytest.approx(solution.optimal_return)
    assert solution.tree.threshold[0] == 5.5


def test_training_raises_the_return():
    mdp = environment("frozenlake_4x4")
    centre, half = scaling(mdp.features)
    X = (mdp.features - centre) / half
    soft = SoftTree.random(2, 2, 4, np.random.default_rng(0))
    trained = module._trained(soft, mdp, mdp.features, Watch())
    assert soft_return(mdp, trained, X) > 3 * soft_return(mdp, soft, X)


def test_the_same_seed_gives_the_same_tree():
    one, two = (omdt.solve(environment("frozenlake_4x4"), method="iddt", max_depth=2, seed=4) for _ in range(2))
    assert str(one.tree) == str(two.tree)


@pytest.mark.parametrize(
    ("limits", "depth"),
    [
        ({"max_depth": 3}, 3),
        ({"max_leaf_nodes": 5}, 2),
        ({"max_leaf_nodes": 1}, 0),
        ({"max_depth": 1, "max_leaf_nodes": 9}, 1),
    ],
)
def test_the_tree_is_complete_within_the_limits(limits, depth):
    assert module._depth(Size(**limits)) == depth


@pytest.mark.parametrize(
    ("limits", "message"), [({}, "needs a size limit"), ({"max_depth": 11}, "depth 10 at most; 11")]
)
def test_limits_that_do_not_fit_are_refused(limits, message):
    with pytest.raises(InputError, match=message):
        omdt.solve(line(), method="iddt", **limits)


def test_categories_are_refused():
    mdp = environment("xor")
    with pytest.raises(InputError, match="iddt asks thresholds on every feature"):
        omdt.solve(mdp, method="iddt", max_depth=1, splits=Splits.of(mdp, categorical=["X"]))


def test_a_time_limit_ends_it_with_a_tree():
    solution = omdt.solve(environment("blackjack"), method="iddt", max_depth=2, time_limit=1e-6)
    assert solution.stop is Stop.TIME
    assert solution.tree.depth <= 2
