"""Copying: trees that take accepted actions only, as good as the optimal policy that they copy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omdt import MDP, planning
from omdt.methods.search.copying import Copying
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, count_leaves, to_policy
from omdt.methods.search.ranks import Ranks
from omdt.rules import AvailableOnly
from omdt.watch import Watch
from random_mdps import availability
from search_parts import model_of
from strategies import environment, mdps, restricted_mdps


def copying_of(model: Model, watch: Watch | None = None) -> Copying:
    return Copying(model, Ranks(model.task.splits), Watch() if watch is None else watch)


@given(mdp=mdps(), leaves=st.integers(1, 8))
@settings(max_examples=60)
def test_a_copy_returns_what_the_optimal_policy_returns(mdp: MDP, leaves: int) -> None:
    model = model_of(mdp, None, leaves)
    best = model.optimal_return
    for tree in copying_of(model).optimal_copies():
        policy = to_policy(tree, model.task.splits, mdp)
        returned = planning.tree_return(mdp, policy)
        assert policy.n_leaves <= leaves
        assert returned.upper >= best.lower - 1e-9 * max(model.scale, abs(best.value))


@given(mdp=restricted_mdps(), leaves=st.integers(1, 8))
@settings(max_examples=60)
def test_copies_keep_the_rules(mdp: MDP, leaves: int) -> None:
    model = model_of(mdp, None, leaves, rules=[AvailableOnly()])
    states = np.arange(mdp.n_states)
    copying = copying_of(model)
    for tree in (*copying.optimal_copies(), copying.tree(model.allowed)):
        if tree is not None:
            actions = copying.questions.actions(tree, states)
            assert model.allowed[states, actions].all()


@pytest.mark.parametrize(("depth", "leaves"), [(50, None), (None, 40), (12, 60)])
def test_a_copy_is_found_where_the_size_allows_it(depth: int | None, leaves: int | None) -> None:
    model = model_of(environment("frozenlake_8x8"), depth, leaves)
    everywhere, visited = copying_of(model).optimal_copies()
    for tree in (everywhere, visited):
        policy = to_policy(tree, model.task.splits, model.mdp)
        assert planning.tree_return(model.mdp, policy).value == pytest.approx(model.optimal_return.value)
        assert policy.depth <= model.size.depth
        assert policy.n_leaves <= model.size.leaves


def test_no_copy_is_found_where_it_would_be_too_large() -> None:
    assert list(copying_of(model_of(environment("frozenlake_8x8"), 2)).optimal_copies()) == []


def test_a_tree_takes_an_accepted_action_everywhere() -> None:
    mdp = environment("frozenlake_4x4")
    rng = np.random.default_rng(0)
    found = 0
    for leaves in range(1, 17):
        copying = copying_of(model_of(mdp, None, leaves))
        accepted = availability(rng, *mdp.rewards.shape)
        tree = copying.tree(accepted)
        if tree is not None:
            actions = copying.questions.actions(tree, np.arange(mdp.n_states))
            assert accepted[np.arange(mdp.n_states), actions].all()
            assert count_leaves(tree) <= leaves
            found += 1
    assert found > 2


def test_one_common_action_is_one_leaf() -> None:
    mdp = environment("frozenlake_4x4")
    accepted = np.zeros(mdp.rewards.shape, dtype=np.bool_)
    accepted[:, [1, 3]] = True
    assert copying_of(model_of(mdp)).tree(accepted) == Leaf(1)


def test_states_that_look_alike_without_a_common_action_have_no_tree() -> None:
    mdp = MDP.from_dense(np.full((2, 2, 2), 0.5), np.eye(2), [1, 0], np.zeros(2))
    model = model_of(mdp, 3)
    assert len(model.task.splits) == 0
    assert copying_of(model).tree(np.eye(2, dtype=np.bool_)) is None


def test_the_second_side_gets_the_leaves_that_are_left() -> None:
    """Four states in a row take turns; three leaves are too few, four are enough."""
    mdp = MDP.from_dense(np.full((4, 2, 4), 0.25), np.zeros((4, 2)), [1, 0, 0, 0], np.arange(4))
    accepted = np.array([[True, False], [False, True], [True, False], [False, True]])
    assert copying_of(model_of(mdp, None, 3)).tree(accepted) is None
    assert copying_of(model_of(mdp, 1)).tree(accepted) is None
    tree = copying_of(model_of(mdp, None, 4)).tree(accepted)
    assert tree is not None
    assert count_leaves(tree) == 4


def test_nothing_is_grown_when_time_is_up() -> None:
    watch = Watch()
    accepted = np.array([[True, False], [False, True]])
    mdp = MDP.from_dense(np.full((2, 2, 2), 0.5), np.eye(2), [1, 0], [[0], [1]])
    assert copying_of(model_of(mdp), watch).tree(accepted) == Split(0, Leaf(0), Leaf(1))
    watch.interrupt()
    assert copying_of(model_of(mdp), watch).tree(accepted) is None
