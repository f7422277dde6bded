"""Starts: fitted trees come before any evaluation, and every one of them fits the limits."""

from itertools import islice

import numpy as np
import pytest

import omdt
from omdt import planning
from omdt.methods.search.aggregation import Coarse
from omdt.methods.search.fitting import Fitting, weighted_gains
from omdt.methods.search.low_rank import Dense
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree, count_leaves
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
    none: list[Coarse] = []
    few, many = starts_of(model), starts_of(model)
    for starts in (few.of_few_states(lambda: Leaf(2)), many.of_many_states(lambda: Leaf(2), none.append)):
        trees = list(starts)
        assert len(trees) >= model.settings.refitted_trees + 4
        assert all(count_leaves(tree) <= 6 for tree in trees)
        policies = np.array([Ranks(model.task.splits).actions(tree, np.arange(mdp.n_states)) for tree in trees])
        assert returns_of(mdp, policies).max() > 0.3
    assert none == []


def test_visits_of_the_incumbent_are_added_to_those_of_the_optimal_policy() -> None:
    """The second tree of many states is fitted where the optimal policy and the incumbent go."""
    mdp = environment("frozenlake_8x8")
    model = model_of(mdp, 2)
    first, second = islice(starts_of(model).of_many_states(lambda: Leaf(1), lambda _: None), 2)
    assert first == Leaf(1)
    optimal = planning.occupancies(mdp, planning.greedy(planning.q_values(mdp, model.optimal))).value
    visits = optimal + planning.occupancies(mdp, np.ones(64, dtype=np.int64)).value
    other = next(tree for i, tree in enumerate(starts_of(model).fitted()) if i == 1)
    assert gain_of(model, second, visits) >= gain_of(model, other, visits)


def test_the_coarse_model_has_fewer_states_and_the_same_actions() -> None:
    mdp = omdt.make("frozenlake", size=30, seed=1)
    tree = Split(17, Leaf(0), Split(41, Leaf(1), Leaf(2)))
    starts = starts_of(model_of(mdp, 2, coarse_states=80))
    for found in (starts.coarsest_model(tree), starts.coarse_model_around(tree)):
        assert found is not None
        assert found.task.mdp.n_states <= 80
        assert found.task.mdp.action_names == mdp.action_names
        assert {17, 41} <= set(found.questions.tolist())
    assert starts_of(model_of(mdp, 2, coarse_states=800)).coarsest_model(tree) is None


def test_trees_of_many_states_begin_with_what_a_coarse_model_around_the_incumbent_gives() -> None:
    mdp = omdt.make("frozenlake", size=30, seed=1)
    taken: list[Coarse] = []
    starts = starts_of(model_of(mdp, 2, coarse_states=80)).of_many_states(lambda: Leaf(len(taken)), taken.append)
    assert next(starts) == Leaf(1)
    assert len(taken) == 1
    assert taken[0].task.mdp.n_states <= 80


def test_imitation_weighs_the_optimal_advantages_by_the_visits_of_the_base_policy() -> None:
    model = model_of(environment("frozenlake_8x8"), 2, mixing=0.0)
    starts = starts_of(model)
    starts.engine.rebase(np.ones(64, dtype=np.int64))
    visits = planning.occupancies(model.mdp, np.ones(64, dtype=np.int64)).value
    q = planning.q_values(model.mdp, model.optimal).value
    assert starts.imitation_gains() == pytest.approx(visits[:, None] * (q - q.max(axis=1, keepdims=True)), abs=1e-9)


def test_quick_climbs_begin_with_every_promising_question_at_the_root() -> None:
    model = model_of(environment("frozenlake_8x8"), 3, None, root_starts=5)
    trees = list(starts_of(model).by_root())
    assert len(trees) == 1 + 5 + 5
    roots = [tree.question for tree in trees if isinstance(tree, Split)]
    assert len(roots) == len(trees)
    assert len(set(roots[1:6])) == len(set(roots[6:])) == 5
    assert all(count_leaves(tree) <= 8 for tree in trees)
