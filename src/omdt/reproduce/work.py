"""What happens in a worker: one run, with a record of its processor time and memory."""

import contextlib
import os
import platform
import sys
import time
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

from omdt import __version__
from omdt.environments import make
from omdt.errors import InputError
from omdt.reproduce.grid import Run, key, problem, problem_digest
from omdt.reproduce.store import Record
from omdt.solving import solve
from omdt.watch import TracePoint

PROGRESS_SECONDS = 0.5
"""Minimum number of seconds between two reports of one run: often enough for a display that is read by people."""


class OtherWorkerError(InputError):
    """A worker has another version of the package or of a problem.

    This ends all runs, because such a worker would refuse one run after another faster than other workers do theirs.
    """


def execute(run: Run, digest: str, release: str, folder: str | None = None) -> Record:
    """Do a run.

    Args:
        run: what to do.
        digest: the digest of the problem in the process that submitted the run.
        release: the version of this package in the process that submitted the run.
        folder: where a file reports the progress of the run to that process; None if it is on another machine.

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
        threads=1,  # runs share the cores
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
    """Let the search load or compile its kernels, so that no run spends its budget on that."""
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
    """Writes value and bound of a run into a file now and then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.next = 0.0

    def __call__(self, point: TracePoint) -> None:
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + PROGRESS_SECONDS
        temporary = self.path.with_suffix(".new")
        # The display is not worth the end of a run, even if the folder disappears.
        with contextlib.suppress(OSError):
            temporary.write_text(f"{point[1]!r} {point[2]!r}", encoding="ascii")
            os.replace(temporary, self.path)


def reached(path: Path) -> tuple[float, float] | None:
    """Value and bound that a run has written into a file; None if there are none yet."""
    try:
        value, bound = path.read_text(encoding="ascii").split()
        return float(value), float(bound)
    except (OSError, ValueError):
        return None


def _reset_peak_memory() -> None:
    """Let the peak memory of this process start anew, since a worker does many runs. Only Linux can do it."""
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
