"""The line that shows how far a command is, and the message that it compiles first."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console
from rich.text import Text

from omdt.cli.messages import tell
from omdt.compiling import compile_clock, on_first_compilation
from omdt.watch import Watch

COMPILING = "compiling, once on this machine"
"""The message in a pipe; a line of 80 columns has no room for it beside value and bound."""


class Progress:
    """What is known so far, with the seconds of the run; while numba compiles, with the seconds of that instead.

    The display asks for the line several times per second from a thread of its own, so it ticks whatever the command
    is busy with.

    Attributes:
        text: what is known, with the markup of rich.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._clock = Watch()

    def update(self, text: str) -> None:
        """Show something new."""
        self.text = text

    def __rich__(self) -> Text:
        """The line as it is now."""
        seconds = f"{self._clock.elapsed:.0f} s"
        if compile_clock.running:
            seconds = f"compiling: {compile_clock.seconds:.0f} s"
        line = Text.from_markup(f"{self.text}   {seconds}", overflow="ellipsis")
        line.no_wrap = True
        return line


@contextmanager
def showing_progress(console: Console, text: str) -> Iterator[Progress]:
    """A line that ticks on a terminal; elsewhere nothing but a message if something has to be compiled."""
    progress = Progress(text)
    compiling = nullcontext() if console.is_terminal else on_first_compilation(lambda: tell(COMPILING))
    with compiling, console.status(progress):
        yield progress
