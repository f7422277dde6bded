"""Watch: the clock of one run, what ends it early, and the record of what it has found so far.

Compilation does not count towards the time limit: the first call of a compiled loop on a machine takes seconds, which
say nothing about the problem. The clock stands still while numba compiles.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from omdt.compiling import compile_clock

TracePoint = tuple[float, float, float]
"""Seconds since the start, or nodes if their number is limited; value of the best tree; upper bound."""

GRACE_SHARE, GRACE_SECONDS = 0.05, 0.8
"""How far a run may exceed its time limit in order to evaluate the tree that it returns: this share of the limit, plus
this many seconds. The promise is 5 % and one second; the rest of that second is for what follows the evaluation."""

LEAST_SECONDS = 0.2
"""Minimum number of seconds for that evaluation: enough for some ten thousand states."""

INTERRUPT_SECONDS = 1.5
"""Maximum number of seconds for that evaluation after Ctrl-C, because the promise is to end within two seconds. Another
Ctrl-C within this time counts as an impatient repetition of the first one."""


class OutOfTimeError(Exception):
    """The time of a watch ended in the middle of a computation."""


class Watch:
    """The clock of one run and the record of what it has found so far.

    Args:
        time_limit: seconds, or None.
        listener: called with every improvement and the seconds since the start.
        node_limit: maximum number of partial trees to explore, or None. With a limit the trace counts nodes instead of
            seconds, so that it is the same in every run.

    Attributes:
        away: seconds since the start in which others had their turns.
    """

    def __init__(
        self,
        time_limit: float | None = None,
        listener: Callable[[TracePoint], None] | None = None,
        node_limit: int | None = None,
    ) -> None:
        self.start = time.perf_counter() - compile_clock.seconds
        self.time_limit = math.inf if time_limit is None else time_limit
        self.node_limit, self.nodes = node_limit, 0
        self.listener = listener
        self.whole: Watch | None = None
        self.reserved, self.away = 0.0, 0.0
        self._interrupted_at: float | None = None
        self.trace: list[TracePoint] = []

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without the time in which numba compiled."""
        return time.perf_counter() - compile_clock.seconds - self.start

    @property
    def worked(self) -> float:
        """Seconds since the start without the turns of others."""
        return self.elapsed - self.away

    @property
    def remaining(self) -> float:
        """Seconds until the time limit, without what is reserved; 0 when these are over and after an interrupt."""
        return 0.0 if self.interrupted else max(0.0, self.time_limit - self.reserved - self.elapsed)

    def check(self) -> None:
        """Raise `OutOfTimeError` if no time remains."""
        if self.remaining == 0:
            raise OutOfTimeError

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._interrupted_at is not None or (self.whole is not None and self.whole.interrupted)

    @property
    def _interruption(self) -> float | None:
        """When Ctrl-C was pressed, in seconds since the start of this watch; None if it was not."""
        if self._interrupted_at is not None or self.whole is None:
            return self._interrupted_at
        whole = self.whole._interruption
        return None if whole is None else whole + self.whole.start - self.start

    @property
    def _outermost(self) -> "Watch":
        """The watch of the whole run."""
        return self if self.whole is None else self.whole._outermost

    @property
    def out_of_nodes(self) -> bool:
        """Whether the limit on nodes has been reached."""
        return self.node_limit is not None and self.nodes >= self.node_limit

    def count(self, nodes: int) -> None:
        """Count nodes that were examined."""
        self.nodes += nodes

    def interrupt(self) -> None:
        """Leave no time to the run, as Ctrl-C does."""
        self._interrupted_at = self.elapsed

    def part(
        self,
        seconds: float,
        listener: Callable[[TracePoint], None] | None = None,
        node_limit: int | None = None,
    ) -> "Watch":
        """A watch for a part of the run; interrupting the run also ends the part.

        Args:
            seconds: of the part, at most those that the run has left.
            listener: called with the improvements of the part, and the seconds since its start.
            node_limit: maximum number of partial trees to explore in the part.
        """
        part = Watch(min(seconds, self.remaining), listener, node_limit)
        part.whole = self
        return part

    def reserve(self, seconds: float) -> None:
        """Reserve seconds of the time limit, at most half of it, for improving the best tree at the end."""
        self.reserved = min(seconds, self.time_limit / 2)

    def closing(self, least: float = LEAST_SECONDS) -> "Watch":
        """A watch for evaluating the returned tree, for which a run may exceed its time limit a little.

        Args:
            least: seconds that it has in any case.
        """
        end = (1 + GRACE_SHARE) * self.time_limit + GRACE_SECONDS
        interrupted = self._interruption
        if interrupted is not None:
            end = min(end, interrupted + INTERRUPT_SECONDS)
        return Watch(max(LEAST_SECONDS, least, end - self.elapsed))

    @contextmanager
    def catching_interrupts(self) -> Iterator[None]:
        """Let the first Ctrl-C end the remaining time instead of the program; a later one ends the program.

        Where this is a part of a run, the whole run has no time left. An exception in the middle of compiled code would
        be lost or do harm. Only the main thread receives signals.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_signal(number: int, frame: object) -> None:
            interrupted = self._interruption
            if interrupted is None:
                self._outermost.interrupt()
            elif self.elapsed > interrupted + INTERRUPT_SECONDS:
                signal.signal(signal.SIGINT, before)
                if callable(before):
                    before(number, frame)  # type: ignore[arg-type]

        # A handler that was not set from Python cannot be restored; the default takes its place.
        before = signal.signal(signal.SIGINT, on_signal) or signal.SIG_DFL
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def report(self, value: float, bound: float) -> None:
        """Record the value of the best tree and the bound, and pass them on to the listener."""
        seconds = round(self.elapsed, 4)
        if not self.trace or self.trace[-1][1:] != (value, bound):
            self.trace.append((seconds if self.node_limit is None else float(self.nodes), value, bound))
        if self.listener is not None:
            self.listener((seconds, value, bound))


def late(watch: Watch | None) -> bool:
    """Whether there is a watch and its time is up."""
    return watch is not None and watch.remaining == 0


@cache
def _controller() -> ThreadpoolController:
    """The linear algebra libraries of this process; finding them takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the linear algebra use one thread.

    On systems of this size several threads would wait for one another, and they would round differently. The libraries
    of numpy and scipy are loaded together with this module, so the controller knows them all.
    """
    with _controller().limit(limits=1):
        yield
