"""Climbing before a proof: as long as the proof is estimated to take, within limits, and never measured."""

import pytest

from omdt.methods.search.climbing import climb_before
from omdt.methods.search.effort import seconds_per_neighbour
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.partial_tree import Leaf, Split, Tree
from search_parts import model_of, started
from strategies import environment


def search_of(depth: int = 3, **fields: float) -> LocalSearch:
    return started(model_of(environment("frozenlake_8x8"), depth, **fields))


@pytest.mark.parametrize(("seconds", "share"), [(0.0, 0.0), (0.2, 0.1), (1e9, 0.3)])
def test_climbs_take_a_share_of_the_time_of_the_proof(seconds: float, share: float) -> None:
    local = search_of(climbing_share=0.5, max_climbing_seconds=0.3)
    before, most = local.evaluations, share / seconds_per_neighbour(local.model)
    worth = climb_before(local, seconds)
    climbed = local.evaluations - before
    # The last climb is not cut off.
    assert most <= climbed <= most + 600
    assert worth == (seconds if share == 0 else pytest.approx(seconds * max(1.0, climbed / most)))


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


def test_climbs_that_end_where_others_ended_are_the_last_ones() -> None:
    local = search_of(1, max_repeats=3, max_climbing_seconds=1e9)
    climb_before(local, 1e9)
    assert local.repeats == 3
    before = local.evaluations
    climb_before(local, 1e9)
    assert local.evaluations == before
    # With depth 1, one climb or two lead to the best tree, as the enumeration of all trees tells.
    stumps = [Split(k, Leaf(a), Leaf(b)) for k in range(len(local.questions)) for a in range(4) for b in range(4)]
    assert local.incumbent.value == pytest.approx(max(local.engine.evaluate(local.policy(tree)) for tree in stumps))


def test_climbs_end_where_an_earlier_one_of_their_kind_has_been(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such climbs count as repeats, one after another, until one ends elsewhere; no tree is left twice."""
    local, repeats, expected = search_of(2), [0], [0]
    left: list[tuple[bool, Tree]] = []

    def better(tree: Tree) -> Tree | None:
        left.append((local._beginnings.steep, tree))
        return LocalSearch._better(local, tree)

    monkeypatch.setattr(local, "_better", better)
    for _ in range(25):
        before = set(left)
        local.climb(1)
        repeats.append(local.repeats)
        expected.append(expected[-1] + 1 if (local._beginnings.steep, local.ended) in before else 0)
    assert repeats == expected
    assert max(repeats) > 1
    assert len(left) == len(set(left))
