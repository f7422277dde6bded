"""Growing subtrees: the least that the leaves of any subtree lose together is found, or bounded if that takes long."""

from itertools import product

import numpy as np
import pytest

from omdt.methods.search.bounds.growing import Growth
from omdt.methods.search.bounds.losses import Losses
from omdt.methods.search.bounds.tables import Tables
from omdt.methods.search.partial_tree import Leaf, Split, Tree
from omdt.methods.search.regions import Region, Regions
from omdt.watch import Watch
from random_mdps import random_mdp
from search_parts import model_of

Leaves = tuple[tuple[Region, int], ...]


def subtrees(regions: Regions, region: Region, A: int, depth: int, leaves: int) -> list[tuple[Tree, Leaves]]:
    """All subtrees for a region, with the regions and actions of their leaves."""
    found: list[tuple[Tree, Leaves]] = [(Leaf(a), ((region, a),)) for a in range(A)]
    if depth == 0 or leaves == 1:
        return found
    for k in regions.questions(region):
        left, right = regions.split(region, int(k))
        sides = (subtrees(regions, part, A, depth - 1, leaves - 1) for part in (left, right))
        for (one, first), (other, second) in product(*sides):
            if len(first) + len(second) <= leaves and not (one == other and isinstance(one, Leaf)):
                found.append((Split(int(k), one, other), (*first, *second)))
    return found


@pytest.mark.parametrize("examined", [5, 10**6])
def test_the_least_is_that_of_all_subtrees(examined: int) -> None:
    exact = 0
    for seed in range(60):
        rng = np.random.default_rng(900 + seed)
        mdp = random_mdp(rng)
        model = model_of(mdp, max_growing_subtrees=examined, loss_accuracy=1e-9, negligible_loss=1e-9)
        losses = Losses(model, model.optimal.value, model.allowed)
        budget = float(np.max(losses.expected)) * float(rng.choice([0.5, 3.0])) + 1e-300
        regions = Regions(model.sides)
        table = Tables(losses, regions, budget, settings=model.settings, max_entries=10**6, watch=Watch())
        depth, leaves = ((1, 2), (2, 3), (3, 4))[seed % 3]
        region = regions.everything
        every = subtrees(regions, region, mdp.n_actions, depth, leaves)
        if len(every) > 1000:
            continue
        lost = {tree: table.together(parts, np.inf) for tree, parts in every}
        least = min(lost.values())
        for enough in (0.5 * budget, budget):
            found, tree = Growth(table, enough).least(region, depth, leaves, 0.0)
            assert found <= min(least, enough) * (1 + 1e-6) + 1e-9 * budget, seed
            if tree is not None:
                assert lost[tree] <= found * (1 + 1e-6) + 1e-3 * budget, seed
                exact += found > 0
            elif examined > 5:
                assert least >= enough * (1 - 1e-6), seed
    assert exact > (1 if examined == 5 else 10)


def test_what_is_known_to_be_lost_is_not_forgotten() -> None:
    model = model_of(random_mdp(np.random.default_rng(902)), max_growing_subtrees=0)
    losses = Losses(model, model.optimal.value, model.allowed)
    regions = Regions(model.sides)
    table = Tables(losses, regions, 1.0, settings=model.settings, max_entries=10, watch=Watch())
    assert Growth(table, 1.0).least(regions.everything, 1, 2, 0.25) == (0.25, None)
