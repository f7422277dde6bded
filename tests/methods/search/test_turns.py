"""Turns: both searches have a part, the one with the lower bound the larger, and one proof is enough."""

from functools import partial

import numpy as np
import pytest

from omdt.limits import Limits
from omdt.methods.search.coarse.coarse_search import CoarseSearch
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.rounds import Rounds
from omdt.methods.search.turns import USUAL, CoarseFirst, idle, take_turns
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
        {"coarse_first_nodes": 10, "waiting_share": 1e9, "max_waiting_seconds": 1e9},
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
    proof, _, watch = both("frozenlake_8x8", 4, coarse_first_nodes=30, waiting_share=1e-9)
    assert proof.slow
    while proof.slow:
        coarse = watch.nodes
        proof.round(idle)
    assert coarse >= USUAL.seconds * 30
    assert proof.count == 1
    assert not proof.done
    bounds = [proof.bound]
    for _ in range(6):
        proof.round(idle)
        bounds.append(proof.bound)
    assert bounds == sorted(bounds, reverse=True)
    assert not proof.out_of_memory
    proof.stop()


def nodes_before_the_fine_search(**fields: float) -> int:
    """Nodes of the coarse search before the first round of the fine one."""
    proof, _, watch = both("frozenlake_12x12", 3, coarse_first_nodes=50, **fields)
    nodes = 0
    while proof.slow:
        nodes = watch.nodes
        proof.round(idle)
    proof.stop()
    return nodes


def test_the_fine_search_waits_as_long_as_its_tables_are_estimated_to_take() -> None:
    at_once = nodes_before_the_fine_search(waiting_share=1e-9)
    waited = nodes_before_the_fine_search(waiting_share=5.0)
    limited = nodes_before_the_fine_search(waiting_share=5.0, max_waiting_seconds=2.0)
    assert USUAL.seconds * 50 <= at_once < 100 <= limited < 150 <= waited


def test_the_fine_search_does_not_wait_long_for_a_bound_that_tells_nothing() -> None:
    proof, *_ = both("frozenlake_12x12", 3, coarse_first_nodes=50)
    proof.round(idle)
    assert not proof._coarse.tells
    assert proof._coarse.bound == proof._coarse._incumbent.unrestricted
    proof.stop()
    hopeless = nodes_before_the_fine_search(waiting_share=5.0, max_hopeless_seconds=2.0)
    assert 100 <= hopeless < 150


def test_the_fine_search_waits_longer_for_a_bound_that_tells_something() -> None:
    proof, *_ = both("frozenlake_4x4", 2, coarse_first_nodes=1, max_hopeless_seconds=0.0, waiting_share=1e9)
    while not proof._coarse.tells:
        proof._coarse.round(idle)
    assert proof._waiting_seconds == 0.0
    proof._prepare()
    assert proof._waiting_seconds == proof._settings.max_waiting_seconds
    proof.stop()


def test_while_it_waits_the_turns_are_those_of_a_slow_proof() -> None:
    proof, _, watch = both("frozenlake_12x12", 3, coarse_first_nodes=10, waiting_share=5.0)
    turns: list[int] = []
    while watch.nodes < 20:
        proof.round(lambda: turns.append(proof.count))
    assert proof.slow
    assert turns == list(range(1, len(turns) + 1))
    proof.stop()


class Waited:
    """A coarse search for which the fine one waits, with climbs that take some times as long as they should."""

    def __init__(self, longer: float, **fields: float) -> None:
        local = started(
            model_of(environment("frozenlake_12x12"), 3, coarse_first_nodes=50, waiting_share=5.0, **fields)
        )
        coarse = CoarseSearch(local.incumbent, local.questions, local.consider, Limits(), local.watch)
        self.asked: list[float] = []

        def climb(seconds: float) -> float:
            self.asked.append(seconds)
            return longer * seconds

        self.proof = CoarseFirst(
            coarse, partial(Rounds, local.incumbent, Limits(), local.watch), local.watch, climb=climb
        )
        while self.proof.slow:
            self.proof.round(idle)
        self.seconds = self.proof._coarse_seconds
        self.proof.round(idle)
        self.proof.stop()


@pytest.mark.parametrize("longer", [1, 3])
def test_local_search_climbs_while_the_fine_search_waits_and_before_it_begins(
    longer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Climbs that take three times as long as they should are a third as many."""
    monkeypatch.setattr(CoarseSearch, "tells", property(lambda self: True))
    waited = Waited(longer)
    asked = waited.asked
    assert len(asked) > 2
    assert min(asked) >= 0.25
    # The fine search is prepared after the usual time, or a little later.
    assert longer * sum(asked[:-1]) == pytest.approx(waited.seconds - USUAL.seconds, abs=0.5 * longer)
    assert asked[-1] == waited.proof._effort.tables


def test_while_nothing_is_told_more_is_climbed_ahead_of_time() -> None:
    """What is climbed ahead is not climbed again before tables are filled."""
    waited = Waited(1.0, hopeless_climbing=2.0, hopeless_tables=3.0, max_climbing_seconds=1e9)
    tables, asked = waited.proof._effort.tables, np.array(waited.asked[:-1])
    often = np.cumsum(asked) - asked < 3.0 * tables
    assert often.sum() > 1
    assert (asked[often] >= 2.0 * 0.25).all()
    assert (asked[~often] < 1.0).all()
    assert waited.asked[-1] == max(0.0, 3.0 * tables - asked[often].sum())
    # As long as it tells nothing; and no more than the most that is climbed altogether.
    least = Waited(1.0, hopeless_climbing=12.0, hopeless_tables=3.0, max_climbing_seconds=0.1, climbing_share=0.5)
    assert (np.array(least.asked[1:-1]) < 1.0).all()
    assert least.asked[-1] == 0.0


@pytest.mark.parametrize(("solo_seconds", "starts"), [(0.0, 1), (1e9, 0)])
def test_processes_start_before_the_last_climbs_where_tables_take_longer_than_that(
    solo_seconds: float, starts: int
) -> None:
    proof, _, _ = both(
        "frozenlake_8x8", 3, coarse_first_nodes=10, waiting_share=1e-9, solo_seconds=solo_seconds, climbing_share=0.0
    )
    while proof._fine is None:
        proof.round(idle)
    calls: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof._fine.explorers, "start_processes", lambda: calls.append("start"))
        patch.setattr(proof, "_climb", lambda seconds: (calls.append("climb"), seconds)[1])
        patch.setattr(proof._fine, "round", lambda meanwhile: None)
        while "climb" not in calls:
            proof.round(idle)
    assert calls == ["start"] * starts + ["climb"]
    proof.stop()


def test_the_clock_may_end_the_preparation() -> None:
    proof, _, watch = both("frozenlake_8x8", 3, coarse_first_nodes=1)
    proof.round(watch.interrupt)
    assert not proof.done
    assert proof.slow
    proof.stop()


def test_shares_are_counted_in_estimated_seconds() -> None:
    """With a share of ten, the coarse search is estimated to have taken ten times as long as the fine one."""
    shares = {"leading_share": 10.0, "trailing_share": 10.0, "hopeless_share": 10.0}
    proof, _, watch = both("frozenlake_8x8", 4, coarse_first_nodes=20, **shares)
    nodes = {"coarse": 0, "fine": 0}
    kind = "fine"
    # It ends with rounds of the coarse search, which make up for the last one of the fine search.
    while watch.nodes < 1500 or kind == "fine" or proof._coarse_seconds < proof._coarse_share(proof._fine):
        before, coarse = watch.nodes, proof._coarse.count
        proof.round(idle)
        kind = "coarse" if proof._coarse.count > coarse else "fine"
        nodes[kind] += watch.nodes - before
    proof.stop()
    assert nodes["fine"] > 0
    spent = proof._coarse_share(proof._fine)
    assert spent > 2
    assert nodes["coarse"] / 20 == pytest.approx(spent, rel=0.3)


def test_a_coarse_search_that_tells_nothing_has_the_smallest_share() -> None:
    shares = {"leading_share": 10.0, "trailing_share": 10.0, "hopeless_share": 0.0}
    proof, _, watch = both("system_administrator_tree", 3, coarse_first_nodes=20, **shares)
    while proof.slow:
        proof.round(idle)
    waited = proof._coarse.count
    while watch.nodes < 300:
        proof.round(idle)
    proof.stop()
    assert not proof._coarse.tells
    assert proof._coarse.count == waited > 0


def test_many_transitions_shorten_the_first_turn() -> None:
    proof, *_ = both("system_administrator_tree", 2, coarse_first_transitions=1.0)
    proof.round(idle)
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
