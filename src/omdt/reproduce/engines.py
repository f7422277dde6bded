"""Where runs happen: in processes of this machine, or on a Dask cluster."""

import math
import shutil
import tempfile
import time
from concurrent.futures import CancelledError, Executor
from typing import Protocol

from omdt.cluster import ClientExecutor, connected
from omdt.errors import InputError, LostWorkerError
from omdt.processes import Pool

COUNT_SECONDS = 2.0
"""Seconds between two questions to a cluster about its size, because each is a message to the scheduler."""


class Engine(Protocol):
    """Something that does runs.

    Attributes:
        folder: where runs report their progress; None where they are on other machines.
        lost: exceptions of a future whose run did not fail, but whose worker was lost.
    """

    folder: str | None
    lost: tuple[type[BaseException], ...]

    @property
    def executor(self) -> Executor | Pool:
        """Takes runs, also after it has lost a worker."""

    def capacity(self) -> int:
        """The number of runs that fit at the same time."""

    def stop(self) -> None:
        """End everything that is under way."""


class LocalProcesses:
    """Processes of this machine."""

    lost: tuple[type[BaseException], ...] = (LostWorkerError,)

    def __init__(self, processes: int) -> None:
        if processes < 1:
            raise InputError(f"processes is {processes}; it must be at least 1")
        self._processes, self.executor = processes, Pool(processes)
        self._folder = tempfile.mkdtemp(prefix="omdt-")
        self.folder: str | None = self._folder

    def capacity(self) -> int:
        """One run per process."""
        return self._processes

    def stop(self) -> None:
        """End the processes in the middle of their runs."""
        self.executor.end()
        shutil.rmtree(self._folder, ignore_errors=True)


class DaskCluster:
    """The workers of a Dask scheduler (needs the extra `dask`).

    The scheduler itself gives the runs of a lost worker to another one; only a run that has lost several workers fails.
    """

    folder: str | None = None

    def __init__(self, address: str) -> None:
        self._client = connected(address)
        from distributed import KilledWorker

        self.lost: tuple[type[BaseException], ...] = (KilledWorker, CancelledError)
        self._address = address
        self.executor = ClientExecutor(self._client)
        self._capacity, self._counted = 1, -math.inf

    def capacity(self) -> int:
        """One run per thread of the present workers, or one that waits for the first worker."""
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
        self.executor.shutdown()
        self._client.close()
