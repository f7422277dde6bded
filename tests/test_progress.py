"""The line of a running command ticks by itself, says that numba compiles, and is one message in a pipe."""

import io
import time
from collections.abc import Iterator

import numba
import pytest
from numba.core import event
from rich.console import Console
from rich.spinner import Spinner

from omdt.cli.progress import COMPILING, Progress, showing_progress
from omdt.compiling import compile_clock, on_first_compilation


@pytest.fixture
def compilation() -> Iterator[None]:
    """As if numba compiled during the test."""
    with event.trigger_event("numba:compile"):
        yield


def test_the_line_has_what_is_known_and_the_seconds_of_the_run() -> None:
    progress = Progress("solving a lake")
    assert progress.__rich__().plain == "solving a lake   0 s"
    progress.update("[bold]value[/] 3")
    assert progress.__rich__().plain == "value 3   0 s"


@pytest.mark.usefixtures("compilation")
def test_the_line_says_that_numba_compiles() -> None:
    before = compile_clock.seconds
    assert "solving a lake   compiling: " in Progress("solving a lake").__rich__().plain
    assert compile_clock.running
    time.sleep(0.01)
    assert compile_clock.seconds >= before + 0.01


def test_on_a_terminal_the_line_ticks_while_numba_compiles() -> None:
    """The display asks for the line from a thread of its own, whatever the command is busy with."""
    screen = io.StringIO()
    with showing_progress(Console(file=screen, force_terminal=True, width=80), "solving a lake"):
        begin = time.perf_counter()
        while screen.getvalue().count("compiling") < 3 and time.perf_counter() < begin + 30:
            numba.njit(lambda x: x + 1)(1)
    assert screen.getvalue().count("compiling") >= 3


def test_a_long_line_is_cut_instead_of_wrapped() -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=40)
    with screen.capture() as capture:
        screen.print(Spinner("dots", Progress("value 0.0448486   bound 0.542026   at most 0.497 more")))
    assert capture.get().count("\n") == 1


def test_in_a_pipe_there_is_one_message_and_only_if_something_is_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    with showing_progress(console, "solving a lake") as progress:
        progress.update("value 3")
    assert capsys.readouterr().err == ""
    with showing_progress(console, "solving a lake"):
        numba.njit(lambda x: x + 1)(1)
        numba.njit(lambda x: x + 2)(1)
    assert capsys.readouterr().err == f"omdt: {COMPILING}\n"
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_the_first_compilation_is_told_once() -> None:
    told: list[str] = []
    with on_first_compilation(lambda: told.append("compiling")):
        assert told == []
        for k in range(2):
            numba.njit(lambda x, k=k: x + k)(1)
    assert told == ["compiling"]
