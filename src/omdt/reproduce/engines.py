"""Where runs happen: in processes of this machine, or on a Dask cluster; both are executors of the standard library."""

import math
import shutil
import tempfile
import time
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Protocol

from omdt.errors import InputError, require
from omdt.reproduce.work import end_with

CONNECT_SECONDS = 10
COUNT_SECONDS = 2.0
"""How often a cluster is asked for its size."""


class Engine(Protocol):
    """Something that does runs.

    Attributes:
        folder: where runs tell how they get on; None where they are on other machines.
        lost: what a future raises when it was not its own fault.
    """

    folder: str | None
    lost: tuple[type[BaseException], ...]

    def start(self) -> Executor:
        """An executor, at first and again after this one has lost a worker."""

    def capacity(self) -> int:
        """How many runs fit at the same time."""

    def stop(self) -> None:
        """End everything that is under way."""


class LocalProcesses:
    """Processes of this machine."""

    lost: tuple[type[BaseException], ...] = (BrokenProcessPool,)

    def __init__(self, processes: int) -> None:
        if processes < 1:
            raise InputError(f"processes is {processes}; it must be at least 1")
        self.processes = processes
        self._folder = tempfile.mkdtemp(prefix="omdt-")
        self.folder: str | None = self._folder
        self._pool: ProcessPoolExecutor | None = None

    def start(self) -> Executor:
        """A new pool; a pool that has lost a worker takes no more work."""
        if self._pool is not None:
            self._pool.shutdown()
        # A forked process would inherit the threads and locks of compiled code.
        self._pool = ProcessPoolExecutor(
            self.processes, get_context("spawn"), initializer=end_with, initargs=(self._folder,)
        )
        return self._pool

    def capacity(self) -> int:
        """One run a process."""
        return self.processes

    def stop(self) -> None:
        """End the processes; they notice that their folder is gone."""
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


class DaskCluster:
    """The workers of a Dask scheduler (needs the extra `dask`).

    The scheduler itself gives the runs of a lost worker to another one; only a run with which several workers were lost
    comes back.
    """

    folder: str | None = None

    def __init__(self, address: str) -> None:
        require("distributed", "dask", "a cluster")
        from distributed import Client, KilledWorker

        self.lost: tuple[type[BaseException], ...] = (KilledWorker, CancelledError)
        try:
            connect: Any = Client
            self._client = connect(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(f"there is no scheduler at {address}: {error}") from None
        self._address = address
        self._executor: Executor | None = None
        self._capacity, self._counted = 1, -math.inf

    def start(self) -> Executor:
        """The same executor again; a cluster outlives its workers."""
        if self._executor is None:
            self._executor = self._client.get_executor(pure=False)
        assert self._executor is not None
        return self._executor

    def capacity(self) -> int:
        """One run a thread of the workers that are there now, and one to wait for the first worker."""
        if time.monotonic() > self._counted + COUNT_SECONDS:
            try:
                self._capacity = max(1, sum(self._client.nthreads().values()))
            except OSError as error:
                raise InputError(
                    f"the scheduler at {self._address} is gone; finished runs are kept ({error})"
                ) from None
            self._counted = time.monotonic()
        return self._capacity

    def stop(self) -> None:
        """Cancel what is under way and leave the cluster to others."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)
        self._client.close()
