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

MAX_ATTEMPTS = 3
"""Number of times that a run may lose its worker before it is given up. A run that needs too much memory loses every
worker; one that was killed for the memory that other processes took succeeds when it is tried again."""

WAIT_SECONDS = 0.2
"""Seconds between two checks for an interrupt, and between two updates of the display, if no run finishes."""


@dataclass(frozen=True)
class Failure:
    """A run that did not finish, and why."""

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
    """Do some runs until all are done or the watch is interrupted; return those that failed.

    Args:
        runs: what to do, in this order.
        engine: where.
        watch: hears of Ctrl-C.
        finished: called with each record as soon as it arrives.
        under_way: called several times per second with the runs that have begun.

    Raises:
        OtherWorkerError: if a worker has another version of the package or of a problem.
    """
    performance = _Performance(runs, engine, finished)
    while performance.goes_on and not watch.interrupted:
        performance.submit()
        for future in wait(performance.current, WAIT_SECONDS, FIRST_COMPLETED).done:
            performance.settle(future)
        under_way(list(performance.current.values()))
    return performance.failures


class _Performance:
    """The runs that wait, those under way, and those that failed.

    Attributes:
        current: the runs under way.
        failures: the runs that failed.
    """

    def __init__(self, runs: Iterable[Run], engine: Engine, finished: Callable[[Record], None]) -> None:
        self.engine, self.finished = engine, finished
        self.current: dict[Future[Record], Run] = {}
        self.failures: list[Failure] = []
        self._waiting = deque(runs)
        self._attempts: Counter[Run] = Counter()

    @property
    def goes_on(self) -> bool:
        """Whether there is a run that is not done."""
        return bool(self._waiting or self.current)

    def submit(self) -> None:
        """Begin as many runs as fit."""
        while self._waiting and len(self.current) < self.engine.capacity():
            run = self._waiting.popleft()
            arguments = (run, problem_digest(run.environment), __version__, self.engine.folder)
            self.current[self.engine.executor.submit(execute, *arguments)] = run

    def settle(self, future: Future[Record]) -> None:
        """Keep what a run has brought, or let it wait again if its worker was lost."""
        run = self.current.pop(future)
        try:
            record = future.result()
        except self.engine.lost:
            self._attempts[run] += 1
            if self._attempts[run] < MAX_ATTEMPTS:
                self._waiting.appendleft(run)
            else:
                self._fail(run, f"lost with its worker {MAX_ATTEMPTS} times; too little memory?")
        except OtherWorkerError:
            raise
        except Exception as error:
            self._fail(run, f"{type(error).__name__}: {error}")
        else:
            self.finished(record)

    def _fail(self, run: Run, reason: str) -> None:
        self.failures.append(Failure(run, reason))
