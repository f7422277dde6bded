"""The chart of a front as an SVG: value and bound by size, with the optimal and the random policy as lines.

Colours and fonts stand in the drawing itself, so that it looks the same in a file, on a page and in a notebook.
"""

import math
from html import escape

from omdt.report.curve import Scale
from omdt.report.words import number
from omdt.tradeoffs.front_knee import knee, size_words
from omdt.tradeoffs.front_points import DEPTH, Front, Point

HEIGHT = 300.0
"""Height of the drawing in pixels."""
LEFT, RIGHT, TOP, BOTTOM = 78.0, 20.0, 16.0, 46.0
"""Distances of the axes from the sides of the drawing in pixels; labels need most of the left and the bottom."""
PAPER, INK, GRID, VALUE, BAND, KNEE = "#ffffff", "#24292f", "#e4e7eb", "#1f5fa8", "#f0c27a", "#c0392b"
"""Colours of background, text, grid, values, what lies between value and bound, and the knee."""
HALF_BAND = 9.0
"""Half the width of the band between value and bound, in pixels."""


def front_chart(front: Front, width: float) -> str:
    """The chart; every point is a group that can be selected, with the number of the point in `data-point`."""
    sizes = _size_scale(front, width)
    returns = _return_scale(front)
    marked = knee(front)
    name = "depth" if front.by == DEPTH else "leaves"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {HEIGHT:g}" width="{width:g}"'
        f' height="{HEIGHT:g}" role="group" aria-label="value by {name}" font-family="system-ui, sans-serif"'
        f' font-size="12" fill="{INK}" style="max-width:100%;height:auto">',
        f'<rect width="{width:g}" height="{HEIGHT:g}" rx="6" fill="{PAPER}"/>',
        *(_horizontal(returns(tick), number(tick, 6), width) for tick in returns.ticks()),
        *(_size_label(sizes(front.size_of(point)), front.size_of(point)) for point in _labelled(front)),
        f'<text x="{(LEFT + width - RIGHT) / 2:g}" y="{HEIGHT - 8:g}" text-anchor="middle">{name}</text>',
        *_references(front, returns, width),
        *(_band(front, point, sizes, returns) for point in front),
        _line(front, sizes, returns),
        *(_point(front, i, point, sizes, returns, point is marked) for i, point in enumerate(front)),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _size_scale(front: Front, width: float) -> Scale:
    first, last = front.size_of(front.points[0]), front.size_of(front.points[-1])
    return Scale(first - 0.4, last + 0.4, LEFT, width - RIGHT)


def _return_scale(front: Front) -> Scale:
    """The axis of values: from the lowest to the highest figure that is finite."""
    solution = front.largest
    figures = [solution.optimal_return, solution.random_return]
    figures += [figure for point in front for figure in (point.value, point.solution.shown_bound)]
    finite = [figure for figure in figures if math.isfinite(figure)] or [0.0]
    low, high = min(finite), max(finite)
    margin = max(0.06 * (high - low), 1e-6 * max(abs(low), abs(high)), 1e-9)
    return Scale(low - margin, high + margin, HEIGHT - BOTTOM, TOP)


def _place(figure: float, returns: Scale) -> float:
    """The place of a figure; infinite ones are drawn at the edge."""
    return returns(max(min(figure, returns.high), returns.low))


def _references(front: Front, returns: Scale, width: float) -> list[str]:
    """The lines of the optimal and of the random policy."""
    lines = []
    # The first points are about as good as random, the last ones as optimal: the names are where no points are.
    for name, figure, dashes, x, anchor in (
        ("optimal", front.largest.optimal_return, "7 4", LEFT + 4, "start"),
        ("random", front.largest.random_return, "2 4", width - RIGHT - 4, "end"),
    ):
        if math.isfinite(figure):
            y = returns(figure)
            lines.append(
                f'<path d="M{LEFT:g} {y:.1f}H{width - RIGHT:g}" stroke="{INK}" stroke-dasharray="{dashes}"'
                f' opacity="0.7" fill="none"/>'
                f'<text x="{x:g}" y="{y - 4:.1f}" font-size="11" text-anchor="{anchor}">{name}</text>'
            )
    return lines


def _band(front: Front, point: Point, sizes: Scale, returns: Scale) -> str:
    """What lies between value and bound."""
    x, value = sizes(front.size_of(point)), _place(point.value, returns)
    bound = _place(point.solution.shown_bound, returns)
    if point.solution.excess == 0 or abs(bound - value) < 0.5:
        return ""
    return (
        f'<rect x="{x - HALF_BAND:.1f}" y="{min(value, bound):.1f}" width="{2 * HALF_BAND:g}"'
        f' height="{abs(bound - value):.1f}" fill="{BAND}" opacity="0.55"/>'
    )


def _line(front: Front, sizes: Scale, returns: Scale) -> str:
    """The values as one line, where they are finite."""
    corners = [
        f"{sizes(front.size_of(point)):.1f} {returns(point.value):.1f}" for point in front if math.isfinite(point.value)
    ]
    return f'<path d="M{"L".join(corners)}" stroke="{VALUE}" stroke-width="2" fill="none"/>' if corners else ""


def _point(front: Front, i: int, point: Point, sizes: Scale, returns: Scale, marked: bool) -> str:
    x, y = sizes(front.size_of(point)), _place(point.value, returns)
    proven = "proven" if point.proven else f"bound {number(point.solution.shown_bound)}"
    title = f"{size_words(front, point)}: {number(point.value)}, {proven}"
    fill = VALUE if point.proven else PAPER
    ring = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="10" fill="none" stroke="{KNEE}" stroke-width="2"/>' if marked else ""
    return (
        f'<g class="point" data-point="{i}"><title>{escape(title)}</title>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="16" fill="{PAPER}" fill-opacity="0"/>{ring}'
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{fill}" stroke="{VALUE}" stroke-width="2"/></g>'
    )


def _labelled(front: Front) -> list[Point]:
    """The points whose size has a label on the axis: all of a few, else about a dozen."""
    step = max(1, math.ceil(len(front) / 13))
    return list(front.points[::step])


def _horizontal(y: float, label: str, width: float) -> str:
    return (
        f'<path d="M{LEFT:g} {y:.1f}H{width - RIGHT:g}" stroke="{GRID}"/>'
        f'<text x="{LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>'
    )


def _size_label(x: float, size: int) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18:g}" text-anchor="middle">{size}</text>'
