"""The report: one HTML page that needs no network, with every table and figure (needs the extra `report`)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

from omdt import __version__
from omdt.counting import counted
from omdt.errors import require
from omdt.reproduce.figures import Drawing
from omdt.reproduce.results import Results, verdict
from omdt.reproduce.store import Record
from omdt.reproduce.tables import Table
from omdt.reproduce.writing import SYMBOLS

if TYPE_CHECKING:
    from jinja2 import Environment

SECTIONS = {"figure-trees": "All trees of depth 3"}
"""Titles of sections that hold more than one drawing."""


@dataclass(frozen=True)
class Section:
    """The drawings of one piece."""

    name: str
    title: str
    drawings: list[Drawing]


def page_html(
    results: Results, tables: Sequence[Table], drawings: dict[str, list[Drawing]], *, command: str, missing: int
) -> str:
    """The page as HTML.

    Args:
        results: the results of the runs.
        tables: the tables to show.
        drawings: the drawings to show, by piece.
        command: the command that the user typed.
        missing: number of runs that are not finished.
    """
    require("jinja2", "report", "a report")
    from markupsafe import Markup

    style = files("omdt.reproduce").joinpath("page", "page.css").read_text(encoding="utf-8")
    return (
        _templates()
        .get_template("page.html")
        .render(
            style=Markup(style),
            version=__version__,
            verdict=verdict(results),
            failures=results.failures,
            missing=missing and counted(missing, "run is", "runs are"),
            tables=tables,
            sections=[_section(piece, drawn) for piece, drawn in drawings.items() if drawn],
            symbols=SYMBOLS,
            groups=_groups,
            starts_group=_starts_group,
            command=command,
            made=_made(results.records),
        )
    )


def _templates() -> "Environment":
    """The templates, which escape every text that is not markup."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("omdt.reproduce", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["power"] = _power
    return templates


def _section(piece: str, drawings: list[Drawing]) -> Section:
    from markupsafe import Markup

    title = SECTIONS.get(piece, drawings[0].title)
    return Section(piece, title, [replace(drawing, svg=Markup(_with_own_ids(drawing))) for drawing in drawings])


def _power(text: str) -> str:
    """A power of ten with its exponent raised; any other text unchanged."""
    from markupsafe import Markup

    power = re.fullmatch(r"10\^(\d+)", text)
    return text if power is None else Markup(f"10<sup>{power[1]}</sup>")


def _groups(table: Table) -> list[tuple[str, int]]:
    """The groups of neighbouring columns and the number of columns of each."""
    return [(group, len(list(columns))) for group, columns in groupby(column.group for column in table.columns)]


def _starts_group(table: Table, j: int) -> bool:
    return j > 0 and table.columns[j].group != table.columns[j - 1].group


def _with_own_ids(drawing: Drawing) -> str:
    """The drawing with its name before every identifier, so that no two drawings of a page share an identifier."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{drawing.name}-\1"', drawing.svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{drawing.name}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{drawing.name}-\1)", svg)


def _made(records: list[Record]) -> dict[str, Any]:
    """Time, memory and machines of the runs, as text."""
    memory = [record.peak_memory for record in records if record.peak_memory is not None]
    machines = {
        f"{facts['host']}: {facts['processor']}, {counted(int(facts['cores']), 'core')}; {facts['system']}; "
        f"Python {facts['python']}, omdt {facts['omdt']}, numpy {facts['numpy']}, scipy {facts['scipy']}, "
        f"numba {facts['numba']}"
        for facts in (record.machine for record in records)
    }
    return {
        "runs": counted(len(records), "run"),
        "hours": _duration(sum(record.cpu_seconds for record in records)),
        "memory": f"{max(memory) / 2**20:,.0f} MiB" if memory else "",
        "last": max((record.finished for record in records), default=""),
        "machines": sorted(machines),
    }


def _duration(seconds: float) -> str:
    for unit, length in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} seconds"
