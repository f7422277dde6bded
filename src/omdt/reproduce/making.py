"""From a name to a report: do the runs that are missing, then write tables, figures and the page."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omdt import __version__
from omdt.errors import InputError, require
from omdt.files import write_whole
from omdt.reproduce.engines import Engine
from omdt.reproduce.figures import FIGURES, Drawing
from omdt.reproduce.grid import Grid, Run, key, problem_digest
from omdt.reproduce.page import page_html
from omdt.reproduce.pieces import ALL
from omdt.reproduce.progress import Display
from omdt.reproduce.results import Results
from omdt.reproduce.running import Failure, perform
from omdt.reproduce.store import Record, Store
from omdt.reproduce.summary import summary_markdown
from omdt.reproduce.tables import TABLES
from omdt.reproduce.writing import to_csv, to_latex
from omdt.watch import Watch

if TYPE_CHECKING:
    from rich.console import Console

NEEDED = {"sklearn": "sklearn", "highspy": "highs", "matplotlib": "plots", "jinja2": "report"}
"""Modules that a report needs, and the extras that install them."""

STORE = "runs.jsonl"
"""Name of the file of finished runs."""


@dataclass(frozen=True)
class Made:
    """A report and what was done for it.

    Attributes:
        page: the file of the report.
        results: the results of the runs.
        done: number of runs done now.
        kept: number of runs that the store had before.
        missing: number of runs that are not done.
        interrupted: whether Ctrl-C ended it.
    """

    page: Path
    results: Results
    done: int
    kept: int
    missing: int
    interrupted: bool


def reproduce(
    what: str,
    grid: Grid,
    folder: Path,
    start_engine: Callable[[], Engine],
    console: "Console",
    *,
    command: str,
) -> Made:
    """Make a piece of the report, or all of it; runs that it needs and that are not done yet are done first.

    Args:
        what: a piece, or `all`.
        grid: which runs belong to it.
        folder: where the store and the report are written.
        start_engine: makes what does the runs; called only if there are any to do.
        console: where messages and progress are shown.
        command: the command that the user typed.
    """
    pieces = grid.pieces(what)
    for module, extra in NEEDED.items():
        require(module, extra, "a reproduction")
    _make_folder(folder)
    with Store(folder / STORE, lambda message: console.print(f"omdt: {message}", markup=False)) as store:
        runs = grid.runs(pieces)
        keys = {run: key(run, problem_digest(run.environment), __version__) for run in runs}
        kept = len(_finished(keys, store))
        watch = Watch()
        failures = [] if kept == len(runs) else _do_missing(keys, store, start_engine, console, watch)
        records = _finished(keys, store)
    results = Results(grid, records, failures)
    missing = len(runs) - len(records)
    page = write(results, what, pieces, folder, command=command, missing=missing)
    return Made(page, results, len(records) - kept, kept, missing, watch.interrupted)


def _finished(keys: dict[Run, str], store: Store) -> list[Record]:
    """The records of the runs that the store has."""
    return [store.records[name] for name in keys.values() if name in store.records]


def _do_missing(
    keys: dict[Run, str], store: Store, start_engine: Callable[[], Engine], console: "Console", watch: Watch
) -> list[Failure]:
    """Do the runs that the store does not have and add them to it; return those that failed."""
    waiting = [run for run, name in keys.items() if name not in store.records]
    engine = start_engine()
    display = Display(console, waiting, _finished(keys, store), engine, keys)

    def finished(record: Record) -> None:
        store.append(record)
        display.finished(record)

    try:
        with watch.catching_interrupts(), display:
            return perform(waiting, engine, watch, finished=finished, under_way=display.under_way)
    finally:
        engine.stop()


def write(results: Results, what: str, pieces: tuple[str, ...], folder: Path, *, command: str, missing: int) -> Path:
    """Write tables, figures and the page; return the path of the page."""
    tables = [TABLES[piece](results) for piece in pieces if piece in TABLES]
    drawings: dict[str, list[Drawing]] = {piece: FIGURES[piece](results) for piece in pieces if piece in FIGURES}
    for table in tables:
        _write_file(folder / "tables" / f"{table.name}.csv", to_csv(table).encode())
        _write_file(folder / "tables" / f"{table.name}.tex", to_latex(table).encode())
    for drawing in (drawing for drawn in drawings.values() for drawing in drawn):
        _write_file(folder / "figures" / f"{drawing.name}.svg", drawing.svg.encode())
        _write_file(folder / "figures" / f"{drawing.name}.png", drawing.png)
    page = folder / ("index.html" if what == ALL else f"{what}.html")
    _write_file(page.with_suffix(".md"), summary_markdown(results, tables, command=command).encode())
    _write_file(page, page_html(results, tables, drawings, command=command, missing=missing).encode())
    return page


def _write_file(path: Path, content: bytes) -> None:
    _make_folder(path.parent)
    write_whole(path, lambda stream: stream.write(content))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the directory {folder}: {error.strerror or error}") from None
