"""The paper's figures, drawn with matplotlib as SVG and PNG (needs the extra `plots`)."""

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from omdt import planning
from omdt.environments.frozenlake import MAPS, STEPS
from omdt.environments.sysadmin import incoming_neighbours
from omdt.export.palette import INK, LINE, colour
from omdt.export.pictures import draw_tree, to_png, tree_layout
from omdt.export.svg import to_svg
from omdt.mdp import Floats, Ints
from omdt.reproduce import paper
from omdt.reproduce.grid import problem
from omdt.reproduce.results import Results
from omdt.simulation import simulate

RESOLUTION = 150
"""Dots per inch of a PNG."""
DEPTH = 3
"""Of the trees in all figures but the example."""
EPISODES = 10_000
OURS, BASELINE, BOUND = "#1f6fb2", "#c2570c", "#1c2024"
STYLE: dict[str, Any] = {
    # Text stays text, and the same figure is the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "omdt",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
}


@dataclass(frozen=True)
class Drawing:
    """A figure of the report.

    Attributes:
        name: of its files.
        title: above it.
        caption: below it.
        svg: the drawing.
        png: the same as a picture.
    """

    name: str
    title: str
    caption: str
    svg: str
    png: bytes


def figure_tradeoff(results: Results) -> list[Drawing]:
    """Returns with their bounds, and the sizes of trees."""
    rows = [
        (environment, search, copied)
        for environment in results.grid.environments
        if (search := results.summary(environment, "search", DEPTH)) is not None
        and (copied := results.summary(environment, "copy", None)) is not None
    ]
    if not rows:
        return []
    place = np.arange(len(rows))
    value = np.array([search.value for _, search, _ in rows])
    bound = np.array([search.value if search.proven else search.bound for _, search, _ in rows])
    nodes = [(search.best.tree.n_decision_nodes, copied.best.tree.n_decision_nodes) for _, search, copied in rows]

    def draw(figure: Any) -> None:
        above, below = figure.subplots(2, sharex=True, height_ratios=(3, 2))
        above.bar(place, value, 0.6, color=OURS, label="search, depth 3")
        above.vlines(place, value, bound, color=BOUND, linewidth=1)
        above.scatter(place, bound, marker="_", s=220, color=BOUND, label="no tree of depth 3 can have more", zorder=3)
        above.axhline(1, color=LINE, linewidth=1, linestyle="--")
        above.axhline(0, color=LINE, linewidth=1)
        above.set_ylabel("normalised return")
        above.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
        ours, copies = zip(*nodes, strict=True)
        below.bar(place - 0.2, ours, 0.38, color=OURS, label="search, depth 3")
        below.bar(place + 0.2, copies, 0.38, color=BASELINE, label="copy of the optimal policy")
        for offset, counts in ((-0.2, ours), (0.2, copies)):
            for x, count in zip(place, counts, strict=True):
                below.annotate(f"{count:,}", (x + offset, max(count, 1)), ha="center", va="bottom", fontsize=7)
        below.set_yscale("log")
        below.set_ylim(0.7, 6 * max(copies))
        below.set_ylabel("decision nodes")
        below.legend(loc="upper left", ncols=2, frameon=False)
        below.set_xticks(place, [name for name, _, _ in rows], rotation=40, ha="right", rotation_mode="anchor")

    caption = (
        "Above: normalised returns of trees of depth 3 (0 is the random policy, 1 the best policy of any form); a line "
        "above a bar shows how much more a tree of that depth could at most have, where it is not proven optimal. "
        "Below: decision nodes of these trees and of those that copy the optimal policy, on a logarithmic scale."
    )
    return [_drawing("figure-tradeoff", "What a small tree costs", caption, draw, (9.5, 6.5))]


def figure_example(results: Results) -> list[Drawing]:
    """The best tree of depth 2 on the smallest lake, and what it does there."""
    search = results.summary("frozenlake_4x4", "search", 2)
    if search is None:
        return []
    solution, mdp = search.best, problem("frozenlake_4x4")

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(3, 1.6))
        figure.draw_without_rendering()
        draw_tree(left, solution.tree, tree_layout(solution.tree))
        _draw_lake(right, "4x4")
        _draw_arrows(right, solution.tree.actions(mdp.features), mdp.features, "4x4")

    proof = (
        "no tree of that depth returns more" if solution.proven else f"no such tree returns over {solution.bound:.4f}"
    )
    caption = (
        f"The tree of depth 2 on frozenlake_4x4 and its policy on the map. It returns {solution.value:.2f} with "
        f"discount {solution.discount:g}; {proof}. The paper's example returns 0.37."
    )
    return [_drawing("figure-example", "A tree of depth 2", caption, draw, (9, 3))]


def figure_paths(results: Results) -> list[Drawing]:
    """Simulated walks over the largest lake under three policies."""
    name = "frozenlake_12x12"
    search, viper = (results.summary(name, method, DEPTH) for method in ("search", "viper"))
    if search is None or viper is None:
        return []
    mdp = problem(name)
    policies = {
        "optimal": ("optimal policy", planning.greedy(planning.q_values(mdp, planning.optimal_values(mdp)))),
        "search": ("search, depth 3", search.best.tree.actions(mdp.features)),
        "viper": ("viper, depth 3", viper.middle.tree.actions(mdp.features)),
    }
    walks = {key: walked(name, actions) for key, (_, actions) in policies.items()}

    def draw(figure: Any) -> None:
        for axes, (key, (title, actions)) in zip(figure.subplots(1, 3), policies.items(), strict=True):
            success, steps = walks[key]
            _draw_lake(axes, "12x12")
            _draw_steps(axes, steps, mdp.features)
            _draw_arrows(axes, actions, mdp.features, "12x12")
            axes.set_title(f"{title}: {success:.0%} success\n(paper: {paper.SUCCESS[key]:.0%})", fontsize=11)

    caption = (
        f"{EPISODES:,} simulated walks over frozenlake_12x12 for each policy, of at most 1,000 steps: the more walks "
        "take a step, the thicker its line. Arrows are the actions, S is the start, G the goal, dark tiles are holes. "
        "Of our runs the best is shown, of VIPER's three the one in the middle."
    )
    return [_drawing("figure-paths", "Where the policies walk", caption, draw, (13.5, 5.1))]


def walked(environment: str, actions: Ints) -> tuple[float, dict[tuple[int, int], int]]:
    """The share of simulated walks that reach the goal, and how often each step from tile to tile was taken."""
    mdp = problem(environment)
    walks = simulate(mdp, actions, episodes=EPISODES, seed=0)
    start, end = walks.states[:-1], walks.states[1:]
    # The last state of a walk is followed by the first of the next, which is no step.
    inside = np.ones(len(start), dtype=np.bool_)
    inside[walks.starts[1:-1] - 1] = False
    S = mdp.n_states
    counts = np.bincount(S * start[inside].astype(np.int64) + end[inside], minlength=S * S).reshape(S, S)
    steps = {(int(s), int(t)): int(counts[s, t]) for s, t in zip(*np.nonzero(counts), strict=True) if s != t}
    last = walks.states[walks.starts[1:] - 1]
    tiles = "".join(MAPS[environment.removeprefix("frozenlake_")].split("/"))
    goals = [s for s in range(mdp.n_states) if tiles[mdp.origin[s]] == "G"]
    return float(np.isin(last, goals).mean()), steps


def _draw_lake(axes: Any, name: str) -> None:
    from matplotlib.patches import Rectangle

    rows = MAPS[name].split("/")
    for y, row in enumerate(rows):
        for x, tile in enumerate(row):
            shade = {"H": "#5b6b7b", "G": "#b2df8a", "S": "#fdecc8"}.get(tile, "#eef4f9")
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=shade, edgecolor="#c4cdd6", linewidth=0.6))
            if tile in "SG":
                axes.text(x - 0.42, y - 0.4, tile, fontsize=8, fontweight="bold", ha="left", va="top", color=INK)
    axes.set(xlim=(-0.55, len(rows[0]) - 0.45), ylim=(len(rows) - 0.45, -0.55), aspect="equal")
    axes.set_axis_off()


def _draw_arrows(axes: Any, actions: Ints, features: Floats, name: str) -> None:
    """The action on every tile on which there is one to choose."""
    rows = MAPS[name].split("/")
    moves = list(STEPS.values())
    for action, (x, y) in zip(actions, features.astype(int), strict=True):
        if rows[y][x] in "HG":
            continue
        down, right = moves[action]
        axes.annotate(
            "",
            (x + 0.32 * right, y + 0.32 * down),
            (x - 0.32 * right, y - 0.32 * down),
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0},
        )


def _draw_steps(axes: Any, steps: dict[tuple[int, int], int], features: Floats) -> None:
    from matplotlib.collections import LineCollection

    most = max(steps.values())
    ends = [(features[s], features[t]) for s, t in steps]
    share = np.array([count / most for count in steps.values()])
    axes.add_collection(LineCollection(ends, linewidths=0.3 + 9 * share, colors=BASELINE, alpha=0.55, capstyle="round"))


def figure_trees(results: Results) -> list[Drawing]:
    """The trees of depth 3 of every environment by the search and by VIPER."""
    drawings = []
    for environment in results.grid.environments:
        for method in ("search", "viper"):
            found = results.summary(environment, method, DEPTH)
            if found is None:
                continue
            shown = found.best if method == "search" else found.middle
            tree = shown.tree
            said = f"normalised return {paper.normalised(environment, shown.value, shown.optimal_return):.2f}"
            if method == "search":
                said += ", proven optimal" if shown.proven else f", no tree of depth 3 has more than {found.bound:.2f}"
            elif found.runs > 1:
                said += f", the one in the middle of {found.runs} runs"
            title = f"{environment}, {method}"
            drawings.append(Drawing(f"figure-trees-{environment}-{method}", title, said, to_svg(tree), to_png(tree)))
    return drawings


def figure_topologies(results: Results) -> list[Drawing]:
    """The networks of the system administrators."""
    networks = {"tree": "tree", "random 1": "1", "random 2": "2"}

    def draw(figure: Any) -> None:
        for axes, (title, topology) in zip(figure.subplots(1, 3), networks.items(), strict=True):
            _draw_network(axes, incoming_neighbours(topology), _places(topology))
            axes.set_title(title, fontsize=11)

    caption = (
        "The networks of system_administrator_tree, _1 and _2: an arrow leads from a computer to one that crashes more "
        "easily while it is down."
    )
    return [_drawing("figure-topologies", "Networks", caption, draw, (10, 3.6))]


def _places(topology: str) -> list[tuple[float, float]]:
    """Where the computers of a network stand: a tree in rows, others in a circle."""
    n = len(incoming_neighbours(topology))
    if topology != "tree":
        return [(math.sin(2 * math.pi * i / n), math.cos(2 * math.pi * i / n)) for i in range(n)]
    rows = [int(math.log2(i + 1)) for i in range(n)]
    return [(((i + 1 - 2**row) + 0.5) / 2**row * 2.4 - 1.2, 0.9 - 0.9 * row) for i, row in enumerate(rows)]


def _draw_network(axes: Any, incoming: list[list[int]], places: list[tuple[float, float]]) -> None:
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


def _draw_loop(axes: Any, place: tuple[float, float]) -> None:
    """An arrow from a computer to itself, on the side away from the middle."""
    x, y = place
    away = math.atan2(y, x)
    ends = [(x + 0.15 * math.cos(away + turn), y + 0.15 * math.sin(away + turn)) for turn in (0.7, -0.7)]
    style = {"arrowstyle": "-|>", "color": LINE, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", ends[1], ends[0], arrowprops={**style, "connectionstyle": "arc3,rad=-1.6"})


FIGURES: dict[str, Callable[[Results], list[Drawing]]] = {
    "figure-example": figure_example,
    "figure-tradeoff": figure_tradeoff,
    "figure-paths": figure_paths,
    "figure-trees": figure_trees,
    "figure-topologies": figure_topologies,
}


def _drawing(name: str, title: str, caption: str, draw: Callable[[Any], None], size: tuple[float, float]) -> Drawing:
    """A figure as SVG and PNG; what is drawn does not depend on the user's settings of matplotlib."""
    import matplotlib
    from matplotlib.figure import Figure

    streams = {"svg": io.BytesIO(), "png": io.BytesIO()}
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams
        settings.update(STYLE)
        figure = Figure(figsize=size, layout="compressed")
        draw(figure)
        figure.savefig(streams["svg"], format="svg", metadata={"Date": None, "Creator": None})
        figure.savefig(streams["png"], format="png", dpi=RESOLUTION, metadata={"Software": None})
    svg = streams["svg"].getvalue().decode()
    return Drawing(name, title, caption, svg[svg.index("<svg") :], streams["png"].getvalue())
