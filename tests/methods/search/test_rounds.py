"""Rounds: bounds hold after every round, budgets fit the target, and cut-off rounds come to the same end."""

import numpy as np
import pytest

import omdt
from omdt import MDP
from omdt.limits import Limits
from omdt.methods.search.explorers import Explorers
from omdt.methods.search.jobs import Job
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf
from omdt.methods.search.rounds import NEGLIGIBLE_SLACK
from omdt.methods.search.settings import SearchSettings
from omdt.rules import AvailableOnly
from omdt.watch import Watch
from random_mdps import game, symmetric_mdp
from search_parts import model_of, rounds_of, started
from strategies import environment
from tasks import RandomTask


@pytest.mark.parametrize("nodes", [1, 128])
def test_rounds_that_are_cut_off_come_to_the_same_end(nodes: int) -> None:
    mdp = omdt.make("frozenlake_8x8")
    whole = omdt.solve(mdp, max_depth=2, settings=SearchSettings(nodes_per_case=nodes))
    often = SearchSettings(nodes_per_case=nodes, slice_seconds=0.01, patience=0.0)
    cut = omdt.solve(mdp, max_depth=2, settings=often)
    assert whole.proven
    assert cut.proven
    assert (cut.tree, cut.value, cut.bound) == (whole.tree, whole.value, whole.bound)


def test_budget_grows_with_the_target_of_a_wide_gap() -> None:
    """A gap of more than a negative value lowers the target when the value rises."""
    rounds = rounds_of(model_of(environment("frozenlake_4x4")), gap=2.0)
    for value in (-10.0, -9.0, -8.95):
        rounds._incumbent.value = value
        goal = rounds.goal()
        assert goal.target == rounds._incumbent.target
        assert goal.budget >= rounds.explorers.knowledge.bases.losses.optimum - goal.target


def test_every_round_leaves_a_bound_above_the_best_tree_until_it_is_proven() -> None:
    done = 0
    for seed in range(30):
        task = RandomTask.random(np.random.default_rng(90_000 + seed))
        model = Model.of(task.asked, SearchSettings(nodes_per_case=4), Watch())
        rounds = rounds_of(model)
        rounding, bounds = 1e-9 * max(abs(task.best), model.scale), [rounds.bound]
        for _ in range(200):
            if rounds.done:
                break
            rounds.round(lambda: None)
            bounds.append(rounds.bound)
            assert rounds.bound >= task.best - rounding, seed
        assert rounds.done, seed
        assert rounds.count == len(bounds) - 1
        assert np.all(np.diff(bounds) <= rounding)
        assert rounds._incumbent.value == pytest.approx(task.best, abs=2e-4 * max(abs(task.best), model.scale))
        done += rounds.count > 1
    assert done > 5


def test_proofs_that_pin_find_the_best_tree() -> None:
    pinned = 0
    for seed in range(60):
        task = RandomTask.random(np.random.default_rng(70_000 + seed), game)
        rounds = rounds_of(Model.of(task.asked, SearchSettings(nodes_per_case=4), Watch()), gap=1e-6)
        pins = False
        for _ in range(300):
            if rounds.done:
                break
            pins |= rounds.goal().may_pin
            rounds.round(lambda: None)
        scale = max(abs(task.best), rounds._model.scale)
        assert rounds.done, seed
        assert rounds._incumbent.value == pytest.approx(task.best, abs=2e-6 * scale), seed
        assert rounds.bound >= task.best - 1e-9 * scale, seed
        pinned += pins
    assert pinned > 10


def test_nodes_are_counted_and_the_first_rounds_are_short() -> None:
    rounds = rounds_of(model_of(environment("frozenlake_8x8"), 3))
    nodes = []
    for _ in range(10):
        before = rounds._watch.nodes
        rounds.round(lambda: None)
        nodes.append(rounds._watch.nodes - before)
    # The first round explores the root alone, for two nodes; a node may be explored further with a basis of its own.
    assert nodes[0] == 2
    assert nodes[0] < nodes[1] < max(nodes)
    assert nodes[1] <= 4 * rounds._model.settings.cases_per_round


def test_without_time_or_memory_cases_remain_open() -> None:
    for stop in ("interrupt", "memory"):
        rounds = rounds_of(model_of(environment("frozenlake_4x4")))
        before = rounds.main.top
        if stop == "interrupt":
            rounds._watch.interrupt()
        else:
            rounds.explorers.out_of_memory = True
        rounds.round(lambda: None)
        assert rounds.main.top == before
        assert not rounds.done
        assert rounds.bound == rounds._incumbent.unrestricted


def test_symmetries_are_used_if_they_cost_next_to_nothing() -> None:
    mdp = symmetric_mdp(np.random.default_rng(0))
    rounds = rounds_of(model_of(mdp))
    gap = rounds._incumbent.target - rounds._incumbent.value
    assert len(rounds.explorers.knowledge.symmetries) > 0
    assert 0 <= rounds._slack <= NEGLIGIBLE_SLACK * gap
    tight = rounds_of(model_of(mdp), gap=1e-14)
    assert len(tight.explorers.knowledge.symmetries) == 0
    assert tight._slack == 0.0


def test_rules_leave_no_room_for_symmetries_and_pins() -> None:
    P = np.full((2, 2, 2), 0.5)
    mdp = MDP.from_dense(P, [[1, 0], [0, 1]], [0.5, 0.5], [[0], [1]], available=[[True, True], [True, False]])
    rounds = rounds_of(model_of(mdp, rules=[AvailableOnly()]))
    assert len(rounds.explorers.knowledge.symmetries) == 0
    assert rounds._slack == 0.0
    assert not rounds.raised._may_pin


def test_memory_is_shared_between_frontiers_and_all_who_explore() -> None:
    model = model_of(environment("frozenlake_4x4"))
    local = started(model)
    one, three = (rounds_of(model, limits=Limits(threads=threads)) for threads in (1, 3))
    assert one._max_vectors == three._max_vectors == 2048 * 2**20 // 6 // (8 * model.mdp.n_states)
    assert one.explorers._subject.max_bytes == 2048 * 2**20 // 3
    assert one.explorers._subject.max_bytes // 3 == three.explorers._subject.max_bytes
    assert local.incumbent.tree is not None


def test_cases_are_taken_in_an_order_that_depends_on_findings_alone() -> None:
    """Whoever answers first, the next case is taken when the oldest one is put back."""
    taken: list[list[object]] = []
    for order in (1, -1):
        rounds = rounds_of(model_of(environment("frozenlake_8x8"), 2, cases_under_way=4, cases_per_round=2))
        explorers, seen = rounds.explorers, []

        def submit(job: Job, explorers: Explorers = explorers, seen: list[object] = seen) -> None:
            seen.append((job.case.bound, job.case.partial.tree, job.goal, job.nodes))
            Explorers.submit(explorers, job)

        explorers.submit = submit  # type: ignore[method-assign]
        for _ in range(12):
            for job in list(rounds._jobs)[::order]:
                explorers.finish(job)
            rounds.round(lambda: None)
            assert len(rounds._jobs) == len(rounds.main.taken) <= 4
        taken.append(seen)
    assert len(taken[0]) > 10
    assert taken[0] == taken[1]


def test_a_case_that_a_better_tree_settles_is_not_explored() -> None:
    rounds = rounds_of(model_of(environment("frozenlake_8x8"), 2))
    for _ in range(3):
        rounds.round(lambda: None)
    nodes, job = rounds._watch.nodes, rounds._jobs[0]
    rounds._incumbent.improve(Leaf(0), job.case.bound)
    assert rounds._findings(job).closed == job.case.bound
    assert job.findings is None
    assert rounds._watch.nodes == nodes
