"""Ways: what is ruled out has no completion that returns more than the target."""

import numpy as np

from omdt.methods.search.bounds.ways import Ways
from omdt.methods.search.branching import Branching
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Tree
from random_mdps import any_mdp
from search_parts import (
    basis_of,
    completions,
    knowledge_of,
    model_of,
    node_of,
    random_partial,
    random_splits,
    returns_of,
)
from tasks import random_limits


def highest(model: Model, tree: Tree) -> float:
    """The return of the best completion of a partial tree; −∞ if it has none."""
    return float(returns_of(model.mdp, completions(model, tree)).max(initial=-np.inf))


def test_what_loses_too_much_has_no_completion_above_the_target() -> None:
    leaves_out = splits_out = kept = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        mdp = any_mdp(rng)
        depth, leaves = random_limits(rng)
        model = model_of(mdp, min(depth or 2, 2), min(leaves or 3, 3), splits=random_splits(mdp, rng))
        knowledge = knowledge_of(model)
        tree = random_partial(rng, model, model.size.depth, model.size.leaves)
        best, optimum = highest(model, tree), knowledge.bases.losses.optimum
        rounding = 1e-9 * max(abs(best), model.scale)
        for target in (best - 0.1 * model.scale, best - rounding, best + 0.5 * (optimum - best)):
            if target >= optimum:
                continue
            basis = basis_of(knowledge, target)
            node, branching = node_of(knowledge, basis, tree), Branching(knowledge, basis)
            for place in node.open:
                ways, alike = Ways(basis, node, place), branching.alike(node)
                for action, leaf in branching.leaves(node, place, alike):
                    if ways.loses_as_leaf(action):
                        assert highest(model, leaf.tree) <= target + rounding, (seed, target, action)
                        leaves_out += 1
                    else:
                        kept += 1
                for question, split in branching.splits(node, place, alike):
                    if ways.loses_as_split(question):
                        assert highest(model, split.tree) <= target + rounding, (seed, target, question)
                        splits_out += 1
                    else:
                        kept += 1
    assert min(leaves_out, splits_out, kept) > 50


def test_what_leaves_lose_is_remembered_and_does_not_depend_on_what_was_asked_before() -> None:
    different = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        mdp = any_mdp(rng)
        model = model_of(mdp, 2, splits=random_splits(mdp, rng))
        knowledge = knowledge_of(model)
        optimum = knowledge.bases.losses.optimum
        target = optimum - 0.3 * model.scale
        asked, fresh = basis_of(knowledge, target), basis_of(knowledge, target)
        node = node_of(knowledge, asked, random_partial(rng, model, 2, 4))
        for part in (0.2, 1.0, 0.5, 1.0):
            enough = part * asked.budget
            expected = min(fresh.losses.inside(node.actions, asked.budget, enough).value, enough)
            assert asked.tables.fixed(node.actions, enough) == expected, (seed, part)
            different += 0 < expected < enough
    assert different > 5
