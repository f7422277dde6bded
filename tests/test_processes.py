"""Workers start, are lost, interrupted and ended in one way, and nothing of them remains."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from omdt import InputError
from omdt.errors import LostWorkerError
from omdt.processes import Pool
from omdt.watch import Watch
from worker_processes import PATIENCE, is_worker, until, workers_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and /proc are those of Linux")


def refuse() -> None:
    raise InputError("not this one")


class StubbornError(Exception):
    """Can be pickled but not unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def refuse_stubbornly() -> None:
    raise StubbornError(1, 2)


def sleep_until_interrupted(begun: Path | None = None) -> str:
    watch = Watch()
    with watch.catching_interrupts():
        if begun is not None:
            begun.touch()
        while not watch.interrupted:
            time.sleep(0.01)
    return "interrupted"


prepared: list[int] = []


def prepare(number: int) -> None:
    prepared.append(number)


def seen() -> tuple[int, list[int]]:
    return os.getpid(), prepared


def environment(name: str) -> str | None:
    return os.environ.get(name)


@pytest.fixture(autouse=True)
def nothing_remains() -> Iterator[None]:
    """Neither workers nor threads nor open files are left when a pool has ended."""
    files, threads = os.listdir("/proc/self/fd"), threading.active_count()
    yield
    assert workers_of(os.getpid()) == []
    assert os.listdir("/proc/self/fd") == files
    assert threading.active_count() == threads


def test_every_job_is_done_once_and_in_order() -> None:
    with Pool(2) as pool:
        assert [future.result() for future in [pool.submit(pow, base, 2) for base in range(20)]] == [
            base**2 for base in range(20)
        ]
        assert 1 <= len(workers_of(os.getpid())) <= 2


def test_without_jobs_nothing_starts() -> None:
    with Pool(2):
        assert workers_of(os.getpid()) == []


def test_jobs_take_keywords() -> None:
    with Pool(1) as pool:
        assert pool.submit(int, "101", base=2).result() == 5


def test_every_worker_is_prepared_once() -> None:
    with Pool(2, prepare=partial(prepare, 7)) as pool:
        answers = [future.result() for future in [pool.submit(seen) for _ in range(20)]]
    assert all(numbers == [7] for _, numbers in answers)
    assert os.getpid() not in {pid for pid, _ in answers}
    assert prepared == []


def test_what_preparing_raises_is_raised_by_the_job() -> None:
    with Pool(1, prepare=refuse) as pool:
        for _ in range(2):
            with pytest.raises(InputError, match="not this one"):
                pool.submit(pow, 2, 3).result()


def test_workers_use_one_thread_for_linear_algebra() -> None:
    with Pool(1) as pool:
        for library in ("OPENBLAS", "MKL", "OMP"):
            assert pool.submit(environment, f"{library}_NUM_THREADS").result() == "1"


def test_what_a_job_prints_does_not_disturb_its_answer(capfd: pytest.CaptureFixture[str]) -> None:
    with Pool(1) as pool:
        assert pool.submit(print, "hello").result() is None
        assert pool.submit(input).exception() is not None
        assert pool.submit(pow, 2, 3).result() == 8
    out, err = capfd.readouterr()
    assert (out, err) == ("", "hello\n")


def test_what_a_job_raises_is_raised_here_and_the_worker_goes_on() -> None:
    with Pool(1) as pool:
        worker = pool.submit(os.getpid).result()
        with pytest.raises(InputError, match="not this one") as caught:
            pool.submit(refuse).result()
        assert "in refuse" in caught.value.__notes__[0]
        assert pool.submit(os.getpid).result() == worker


@pytest.mark.parametrize(
    ("job", "error", "message"),
    [
        (partial(print, threading.Lock()), TypeError, "cannot pickle"),
        (threading.Lock, TypeError, "cannot pickle"),
        (refuse_stubbornly, RuntimeError, "StubbornError: 1 and 2"),
    ],
    ids=["job", "result", "exception"],
)
def test_what_cannot_be_sent_is_said(job: partial[None], error: type[Exception], message: str) -> None:
    with Pool(1) as pool:
        with pytest.raises(error, match=message):
            pool.submit(job).result()
        assert pool.submit(pow, 2, 3).result() == 8


def test_a_lost_worker_fails_its_own_job_and_is_replaced() -> None:
    with Pool(1) as pool:
        lost, other = pool.submit(os._exit, 7), pool.submit(pow, 2, 3)
        with pytest.raises(LostWorkerError, match=r"^a process was lost \(exit status 7\); was there enough memory\?$"):
            lost.result()
        assert other.result() == 8


def test_a_killed_worker_is_noticed_at_once(tmp_path: Path) -> None:
    with Pool(1) as pool:
        long = pool.submit(sleep_until_interrupted, tmp_path / "begun")
        assert until((tmp_path / "begun").exists)
        os.kill(workers_of(os.getpid())[0], signal.SIGKILL)
        with pytest.raises(LostWorkerError, match="exit status -9"):
            long.result(timeout=PATIENCE)


def test_an_idle_worker_that_is_killed_fails_the_next_job_alone() -> None:
    with Pool(1) as pool:
        os.kill(pool.submit(os.getpid).result(), signal.SIGKILL)
        assert isinstance(pool.submit(pow, 2, 3).exception(), LostWorkerError)
        assert pool.submit(pow, 2, 3).result() == 8


def test_stopping_lets_jobs_under_way_return_and_drops_the_others(tmp_path: Path) -> None:
    with Pool(1) as pool:
        first = pool.submit(pow, 2, 3)
        jobs = [pool.submit(sleep_until_interrupted, tmp_path / str(i)) for i in range(3)]
        assert until((tmp_path / "0").exists)
        pool.stop()
        pool.stop()
        wait(jobs)
        assert (first.result(), jobs[0].result()) == (8, "interrupted")
        assert all(isinstance(job.exception(), CancelledError) for job in jobs[1:])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0"]


def test_stopping_does_not_wait_for_workers_that_start() -> None:
    with Pool(1, prepare=sleep_until_interrupted) as pool:
        job = pool.submit(pow, 2, 3)
        assert until(lambda: workers_of(os.getpid()))
        pool.stop()
        with pytest.raises(CancelledError):
            job.result(timeout=PATIENCE)


def test_a_worker_that_is_lost_after_stopping_is_not_missed(tmp_path: Path) -> None:
    with Pool(1) as pool:
        job = pool.submit(exit_when_interrupted, tmp_path / "begun")
        assert until((tmp_path / "begun").exists)
        pool.stop()
        with pytest.raises(CancelledError):
            job.result(timeout=PATIENCE)


def exit_when_interrupted(begun: Path) -> None:
    sleep_until_interrupted(begun)
    os._exit(7)


def test_ending_does_not_wait_for_jobs(tmp_path: Path) -> None:
    with Pool(2) as pool:
        jobs = [pool.submit(sleep_until_interrupted, tmp_path / str(i)) for i in range(4)]
        assert until((tmp_path / "0").exists)
    # The jobs themselves would never end.
    for job in jobs:
        with pytest.raises(CancelledError):
            job.result(timeout=0)


def test_a_pool_can_be_ended_twice_and_then_takes_no_jobs() -> None:
    pool = Pool(1)
    assert pool.submit(pow, 2, 3).result() == 8
    pool.end()
    pool.end()
    pool.stop()
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(pow, 2, 3)


def test_an_exception_in_the_context_ends_the_workers(tmp_path: Path) -> None:
    def fail() -> None:
        with Pool(1) as pool:
            pool.submit(sleep_until_interrupted, tmp_path / "begun")
            assert until((tmp_path / "begun").exists)
            raise InputError("elsewhere")

    with pytest.raises(InputError, match="elsewhere"):
        fail()


@contextmanager
def script(folder: Path, text: str) -> Iterator[subprocess.Popen[str]]:
    """A running script in a process group of its own, because Ctrl-C in a terminal goes to a whole group."""
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where the tests run in the background, the script would inherit that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


UNGUARDED = """
from omdt.processes import Pool

print("once", flush=True)

class Number:
    def __init__(self, value):
        self.value = value

def squared(number):
    return Number(number.value ** 2)

with Pool(2) as pool:
    futures = [pool.submit(squared, Number(value)) for value in range(3)]
    print([future.result().value for future in futures])
"""


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    with script(tmp_path, UNGUARDED) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "once\n[0, 1, 4]\n", "")


NEVER_ENDED = """
from omdt.processes import Pool
pool = Pool(2)
print(pool.submit(pow, 2, 3).result())
"""


def test_a_script_that_never_ends_its_pool_ends(tmp_path: Path) -> None:
    with script(tmp_path, NEVER_ENDED) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "8\n", "")


DEAF = """
import time
from omdt.processes import Pool

with Pool(2) as pool:
    futures = [pool.submit(time.sleep, 600) for _ in range(2)]
    print("started", flush=True)
    futures[0].result()
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with script(tmp_path, DEAF) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        workers = until(lambda: len(found := workers_of(process.pid)) == 2 and found)
        assert workers
        process.kill()
        _, err = process.communicate(timeout=PATIENCE)
    assert err == ""
    assert until(lambda: not any(is_worker(pid) for pid in workers))


def test_ctrl_c_that_the_script_does_not_handle_ends_everything_quietly(tmp_path: Path) -> None:
    with script(tmp_path, DEAF) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        workers = until(lambda: len(found := workers_of(process.pid)) == 2 and found)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert err.count("Traceback") == 1
    assert err.endswith("KeyboardInterrupt\n")
    assert not any(is_worker(pid) for pid in workers)


IGNORING = """
import os, signal, time
from omdt.processes import Pool

signal.signal(signal.SIGINT, lambda *_: print("heard", flush=True))
with Pool(2) as pool:
    futures = [pool.submit(pow, 2, 3) for _ in range(8)]
    for _ in range(40):
        os.killpg(0, signal.SIGINT)
        time.sleep(0.01)
    print([future.result() for future in futures])
"""


def test_workers_ignore_ctrl_c_of_a_terminal_from_their_first_moment_on(tmp_path: Path) -> None:
    with script(tmp_path, IGNORING) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert out.splitlines()[-1] == str([8] * 8)
    assert "heard" in out
