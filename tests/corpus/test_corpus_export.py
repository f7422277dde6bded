"""A tree that is exported as a PRISM module decides in Storm exactly as it decides here."""

import re
from dataclasses import replace

import numpy as np
import pytest
from corpus_cases import FOLDER, properties
from corpus_trees import random_tree, read

from omdt.export import to_prism
from omdt.tree import TreePolicy
from omdt.unavailable import with_exceptions

pytestmark = pytest.mark.needs("stormpy")

MODELS = ("bets", "cards", "election", "lake", "mutex", "power", "workshop")
"""Models with Boolean variables, with several initial states, with commands without a label, and with variables that
have the name of a function (`round`) or of a formula."""


@pytest.mark.parametrize("name", MODELS)
def test_the_module_leaves_the_policy_of_the_tree(name, tmp_path):
    from storm_witness import value_of_module, value_of_tree

    path, exceptional = FOLDER / f"{name}.prism", 0
    for seed in range(2):
        tree = random_tree(read(path), np.random.default_rng(seed))
        exceptional += len(tree.exceptions)
        for text in properties(name):
            expected = value_of_tree(path, text, tree)
            found = value_of_module(path, text, to_prism(tree), tmp_path)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), (seed, text)
    assert exceptional > 0


def test_moves_of_an_opponent_are_never_blocked_and_need_no_guard(tmp_path):
    from storm_witness import value_of_module, value_of_tree

    path, text = FOLDER / "race.prism", 'Pmax=? [F "won"]'
    mdp = read(path)
    leaf = TreePolicy.leaf(mdp.action_names.index("bank"), mdp.feature_names, mdp.action_names)
    tree = replace(with_exceptions(mdp, leaf, mdp.features), truths=mdp.truths)
    assert tree.exceptions.forced == ("opponent",)
    assert len(tree.exceptions) > 300
    module = to_prism(tree)
    assert "[opponent]" not in module
    # Only an empty pot cannot be banked, so these are the states that the guard of `roll` lists.
    assert module.count("(my_turn & ") == module.count("& pot=0)") == len(re.findall("pot=", module)) > 100
    assert value_of_module(path, text, module, tmp_path) == pytest.approx(value_of_tree(path, text, tree), rel=1e-9)
