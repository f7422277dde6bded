"""The worker processes that a process has started, as Linux lists them."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE = 60.0
"""Seconds to wait for what must happen: far longer than it takes on a busy machine."""


def workers_of(parent: int) -> list[int]:
    """The process ids of the workers of a process."""
    processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in processes if _parent(pid) == parent and is_worker(pid)]


def is_worker(pid: int) -> bool:
    """Whether a process is a worker and alive."""
    try:
        return b"omdt.processes" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    except OSError:
        return -1


def until(condition: Callable[[], Any]) -> Any:
    """The first true answer to a question that is asked again and again; None if there is none in time."""
    for _ in range(int(10 * PATIENCE)):
        if answer := condition():
            return answer
        time.sleep(0.1)
    return None
