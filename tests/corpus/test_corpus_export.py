"""A tree that is exported as a PRISM module decides in Storm exactly as it decides here."""

from functools import cache

import numpy as np
import pytest
from corpus_cases import properties

import omdt
from omdt.export import to_prism
from omdt.mdp import MDP
from omdt.tree import LEAF, TreePolicy
from omdt.unavailable import with_exceptions

pytestmark = pytest.mark.needs("stormpy")

REWARDS = {
    "bets": "bets",
    "cards": "points",
    "election": "flips",
    "lake": "steps",
    "mutex": "turns",
    "power": "energy",
    "workshop": "time",
}
"""Models with Boolean variables, several initial states, commands without a label, and variables that are called like
a function (`round`) or like an action; and one of the rewards of each."""


@cache
def problem(name: str) -> MDP:
    from storm_witness import model_path

    with pytest.warns(omdt.InputWarning):
        return omdt.read(model_path(name), reward=REWARDS[name], discount=0.99)


def random_tree(mdp: MDP, rng: np.random.Generator) -> TreePolicy:
    """A tree of depth 2 over the values of the features, whose leaves name any action, available or not."""
    feature = np.array([*rng.integers(mdp.n_features, size=3), LEAF, LEAF, LEAF, LEAF])
    states = rng.integers(mdp.n_states, size=7)
    threshold = np.where(feature == LEAF, 0.0, mdp.features[states, feature] + 0.5 * rng.integers(0, 2, 7))
    tree = TreePolicy(
        feature=feature,
        threshold=threshold,
        left=np.array([1, 3, 5, -1, -1, -1, -1]),
        right=np.array([2, 4, 6, -1, -1, -1, -1]),
        action=np.where(feature == LEAF, rng.integers(mdp.n_actions, size=7), -1),
        equality=np.zeros(7, dtype=np.bool_),
        feature_names=mdp.feature_names,
        action_names=mdp.action_names,
        truths=mdp.truths,
    )
    return with_exceptions(mdp, tree, mdp.features)


@pytest.mark.parametrize("name", REWARDS)
def test_the_module_leaves_the_policy_of_the_tree(name, tmp_path):
    from storm_witness import model_path, value_of_module, value_of_tree

    exceptional = 0
    for seed in range(3):
        tree = random_tree(problem(name), np.random.default_rng(seed))
        exceptional += len(tree.exceptions)
        for text in properties(name):
            expected = value_of_tree(model_path(name), text, tree)
            found = value_of_module(model_path(name), text, to_prism(tree), tmp_path)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), (seed, text)
    assert exceptional > 0
