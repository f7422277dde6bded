"""Pictures of the networks of the system administrators (needs the extra `plots`)."""

import math
from typing import TYPE_CHECKING

from omdt.environments.sysadmin import incoming_neighbours
from omdt.export.palette import INK, LINE, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def places_of(topology: str) -> list[tuple[float, float]]:
    """The positions of the computers of a network: rows for the tree, a circle for the others."""
    n = len(incoming_neighbours(topology))
    if topology != "tree":
        return [(math.sin(2 * math.pi * i / n), math.cos(2 * math.pi * i / n)) for i in range(n)]
    rows = [int(math.log2(i + 1)) for i in range(n)]
    return [(((i + 1 - 2**row) + 0.5) / 2**row * 2.4 - 1.2, 0.9 - 0.9 * row) for i, row in enumerate(rows)]


def draw_network(axes: "Axes", incoming: list[list[int]], places: list[tuple[float, float]]) -> None:
    """Draw the computers and an arrow to each from every computer on which it depends."""
    arrow = {"arrowstyle": "-|>", "color": LINE, "linewidth": 1.2, "shrinkA": 11, "shrinkB": 11}
    for i, neighbours in enumerate(incoming):
        for j in neighbours:
            if i == j:
                _draw_loop(axes, places[i])
            else:
                curve = "arc3,rad=0.12" if i in incoming[j] else "arc3"
                axes.annotate("", places[i], places[j], arrowprops={**arrow, "connectionstyle": curve})
    for i, (x, y) in enumerate(places):
        axes.scatter([x], [y], s=420, color=colour(0), edgecolor=LINE, zorder=3)
        axes.text(x, y, str(i), ha="center", va="center_baseline", zorder=4, color=INK)
    axes.set(xlim=(-1.55, 1.55), ylim=(-1.5, 1.5), aspect="equal")
    axes.set_axis_off()


def _draw_loop(axes: "Axes", place: tuple[float, float]) -> None:
    """An arrow from a computer to itself, on the side away from the middle."""
    x, y = place
    away = math.atan2(y, x)
    ends = [(x + 0.15 * math.cos(away + turn), y + 0.15 * math.sin(away + turn)) for turn in (0.7, -0.7)]
    style = {"arrowstyle": "-|>", "color": LINE, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", ends[1], ends[0], arrowprops={**style, "connectionstyle": "arc3,rad=-1.6"})
