"""Branching: nodes see what is decided, and their children together have every tree that completes them."""

import numpy as np
import pytest

from omdt import MDP
from omdt.methods.search.branching import Branching
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Node, Partial
from omdt.methods.search.partial_tree import HOLE, Leaf, Split, Tree, count_leaves, replaced, sibling_action
from omdt.rules import AvailableOnly
from random_mdps import random_mdp, symmetric_mdp
from search_parts import (
    basis_of,
    completions,
    knowledge_of,
    model_of,
    places,
    random_partial,
    random_splits,
    returns_of,
)
from tasks import random_limits


def branching_of(model: Model, *, symmetric: bool = False) -> Branching:
    knowledge = knowledge_of(model, symmetric=symmetric)
    return Branching(knowledge, basis_of(knowledge, knowledge.bases.losses.optimum - model.scale - 1e-9))


def children(branching: Branching, node: Node, number: int) -> list[Tree]:
    """The trees that take the place of a node when one of its open regions is decided."""
    place, alike = node.open[number], branching.alike(node)
    leaves = [leaf.tree for _, leaf in branching.leaves(node, place, alike)]
    return leaves + [partial.tree for _, partial in branching.splits(node, place, alike)]


def merged(node: Node, number: int) -> list[Tree]:
    """The tree in which a place and the leaf beside it are one leaf, if there is a leaf beside it."""
    path = node.open[number].path
    action = sibling_action(node.tree, path)
    return [] if action is None else [replaced(node.tree, path[:-1], Leaf(action))]


def covers(values: np.ndarray, by: np.ndarray, scale: float) -> bool:
    """Whether each of some returns is also among others, up to rounding."""
    return bool((np.abs(values[:, None] - by[None, :]).min(axis=1) <= 1e-9 * max(scale, np.abs(values).max())).all())


@pytest.mark.parametrize("seed", range(30))
def test_a_node_has_the_actions_and_open_regions_of_its_tree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    model = model_of(mdp, 3, 6, splits=random_splits(mdp, rng))
    tree = random_partial(rng, model, 3, 6)
    node = branching_of(model).node(Partial(tree))
    matters = model.decisive if model.decisive.any() else np.ones(mdp.n_states, dtype=np.bool_)
    actions = np.where(matters, -1, 0)
    regions = []
    for leaf, states in places(model, tree):
        if isinstance(leaf, Leaf):
            actions[states[matters[states]]] = leaf.action
        elif matters[states].any():
            regions.append(states[matters[states]].tolist())
    assert node.actions.tolist() == actions.tolist()
    assert [o.region.states.tolist() for o in node.open] == regions
    assert [o.depth for o in node.open] == [3 - len(o.path) for o in node.open]
    assert node.spare == 6 - count_leaves(tree)


@pytest.mark.parametrize("symmetric", [False, True])
def test_children_have_all_completions_up_to_symmetry(symmetric: bool) -> None:
    """Of policies that symmetries turn into one another one is enough, so the returns are the same."""
    fewer = 0
    for seed in range(60):
        rng = np.random.default_rng(100 + seed)
        mdp = symmetric_mdp(rng) if symmetric else random_mdp(rng)
        depth, leaves = random_limits(rng)
        model = model_of(mdp, min(depth or 2, 2), min(leaves or 3, 3), splits=None)
        branching = branching_of(model, symmetric=symmetric)
        tree = HOLE if rng.random() < 0.3 else random_partial(rng, model, model.size.depth, model.size.leaves)
        node = branching.node(Partial(tree))
        if not node.open:
            continue
        number = int(rng.integers(len(node.open)))
        below = children(branching, node, number)
        found = [returns_of(mdp, completions(model, child)) for child in [*below, *merged(node, number)]]
        expected = returns_of(mdp, completions(model, tree))
        assert covers(expected, np.concatenate(found), model.scale), seed
        if tree == HOLE:
            assert covers(np.concatenate(found), expected, model.scale), seed
            plain = branching_of(model)
            fewer += len(below) < len(children(plain, plain.node(Partial(tree)), 0))
    assert (fewer > 5) == symmetric


def two_states() -> MDP:
    """Two states with two actions; the second action is not available in the second state."""
    return MDP.from_dense(
        np.full((2, 2, 2), 0.5), [[1, 0], [0, 1]], [1, 0], [[0], [1]], available=[[True, True], [True, False]]
    )


def test_leaves_name_what_is_allowed_in_all_their_states() -> None:
    branching = branching_of(model_of(two_states(), rules=[AvailableOnly()]))
    root = branching.node(Partial(HOLE))
    assert children(branching, root, 0) == [Leaf(0), Split(0, HOLE, HOLE)]
    right = branching.node(Partial(Split(0, Leaf(1), HOLE)))
    assert children(branching, right, 0) == [Split(0, Leaf(1), Leaf(0))]


def test_siblings_do_not_have_the_same_action() -> None:
    branching = branching_of(model_of(two_states()))
    node = branching.node(Partial(Split(0, HOLE, Leaf(1)), blind=2, pins=((0, 1),)))
    assert children(branching, node, 0) == [Split(0, Leaf(0), Leaf(1))]
    _, leaf = next(branching.leaves(node, node.open[0], branching.alike(node)))
    assert (leaf.partial.blind, leaf.partial.pins, leaf.open) == (2, ((0, 1),), ())


@pytest.mark.parametrize(("depth", "leaves"), [(0, None), (None, 1)])
def test_without_room_there_are_leaves_only(depth: int | None, leaves: int | None) -> None:
    branching = branching_of(model_of(two_states(), depth, leaves))
    assert children(branching, branching.node(Partial(HOLE)), 0) == [Leaf(0), Leaf(1)]


def test_a_state_is_pinned_to_one_of_the_actions_that_symmetries_exchange() -> None:
    mdp = symmetric_mdp(np.random.default_rng(0))
    A, none = mdp.n_actions, 0
    branching = branching_of(model_of(mdp), symmetric=True)
    all_bits_alike = next(s for s in range(mdp.n_states - 1) if len(set(mdp.features[s])) == 1)
    fixing = branching.fixing(branching.node(Partial(HOLE)), all_bits_alike)
    assert branching.different_actions(fixing) == [0]
    other = branching_of(model_of(mdp))
    assert other.different_actions(other.fixing(other.node(Partial(HOLE)), none)) == list(range(A))
    pinned = Partial(HOLE, pins=((all_bits_alike, A - 1),))
    assert len(branching.alike(branching.node(pinned))) < len(branching.alike(branching.node(Partial(HOLE))))
