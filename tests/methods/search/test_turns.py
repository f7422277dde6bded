"""Turns: both searches have a part, the one with the lower bound the larger, and one proof is enough."""

from functools import partial

import pytest

from omdt.limits import Limits
from omdt.methods.search.coarse.coarse_search import CoarseSearch
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.rounds import Rounds
from omdt.methods.search.turns import CoarseFirst, idle, take_turns
from omdt.watch import Watch
from search_parts import model_of, started
from strategies import environment


def both(name: str, depth: int, **fields: object) -> tuple[CoarseFirst, LocalSearch, Watch]:
    local = started(model_of(environment(name), depth, **fields))
    coarse = CoarseSearch(local.incumbent, local.questions, local.consider, Limits(), local.watch)
    begin = partial(Rounds, local.incumbent, Limits(), local.watch)
    return CoarseFirst(coarse, begin, local.watch), local, local.watch


@pytest.mark.parametrize(
    "shares",
    [
        {"coarse_first_nodes": 10**9, "coarse_first_transitions": 1e18},
        {"coarse_first_nodes": 1, "leading_share": 0.0, "trailing_share": 0.0},
        {"coarse_first_nodes": 20, "leading_share": 1.0, "trailing_share": 1.0},
    ],
)
def test_every_mixture_proves_the_same(shares: dict[str, float]) -> None:
    proof, local, watch = both("frozenlake_8x8", 2, **shares)
    take_turns(proof, local, watch)
    proof.stop()
    assert proof.done
    assert local.incumbent.value == pytest.approx(0.387023, abs=1e-6)
    assert local.incumbent.value <= proof.bound <= 0.38707


def test_the_fine_search_begins_when_the_coarse_one_has_had_its_nodes() -> None:
    proof, _, watch = both("frozenlake_12x12", 3, coarse_first_nodes=30)
    assert proof.slow
    while proof.slow:
        assert watch.nodes < 30
        proof.round(idle)
    assert not proof.done
    bounds = [proof.bound]
    for _ in range(6):
        proof.round(idle)
        bounds.append(proof.bound)
    assert bounds == sorted(bounds, reverse=True)
    assert not proof.out_of_memory
    proof.stop()


def test_many_transitions_shorten_the_first_turn() -> None:
    proof, *_ = both("system_administrator_tree", 2, coarse_first_transitions=1.0)
    proof.round(idle)
    assert not proof.slow
    proof.stop()


def test_a_slow_proof_leaves_as_many_evaluations_to_the_local_search_as_it_has_nodes() -> None:
    """Otherwise an easy proof would wait for climbs that find nothing."""
    model = model_of(environment("frozenlake_8x8"), 2, dense_states=0)
    watch, turns = Watch(), []

    class Counting(LocalSearch):
        def climb(self, times: int) -> None:
            turns.append(times)
            super().climb(times)

    local = Counting(model, started(model).incumbent, 0, watch)
    local.start()
    proof = CoarseSearch(local.incumbent, local.questions, local.consider, Limits(), watch)
    take_turns(proof, local, watch)
    assert proof.done
    assert 0 in turns
    assert set(turns) <= {0, 1}
