"""Fronts for people: one HTML page on which a click shows a tree, a section of the report, and what a notebook shows.

Names that a user may have chosen appear as text only. The page forbids itself every connection and every script except
its own.
"""

import base64
import hashlib
from html import escape
from importlib.resources import files
from pathlib import Path

from omdt.errors import InputError, require
from omdt.export.svg import to_svg
from omdt.files import write_whole
from omdt.report.front_chart import front_chart
from omdt.report.words import number, sentence, verdict
from omdt.tradeoffs.front_knee import knee, knee_sentence, share, size_words
from omdt.tradeoffs.front_points import Front, Point
from omdt.tree import printable

WIDE, NARROW = 720.0, 350.0
"""Widths of the chart on a desktop screen and on a phone, in pixels."""

ENDINGS = (".svg", ".png", ".html")
"""The kinds of files that a front can be drawn into."""

PNG_DOTS = 150
"""Dots per inch of a PNG: sharp on paper and on most screens."""


def check_plot(path: str | Path) -> None:
    """Raise before long work starts if a front could not be drawn into a file of this name."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"cannot draw a front into {path}: its name must end in .svg, .png or .html")
    if ending == ".png":
        require("matplotlib", "plots", "a PNG of a front")


def write_plot(front: Front, path: str | Path) -> None:
    """Draw a front into a file, whole or not at all: an SVG, a PNG, or one HTML page, by the ending of its name."""
    check_plot(path)
    ending = Path(path).suffix.lower()
    if ending == ".png":
        from omdt.report.plots import front_png

        content = front_png(front, PNG_DOTS)
    else:
        content = (front_page(front) if ending == ".html" else front_chart(front, WIDE)).encode()
    write_whole(Path(path), lambda stream: stream.write(content))


def front_html(front: Front) -> str:
    """The sentence about the knee, the chart and the table, for notebooks."""
    told = knee_sentence(front)
    return (
        f"<p><b>{escape(printable(front.largest.problem))}</b>{escape(f': {told}.' if told else '')}</p>\n"
        f"{front_chart(front, WIDE)}{front_table(front)}"
    )


def front_section(front: Front) -> str:
    """Sentence and chart for the report: one chart for a desktop screen and one for a phone."""
    told = knee_sentence(front)
    return f"<p>{escape(sentence(told)) if told else ''}</p>\n{_charts(front)}"


def _charts(front: Front) -> str:
    return (
        f'<div class="curve wide">\n{front_chart(front, WIDE)}</div>\n'
        f'<div class="curve narrow">\n{front_chart(front, NARROW)}</div>\n'
    )


def front_table(front: Front, *, selectable: bool = False) -> str:
    """One row per point; in a page, the size is a button that selects the point."""
    heads = "".join(f"<th>{name}</th>" for name in (front.by, "value", "bound", "normalised", "proven"))
    rows = "".join(_row(front, i, point, selectable) for i, point in enumerate(front))
    return f'<table class="front"><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table>\n'


def _row(front: Front, i: int, point: Point, selectable: bool) -> str:
    size, kept = f"{front.size_of(point)}", share(point)
    if selectable:
        size = f'<button type="button" data-point="{i}" aria-label="{escape(size_words(front, point))}">{size}</button>'
    cells = (
        size,
        number(point.value),
        number(point.solution.shown_bound),
        "–" if kept is None else f"{kept:.4f}".replace("-", "−"),
        "yes" if point.proven else "no",
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"


def front_page(front: Front) -> str:
    """One HTML page without any connection, on which selecting a point shows its tree."""
    script, style = _resource("front.js"), _resource("front.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    problem = escape(printable(front.largest.problem))
    told = escape(sentence(knee_sentence(front))) if knee_sentence(front) else ""
    chosen = knee(front) or front.points[0]
    trees = "".join(_tree(front, i, point, point is chosen) for i, point in enumerate(front))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{problem}: what simplicity costs</title>
<link rel="icon" href="data:,">
<style>{style}</style>
<noscript><style>.tree {{ display: block; }}</style></noscript>
</head>
<body>
<h1>{problem}</h1>
{_objective(front)}<p class="knee">{told}</p>
<p class="hint">Every point is the best tree of its size. A filled point is proven to be the best; otherwise the bar
reaches up to what a better tree might have at most. Select a point to see its tree.</p>
{_charts(front)}<div id="trees" aria-live="polite">
{trees}</div>
<h2>All sizes</h2>
<div class="scroll">
{front_table(front, selectable=True)}</div>
<script>{script}</script>
</body>
</html>
"""


def _objective(front: Front) -> str:
    """What was asked, unless it is the discounted return."""
    wording = front.largest.wording
    if wording.default:
        return ""
    return f"<p>{'Minimising' if wording.minimised else 'Maximising'} the {escape(printable(wording.what))}.</p>\n"


def _tree(front: Front, i: int, point: Point, shown: bool) -> str:
    """The section of one point: its figures and its tree."""
    found = verdict(point.solution)
    hidden = "" if shown else " hidden"
    return (
        f'<section class="tree" data-point="{i}"{hidden}>\n<h2>{escape(size_words(front, point))}: '
        f"{number(point.value)}</h2>\n<p><strong>{escape(found.headline)}.</strong> {escape(found.sentence)}</p>\n"
        f'<div class="scroll">\n{to_svg(point.tree)}</div>\n</section>\n'
    )


def _resource(name: str) -> str:
    return files("omdt.report").joinpath("page", name).read_text(encoding="utf-8")
