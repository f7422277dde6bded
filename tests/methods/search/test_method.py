"""The method search: it agrees with brute force over all trees, and keeps its promises about time and interrupts."""

import signal
import sys
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omdt
from omdt import cli, planning
from omdt.errors import InputError
from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.methods.options import SearchOptions
from omdt.methods.search import climbing
from omdt.methods.search.method import search
from omdt.methods.search.settings import SearchSettings
from omdt.solution import Solution, Stop
from omdt.task import Size, Task
from omdt.watch import INTERRUPT_SECONDS, Watch
from random_mdps import random_mdp
from search_parts import model_of, random_splits, same_in_any_run
from strategies import environment
from tasks import RandomTask, best_return, rare_paths
from thorough import sampled

PROVEN_RETURNS = [  # as published, found by two other solvers
    ("frozenlake_4x4", 3, 0.520125),
    ("frozenlake_8x8", 2, 0.387023),
    ("frozenlake_8x8", 3, 0.392685),
    ("frozenlake_12x12", 1, 0.020660),
    ("3d_navigation", 1, 0.0),
    ("3d_navigation", 2, 0.020666),
    ("system_administrator_tree", 1, 325.574267),
    ("traffic_intersection", 1, -72.066847),
    ("traffic_intersection", 2, -0.217401),
    ("xor", 2, 100.0),
]


@pytest.mark.parametrize("block", sampled(range(40), 4))
def test_search_agrees_with_brute_force(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        rng = np.random.default_rng(seed)
        task = replace(RandomTask.random(rng), settings=rare_paths(rng))
        solution = task.solve(seed=seed)
        best, optimal = task.best, solution.optimal_return
        rounding = 1e-8 * max(abs(best), abs(optimal))
        # A return that is nothing but rounding beside the rewards has no relative gap.
        scale = np.abs(task.mdp.rewards).max() / (1 - task.mdp.discount)
        assert solution.proven or max(abs(best), abs(optimal)) < 1e-6 * scale, seed
        assert solution.stop is Stop.COMPLETE, seed
        assert solution.bound >= best - rounding, seed
        assert best - task.gap * abs(solution.value) - rounding <= solution.value <= best + rounding, seed


def test_any_executor_finds_the_same() -> None:
    """Whoever explores and however often a worker is lost, tree, value and bound are those of one process."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes, ThreadPoolExecutor(4) as threads:
        for seed in range(60):
            rng = np.random.default_rng(20_000 + seed)
            task = replace(RandomTask.random(rng), settings={"nodes_per_case": 4})
            alone = same_in_any_run(task.solve(seed=seed))
            assert same_in_any_run(task.solve(seed=seed, executor=processes)) == alone
            assert same_in_any_run(task.solve(seed=seed, executor=threads)) == alone
            assert same_in_any_run(task.solve(seed=seed, executor=Unreliable(rng))) == alone


class Unreliable(Executor):
    """Loses every third case, and breaks for good in the end."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.left = rng, 30

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.left -= 1
        if self.left < 0:
            raise BrokenExecutor("all workers are gone")
        future: Future[Any] = Future()
        if self.rng.random() < 0.3:
            future.set_exception(BrokenExecutor("the worker is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


@cache
def solved(name: str, depth: int) -> Solution:
    """The best tree by one process, for all tests that ask for it."""
    return omdt.solve(environment(name), max_depth=depth)


@pytest.mark.parametrize(("name", "depth"), [("frozenlake_8x8", 3), ("system_administrator_tree", 1)])
def test_threads_find_the_same(name: str, depth: int) -> None:
    at_once = SearchSettings(solo_seconds=0.0)
    together = omdt.solve(environment(name), max_depth=depth, threads=2, settings=at_once)
    assert together.proven
    assert same_in_any_run(together) == same_in_any_run(solved(name, depth))


@pytest.mark.parametrize(("name", "depth", "value"), PROVEN_RETURNS)
def test_known_optima(name: str, depth: int, value: float) -> None:
    solution = solved(name, depth)
    assert solution.proven
    assert solution.value == pytest.approx(value, abs=1e-5 * max(1, abs(value)))
    assert solution.tree.depth <= depth


def test_a_huge_reward_that_nobody_earns_does_not_hide_differences() -> None:
    """Neither an unreachable state nor a forbidden action makes the search blind or lets it claim a false proof."""
    swap = np.zeros((3, 2, 3))
    swap[0, :, 1] = swap[1, :, 0] = swap[2, :, 2] = 1
    unreachable = MDP.from_dense(swap, [[1, 0], [0, 1], [1e14, 1e14]], [1, 0, 0], [[0], [1], [2]])
    assert omdt.solve(unreachable, max_depth=1).value == pytest.approx(100)

    cycle = np.zeros((2, 3, 2))
    cycle[0, :, 1] = cycle[1, :, 0] = 1
    forbidden = MDP.from_dense(cycle, [[0.01, 0.011, -1e10], [0.011, 0.01, -1e10]], [1, 0], [[0], [1]])
    assert omdt.solve(forbidden, max_depth=1).value == pytest.approx(1.1)


@pytest.mark.parametrize("block", range(5))
def test_no_false_proof_on_rewards_of_mixed_size(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        rng = np.random.default_rng(50_000 + seed)
        mdp = random_mdp(rng)
        rewards = mdp.rewards * 10.0 ** rng.integers(-9, 10, size=mdp.rewards.shape)
        mdp = replace(mdp, rewards=rewards)
        splits = random_splits(mdp, rng)
        depth = int(rng.integers(0, 3))
        gap = float(rng.choice([1e-9, 1e-4]))
        solution = omdt.solve(mdp, max_depth=depth, splits=splits, gap=gap, time_limit=20)
        best = best_return(mdp, splits.sides(), depth, 2**depth)
        rounding = 1e-10 * max(abs(best), abs(solution.optimal_return))
        assert solution.bound >= best - rounding, seed
        if solution.proven:
            assert solution.value >= best - gap * abs(best) - rounding, seed


@pytest.mark.parametrize("rewards", [[[-1e9, -2e9]], [[0.0, 0.0]], [[3.0, 3.0]]])
def test_one_state_has_one_leaf(rewards: list[list[float]]) -> None:
    mdp = MDP.from_dense([[[1.0], [1.0]]], rewards, [1.0], [[5.0]], discount=0.5)
    solution = omdt.solve(mdp, max_depth=3)
    assert solution.proven
    assert solution.tree.n_leaves == 1
    assert solution.value == pytest.approx(2 * max(rewards[0]))


def test_states_that_look_alike_share_their_action() -> None:
    """Two of three states are observed alike: of what is best in each of them a tree can have one."""
    P = np.zeros((3, 2, 3))
    P[:, :, [1, 2]] = 0.5
    mdp = MDP.from_dense(P, [[1, 0], [4, 0], [0, 3]], [1, 0, 0], [[0], [1], [1]], discount=0.5)
    solution = omdt.solve(mdp, max_depth=3)
    assert solution.proven
    assert solution.value == pytest.approx(best_return(mdp, omdt.Splits.of(mdp).sides(), 3, 8))
    assert solution.value < solution.optimal_return


def test_a_limit_is_needed() -> None:
    with pytest.raises(InputError, match="size limit"):
        omdt.solve(omdt.make("frozenlake_4x4"))


def test_time_limit_keeps_tree_and_bound() -> None:
    solution = omdt.solve(omdt.make("frozenlake_12x12"), max_depth=4, time_limit=2)
    assert solution.stop is Stop.TIME
    assert 0 <= solution.value <= solution.bound
    assert solution.tree.depth <= 4


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_keeps_tree_and_the_bound_that_has_fallen() -> None:
    mdp = omdt.make("frozenlake_12x12")
    optimal = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    interrupted = []

    def interrupt(point: tuple[float, float, float]) -> None:
        if point[2] < 0.99 * optimal and not interrupted:
            interrupted.append(point)
            signal.raise_signal(signal.SIGINT)

    solution = omdt.solve(mdp, max_depth=3, progress=interrupt)
    assert len(interrupted) == 1
    assert solution.stop is Stop.INTERRUPTED
    assert 0 < solution.value < solution.bound < 0.99 * optimal
    assert not solution.proven


def impatient() -> Watch:
    watch = Watch()
    with watch.catching_interrupts():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    return watch


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_that_is_repeated_at_once_counts_once() -> None:
    watch = impatient()
    assert watch.interrupted
    assert watch.remaining == 0
    assert 0 < watch.closing().remaining <= INTERRUPT_SECONDS


@pytest.mark.usefixtures("ctrl_c")
def test_second_interrupt_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omdt.watch.INTERRUPT_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        impatient()


def test_bound_falls_and_value_rises() -> None:
    solution = solved("frozenlake_8x8", 3)
    _, values, bounds = zip(*solution.trace, strict=True)
    assert np.all(np.diff(values) > -1e-12)
    assert np.all(np.diff(bounds) < 1e-12)
    assert solution.trace[0][0] < solution.trace[-1][0]


def test_same_seed_same_tree() -> None:
    mdp = environment("frozenlake_4x4")
    first, second = (omdt.solve(mdp, max_depth=3, seed=5) for _ in range(2))
    assert first.tree.to_dict() == second.tree.to_dict()
    assert first.bound == second.bound


def test_large_mdp_gets_a_tree_and_the_optimum_as_bound() -> None:
    mdp = omdt.make("frozenlake", size=60, seed=0, hole_probability=0.05, discount=0.999)
    solution = omdt.solve(mdp, max_depth=2, time_limit=4)
    assert not model_of(mdp).searchable
    assert solution.value > solution.random_return
    assert solution.bound >= solution.optimal_return


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_prints_the_best_tree_and_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pending = [signal.SIGINT]

    def interrupt(*_: float, **__: bool) -> str:
        while pending:
            signal.raise_signal(pending.pop())
        return ""

    monkeypatch.setattr(import_module("omdt.cli.solve"), "progress_line", interrupt)
    monkeypatch.setattr(sys, "argv", ["omdt", "solve", "frozenlake_12x12", "--depth", "4"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    output = capsys.readouterr().out
    assert "not proven" in output
    assert "no policy returns more; nothing lower is known for a tree of depth ≤ 4" in output


def test_without_memory_the_tree_so_far_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("omdt.methods.search.explorers.explore", no_memory)
    solution = omdt.solve(environment("frozenlake_8x8"), max_depth=3)
    assert solution.stop is Stop.MEMORY
    assert solution.value > 0.2
    assert solution.bound == pytest.approx(solution.optimal_return)


def test_beyond_exact_search_a_run_ends_with_time_nodes_or_the_optimum() -> None:
    task = Task.over_thresholds(environment("frozenlake_4x4"), Size(2))
    options = SearchOptions(settings=SearchSettings(dense_states=1, first_climbs=1, enumerated_states=100))
    nodes = search(task, Limits(node_limit=3), Watch(node_limit=3), options)
    assert nodes.stop is Stop.NODES
    assert nodes.bound == pytest.approx(0.542026, abs=1e-5)
    deep = Task.over_thresholds(environment("frozenlake_12x12"), Size(4))
    seconds = search(deep, Limits(time_limit=0.5), Watch(0.5), options)
    assert seconds.stop is Stop.TIME
    assert seconds.bound <= 0.348725
    whole = Task.over_thresholds(environment("frozenlake_4x4"), Size(8))
    assert search(whole, Limits(), Watch(), options).stop is Stop.COMPLETE


def test_a_certificate_is_written_also_where_the_optimum_is_reached_at_once(tmp_path: Path) -> None:
    task = Task.over_thresholds(environment("frozenlake_4x4"), Size(8))
    claim = search(task, Limits(), Watch(), SearchOptions(certificate=tmp_path / "c"))
    assert claim.stop is Stop.COMPLETE
    assert (tmp_path / "c").exists()
    assert claim.bound == pytest.approx(0.542026, abs=1e-4)


def disjoint() -> MDP:
    """Four states in a circle; of each two neighbours one offers only the first action, the other only the second."""
    P = np.zeros((4, 2, 4))
    P[np.arange(4), :, (np.arange(4) + 1) % 4] = 1
    available = [[1, 0], [0, 1], [1, 0], [0, 1]]
    return MDP.from_dense(P, np.ones((4, 2)), [1, 0, 0, 0], np.arange(4.0), discount=0.5, available=available)


def test_without_a_tree_that_keeps_the_rules_there_is_an_error() -> None:
    with pytest.raises(InputError, match="names only available actions: states that such a tree cannot tell apart"):
        omdt.solve(disjoint(), max_depth=1, unavailable="forbid")
    nowhere = SearchSettings(dense_states=0, dense_entries=0, enumerated_states=10**9)
    with pytest.raises(InputError, match="as far as was searched; allow more time or a larger tree"):
        omdt.solve(disjoint(), max_depth=1, unavailable="forbid", settings=nowhere, node_limit=1)


def test_after_many_quiet_rounds_the_local_search_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """It climbs in every round as long as that helps, later only after many nodes."""
    climbs: list[int] = []

    class Counting(climbing.LocalSearch):
        def climb(self, times: int) -> None:
            climbs.append(times)
            super().climb(times)

    monkeypatch.setattr(climbing, "LocalSearch", Counting)
    settings = SearchSettings(cases_per_round=1, nodes_per_case=1, busy_rounds=2, coarse_first_nodes=0)
    solution = omdt.solve(environment("frozenlake_4x4"), max_depth=2, settings=settings)
    assert solution.proven
    assert climbs[0] == settings.first_climbs
    assert {0, 1} <= set(climbs[1:])
