"""Progress in notebooks: a line that is updated while a verb runs, and that disappears at its end.

It needs nothing but the IPython that runs the notebook. Elsewhere there is no such line: a script passes `progress=`.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from omdt.progress.state import Known, Progress
from omdt.progress.ticking import Ticker

TICK_SECONDS = 1.0
"""Seconds between two updates of the line, and before it first appears: a run that ends sooner leaves no trace."""

_shown = ContextVar("_shown", default=False)
"""Whether a verb that is running shows its progress already; those that it calls then do not."""


@contextmanager
def live(first: str, known: Callable[..., Known]) -> Iterator[Callable[..., None] | None]:
    """A listener for the `progress` of a verb, whose news a notebook shows; None outside of notebooks.

    Args:
        first: what is shown before anything is known.
        known: what the arguments of the listener say.
    """
    display = None if _shown.get() else _display()
    if display is None:
        yield None
        return
    progress, line = Progress(first), _Line(display)
    token = _shown.set(True)
    try:
        with Ticker(TICK_SECONDS, lambda: line.show(_text(progress))):
            yield lambda *news: progress.update(*known(*news))
    finally:
        _shown.reset(token)
        line.clear()


def _text(progress: Progress) -> str:
    return "   ".join(part for part in (progress.text, progress.seconds, progress.hint) if part)


def _display() -> Callable[..., Any] | None:
    """The function that shows something in the notebook that runs this, or None if none does."""
    python = sys.modules.get("IPython")
    # Only the shell of a notebook has a kernel; that of a terminal has none.
    if python is None or not hasattr(python.get_ipython(), "kernel"):
        return None
    display: Callable[..., Any] = import_module("IPython.display").display
    return display


class _Line:
    """One line of output that is updated in place.

    Args:
        display: that of IPython.
    """

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Show a text in the place of the last one."""
        if self._handle is None:
            self._handle = self._display(_bundle(text), raw=True, display_id=True)
        else:
            self._handle.update(_bundle(text), raw=True)

    def clear(self) -> None:
        """Leave nothing to see."""
        if self._handle is not None:
            self._handle.update(_bundle(""), raw=True)


def _bundle(text: str) -> dict[str, str]:
    """A text as notebooks exchange it; being no HTML, names in it need no escaping."""
    return {"text/plain": text}
