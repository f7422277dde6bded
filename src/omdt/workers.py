"""Workers: processes that do jobs side by side and hear of Ctrl-C through their parent alone.

A terminal sends Ctrl-C to all processes at once, also to those that are still starting and would die of it. Workers
therefore start with the signal held back and ignore it from then on; the parent closes a pipe when they shall stop. A
worker that dies closes its own pipes, so no wait outlasts it.
"""

import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from omdt.errors import LostWorkerError

POLL_SECONDS = 0.1
"""How often the parent looks for an interrupt, and how often a worker that shall stop tells its job so."""

HOLDS = hasattr(signal, "pthread_sigmask")
"""Whether signals can be held back: not on Windows, where a console sends Ctrl-C in another way."""

READY = "ready"
"""What a worker says before its first job."""


Result = TypeVar("Result")


class _Worker:
    """The parent's side of a process.

    Attributes:
        answers: where jobs are sent and answers arrive.
        task: the number of the job under way, or None.
    """

    def __init__(self) -> None:
        # A forked process would inherit the threads and locks of compiled code.
        context = get_context("spawn")
        self.answers, theirs = context.Pipe()
        until, self._stop = context.Pipe(duplex=False)
        self.task: int | None = None
        self._process = context.Process(target=_work, args=(theirs, until))
        self._process.start()
        theirs.close()
        until.close()

    def begin(self, task: int, job: Callable[[], object]) -> None:
        """Send the worker a job, for which it must be waiting."""
        self.task = task
        try:
            self.answers.send(job)
        except OSError:
            raise self._lost() from None

    def answer(self) -> Any:
        """What the worker has sent; an exception of its job is raised."""
        try:
            answer = self.answers.recv()
        except (EOFError, OSError):
            raise self._lost() from None
        self.task = None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stop(self) -> None:
        """Let the job under way return what it has."""
        self._stop.close()

    def end(self) -> None:
        """End the process at once."""
        self.stop()
        self._process.terminate()
        self._process.join()
        self.answers.close()

    def _lost(self) -> LostWorkerError:
        self._process.join()
        return LostWorkerError(f"a process was lost (exit status {self._process.exitcode}); was there enough memory?")


def side_by_side(
    jobs: Sequence[Callable[[], Result]], processes: int, interrupted: Callable[[], bool]
) -> Generator[tuple[int, Result]]:
    """Do jobs in processes.

    Args:
        jobs: what can be pickled and called.
        processes: how many go on at the same time.
        interrupted: whether to stop. The jobs under way then return what they have, and the others do not begin.

    Yields:
        The number of a finished job and its result, as they finish.

    Raises:
        LostWorkerError: if a process ends before its job, unless everything is to stop.
    """
    workers: list[_Worker] = []
    left = list(range(len(jobs)))[::-1]
    try:
        while len(workers) < min(processes, len(jobs)) and not interrupted():
            with _holding_interrupts():
                workers.append(_Worker())
        busy = list(workers)
        while busy:
            for worker in _heard(busy):
                task = worker.task
                try:
                    answer = worker.answer()
                    if left and not interrupted():
                        worker.begin(left[-1], jobs[left.pop()])
                    else:
                        busy.remove(worker)
                except LostWorkerError:
                    if not interrupted():
                        raise
                    busy.remove(worker)
                    continue
                if task is not None:
                    yield task, answer
            if interrupted():
                # A worker that has no job yet has nothing to return.
                busy = [worker for worker in busy if worker.task is not None]
                for worker in busy:
                    worker.stop()
    finally:
        for worker in workers:
            worker.end()


def _heard(workers: list[_Worker]) -> list[_Worker]:
    """The workers that have sent something or are lost; none if there are none for a while."""
    ready = wait([worker.answers for worker in workers], timeout=POLL_SECONDS)
    return [worker for worker in workers if worker.answers in ready]


@contextmanager
def _holding_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back in this thread and in the processes that it starts meanwhile."""
    if not HOLDS:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(answers: "Connection[Any, Any]", until: "Connection[Any, Any]") -> None:
    """Do one job after another, in a process, until the parent closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if HOLDS:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_pass_on, args=(until,), daemon=True).start()
    try:
        answers.send(READY)
        while True:
            answers.send(_done(answers.recv()))
    except (EOFError, BrokenPipeError):
        return


def _done(job: Callable[[], object]) -> object:
    """What a job returns, or the exception that it raises."""
    try:
        return job()
    except Exception as error:
        return error


def _pass_on(until: "Connection[Any, Any]") -> None:
    """Interrupt this process when the parent closes the connection.

    The signal is raised anew until the process ends, so that none is lost between two methods that listen to it.
    """
    until.poll(None)
    while True:
        signal.raise_signal(signal.SIGINT)
        time.sleep(POLL_SECONDS)
