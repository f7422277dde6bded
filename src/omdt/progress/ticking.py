"""Ticker: calls a function again and again while something else runs."""

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Self

LINE_SECONDS = 10.0
"""Seconds between two lines of progress where there is no terminal: few enough lines for a log, and soon enough to see
that something goes on."""


class Ticker:
    """Calls a function from a thread of its own, first after an interval; a context that ends the thread.

    Args:
        seconds: between two calls.
        tick: the function.
    """

    def __init__(self, seconds: float, tick: Callable[[], None]) -> None:
        self._seconds, self._tick = seconds, tick
        self._ended = threading.Event()
        # A notebook finds the cell that an output belongs to in the context of the thread.
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self) -> None:
        """Begin to call the function."""
        self._thread.start()

    def end(self) -> None:
        """Call it no more; a call that is under way ends first."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            self._tick()
