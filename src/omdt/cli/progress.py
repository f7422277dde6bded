"""How far a command is: a line that ticks on a terminal, one line every ten seconds elsewhere, or nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from omdt.cli.messages import tell
from omdt.compiling import on_first_compilation
from omdt.progress import LINE_SECONDS, Progress, Ticker
from omdt.terminal import quiet

COMPILING = "compiling, once on this machine"
"""The message where there is no terminal; a line of 80 columns has no room for it beside value and bound."""


class Shown:
    """Progress as a terminal shows it.

    The display asks for the line several times per second from a thread of its own, so it ticks whatever the command
    is busy with.

    Args:
        progress: what is known.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __rich__(self) -> Text:
        """The line as it is now, and below it what the user may do."""
        progress = self._progress
        hint = f"\n{progress.hint}" if progress.hint else ""
        return Text(f"{_plain(progress.text)}   {progress.seconds}{hint}", overflow="ellipsis", no_wrap=True)


@contextmanager
def showing_progress(console: Console, text: str) -> Iterator[Progress]:
    """A line that ticks on a terminal; elsewhere a line every ten seconds, and a message if something is compiled.

    Args:
        console: standard error.
        text: what is shown before anything is known.
    """
    progress = Progress(text)
    if quiet.get():
        yield progress
    elif console.is_terminal:
        with console.status(Shown(progress)):
            yield progress
    else:
        with (
            on_first_compilation(lambda: tell(COMPILING)),
            Ticker(LINE_SECONDS, lambda: tell(progress.line)),
        ):
            yield progress


def _plain(text: str) -> str:
    from omdt.tree import printable

    return printable(text)
