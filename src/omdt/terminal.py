"""What every command needs to know about its machine: where to print, whether to show progress, the number of cores."""

import os
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


quiet = ContextVar("quiet", default=False)
"""Whether the command that runs shows no progress."""


def console(stderr: bool = False) -> "Console":
    """A console that uses colours on a terminal, and neither colours nor line breaks of its own in a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, emoji=False, width=None if stream.isatty() else 10_000)


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
