"""Coarse trees: where states may go, and which questions are left out because they divide nothing."""

import numpy as np
import pytest

from coarse_parts import completions, random_coarse_tree
from omdt.methods.search.coarse.coarse_tree import (
    Cut,
    Undecided,
    complete,
    count_ends,
    cuts,
    ends,
    narrowed,
    placed,
)
from omdt.methods.search.coarse.ladders import Ladders, Range
from omdt.methods.search.partial_tree import Leaf, Split, count_leaves
from omdt.methods.search.ranks import Ranks
from random_mdps import random_model
from search_parts import random_splits


def ladders_of(seed: int) -> tuple[Ladders, Ranks, int, np.random.Generator]:
    rng = np.random.default_rng(seed)
    mdp = random_model(rng, states=4, actions=2).mdp()
    questions = Ranks(random_splits(mdp, rng))
    return Ladders(questions), questions, mdp.n_states, rng


@pytest.mark.parametrize("seed", range(60))
def test_completions_go_where_the_ends_of_the_coarse_tree_are(seed: int) -> None:
    ladders, questions, S, rng = ladders_of(seed)
    tree = random_coarse_tree(ladders, 2, 2, rng)
    found = list(ends(tree, ladders, np.ones(S, dtype=np.bool_)))
    allowed = np.zeros((S, 2), dtype=np.bool_)
    for end in found:
        for action in [end.node.action] if isinstance(end.node, Leaf) else [0, 1]:
            allowed[:, action] |= end.reached
    assert count_ends(tree) == len(found)
    for other in completions(tree, ladders, 2):
        assert count_leaves(other) >= len(found)
        assert allowed[np.arange(S), questions.actions(other, np.arange(S))].all()
        exact = complete(tree, ladders)
        assert exact is None or exact == other


@pytest.mark.parametrize("seed", range(60))
def test_narrowing_leaves_out_nothing_but_smaller_trees(seed: int) -> None:
    ladders, questions, S, rng = ladders_of(seed)
    tree = random_coarse_tree(ladders, 2, 2, rng)
    states = np.arange(S)
    narrow = narrowed(tree, ladders, np.ones(S, dtype=np.bool_))
    rest = [] if narrow is None else list(completions(narrow, ladders, 2))
    kept = {questions.actions(other, states).tobytes() for other in rest}
    for other in completions(tree, ladders, 2):
        if questions.actions(other, states).tobytes() not in kept:
            assert smaller(other, questions, states)


def smaller(tree: Leaf | Split, questions: Ranks, states: np.ndarray) -> bool:  # type: ignore[type-arg]
    """Whether a question of the tree does not divide what reaches it, or has the same leaf on both sides."""
    if not isinstance(tree, Split):
        return False
    right = questions.right(states, tree.question)
    if not right.any() or right.all() or tree.left == tree.right:
        return True
    return smaller(tree.left, questions, states[~right]) or smaller(tree.right, questions, states[right])  # type: ignore[arg-type]


def test_parts_of_a_tree_are_found_and_replaced() -> None:
    inner = Cut(Range(1, 0, 2), Leaf(1), Undecided(0))
    tree = Cut(Range(0, 1, 2), Leaf(0), inner)
    assert list(cuts(tree)) == [((), tree), ((True,), inner)]
    assert placed(tree, (True, False), Leaf(3)) == Cut(tree.asked, Leaf(0), inner._replace(left=Leaf(3)))
    assert placed(tree, (), Leaf(3)) == Leaf(3)
