"""A coarse model is the average of its cells, and its trees are trees of the task."""

from dataclasses import replace

import numpy as np
import pytest

import omdt
from omdt import Splits
from omdt.methods.search.aggregation import aggregated, coarse
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split
from omdt.methods.search.ranks import Ranks
from omdt.rules import AvailableOnly
from random_mdps import availability, random_mdp
from search_parts import model_of


def lake(**fields: object) -> Model:
    return model_of(omdt.make("frozenlake", size=20, seed=1), 2, **fields)  # type: ignore[arg-type]


def test_cells_move_and_earn_as_their_states_do_on_average() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        S, A = mdp.rewards.shape
        count = int(rng.integers(1, S + 1))
        cells = np.unique(rng.integers(0, count, S), return_inverse=True)[1]
        B, weights = cells.max() + 1, rng.random(S) + 0.1
        features = rng.normal(size=(B, 2))
        small = aggregated(mdp, cells, features, ("x", "y"), weights)
        belongs = (cells[:, None] == np.arange(B)).astype(float)
        shares = weights[:, None] * belongs / (weights @ belongs)
        P = mdp.transitions.toarray().reshape(S, A, S)
        expected = np.einsum("sb,sat,tc->bac", shares, P, belongs)
        assert small.transitions.toarray().reshape(B, A, B) == pytest.approx(expected, abs=1e-12), seed
        assert small.rewards == pytest.approx(shares.T @ mdp.rewards), seed
        assert small.initial == pytest.approx(mdp.initial @ belongs), seed
        assert small.discount == mdp.discount
        assert small.action_names == mdp.action_names


def test_a_cell_per_state_is_the_task_itself() -> None:
    model = lake(coarse_states=398, coarsening=1)
    found = coarse(model, Ranks(model.task.splits), np.ones(398), Leaf(0), 398)
    assert found is not None
    assert found.task.mdp.n_states == model.mdp.n_states == 398
    assert found.questions.tolist() == list(range(len(model.task.splits)))
    assert found.task.mdp.rewards == pytest.approx(model.mdp.rewards[np.lexsort(model.mdp.features.T[::-1])])


@pytest.mark.parametrize("categorical", [(), ("X",)])
def test_a_coarse_tree_asks_the_same_as_its_refinement(categorical: tuple[str, ...]) -> None:
    mdp = omdt.make("frozenlake", size=20, seed=1)
    splits = Splits.of(mdp, categorical=categorical, predicates=mdp.features.sum(axis=1)[:, None] > 12, labels=["far"])
    model = model_of(mdp, 2, splits=splits, coarse_states=150, coarsening=2)
    questions, rng = Ranks(splits), np.random.default_rng(0)
    found = coarse(model, questions, rng.random(mdp.n_states) + 0.1, Leaf(0), 150)
    assert found is not None
    small = Ranks(found.task.splits)
    assert 40 < found.task.mdp.n_states <= 150
    assert len(small) == len(found.questions) < len(splits)
    # States of one cell answer every question of the coarse model alike, as the cell does.
    fine = np.array([splits.side(k) for k in found.questions])
    cells = {column.tobytes() for column in fine.T}
    assert cells == {column.tobytes() for column in found.task.splits.sides()}
    tree = Split(1, Leaf(0), Split(0, Leaf(1), Leaf(2)))
    first, second = (int(found.questions[k]) for k in (1, 0))
    refined = Split(first, Leaf(0), Split(second, Leaf(1), Leaf(2)))
    assert found.refined(tree) == refined
    assert found.coarsened(refined) == tree


def test_a_coarse_model_has_the_questions_of_the_given_tree() -> None:
    model = lake(coarse_states=60, coarsening=2)
    questions = Ranks(model.task.splits)
    for k in range(len(questions)):
        tree = Split(k, Leaf(0), Leaf(1))
        found = coarse(model, questions, np.ones(398), tree, 60)
        assert found is not None
        assert found.refined(found.coarsened(tree)) == tree
        assert found.task.mdp.n_states <= 60


def test_weights_decide_where_cells_are_small() -> None:
    model = lake(coarse_states=40, coarsening=1)
    questions = Ranks(model.task.splits)
    near = np.where(model.mdp.features.sum(axis=1) < 12, 1.0, 1e-6)
    found = coarse(model, questions, near, Leaf(0), 40)
    assert found is not None
    thresholds = model.task.splits.threshold[found.questions]
    assert len(thresholds) > 4
    assert np.median(thresholds) < 8


def test_tasks_without_a_coarse_model() -> None:
    small, many = lake(coarse_states=400), lake(coarse_states=1, coarsening=398)
    assert coarse(small, Ranks(small.task.splits), np.ones(398), Leaf(0), 100) is None
    assert coarse(many, Ranks(many.task.splits), np.ones(398), Leaf(0), 1) is None
    mdp = small.mdp
    limited = replace(mdp, available=availability(np.random.default_rng(0), *mdp.rewards.shape))
    ruled = model_of(limited, 2, rules=[AvailableOnly()], coarse_states=100, coarsening=1)
    assert ruled.task.allowed is not None
    assert coarse(ruled, Ranks(ruled.task.splits), np.ones(398), Leaf(0), 100) is None
