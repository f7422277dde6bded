"""What is shown while runs go on: on a terminal a bar, the runs under way and the time left; elsewhere lines."""

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self

from omdt.progress import LINE_SECONDS, Ticker
from omdt.reproduce.engines import Engine
from omdt.reproduce.grid import Run
from omdt.reproduce.store import Record
from omdt.reproduce.work import reached
from omdt.terminal import quiet

if TYPE_CHECKING:
    from rich.console import Console

UNKNOWN_SECONDS = 5.0
"""Assumed duration of a run without a budget before any run of its method has finished: typical of such methods."""

MAX_SHOWN = 12
"""Maximum number of runs under way that are listed, so that the list fits a small terminal."""


class Estimate:
    """How long the remaining runs will take, estimated from the finished runs of each method."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}

    def add(self, record: Record) -> None:
        """Learn from a finished run."""
        self._seconds.setdefault(record.run.method, []).append(record.seconds)

    def left(self, runs: Iterable[Run], at_a_time: int) -> float:
        """Seconds until all of these runs are done if a given number of them go on at a time."""
        return sum(self._expected(run) for run in runs) / at_a_time

    def _expected(self, run: Run) -> float:
        if seen := self._seconds.get(run.method):
            return fmean(seen)
        return UNKNOWN_SECONDS if run.budget is None else run.budget


class Display:
    """A live view of the runs on a terminal, and a line every ten seconds elsewhere; nothing with `--quiet`.

    Args:
        console: where to show it.
        runs: the runs to do.
        kept: the runs that were done before.
        engine: where the runs happen.
        keys: the keys of the runs.
    """

    def __init__(
        self, console: "Console", runs: list[Run], kept: list[Record], engine: Engine, keys: dict[Run, str]
    ) -> None:
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.left = dict.fromkeys(runs)
        self.engine = engine
        self.keys = keys
        self.estimate = Estimate()
        for record in kept:
            self.estimate.add(record)
        self._bar = Progress(
            TextColumn("runs"),
            BarColumn(40),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._task = self._bar.add_task("runs", total=len(kept) + len(runs), completed=len(kept), left="")
        self._live = Live(self._bar, console=console, transient=True, refresh_per_second=4)
        self._shown = console.is_terminal and not quiet.get()
        self._logged = not console.is_terminal and not quiet.get()
        self._log = Ticker(LINE_SECONDS, lambda: console.print(self._line(), markup=False, soft_wrap=True))

    def __enter__(self) -> Self:
        if self._shown:
            self._live.start()
        if self._logged:
            self._log.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        self._log.end()

    def _line(self) -> str:
        """How far the runs are, as one line of a log."""
        task = self._bar.tasks[0]
        left = _clock(self.estimate.left(list(self.left), self.engine.capacity()))
        done = f"{task.completed:.0f} of {task.total:.0f} runs done"
        return f"omdt: [{task.elapsed or 0:.0f} s] {done}, about {left} left"

    def finished(self, record: Record) -> None:
        """Count a finished run."""
        self.left.pop(record.run, None)
        self.estimate.add(record)
        self._bar.advance(self._task)

    def under_way(self, runs: list[Run]) -> None:
        """Show the runs under way and the time left."""
        if not self._shown:
            return
        from rich.console import Group

        seconds = self.estimate.left(self.left, self.engine.capacity())
        self._bar.update(self._task, left=f"about {_clock(seconds)} left")
        self._live.update(Group(self._bar, self._lines(runs)))

    def _lines(self, runs: list[Run]) -> Any:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        for run in runs[:MAX_SHOWN]:
            table.add_row(f"  {run}", self._state(run))
        if len(runs) > MAX_SHOWN:
            table.add_row(f"  and {len(runs) - MAX_SHOWN} more")
        return table

    def _state(self, run: Run) -> str:
        folder = self.engine.folder
        found = None if folder is None else reached(Path(folder, self.keys[run]))
        return "running" if found is None else f"value {found[0]:.6g}   bound {found[1]:.6g}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
