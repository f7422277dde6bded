"""Starts: fitted trees come before any evaluation, and every one of them fits the limits."""

from itertools import islice

import numpy as np
import pytest

import omdt
from omdt import planning
from omdt.methods.search.evaluation import Dense
from omdt.methods.search.fitting import Fitting, weighted_gains
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Tree, count_leaves
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.starts import Starts
from omdt.watch import Watch
from search_parts import model_of, returns_of
from strategies import environment


def starts_of(model: Model) -> Starts:
    watch, questions = Watch(), Ranks(model.task.splits)
    return Starts(model, questions, Fitting(model, questions, watch), Dense(model), watch)


def gain_of(model: Model, tree: Tree, weights: np.ndarray) -> float:
    """The advantages of the optimal policy in the states of a tree, with weights."""
    q = planning.q_values(model.mdp, model.optimal).value
    states = np.arange(model.mdp.n_states)
    gains = weighted_gains(model, q - q.max(axis=1, keepdims=True), weights)
    return float(gains[states, Ranks(model.task.splits).actions(tree, states)].sum())


def test_the_first_tree_needs_no_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(environment("frozenlake_8x8"), 1)
    monkeypatch.setattr(planning, "occupancies", None)
    monkeypatch.setattr(planning, "policy_values", None)
    tree = next(starts_of(model).fitted())
    leaves = [gain_of(model, Leaf(a), np.ones(64)) for a in range(4)]
    assert gain_of(model, tree, np.ones(64)) > max(leaves)


@pytest.mark.parametrize("depth", [1, 2])
def test_fitted_trees_are_fitted_to_their_weights(depth: int) -> None:
    """Of all of them, the one that was fitted to some weights gains most with these weights."""
    mdp = environment("frozenlake_12x12")
    model = model_of(mdp, depth)
    starts = starts_of(model)
    trees = list(starts.fitted())
    visits = planning.occupancies(mdp, planning.greedy(planning.q_values(mdp, model.optimal))).value
    alike = np.ones(mdp.n_states) / mdp.n_states
    for i, weights in enumerate((alike, visits, visits / visits.sum() + alike)):
        gains = [gain_of(model, tree, weights) for tree in trees]
        assert gains[i] == pytest.approx(max(gains), rel=0.05)


def test_starts_of_few_and_of_many_states_fit_the_limits() -> None:
    mdp = environment("frozenlake_8x8")
    model = model_of(mdp, 3, 6)
    for kind in ("of_few_states", "of_many_states"):
        starts = starts_of(model)
        best = Leaf(2)
        trees = list(getattr(starts, kind)(lambda best=best: best))
        assert len(trees) >= model.settings.refitted_trees + 4
        assert all(count_leaves(tree) <= 6 for tree in trees)
        policies = np.array([Ranks(model.task.splits).actions(tree, np.arange(mdp.n_states)) for tree in trees])
        assert returns_of(mdp, policies).max() > 0.3


def test_visits_of_the_incumbent_are_added_to_those_of_the_optimal_policy() -> None:
    """The second tree of many states is fitted where the optimal policy and the incumbent go."""
    mdp = environment("frozenlake_8x8")
    model = model_of(mdp, 2)
    first, second = islice(starts_of(model).of_many_states(lambda: Leaf(1)), 2)
    assert first == Leaf(1)
    optimal = planning.occupancies(mdp, planning.greedy(planning.q_values(mdp, model.optimal))).value
    visits = optimal + planning.occupancies(mdp, np.ones(64, dtype=np.int64)).value
    other = next(tree for i, tree in enumerate(starts_of(model).fitted()) if i == 1)
    assert gain_of(model, second, visits) >= gain_of(model, other, visits)


def test_the_coarse_model_has_fewer_states_and_the_same_actions() -> None:
    mdp = omdt.make("frozenlake", size=30, seed=1)
    found = starts_of(model_of(mdp, 2, coarse_states=80)).coarse_model()
    assert found is not None
    assert found.task.mdp.n_states <= 80
    assert found.task.mdp.action_names == mdp.action_names
    assert starts_of(model_of(mdp, 2, coarse_states=800)).coarse_model() is None
