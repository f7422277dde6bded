"""Doing the runs: as many at a time as fit, each kept as soon as it is finished, those of a lost worker again."""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass

from omdt import __version__
from omdt.reproduce.engines import Engine
from omdt.reproduce.grid import Run, problem_digest
from omdt.reproduce.store import Record
from omdt.reproduce.work import OtherWorkerError, execute
from omdt.watch import Watch

MOST_ATTEMPTS = 3
"""So many workers may be lost with a run before it is given up."""
WAIT_SECONDS = 0.2


@dataclass(frozen=True)
class Failure:
    """A run that did not come to its end, and why."""

    run: Run
    reason: str


def perform(
    runs: Iterable[Run],
    engine: Engine,
    watch: Watch,
    *,
    finished: Callable[[Record], None],
    under_way: Callable[[list[Run]], None],
) -> list[Failure]:
    """Do some runs; return those that failed. An interrupt of the watch ends it.

    Args:
        runs: what to do, in this order.
        engine: where.
        watch: hears of Ctrl-C.
        finished: called with each record as soon as it is there.
        under_way: called several times a second with the runs that have begun.

    Raises:
        OtherWorkerError: if a worker has another version of the package or of a problem.
    """
    waiting = deque(runs)
    attempts: Counter[Run] = Counter()
    failures: list[Failure] = []
    current: dict[Future[Record], Run] = {}
    executor = engine.start()

    def settle(future: Future[Record]) -> bool:
        """Keep what a future brought; whether its worker was lost."""
        run = current.pop(future)
        try:
            record = future.result()
        except engine.lost:
            attempts[run] += 1
            if attempts[run] < MOST_ATTEMPTS:
                waiting.appendleft(run)
            else:
                failures.append(Failure(run, f"lost with its worker {MOST_ATTEMPTS} times; too little memory?"))
            return True
        except OtherWorkerError:
            raise
        except Exception as error:
            failures.append(Failure(run, f"{type(error).__name__}: {error}"))
        else:
            finished(record)
        return False

    while (waiting or current) and not watch.interrupted:
        lost = False
        try:
            while waiting and len(current) < engine.capacity():
                run = waiting[0]
                digest = problem_digest(run.environment)
                current[executor.submit(execute, run, digest, __version__, engine.folder)] = run
                waiting.popleft()
        except engine.lost:
            lost = True
        done, _ = wait(current, timeout=WAIT_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            lost |= settle(future)
        if lost:
            executor = engine.start()
            # A broken pool takes all that was under way in it along.
            for future in [future for future in current if future.done()]:
                settle(future)
        under_way(list(current.values()))
    return failures
