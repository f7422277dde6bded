"""The program `omdt`: its commands in the order of the help, and what happens on errors and signals."""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer

from omdt.cli.alternatives import alternatives
from omdt.cli.check import check
from omdt.cli.compare import compare
from omdt.cli.doctor import doctor
from omdt.cli.envs import envs
from omdt.cli.export import export
from omdt.cli.front import front
from omdt.cli.info import info
from omdt.cli.learn import learn
from omdt.cli.messages import tell
from omdt.cli.quiet import with_quiet
from omdt.cli.report import report
from omdt.cli.solve import solve
from omdt.errors import InputError, LostWorkerError, MissingExtraError, OutputError
from omdt.reproduce.command import reproduce

app = typer.Typer(
    help="The best small decision tree for a Markov decision process, with proof.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Problems": (envs, info),
    "Trees": (solve, learn, front, alternatives, compare, export, report, check, reproduce),
    "Installation": (doctor,),
}
"""The commands under the headings of the help."""

LONG = (envs, solve, learn, front, alternatives, compare, check, reproduce, doctor)
"""The commands that show progress."""

for heading, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=heading)(with_quiet(command) if command in LONG else command)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from omdt import __version__

        typer.echo(f"omdt {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line.

    Bad input ends with status 2 and a message, Ctrl-C with 130, SIGTERM with 143, everything else that fails with 1.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with _heeding_termination():
            try:
                app()
            finally:
                sys.stdout.flush()
    except (InputError, MissingExtraError) as error:
        tell(str(error))
        sys.exit(2)
    except (OutputError, LostWorkerError) as error:
        tell(str(error))
        sys.exit(1)
    except MemoryError:
        tell("there is not enough memory for this problem")
        sys.exit(1)
    except OSError as error:
        # If the reader of our output has left, there is nobody to tell.
        if not isinstance(error, BrokenPipeError):
            tell(f"cannot write the result: {error.strerror or error}")
        # What could not be written must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


@contextmanager
def _heeding_termination() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, with a status of its own."""
    came: list[int] = []

    def terminate(number: int, frame: FrameType | None) -> None:
        came.append(number)
        on_interrupt = signal.getsignal(signal.SIGINT)
        # A process in the background may have been told to ignore Ctrl-C, but not this.
        (on_interrupt if callable(on_interrupt) else signal.default_int_handler)(number, frame)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except SystemExit as end:
        if came and end.code == 130:
            sys.exit(143)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
