"""Storm builds a model together with the exported PRISM module and finds the tree's choice in every state."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_exports_names import NASTY
from test_exports_play import chain, tree_over

from omdt.export import to_prism
from omdt.names import prism_identifiers
from omdt.tree import TreePolicy
from strategies import environment, random_tree

pytestmark = pytest.mark.needs("stormpy")


def choices_in_storm(tree: TreePolicy, low: list[int], high: list[int], path: Path) -> dict[tuple[int, ...], set[str]]:
    """The labels that are left in every state of a world of integers in which everything is possible."""
    import stormpy

    features, actions = prism_identifiers(tree.feature_names, tree.action_names)
    ranges = list(zip(features, low, high, strict=True))
    world = [
        "mdp",
        *(f"const int {name} = {a};" for name, a, b in ranges if a == b),
        "module world",
        *(f"    {name} : [{a}..{b}];" for name, a, b in ranges if a < b),
        *(f"    [{action}] true -> true;" for action in actions),
        "endmodule",
        to_prism(tree),
        "init true endinit",
    ]
    path.write_text("\n".join(world), encoding="utf-8")
    options = stormpy.BuilderOptions()
    options.set_build_state_valuations()
    options.set_build_choice_labels()
    model = stormpy.build_model(stormpy.parse_prism_program(str(path)), options=options)
    choices = {}
    for state in model.states:
        fixed = {name: a for name, a, b in ranges if a == b}
        values = fixed | dict(re.findall(r"(\w+)=(-?\d+)", model.state_valuations.to_string(state.id)))
        labels = [
            model.choice_labeling.get_labels_of_choice(model.get_choice_index(state.id, action.id))
            for action in state.actions
        ]
        choices[tuple(int(values[name]) for name in features)] = set().union(*labels)
    return choices


def assert_plays_in_storm(tree: TreePolicy, low: list[int], high: list[int], path: Path) -> None:
    choices = choices_in_storm(tree, low, high, path)
    X = np.array(list(choices))
    assert len(X) == np.prod(np.array(high) - low + 1)
    _, actions = prism_identifiers(tree.feature_names, tree.action_names)
    for labels, action in zip(choices.values(), tree.actions(X), strict=True):
        assert labels == {actions[action]}


@pytest.mark.parametrize("name", ["frozenlake_12x12", "traffic_intersection", "inventory_management"])
def test_on_the_integers_of_an_environment(tmp_path, name):
    mdp = environment(name)
    tree = tree_over(mdp, seed=5)
    low = [*mdp.features.min(axis=0).astype(int).tolist(), 0]
    high = [*mdp.features.max(axis=0).astype(int).tolist(), 1]
    assert_plays_in_storm(tree, low, high, tmp_path / "model.nm")


@pytest.mark.parametrize("seed", range(5))
def test_on_random_trees_with_fractions_and_equalities(tmp_path, seed):
    tree = random_tree(np.random.default_rng(seed), 2, 3, max_depth=5)
    assert_plays_in_storm(tree, [-4, -4], [4, 4], tmp_path / "model.nm")
    tree = replace(tree, threshold=tree.threshold * 10.0 ** np.random.default_rng(seed).integers(-9, 9, tree.n_nodes))
    assert_plays_in_storm(tree, [-4, -4], [4, 4], tmp_path / "model.nm")


def test_under_every_nasty_name(tmp_path):
    # Storm finds the end of a module even inside a longer word.
    names = tuple(name for name in NASTY if name != "endmodule")
    tree = random_tree(np.random.default_rng(2), len(names), len(names), max_depth=7)
    tree = replace(tree, feature_names=names, action_names=names)
    high = np.zeros(len(names), dtype=int)
    high[tree.feature[:4]] = 3
    assert_plays_in_storm(tree, [0] * len(names), high.tolist(), tmp_path / "model.nm")


def test_on_a_tree_of_depth_200(tmp_path):
    assert_plays_in_storm(chain(200, ["left", "right"]), [-9, -9], [9, 9], tmp_path / "model.nm")
