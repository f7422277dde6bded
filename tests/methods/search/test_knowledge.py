"""Knowledge: returns are remembered as long as there is room, and holes are filled in."""

import numpy as np
import pytest

from omdt import MDP
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.nodes import Partial, Pins
from omdt.methods.search.partial_tree import HOLE, Leaf, Split, Tree
from random_mdps import random_mdp, symmetric_mdp
from search_parts import all_policies, knowledge_of, model_of, places, random_partial, returns_of
from strategies import environment


@pytest.mark.parametrize("max_bytes", [1, 1 << 20])
def test_returns_are_those_of_policies_however_little_is_remembered(max_bytes: int) -> None:
    mdp = symmetric_mdp(np.random.default_rng(0))
    knowledge = knowledge_of(model_of(mdp), max_bytes=max_bytes)
    policies = all_policies(mdp)[:50]
    for policy, expected in [*zip(policies, returns_of(mdp, policies), strict=True)] * 2:
        assert knowledge.value(policy).value == pytest.approx(expected)
    first = knowledge.value(policies[0])
    knowledge.value(policies[1])
    assert (knowledge.value(policies[0]) is first) == (max_bytes > 1)


def test_holes_are_filled_in_with_the_first_action() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        mdp = random_mdp(rng)
        model = model_of(mdp, 3)
        knowledge = knowledge_of(model)
        tree = random_partial(rng, model, 3, 8)
        filled, policy = knowledge.filled_in(tree)
        assert all(isinstance(it, Leaf) for it, _ in places(model, filled))
        for leaf, states in places(model, tree):
            matters = states[model.decisive[states]]
            assert (policy[matters] == (leaf.action if isinstance(leaf, Leaf) else 0)).all()
    assert filled != HOLE


def test_where_actions_do_not_matter_the_first_one_is_played() -> None:
    P = np.full((3, 2, 3), 1 / 3)
    mdp = MDP.from_dense(P, [[1, 0], [2, 2], [0, 1]], [1, 0, 0], [[0], [1], [2]])
    knowledge = knowledge_of(model_of(mdp))
    tree, policy = knowledge.filled_in(Split(0, Leaf(1), Leaf(1)))
    assert tree == Split(0, Leaf(1), Leaf(1))
    assert policy.tolist() == [1, 0, 1]


def test_without_symmetries_everything_else_is_shared() -> None:
    knowledge = knowledge_of(model_of(symmetric_mdp(np.random.default_rng(0))), symmetric=True)
    other = knowledge.without_symmetries()
    assert len(knowledge.symmetries) > 0
    assert len(other.symmetries) == 0
    assert other.symmetries.questions.shape == (0, len(knowledge.model.task.splits))
    assert other.bases is knowledge.bases
    assert other.options is knowledge.options
    policy = np.zeros(knowledge.model.mdp.n_states, dtype=np.int64)
    assert other.value(policy) is knowledge.value(policy)


def test_signatures_tell_what_may_grow_and_not_which_questions_lead_there() -> None:
    model = model_of(environment("frozenlake_4x4"), 4, 6)
    knowledge = knowledge_of(model)
    x, y = np.flatnonzero(np.diff(model.task.splits.feature))[0], len(model.task.splits) - 1

    def signature(tree: Tree, pins: Pins = ()) -> bytes:
        return knowledge.signature(Partial(tree, pins=pins))

    quarters = Split(x, Split(y, Leaf(0), HOLE), Split(y, Leaf(1), HOLE))
    turned = Split(y, Split(x, Leaf(0), Leaf(1)), Split(x, HOLE, HOLE))
    assert signature(quarters) == signature(turned)
    others = [
        signature(Split(x, Split(y, Leaf(0), HOLE), Split(y, Leaf(2), HOLE))),
        signature(Split(x, Split(y, Leaf(0), Leaf(1)), Split(y, Leaf(1), HOLE))),
        signature(Split(x, Split(y, Leaf(0), HOLE), HOLE)),
        signature(quarters, ((0, 1),)),
        knowledge_of(model_of(model.mdp, 4, 5)).signature(Partial(quarters)),
        knowledge_of(model_of(model.mdp, 2, 6)).signature(Partial(quarters)),
    ]
    assert len({signature(quarters), *others}) == 1 + len(others)


def test_kin_share_what_does_not_depend_on_the_size() -> None:
    model = model_of(environment("frozenlake_4x4"), 2)
    knowledge = knowledge_of(model)
    other = Knowledge(model_of(model.mdp, 3), knowledge.symmetries, 1 << 20, kin=knowledge)
    assert other.bases.regions is knowledge.bases.regions
    assert other.options is knowledge.options
    assert other.bases is not knowledge.bases
    policy = np.zeros(model.mdp.n_states, dtype=np.int64)
    assert other.value(policy) is knowledge.value(policy)
