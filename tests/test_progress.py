"""Commands and notebooks tell how far they are: a line that ticks, a line every ten seconds, or nothing."""

import io
import re
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator

import numba
import pytest
from numba.core import event
from rich.console import Console
from rich.spinner import Spinner

import omdt
from omdt import cli
from omdt.cli import progress as command_line
from omdt.cli.progress import COMPILING, Shown, showing_progress
from omdt.compiling import compile_clock, on_first_compilation
from omdt.progress import Progress, Ticker, notebook, state, words
from omdt.task import Size
from omdt.terminal import quiet
from strategies import environment

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def compilation() -> Iterator[None]:
    """As if numba compiled during the test."""
    with event.trigger_event("numba:compile"):
        yield


def shown(progress: Progress) -> str:
    return Shown(progress).__rich__().plain


def test_the_line_has_what_is_known_and_the_seconds_of_the_run() -> None:
    progress = Progress("solving a lake")
    assert shown(progress) == "solving a lake   0 s"
    progress.update("[bold]value[/] 3\n\x1b[31m")
    assert shown(progress) == "[bold]value[/] 3\\n\\x1b[31m   0 s"
    assert progress.line == "[0 s] [bold]value[/] 3\n\x1b[31m"


@pytest.mark.usefixtures("compilation")
def test_the_line_says_that_numba_compiles() -> None:
    before = compile_clock.seconds
    assert "solving a lake   compiling: " in shown(Progress("solving a lake"))
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
        screen.print(Spinner("dots", Shown(Progress("value 0.0448486   bound 0.542026   at most 0.497 more"))))
    assert capture.get().count("\n") == 1


def test_after_a_minute_without_a_better_value_the_user_may_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress("solving a lake")
    now = iter([5.0, 30.0, 64.0, 66.0, 66.0, 70.0, 70.0])
    monkeypatch.setattr(progress, "_clock", types.SimpleNamespace())
    clock = type("Clock", (), {"elapsed": property(lambda self: next(now))})()
    monkeypatch.setattr(progress, "_clock", clock)
    progress.update("value 3   bound 9", 3.0)
    assert progress.hint == ""  # after 25 s
    progress.update("value 3   bound 8", 3.0)
    assert progress.hint == ""  # after 59 s: another bound is no other value
    assert progress.hint == "value unchanged for 61 s; Ctrl-C keeps it"
    progress.update("value 4   bound 8", 4.0)
    assert progress.hint == ""


def test_the_hint_stands_below_the_line_and_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "UNCHANGED_SECONDS", 0.0)
    progress = Progress("solving a lake")
    assert progress.hint == "nothing new for 0 s; Ctrl-C keeps what there is"
    progress.update("value 0.0448486   bound 0.542026   at most 0.497 more", 0.0448486)
    line, hint = shown(progress).split("\n")
    assert line.endswith("at most 0.497 more   0 s")
    assert hint == "value unchanged for 0 s; Ctrl-C keeps it"


def test_without_a_terminal_there_is_a_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.LINE_SECONDS == 10
    monkeypatch.setattr(command_line, "LINE_SECONDS", 0.02)
    console, threads = Console(file=io.StringIO(), force_terminal=False), threading.active_count()
    with showing_progress(console, "solving a lake") as progress:
        progress.update("value 3", 3.0)
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 3
    assert set(lines) <= {"omdt: [0 s] solving a lake", "omdt: [0 s] value 3", "omdt: [1 s] value 3"}
    assert threading.active_count() <= threads


def test_a_short_run_without_a_terminal_says_only_that_it_compiles(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    with showing_progress(console, "solving a lake") as progress:
        progress.update("value 3")
    assert capsys.readouterr().err == ""
    with showing_progress(console, "solving a lake"):
        numba.njit(lambda x: x + 1)(1)
        numba.njit(lambda x: x + 2)(1)
    assert capsys.readouterr().err == f"omdt: {COMPILING}\n"
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_the_message_ticks_until_compilation_is_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "LINE_SECONDS", 0.02)
    with showing_progress(Console(file=io.StringIO(), force_terminal=False), "solving a lake"):
        with event.trigger_event("numba:compile"):
            time.sleep(0.3)
        assert len(re.findall(r"^omdt: \[compiling: \d+ s\] solving a lake$", capsys.readouterr().err, re.M)) >= 3
        time.sleep(0.3)
    assert "compiling" not in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet_shows_nothing(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "LINE_SECONDS", 0.02)
    screen = io.StringIO()
    token = quiet.set(True)
    try:
        with showing_progress(Console(file=screen, force_terminal=terminal), "solving a lake"):
            numba.njit(lambda x: x + 3)(1)
            time.sleep(0.1)
    finally:
        quiet.reset(token)
    assert (screen.getvalue(), capsys.readouterr().err) == ("", "")


@pytest.mark.parametrize("flag", [(), ("--quiet",)])
def test_the_command_line_tells_unless_it_is_quiet(
    flag: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "LINE_SECONDS", 0.001)
    command = ["omdt", "solve", "frozenlake_8x8", "--depth", "3", "--time-limit", "0.5", *flag]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    output, error = capsys.readouterr()
    assert "value" in output
    lines = re.findall(r"^omdt: \[\d+ s\] .*$", error, re.M)
    assert (lines == []) == bool(flag)
    assert not quiet.get()


@pytest.mark.parametrize(
    "command", ["envs", "solve", "learn", "front", "alternatives", "compare", "check", "reproduce", "doctor"]
)
def test_every_long_command_has_the_flag(command: str, run: Run) -> None:
    status, output, _ = run(command, "--help")
    assert status == 0
    assert "--quiet" in output


def test_the_first_compilation_is_told_once() -> None:
    told: list[str] = []
    with on_first_compilation(lambda: told.append("compiling")):
        assert told == []
        for k in range(2):
            numba.njit(lambda x, k=k: x + k)(1)
    assert told == ["compiling"]


def test_a_ticker_ends_with_its_context() -> None:
    ticks: list[float] = []
    with Ticker(0.01, lambda: ticks.append(time.perf_counter())):
        time.sleep(0.2)
    count = len(ticks)
    assert count >= 3
    time.sleep(0.05)
    assert len(ticks) == count


def test_what_verbs_tell_is_said_in_words() -> None:
    point = (1.0, 0.25, float("inf"))
    assert words.solving(point) == ("value 0.25   bound ∞", 0.25)
    assert words.front(Size(None, 3), point) == ("at most 3 leaves: value 0.25   bound ∞", None)
    assert words.alternatives(1) == ("1 tree so far", None)
    assert words.comparing(2, 7, "viper") == ("2 of 7 runs done, the last of viper", None)


class Notebook:
    """What a notebook does with outputs: it keeps the last version of each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.history: list[str] = []
        python, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        python.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
        display.display = self.display  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", python)
        monkeypatch.setitem(sys.modules, "IPython.display", display)
        monkeypatch.setattr(notebook, "TICK_SECONDS", 0.01)

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> "Notebook":
        assert raw
        assert display_id
        self.update(bundle, raw=raw)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.history.append(bundle["text/plain"])


def test_a_notebook_shows_live_progress_that_disappears(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Notebook(monkeypatch)
    omdt.solve(environment("frozenlake_8x8"), max_depth=3, time_limit=0.5)
    assert any(re.fullmatch(r"value [\d.e-]+   bound [\d.]+   \d s", text) for text in cell.history)
    assert cell.history[-1] == ""


def test_only_the_outermost_verb_shows_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Notebook(monkeypatch)
    omdt.alternatives(environment("frozenlake_4x4"), max_depth=2)
    assert cell.history.count("") == 1
    assert not any(text.startswith(("value", "solve")) for text in cell.history)


def test_a_listener_of_the_users_own_takes_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, heard = Notebook(monkeypatch), []
    omdt.solve(environment("frozenlake_4x4"), max_depth=2, progress=heard.append)
    assert heard
    assert cell.history == []


def test_in_the_shell_of_a_terminal_there_is_no_live_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Notebook(monkeypatch)
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: object())
    omdt.solve(environment("frozenlake_4x4"), max_depth=2)
    assert cell.history == []
