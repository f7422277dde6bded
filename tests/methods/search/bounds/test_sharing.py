"""Sharing leaves: open regions lose what they lose in the best of all ways to share the leaves that may be added."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from omdt.methods.search.bounds.loss_bound import LossBound
from omdt.methods.search.bounds.sharing import lost_sharing, must_share
from omdt.methods.search.regions import Region
from omdt.watch import Watch
from random_mdps import any_mdp, game
from search_parts import basis_of, completions, knowledge_of, model_of, node_of, random_partial, returns_of


@dataclass(frozen=True)
class Place:
    """An open region."""

    region: Region
    depth: int


@dataclass(frozen=True)
class Table:
    """What regions lose by their numbers and the number of leaves, less with every leaf as far as the depth allows."""

    losses: np.ndarray

    def loss(self, region: Region, depth: int, leaves: int, enough: float) -> float:
        """As in the tables."""
        return min(float(self.losses[region.number, min(leaves, 2**depth)]), enough)


def random_places(rng: np.random.Generator) -> tuple[Table, list[Place], int]:
    """Up to four open regions with what they lose, and how many leaves may be added."""
    count, spare = int(rng.integers(1, 5)), int(rng.integers(0, 6))
    losses = np.sort(rng.integers(0, 10, size=(count, 2 + spare)), axis=1)[:, ::-1]
    places = [Place(Region(np.array([i]), i), int(rng.integers(0, 4))) for i in range(count)]
    return Table(losses), places, spare


@pytest.mark.parametrize("seed", range(100))
def test_it_is_the_least_of_all_ways_to_share(seed: int) -> None:
    table, places, spare = random_places(np.random.default_rng([40, seed]))
    ways = [added for added in product(range(spare + 1), repeat=len(places)) if sum(added) <= spare]
    least = min(
        sum(table.loss(place.region, place.depth, 1 + n, np.inf) for place, n in zip(places, added, strict=True))
        for added in ways
    )
    apart = sum(table.loss(place.region, place.depth, 1 + spare, np.inf) for place in places)
    assert lost_sharing(table, places, spare, np.inf) == least >= apart
    if not must_share(places, spare):
        assert least == apart
    for enough in (1.0, 5.0, 12.0):
        assert min(lost_sharing(table, places, spare, enough), enough) == min(least, enough)


def test_nothing_is_shared_where_the_depth_is_the_only_limit() -> None:
    for seed in range(100):
        rng = np.random.default_rng([41, seed])
        model = model_of(any_mdp(rng), 3)
        knowledge = knowledge_of(model)
        basis = basis_of(knowledge, knowledge.bases.losses.optimum - model.scale)
        node = node_of(knowledge, basis, random_partial(rng, model, 3, 8))
        assert not must_share(node.open, node.spare)


def test_no_completion_returns_more_than_regions_that_share_leaves_allow() -> None:
    shared = closed = 0
    for seed in range(400):
        rng = np.random.default_rng([42, seed])
        mdp = game(rng) if seed % 3 == 0 else any_mdp(rng)
        leaves = int(rng.integers(4, 6))
        model = model_of(mdp, leaves - 1, leaves)
        if mdp.n_actions**mdp.n_states > 300 or model.sides.shape[1] > 5:
            continue
        knowledge = knowledge_of(model)
        tree = random_partial(rng, model, leaves - 1, int(rng.integers(2, leaves)))
        best = float(returns_of(mdp, completions(model, tree)).max())
        rounding, optimum = 1e-9 * max(abs(best), model.scale), knowledge.bases.losses.optimum
        for target in (best - 0.1 * model.scale, best - rounding, best + 0.1 * (optimum - best)):
            if target >= optimum:
                continue
            basis = basis_of(knowledge, target)
            node = node_of(knowledge, basis, tree)
            if not node.open:
                continue
            found = LossBound(basis).bound(node, target, Watch())
            assert found.value >= min(best, target) - rounding if best <= target else found.value >= best - rounding, (
                seed
            )
            shared += must_share(node.open, node.spare)
            closed += found.value == target
    assert shared > 100
    assert closed > 50
