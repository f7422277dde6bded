"""What a terminal shows while runs go on: an overall bar, the runs under way, and the time that is left."""

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self

from omdt.reproduce.engines import Engine
from omdt.reproduce.grid import Run
from omdt.reproduce.store import Record
from omdt.reproduce.work import reached

if TYPE_CHECKING:
    from rich.console import Console

UNKNOWN_SECONDS = 5.0
"""Guess for a run without a budget whose method has not finished anywhere yet."""
MOST_SHOWN = 12
"""Runs under way that are listed."""


class Estimate:
    """How long the runs that are left will take, by what their methods have taken so far."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}

    def add(self, record: Record) -> None:
        """Learn from a finished run."""
        self._seconds.setdefault(record.run.method, []).append(record.seconds)

    def left(self, runs: Iterable[Run], at_a_time: int) -> float:
        """Seconds until all of some runs are done, so many at a time."""
        return sum(self._expected(run) for run in runs) / at_a_time

    def _expected(self, run: Run) -> float:
        if seen := self._seconds.get(run.method):
            return fmean(seen)
        return UNKNOWN_SECONDS if run.budget is None else run.budget


class Display:
    """A live view of the runs on a terminal; nothing at all elsewhere.

    Args:
        console: where.
        runs: those to do.
        kept: those that were done before.
        engine: where the runs happen.
        keys: of the runs.
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
        self._shown = console.is_terminal

    def __enter__(self) -> Self:
        if self._shown:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def finished(self, record: Record) -> None:
        """Count a run."""
        self.left.pop(record.run, None)
        self.estimate.add(record)
        self._bar.advance(self._task)

    def under_way(self, runs: list[Run]) -> None:
        """Show what is going on."""
        if not self._shown:
            return
        from rich.console import Group

        seconds = self.estimate.left(self.left, self.engine.capacity())
        self._bar.update(self._task, left=f"about {_clock(seconds)} left")
        self._live.update(Group(self._bar, self._lines(runs)))

    def _lines(self, runs: list[Run]) -> Any:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        for run in runs[:MOST_SHOWN]:
            table.add_row(f"  {run}", self._state(run))
        if len(runs) > MOST_SHOWN:
            table.add_row(f"  and {len(runs) - MOST_SHOWN} more")
        return table

    def _state(self, run: Run) -> str:
        folder = self.engine.folder
        found = None if folder is None else reached(Path(folder, self.keys[run]))
        return "running" if found is None else f"value {found[0]:.6g}   bound {found[1]:.6g}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
