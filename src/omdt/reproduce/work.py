"""What happens in a worker: one run, with an account of its processor time and memory."""

import contextlib
import os
import platform
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from multiprocessing import parent_process
from pathlib import Path

from omdt import __version__
from omdt.environments import make
from omdt.errors import InputError
from omdt.reproduce.grid import Run, key, problem, problem_digest
from omdt.reproduce.store import Record
from omdt.solving import solve
from omdt.watch import TracePoint

PROGRESS_SECONDS = 0.5
"""Least time between two reports of one run."""
PATIENCE = 0.5
"""Seconds within which a worker notices that it is no longer needed."""


class OtherWorkerError(InputError):
    """A worker is not what the runs were asked of; it would refuse every run, and faster than others do theirs."""


def execute(run: Run, digest: str, release: str, folder: str | None = None) -> Record:
    """Do a run.

    Args:
        run: what to do.
        digest: of the problem, where the run was asked for.
        release: version of this package, where the run was asked for.
        folder: where a file may tell how the run gets on, for a reader on the same machine.

    Raises:
        OtherWorkerError: if this worker has another version of the package or of the problem.
    """
    if __version__ != release:
        raise OtherWorkerError(f"a worker has omdt {__version__}, not {release}; install the same version everywhere")
    if problem_digest(run.environment) != digest:
        raise OtherWorkerError(f"a worker builds another {run.environment}; install the same packages everywhere")
    compile_once()
    mdp = problem(run.environment)
    name = key(run, digest, release)
    _reset_peak_memory()
    start = time.process_time()
    solution = solve(
        mdp,
        method=run.method,
        max_depth=run.depth,
        time_limit=run.budget,
        seed=run.seed,
        progress=None if folder is None else _Reporter(Path(folder, name)),
    )
    return Record(
        key=name,
        run=run,
        problem_digest=digest,
        solution=solution,
        cpu_seconds=time.process_time() - start,
        peak_memory=_peak_memory(),
        machine=machine(),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )


@cache
def compile_once() -> None:
    """Let the search load or compile what it needs, so that no run spends its budget on that."""
    solve(make("frozenlake_4x4"), max_depth=2)
    solve(make("tictactoe_vs_random"), max_depth=1, time_limit=0.1)


@cache
def machine() -> dict[str, str]:
    """Facts about this machine and what is installed on it."""
    packages = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "omdt": __version__,
        **packages,
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class _Reporter:
    """Tells a file, now and then, what a run has reached."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.next = 0.0

    def __call__(self, point: TracePoint) -> None:
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + PROGRESS_SECONDS
        temporary = self.path.with_suffix(".new")
        # What is only for show must not end a run, whatever becomes of its folder.
        with contextlib.suppress(OSError):
            temporary.write_text(f"{point[1]!r} {point[2]!r}", encoding="ascii")
            os.replace(temporary, self.path)


def reached(path: Path) -> tuple[float, float] | None:
    """Value and bound that a run has told a file, if it has told any."""
    try:
        value, bound = path.read_text(encoding="ascii").split()
        return float(value), float(bound)
    except (OSError, ValueError):
        return None


def _reset_peak_memory() -> None:
    """Start a new account of the most memory; a worker does many runs. Only Linux knows how."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_memory() -> int | None:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    if sys.platform == "win32":
        return None
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def end_with(folder: str) -> None:
    """Let a local worker end as soon as a folder is gone, or the process that started the worker.

    A worker has nothing to save, so it ends at once, in the middle of a run. Ctrl-C is for the process that started it.
    A folder cannot be left locked by a worker that was killed, as an event between processes can.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def watch() -> None:
        while os.path.isdir(folder) and (parent is None or parent.is_alive()):
            time.sleep(PATIENCE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
