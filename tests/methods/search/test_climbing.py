"""Climbing before a proof: as long as the proof is estimated to take, within limits, and never measured."""

import pytest

from omdt.methods.search.climbing import climb_before
from omdt.methods.search.effort import seconds_per_neighbour
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.partial_tree import Leaf
from search_parts import model_of, started
from strategies import environment


def search_of(depth: int = 3, **fields: float) -> LocalSearch:
    return started(model_of(environment("frozenlake_8x8"), depth, **fields))


@pytest.mark.parametrize(("seconds", "share"), [(0.0, 0.0), (0.2, 0.1), (1e9, 0.3)])
def test_climbs_take_a_share_of_the_time_of_the_proof(seconds: float, share: float) -> None:
    local = search_of(climbing_share=0.5, max_climbing_seconds=0.3)
    before, most = local.evaluations, share / seconds_per_neighbour(local.model)
    climb_before(local, seconds)
    climbed = local.evaluations - before
    # The last climb is not cut off.
    assert most <= climbed <= most + 600


def test_the_same_seed_climbs_to_the_same_tree() -> None:
    found = []
    for _ in range(2):
        local = search_of()
        climb_before(local, 1.0)
        found.append((local.best, local.evaluations))
    assert found[0] == found[1]


def test_nothing_is_climbed_where_nothing_is_left_to_find() -> None:
    single = search_of(0)
    climb_before(single, 1e9)
    assert isinstance(single.best, Leaf)
    late = search_of()
    late.watch.interrupt()
    before = late.evaluations
    climb_before(late, 1e9)
    assert late.evaluations == before
