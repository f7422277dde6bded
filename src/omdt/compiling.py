"""Compilation: numba compiles a kernel when it is first called, once per machine, and keeps it in a cache on disk.

Kernels that are loaded from the cache are not compiled, and nothing here notices them.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event

_COMPILING = "numba:compile"
"""The name of numba's event."""


class _CompileClock(event.Listener):
    """Adds up the seconds that numba compiles in this process; nested compilations count once.

    Meanwhile Python does not look for garbage: a compiler makes many objects that stay, and looking through them again
    and again takes a tenth of the time.
    """

    def __init__(self) -> None:
        self._finished, self._depth, self._began = 0.0, 0, 0.0
        self._collecting = False

    @property
    def running(self) -> bool:
        """Whether something is being compiled."""
        return self._depth > 0

    @property
    def seconds(self) -> float:
        """Seconds of compilation so far, including a compilation that is running."""
        return self._finished + (time.perf_counter() - self._began if self._depth else 0.0)

    def on_start(self, event: event.Event) -> None:
        """A compilation begins."""
        if self._depth == 0:
            self._began = time.perf_counter()
            self._collecting = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        """A compilation ends."""
        self._depth -= 1
        if self._depth == 0:
            self._finished += time.perf_counter() - self._began
            if self._collecting:
                gc.enable()


compile_clock = _CompileClock()
"""The seconds that this process has compiled."""

event.register(_COMPILING, compile_clock)  # type: ignore[no-untyped-call]


class _First(event.Listener):
    """Calls a function when the first compilation begins."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def on_start(self, event: event.Event) -> None:
        """A compilation begins."""
        if self._call is not None:
            call, self._call = self._call, None
            call()

    def on_end(self, event: event.Event) -> None:
        """A compilation ends."""


@contextmanager
def on_first_compilation(call: Callable[[], None]) -> Iterator[None]:
    """Call a function, once, as soon as anything has to be compiled."""
    with event.install_listener(_COMPILING, _First(call)):
        yield
