"""A Dask scheduler with two workers on this machine, started as the documentation says."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DASK = Path(sys.executable).with_name("dask")


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running_cluster() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, its process and those of two workers."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    scheduler = [str(DASK), "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = [str(DASK), "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    started = [
        subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for words in (scheduler, worker, worker)
    ]
    try:
        yield address, started
    finally:
        for process in started:
            process.kill()
            process.wait()
