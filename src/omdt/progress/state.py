"""Progress: what is known of a run so far, with the seconds of the run."""

from typing import NamedTuple

from omdt.compiling import compile_clock
from omdt.watch import Watch

UNCHANGED_SECONDS = 60.0
"""Seconds without an improvement after which the user is told that what there is can be kept: long enough that further
waiting is a decision."""


class Known(NamedTuple):
    """What is known at one moment.

    Attributes:
        text: in words.
        best: the value of the best tree, if there is one.
    """

    text: str
    best: float | None = None


class Progress:
    """What is known so far, and since when; while numba compiles, how long that takes.

    Args:
        text: what is shown before anything is known.

    Attributes:
        text: what is known.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._best: float | None = None
        self._changed: float | None = None
        self._clock = Watch()

    def update(self, text: str, best: float | None = None) -> None:
        """Something is known.

        Args:
            text: what is known, in words.
            best: the value of the best tree so far, if there is one; only another value then counts as a change.
        """
        if self._changed is None or (text != self.text if best is None else best != self._best):
            self._changed = self._clock.elapsed
        self.text, self._best = text, best

    @property
    def seconds(self) -> str:
        """The seconds of the run, without those of compiling; while numba compiles, the seconds of that."""
        if compile_clock.running:
            return f"compiling: {compile_clock.seconds:.0f} s"
        return f"{self._clock.elapsed:.0f} s"

    @property
    def line(self) -> str:
        """Seconds and what is known, as one line of a log."""
        return f"[{self.seconds}] {self.text}"

    @property
    def hint(self) -> str:
        """What the user may do if nothing has improved for long; empty otherwise."""
        idle = 0.0 if self._changed is None else self._clock.elapsed - self._changed
        if idle < UNCHANGED_SECONDS:
            return ""
        if self._best is None:
            return f"nothing new for {idle:.0f} s; Ctrl-C keeps what there is"
        return f"value unchanged for {idle:.0f} s; Ctrl-C keeps it"
