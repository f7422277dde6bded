"""Decisions: the children of a coarse tree stand for all that it stands for, but for trees that do the same."""

import numpy as np
import pytest

from coarse_parts import completions, random_coarse_tree
from omdt.methods.search.coarse.coarse_tree import CoarseTree, Undecided, complete, narrowed
from omdt.methods.search.coarse.decisions import Decisions
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.partial_tree import count_leaves
from omdt.methods.search.ranks import Ranks
from omdt.watch import Watch
from random_mdps import random_model
from search_parts import model_of, random_splits


def policies(tree: CoarseTree, ladders: Ladders, questions: Ranks, leaves: int, S: int) -> set[bytes]:
    """What all completions within the limit on leaves do."""
    trees = (it for it in completions(tree, ladders, 2) if count_leaves(it) <= leaves)
    return {questions.actions(it, np.arange(S)).tobytes() for it in trees}


@pytest.mark.parametrize("leaves", [None, 3])
@pytest.mark.parametrize("seed", range(60))
def test_everything_that_is_undecided_is_decided_in_some_child(seed: int, leaves: int | None) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_model(rng, states=4, actions=2).mdp()
    model = model_of(mdp, 2, leaves, splits=random_splits(mdp, rng))
    questions = Ranks(model.task.splits)
    ladders = Ladders(questions)
    decisions = Decisions(Relaxation(model, ladders), questions)
    most, values = model.size.leaves, model.optimal.upper

    def decided(tree: CoarseTree) -> set[bytes]:
        """What remains when everything is decided step by step."""
        if complete(tree, ladders) is not None:
            return policies(tree, ladders, questions, most, mdp.n_states)
        children = decisions.decide(tree, values, Watch()).children
        assert all(child.tree != tree for child in children)
        return set().union(*(decided(child.tree) for child in children))

    everything = Undecided(2)
    assert decided(everything) == policies(everything, ladders, questions, most, mdp.n_states)


@pytest.mark.parametrize("seed", range(60))
def test_children_with_the_same_relaxation_have_the_same_choices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_model(rng, states=5, actions=3).mdp()
    model = model_of(mdp, 2, splits=random_splits(mdp, rng))
    questions = Ranks(model.task.splits)
    ladders = Ladders(questions)
    relaxation = Relaxation(model, ladders)
    tree = narrowed(random_coarse_tree(ladders, 3, 2, rng), ladders, relaxation.everywhere)
    if tree is None or complete(tree, ladders) is not None:
        tree = Undecided(2)
    choices = relaxation.choices(tree)
    for child in Decisions(relaxation, questions).decide(tree, model.optimal.upper, Watch()).children:
        its = relaxation.choices(child.tree)
        assert not (its & ~choices).any()
        assert not child.same or np.array_equal(its, choices)
