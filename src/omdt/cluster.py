"""Cluster: the workers of a Dask scheduler, for search and reproduce (needs the extra `dask`)."""

import asyncio
import gc
import logging
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from functools import partial
from typing import Any, Self, TypeVar
from weakref import WeakSet

from omdt import __version__
from omdt.errors import InputError, LostWorkerError, require

CONNECT_SECONDS = 10
"""Seconds to wait for a scheduler to answer: it is started before the command, so it answers at once or not at all."""

Result = TypeVar("Result")


def connected(address: str) -> Any:
    """A client of the scheduler at an address; `distributed` has no types.

    Raises:
        InputError: if there is none.
    """
    require("distributed", "dask", "a cluster")
    from distributed import Client

    logging.getLogger("distributed.client").addFilter(_is_news)
    connect: Any = Client
    try:
        return connect(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error)
    # A client that could not connect closes itself when it is collected. If that happened while another one starts, it
    # would wait for ever for a lock that the other one holds, so it happens here.
    gc.collect()
    raise InputError(f"there is no scheduler at {address}: {reason}")


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a message of Dask's client concerns the user; results of a lost worker do not, they are made again."""
    return not record.getMessage().startswith("Couldn't gather")


class ClientExecutor(Executor):
    """Submits jobs through a client of a scheduler.

    The scheduler gives the jobs of a lost worker to another one. A result that has arrived counts, also if the worker
    that sent it is lost in the next moment; Dask's own executor takes such a result for an error.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._under_way: WeakSet[Any] = WeakSet()

    def submit(self, job: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Let a worker call `job(*args, **kwargs)`."""
        # The result of a pure function would be remembered, and that of a job depends on what its worker knows.
        remote = self._client.submit(partial(job, *args, **kwargs), pure=False)
        self._under_way.add(remote)
        future: Future[Result] = Future()
        self._client.loop.add_callback(_pass_on, remote, future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what is under way; nothing is waited for."""
        self._client.cancel(list(self._under_way))


async def _pass_on(remote: Any, future: Future[Result]) -> None:
    """Wait for a future of Dask in the loop of its client, and let another future have what comes of it."""
    try:
        result = await remote
    except (CancelledError, asyncio.CancelledError):
        future.set_exception(CancelledError())
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(result)


class ClusterExecutor(Executor):
    """Submits jobs to the workers of a scheduler; a context that leaves the cluster to others.

    A job that has lost several workers, or whose scheduler is gone, fails with `LostWorkerError`.

    Raises:
        InputError: if there is no scheduler, or if a worker has another version of this package or none.
    """

    def __init__(self, address: str) -> None:
        self._client = connected(address)
        try:
            versions = self._client.run(_version)
        except Exception as error:
            # What a worker fails to import arrives as an exception of no particular type.
            self._client.close()
            raise InputError(
                f"a worker of {address} cannot run omdt ({error}); install version {__version__} there"
            ) from None
        others = sorted({version for version in versions.values() if version != __version__})
        if others:
            self._client.close()
            raise InputError(
                f"a worker of {address} has omdt {others[0]} instead of {__version__}; install the same version there"
            )
        self._executor = ClientExecutor(self._client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def submit(self, job: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Let a worker call `job(*args, **kwargs)`."""
        outer: Future[Result] = Future()

        def settle(inner: Future[Result]) -> None:
            error = inner.exception()
            if error is None:
                outer.set_result(inner.result())
            else:
                outer.set_exception(_translated(error))

        try:
            self._executor.submit(job, *args, **kwargs).add_done_callback(settle)
        except Exception as error:
            raise BrokenExecutor(f"the scheduler is gone ({error})") from None
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what is under way and leave the cluster to others; nothing is waited for."""
        # The scheduler may be gone, so that nothing can be cancelled.
        with suppress(Exception):
            self._executor.shutdown()
        with suppress(Exception):
            self._client.close()


def _translated(error: BaseException) -> BaseException:
    """The error of a job, or `LostWorkerError` if it is not the job that failed."""
    from distributed import KilledWorker

    lost = isinstance(error, KilledWorker | CancelledError | OSError)
    return LostWorkerError(f"a worker of the cluster was lost: {error}") if lost else error


def _version() -> str:
    """The version of this package where it is called."""
    return __version__
