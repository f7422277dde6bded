"""The arrays of both forms: the paper's counts, trees in and out, and bounds that hold."""

import json
from pathlib import Path

import numpy as np
import pytest
from cases import limits_of, mdps, random_mdp, random_tree, sizes
from hypothesis import given, settings
from hypothesis import strategies as st

from omdt import planning
from omdt.environments import PAPER, make
from omdt.errors import InputError
from omdt.mdp import MDP
from omdt.methods.milp.encoding import decode, encode
from omdt.methods.milp.forms import Tuning
from omdt.methods.milp.formulation import Model, formulate
from omdt.methods.milp.tolerance import dual_error, leak
from omdt.splits import Splits
from omdt.tree import TreePolicy
from omdt.watch import Watch

REFERENCE = json.loads((Path(__file__).parents[2] / "data" / "reference.json").read_text())["environments"]

FORMS = [
    pytest.param({"form": "paper"}, id="paper"),
    pytest.param({"form": "strong"}, id="strong"),
    pytest.param({"form": "strong", "tuning": Tuning(integer_paths=True, symmetry_rows=True)}, id="strong+symmetry"),
]


def assert_feasible(model: Model, vector: np.ndarray, tolerance: float = 1e-9) -> None:
    activity = model.A @ vector
    worst = np.maximum(model.row_lower - activity, activity - model.row_upper)
    assert worst.max() <= tolerance, model.row_names[worst.argmax()]
    outside = np.maximum(model.lower - vector, vector - model.upper)
    assert outside.max() <= tolerance, model.column_names[outside.argmax()]
    assert np.array_equal(vector[model.integer], np.round(vector[model.integer]))


@pytest.mark.parametrize("name", PAPER)
def test_paper_counts(name: str) -> None:
    mdp = make(name)
    model = formulate(mdp, Splits.of(mdp), max_depth=3, form="paper")
    expected = (REFERENCE[name]["milp_depth3_constraints"], REFERENCE[name]["milp_depth3_variables"])
    assert model.A.shape == expected
    assert (len(model.row_names), len(model.column_names)) == expected


@pytest.mark.parametrize("options", FORMS)
@given(mdp=mdps, size=sizes, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_every_tree_is_a_solution(options: dict, mdp: MDP, size: dict[str, int], seed: int) -> None:
    splits = Splits.of(mdp)
    depth, leaves = limits_of(size)
    tree = random_tree(mdp, splits, np.random.default_rng(seed), depth=depth, leaves=leaves)
    model = formulate(mdp, splits, **size, **options)
    vector = encode(model, tree)
    assert_feasible(model, vector)
    value = planning.tree_return(mdp, tree)
    scale = max(1.0, np.abs(mdp.rewards).max()) / (1 - mdp.discount)
    assert model.claimed_return(vector) == pytest.approx(value.value, abs=1e-10 * scale)
    decoded = decode(model, vector)
    assert (decoded.depth, decoded.n_leaves) <= (depth, leaves)
    assert_same_policy(mdp, decoded, tree)


def assert_same_policy(mdp: MDP, first: TreePolicy, second: TreePolicy) -> None:
    """Both act alike wherever acting differently could matter."""
    one, other = first.actions(mdp.features), second.actions(mdp.features)
    A, s = mdp.n_actions, np.flatnonzero(np.isin(mdp.origin, mdp.reachable().origin))
    assert np.array_equal(mdp.rewards[s, one[s]], mdp.rewards[s, other[s]])
    assert abs(mdp.transitions[s * A + one[s]] - mdp.transitions[s * A + other[s]]).max() == 0


@pytest.mark.needs("highspy")
@given(mdp=mdps, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_trees_as_good_as_the_start_stay_solutions(mdp: MDP, seed: int) -> None:
    splits, random = Splits.of(mdp), np.random.default_rng(seed)
    trees = [random_tree(mdp, splits, random, depth=2, leaves=4) for _ in range(8)]
    values = [planning.tree_return(mdp, tree) for tree in trees]
    order = sorted(range(8), key=lambda i: values[i].value)
    model = formulate(mdp, splits, max_depth=2, start_value=values[order[4]].lower, occupancy_watch=Watch(5.0))
    for i in order[4:]:
        assert_feasible(model, encode(model, trees[i]))


def test_states_without_a_choice_and_equal_actions_are_left_out() -> None:
    mdp = make("blackjack")
    model = formulate(mdp, Splits.of(mdp), max_depth=2)
    assert len(model.parts.states) < mdp.n_states / 2
    assert model.A.shape[0] < formulate(mdp, Splits.of(mdp), max_depth=2, form="paper").A.shape[0] / 2


def test_columns_of_the_strong_form_lie_between_0_and_1() -> None:
    mdp = make("traffic_intersection")
    model = formulate(mdp, Splits.of(mdp), max_depth=1)
    assert model.lower.min() == 0
    assert model.upper.max() <= 1
    assert np.abs(model.A).max() <= 1 + 1e-3
    assert np.abs(model.objective).max() <= 1 + 1e-3


def test_predicates_and_categories() -> None:
    mdp = random_mdp(3, states=8, actions=3, levels=4)
    holds = np.arange(8)[:, None] % 3 == np.arange(2)
    splits = Splits.of(mdp, categorical=[mdp.feature_names[0]], predicates=holds, labels=["zero", "one"])
    random = np.random.default_rng(0)
    for form in ("paper", "strong"):
        model = formulate(mdp, splits, max_depth=2, form=form)
        for _ in range(20):
            tree = random_tree(mdp, splits, random, depth=2, leaves=4)
            vector = encode(model, tree)
            assert_feasible(model, vector)
            value = planning.evaluate(mdp, tree, splits.observations)
            assert model.claimed_return(vector) == pytest.approx(value, abs=1e-9)


def test_a_tree_outside_the_limit_is_not_encoded() -> None:
    mdp = random_mdp(1, states=8, levels=5)
    splits = Splits.of(mdp)
    model = formulate(mdp, splits, max_depth=1, form="paper")
    random = np.random.default_rng(1)
    trees = [random_tree(mdp, splits, random, depth=3, leaves=8).pruned(mdp.features) for _ in range(50)]
    with pytest.raises(ValueError, match="deeper than 1"):
        encode(model, max(trees, key=lambda tree: tree.depth))


def test_giants_are_refused_with_their_size() -> None:
    mdp = make("frozenlake_12x12")
    with pytest.raises(InputError, match=r"full tree of depth 29 .* leaves over .* of 144 states"):
        formulate(mdp, Splits.of(mdp), max_leaf_nodes=30)


@pytest.mark.parametrize("options", [{}, {"max_depth": 1, "form": "weak"}])
def test_wrong_usage(options: dict) -> None:
    mdp = random_mdp(0)
    with pytest.raises(InputError):
        formulate(mdp, Splits.of(mdp), **options)


def test_tolerances_are_small_beside_the_unit() -> None:
    mdp = make("frozenlake_8x8")
    splits = Splits.of(mdp)
    model = formulate(mdp, splits, max_depth=2)
    tree = TreePolicy.leaf(1, splits.feature_names, mdp.action_names)
    assert 0 < dual_error(model, 1e-10) < 1e-5 * model.unit
    assert 0 < leak(model, tree) < 1e-3 * model.unit
