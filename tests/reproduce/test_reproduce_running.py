"""Runs are done wherever there is a worker, again where one was lost, and kept as soon as they are finished."""

import os
import signal
import sys
import threading
from concurrent.futures import Executor, Future
from pathlib import Path

import pytest
from reproduce_cases import lake_record

import omdt
from omdt.errors import InputError, LostWorkerError
from omdt.reproduce.engines import LocalProcesses
from omdt.reproduce.grid import Run, problem_digest
from omdt.reproduce.progress import Estimate
from omdt.reproduce.running import MAX_ATTEMPTS, perform
from omdt.reproduce.store import Record
from omdt.reproduce.work import OtherWorkerError, execute, reached
from omdt.watch import Watch
from worker_processes import workers_of

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="/proc is that of Linux")
RUNS = [Run("frozenlake_4x4", "copy", None, seed, None) for seed in range(6)]


class Unreliable(Executor):
    """Does everything at once in this thread, but loses the workers of some runs a given number of times."""

    def __init__(self, losses: dict[int, int]) -> None:
        self.losses = losses

    def submit(self, fn, /, *args, **kwargs):
        future: Future[Record] = Future()
        run = args[0]
        if self.losses.get(run.seed, 0) > 0:
            self.losses[run.seed] -= 1
            future.set_exception(LostWorkerError("a process was lost"))
        elif run.seed == 5:
            future.set_exception(ValueError("no such luck"))
        else:
            future.set_result(lake_record(seed=run.seed))
        return future


class UnreliableEngine:
    folder = None
    lost = (LostWorkerError,)

    def __init__(self, losses: dict[int, int]) -> None:
        self.executor = Unreliable(losses)

    def capacity(self) -> int:
        return 2

    def stop(self) -> None:
        pass


def performed(runs, engine, watch=None):
    records: list[Record] = []
    failures = perform(runs, engine, watch or Watch(), finished=records.append, under_way=lambda runs: None)
    return records, failures


def test_runs_of_a_lost_worker_are_done_again_and_finished_ones_once():
    engine = UnreliableEngine({1: 1, 3: 2})
    records, failures = performed(RUNS[:5], engine)
    assert sorted(record.run.seed for record in records) == [0, 1, 2, 3, 4]
    assert failures == []
    assert engine.executor.losses == {1: 0, 3: 0}


def test_a_run_that_loses_every_worker_is_given_up_and_the_others_go_on():
    records, failures = performed(RUNS[:5], UnreliableEngine({2: 100}))
    assert sorted(record.run.seed for record in records) == [0, 1, 3, 4]
    assert [failure.run.seed for failure in failures] == [2]
    assert f"{MAX_ATTEMPTS} times" in failures[0].reason


def test_a_run_that_fails_is_named_with_its_reason_and_the_others_go_on():
    records, failures = performed(RUNS, UnreliableEngine({}))
    assert len(records) == 5
    assert [(failure.run.seed, failure.reason) for failure in failures] == [(5, "ValueError: no such luck")]


def test_a_worker_of_another_version_ends_everything():
    refused: Future[Record] = Future()
    refused.set_exception(OtherWorkerError("a worker has omdt 0.0"))
    outdated = UnreliableEngine({})
    outdated.executor.submit = lambda *args: refused
    with pytest.raises(InputError, match=r"omdt 0\.0"):
        performed(RUNS[:1], outdated)


def test_an_error_of_the_store_ends_everything():
    def full(record: Record) -> None:
        raise InputError("the disk is full")

    with pytest.raises(InputError, match="disk is full"):
        perform(RUNS, UnreliableEngine({}), Watch(), finished=full, under_way=lambda runs: None)


def test_an_interrupt_ends_it_and_keeps_what_is_finished():
    watch = Watch()
    records: list[Record] = []

    def finished(record: Record) -> None:
        records.append(record)
        watch.interrupt()

    perform(RUNS, UnreliableEngine({}), watch, finished=finished, under_way=lambda runs: None)
    assert 1 <= len(records) <= 2


@ON_LINUX
def test_a_killed_process_is_replaced_and_its_run_done_again():
    engine = LocalProcesses(2)
    runs = [Run("frozenlake_4x4", "search", depth, seed, 20.0) for depth in (1, 2) for seed in range(4)]
    records: list[Record] = []
    killed: list[int] = []

    def finished(record: Record) -> None:
        records.append(record)
        if not killed:
            killed.append(workers_of(os.getpid())[0])
            os.kill(killed[0], signal.SIGKILL)

    try:
        failures = perform(runs, engine, Watch(), finished=finished, under_way=lambda runs: None)
    finally:
        engine.stop()
    assert failures == []
    assert killed
    assert sorted(str(record.run) for record in records) == sorted(map(str, runs))
    assert not Path(engine.folder).exists()


@ON_LINUX
def test_stopping_ends_the_processes_in_the_middle_of_a_run():
    engine = LocalProcesses(1)
    started = threading.Event()
    watch = Watch()

    def under_way(runs: list[Run]) -> None:
        if any(reached(path) for path in Path(engine.folder).iterdir()):
            started.set()
            watch.interrupt()

    long = Run("tictactoe_vs_random", "search", 4, 0, 600.0)
    try:
        failures = perform([long], engine, watch, finished=pytest.fail, under_way=under_way)
    finally:
        engine.stop()
    assert started.is_set()
    assert failures == []
    assert workers_of(os.getpid()) == []
    assert not Path(engine.folder).exists()


def test_an_executed_run_has_its_account_and_tells_how_it_gets_on(tmp_path):
    run = Run("frozenlake_4x4", "search", 2, 0, 20.0)
    record = execute(run, problem_digest(run.environment), omdt.__version__, str(tmp_path))
    assert record.run == run
    assert record.solution.proven
    assert record.cpu_seconds > 0
    assert record.peak_memory is None or record.peak_memory > 2**20
    assert record.machine["omdt"] == omdt.__version__
    found = reached(tmp_path / record.key)
    assert found is not None
    assert found[0] <= record.solution.value <= found[1] + 1e-9
    assert reached(tmp_path / "nothing") is None


def test_a_worker_with_another_version_or_problem_refuses():
    run = Run("frozenlake_4x4", "search", 2, 0, 20.0)
    with pytest.raises(OtherWorkerError, match=r"not 9\.9"):
        execute(run, problem_digest(run.environment), "9.9")
    with pytest.raises(OtherWorkerError, match="builds another frozenlake_4x4"):
        execute(run, "0123", omdt.__version__)


def test_the_time_left_is_what_methods_took_so_far():
    estimate = Estimate()
    search, copy = Run("xor", "search", 2, 0, 60.0), Run("xor", "copy", None, 0, None)
    assert estimate.left([search, search], 2) == 60
    assert estimate.left([copy], 1) == 5
    record = lake_record()
    estimate.add(record)
    assert estimate.left([search, search], 1) == pytest.approx(2 * record.solution.seconds)


def test_no_processes_are_refused():
    with pytest.raises(InputError, match="processes is 0"):
        LocalProcesses(0)
