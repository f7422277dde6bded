"""The loss bound: no completion within the budget returns more than the optimum minus what is lost."""

import numpy as np
import pytest

from omdt.methods.search.bounds.loss_bound import LossBound
from omdt.methods.search.bounds.protocol import LossEvidence
from omdt.methods.search.partial_tree import HOLE, Leaf, Split, Tree
from omdt.watch import Watch
from random_mdps import any_mdp
from search_parts import (
    basis_of,
    completions,
    knowledge_of,
    model_of,
    node_of,
    places,
    random_partial,
    random_splits,
    returns_of,
)
from strategies import environment
from tasks import random_limits


def test_the_bound_is_above_completions_that_return_more_than_the_target() -> None:
    lower = closed = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        mdp = any_mdp(rng)
        depth, leaves = random_limits(rng)
        model = model_of(mdp, min(depth or 2, 2), min(leaves or 3, 3), splits=random_splits(mdp, rng))
        knowledge = knowledge_of(model)
        tree = random_partial(rng, model, model.size.depth, model.size.leaves)
        best = float(returns_of(mdp, completions(model, tree)).max())
        rounding, optimum = 1e-9 * max(abs(best), model.scale), knowledge.bases.losses.optimum
        for target in (best - 0.1 * model.scale, best - rounding, best + 0.5 * (optimum - best)):
            if target >= optimum:
                continue
            basis = basis_of(knowledge, target)
            bound = LossBound(basis)
            node = node_of(knowledge, basis, tree)
            if not node.open:
                continue
            found = bound.bound(node, target, Watch())
            assert found.value >= min(best, target) - rounding if best <= target else found.value >= best - rounding, (
                seed
            )
            assert found.evidence == LossEvidence(basis) or isinstance(found.evidence, LossEvidence)
            lower += target < found.value < optimum - 1e-3 * model.scale
            closed += found.value == target
            assert bound.costliest(node) in [o.path for o in node.open]
            complete = bound.completion(node)
            assert all(
                isinstance(it, Leaf) or not model.decisive[states].any() for it, states in places(model, complete)
            )
            # Of what is fixed nothing is changed.
            assert agrees(tree, complete)
    assert lower > 10
    assert closed > 10


def agrees(partial: Tree, complete: Tree) -> bool:
    if isinstance(partial, Split):
        return (
            isinstance(complete, Split)
            and partial.question == complete.question
            and agrees(partial.left, complete.left)
            and agrees(partial.right, complete.right)
        )
    return not isinstance(partial, Leaf) or partial == complete


def test_a_complete_tree_is_bounded_by_what_its_leaves_lose() -> None:
    model = model_of(environment("frozenlake_4x4"))
    knowledge = knowledge_of(model)
    for action in range(4):
        value = float(returns_of(model.mdp, np.full((1, 16), action))[0])
        basis = basis_of(knowledge, value - 0.01)
        found = LossBound(basis).bound(node_of(knowledge, basis, Leaf(action)), value - 0.01, Watch())
        assert value - 1e-12 <= found.value <= basis.losses.optimum
        high = basis_of(knowledge, value + 0.1)
        assert LossBound(high).bound(node_of(knowledge, high, Leaf(action)), value + 0.1, Watch()).value == value + 0.1


def test_of_regions_with_as_many_questions_left_the_costliest_is_branched() -> None:
    model = model_of(environment("frozenlake_8x8"), 2)
    knowledge = knowledge_of(model)
    basis = basis_of(knowledge, 0.2)
    bound = LossBound(basis)
    for k in range(model.sides.shape[1]):
        node = node_of(knowledge, basis, Split(k, Split(0, Leaf(0), HOLE), HOLE))
        if len(node.open) == 2:
            # The deeper one has fewer questions left.
            assert bound.costliest(node) == (False, True)
        node = node_of(knowledge, basis, Split(k, HOLE, HOLE))
        lost = {o.path: bound.tables.loss(o.region, o.depth, node.spare + 1, basis.budget) for o in node.open}
        assert lost[bound.costliest(node)] == pytest.approx(max(lost.values()))
