"""Pool: the worker processes of search, compare and reproduce, with one way to start, lose, interrupt and end them.

Start. A worker is a new Python interpreter that imports this package. It does not run the user's script again, so a
script needs no `if __name__ == "__main__"`; functions and classes that the script defines are sent along with a job.
Workers start when there are jobs for them. A forked process would inherit the threads and locks of compiled code.

Lose. A worker that dies closes its pipes, which the pool notices at once. Its job fails with `LostWorkerError`; other
jobs are not affected, and the next job gets a new worker. Whether to submit a lost job again is up to the caller.

Interrupt. A terminal sends Ctrl-C to all processes, also to those that are still starting. Workers ignore it from
their first moment on; only the parent decides what it means. `Pool.stop` asks jobs under way to return what they have.

End. `Pool.end` kills the workers. If the parent dies, even by kill -9, the pipe to each worker closes, and the worker
ends itself. Pipes are all that connects the processes, so the system cleans up after any of them.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import IO, ParamSpec, Self, TypeVar, cast

import cloudpickle

from omdt.errors import LostWorkerError

POLL_SECONDS = 0.1
"""Seconds between two checks for an interrupt while waiting, and between two interrupts of a job that is asked to stop:
short enough to be felt as immediate, too long to cost anything."""

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
"""Environment of a worker. With several threads per worker, linear algebra on small systems is slower, because the
threads wait for one another, and its rounding differs from that of one thread."""

START = "import sys; sys.path[:] = sys.argv[1:]; from omdt.processes import serve; serve()"
"""The program of a worker; its arguments are the parent's search path for modules."""

CAN_BLOCK = hasattr(signal, "pthread_sigmask")
"""Whether signals can be blocked while a worker starts: not on Windows."""

P = ParamSpec("P")
Result = TypeVar("Result")


class Pool:
    """Worker processes that do jobs; a context that ends them.

    `submit` is that of `concurrent.futures.Executor`, so callers can use a pool or an executor alike. A future raises
    what its job raised, `LostWorkerError` if the worker died, or `CancelledError` if the job was dropped because of
    `stop` or `end`.

    Args:
        processes: maximum number of workers, and of jobs at the same time.
        prepare: called once in every worker, before its first job.
    """

    def __init__(self, processes: int, prepare: Callable[[], object] | None = None) -> None:
        self._prepare = prepare or _nothing
        # One thread per worker hands it a job and waits for the answer.
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="omdt-pool")
        self._lock = threading.Lock()
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def submit(self, job: Callable[P, Result], /, *args: P.args, **kwargs: P.kwargs) -> Future[Result]:
        """Let a worker call `job(*args, **kwargs)`. Jobs begin in the order in which they are submitted."""
        return self._threads.submit(self._do, partial(job, *args, **kwargs))

    def stop(self) -> None:
        """Ask jobs under way to return what they have, and drop those that have not begun.

        A job is asked by SIGINT in its worker, repeatedly, until it returns. A job that does not handle SIGINT goes on
        to its end.
        """
        if self._close():
            for worker in self._workers.copy():
                worker.stop()

    def end(self) -> None:
        """Kill the workers at once; jobs that are not done are dropped."""
        self._close()
        for worker in self._workers.copy():
            worker.kill()
        # A thread whose worker was killed puts the worker away itself.
        self._threads.shutdown()
        for worker in self._workers.copy():
            self._put_away(worker)

    def _close(self) -> bool:
        """Let no more jobs begin; return whether they could until now."""
        with self._lock:
            was_open, self._closed = not self._closed, True
        # Jobs in the queue are not cancelled here, where nobody who waits for them would notice, but by the threads.
        self._threads.shutdown(wait=False)
        return was_open

    def _do(self, job: Callable[[], Result]) -> Result:
        """Hand a job to a worker and wait for its answer, in one of the threads."""
        worker = self._take()
        try:
            if not worker.prepared:
                worker.call(self._prepare).result()
                worker.prepared = True
            answer = worker.call(job)
        except BaseException as error:
            self._put_away(worker)
            if self._closed and isinstance(error, LostWorkerError):
                raise CancelledError from None
            raise
        with self._lock:
            self._idle.append(worker)
        return cast(Result, answer.result())

    def _take(self) -> "_Worker":
        """A worker without a job: an idle one or a new one."""
        with self._lock:
            if self._closed:
                raise CancelledError
            if self._idle:
                return self._idle.pop()
            worker = _Worker()
            self._workers.add(worker)
            return worker

    def _put_away(self, worker: "_Worker") -> None:
        self._workers.discard(worker)
        worker.end()


@dataclass(frozen=True)
class _Answer:
    """What came of a job: what it returned, or the exception that it raised."""

    returned: object = None
    raised: Exception | None = None

    def result(self) -> object:
        """Return or raise it."""
        if self.raised is not None:
            raise self.raised
        return self.returned


class _Worker:
    """The parent's side of a worker process.

    Jobs go to the standard input of the process, and answers come from its standard output.

    Attributes:
        prepared: whether the process is ready for jobs.
    """

    def __init__(self) -> None:
        self.prepared = False
        self._sending = threading.Lock()
        command = [sys.executable, "-P", "-u", "-c", START, *(path or os.getcwd() for path in sys.path)]
        pipe, environment = subprocess.PIPE, os.environ | ONE_THREAD
        with _blocking_interrupts():
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment)
        self._jobs = cast(IO[bytes], self._process.stdin)
        self._answers = cast(IO[bytes], self._process.stdout)

    def call(self, job: Callable[[], object]) -> _Answer:
        """Send a job and wait for its answer."""
        message = cloudpickle.dumps(job)
        try:
            self._send(message)
            answer = pickle.load(self._answers)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.kill()
            status = self._process.wait()
            raise LostWorkerError(f"a process was lost (exit status {status}); was there enough memory?") from None
        return cast(_Answer, pickle.loads(answer))

    def stop(self) -> None:
        """Ask the job under way to return; kill the process if no job can have begun."""
        if self.prepared:
            # The process may die at the same time, and the thread that waits for it may close the pipe.
            with suppress(OSError, ValueError):
                self._send(None)
        else:
            self.kill()

    def kill(self) -> None:
        """Kill the process, whatever it is doing."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and release what belongs to it; nobody may be waiting for an answer."""
        self.kill()
        self._process.wait()
        self._answers.close()
        # What the process did not read can no longer be sent.
        with self._sending, suppress(OSError):
            self._jobs.close()

    def _send(self, message: bytes | None) -> None:
        with self._sending:
            pickle.dump(message, self._jobs)
            self._jobs.flush()


@contextmanager
def _blocking_interrupts() -> Iterator[None]:
    """Block Ctrl-C in this thread and in processes that it starts; these unblock it when they ignore it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if CAN_BLOCK else set()
    try:
        yield
    finally:
        if CAN_BLOCK:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve() -> None:
    """Do one job after another: the main program of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if CAN_BLOCK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    incoming, outgoing = _own_streams()
    jobs: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(incoming, jobs), daemon=True).start()
    with suppress(BrokenPipeError):
        while True:
            pickle.dump(_answer(jobs.get()), outgoing)
            outgoing.flush()


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes from and to the parent, where no job can read or write.

    A job finds nothing on its standard input, and what it prints goes to standard error.
    """
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


def _listen(incoming: IO[bytes], jobs: "SimpleQueue[bytes]") -> None:
    """Receive jobs and the request to stop; end this process when the parent closes the pipe or dies."""
    while True:
        try:
            message: bytes | None = pickle.load(incoming)
        except (OSError, EOFError, pickle.UnpicklingError):
            os._exit(1)
        if message is None:
            threading.Thread(target=_interrupt, daemon=True).start()
        else:
            jobs.put(message)


def _interrupt() -> None:
    """Interrupt the job of this process again and again, in case one signal comes before the job handles signals."""
    while True:
        signal.raise_signal(signal.SIGINT)
        time.sleep(POLL_SECONDS)


def _answer(message: bytes) -> bytes:
    """Do a pickled job and return its pickled answer."""
    try:
        answer: bytes = cloudpickle.dumps(_Answer(returned=pickle.loads(message)()))
    except Exception as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return _failure(error)
    return answer


def _failure(error: Exception) -> bytes:
    """The pickled answer of a job that raised an exception."""
    try:
        answer: bytes = cloudpickle.dumps(_Answer(raised=error))
        # Some exceptions can be pickled but not unpickled.
        pickle.loads(answer)
    except Exception:
        answer = cloudpickle.dumps(_Answer(raised=RuntimeError(f"{type(error).__name__}: {error}")))
    return answer


def _nothing() -> None:
    """Prepare nothing."""
