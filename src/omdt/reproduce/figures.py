"""The paper's figures, drawn with matplotlib as SVG and PNG (needs the extra `plots`)."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from omdt import planning
from omdt.environments.sysadmin import incoming_neighbours
from omdt.export.palette import LINE
from omdt.export.pictures import draw_tree, to_png, tree_layout
from omdt.export.svg import to_svg
from omdt.reproduce import paper
from omdt.reproduce.grid import problem
from omdt.reproduce.lakes import EPISODES, draw_arrows, draw_lake, draw_steps, walked
from omdt.reproduce.networks import draw_network, places_of
from omdt.reproduce.results import Results, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RESOLUTION = 150
"""Dots per inch of a PNG."""

DEPTH = 3
"""Depth of the trees in all figures except the example."""

OURS, BASELINE, BOUND = "#1f6fb2", "#c2570c", "#1c2024"
"""Colours of our trees, of the method they are compared with, and of bounds."""

STYLE: dict[str, Any] = {
    # Text stays text, and the same figure always becomes the same file.
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
        name: the name of its files.
        title: the text above it.
        caption: the text below it.
        svg: the figure as SVG.
        png: the figure as PNG.
    """

    name: str
    title: str
    caption: str
    svg: str
    png: bytes


def figure_tradeoff(results: Results) -> list[Drawing]:
    """Returns with their bounds, and the sizes of trees."""
    rows = {
        environment: (search, copied)
        for environment in results.grid.environments
        if (search := results.summary(environment, "search", DEPTH)) is not None
        and (copied := results.summary(environment, "copy", None)) is not None
    }
    if not rows:
        return []
    searches, copies = zip(*rows.values(), strict=True)

    def draw(figure: "Figure") -> None:
        above, below = figure.subplots(2, sharex=True, height_ratios=(3, 2))
        _draw_returns(above, searches)
        _draw_sizes(below, [_decision_nodes(it) for it in searches], [_decision_nodes(it) for it in copies])
        below.set_xticks(np.arange(len(rows)), list(rows), rotation=40, ha="right", rotation_mode="anchor")

    caption = (
        "Above: normalised returns of trees of depth 3 (0 is the random policy, 1 the best policy of any form); a line "
        "above a bar shows how much more a tree of that depth could at most have, where it is not proven optimal. "
        "Below: decision nodes of these trees and of those that copy the optimal policy, on a logarithmic scale."
    )
    return [_drawing("figure-tradeoff", "What a small tree costs", caption, draw, (9.5, 6.5))]


def _decision_nodes(summary: Summary) -> int:
    return summary.best.tree.n_decision_nodes


def _draw_returns(axes: "Axes", searches: Sequence[Summary]) -> None:
    """One bar per tree, with a line up to its bound where that is higher."""
    place = np.arange(len(searches))
    value = np.array([search.value for search in searches])
    bound = np.array([search.value if search.proven else search.bound for search in searches])
    axes.bar(place, value, 0.6, color=OURS, label="search, depth 3")
    axes.vlines(place, value, bound, color=BOUND, linewidth=1)
    axes.scatter(place, bound, marker="_", s=220, color=BOUND, label="no tree of depth 3 can have more", zorder=3)
    axes.axhline(1, color=LINE, linewidth=1, linestyle="--")
    axes.axhline(0, color=LINE, linewidth=1)
    axes.set_ylabel("normalised return")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)


def _draw_sizes(axes: "Axes", ours: list[int], copies: list[int]) -> None:
    """Two bars per problem, each with the number of decision nodes above it."""
    place = np.arange(len(ours))
    axes.bar(place - 0.2, ours, 0.38, color=OURS, label="search, depth 3")
    axes.bar(place + 0.2, copies, 0.38, color=BASELINE, label="copy of the optimal policy")
    for offset, counts in ((-0.2, ours), (0.2, copies)):
        for x, count in zip(place, counts, strict=True):
            axes.annotate(f"{count:,}", (x + offset, max(count, 1)), ha="center", va="bottom", fontsize=7)
    axes.set_yscale("log")
    axes.set_ylim(0.7, 6 * max(copies))
    axes.set_ylabel("decision nodes")
    axes.legend(loc="upper left", ncols=2, frameon=False)


def figure_example(results: Results) -> list[Drawing]:
    """The best tree of depth 2 on the smallest lake, and what it does there."""
    search = results.summary("frozenlake_4x4", "search", 2)
    if search is None:
        return []
    solution, mdp = search.best, problem("frozenlake_4x4")

    def draw(figure: "Figure") -> None:
        left, right = figure.subplots(1, 2, width_ratios=(3, 1.6))
        figure.draw_without_rendering()
        draw_tree(left, solution.tree, tree_layout(solution.tree))
        draw_lake(right, "4x4")
        draw_arrows(right, solution.tree.actions(mdp.features), mdp.features, "4x4")

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

    def draw(figure: "Figure") -> None:
        for axes, (key, (title, actions)) in zip(figure.subplots(1, 3), policies.items(), strict=True):
            success, steps = walks[key]
            draw_lake(axes, "12x12")
            draw_steps(axes, steps, mdp.features)
            draw_arrows(axes, actions, mdp.features, "12x12")
            axes.set_title(f"{title}: {success:.0%} success\n(paper: {paper.SUCCESS[key]:.0%})", fontsize=11)

    caption = (
        f"{EPISODES:,} simulated walks over frozenlake_12x12 for each policy, of at most 1,000 steps: the more walks "
        "take a step, the thicker its line. Arrows are the actions, S is the start, G the goal, dark tiles are holes. "
        "Of our runs the best is shown, of VIPER's three the one in the middle."
    )
    return [_drawing("figure-paths", "Where the policies walk", caption, draw, (13.5, 5.1))]


def figure_trees(results: Results) -> list[Drawing]:
    """The trees of depth 3 for every environment, by the search and by VIPER."""
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

    def draw(figure: "Figure") -> None:
        for axes, (title, topology) in zip(figure.subplots(1, 3), networks.items(), strict=True):
            draw_network(axes, incoming_neighbours(topology), places_of(topology))
            axes.set_title(title, fontsize=11)

    caption = (
        "The networks of system_administrator_tree, _1 and _2: an arrow leads from a computer to one that crashes more "
        "easily while it is down."
    )
    return [_drawing("figure-topologies", "Networks", caption, draw, (10, 3.6))]


FIGURES: dict[str, Callable[[Results], list[Drawing]]] = {
    "figure-example": figure_example,
    "figure-tradeoff": figure_tradeoff,
    "figure-paths": figure_paths,
    "figure-trees": figure_trees,
    "figure-topologies": figure_topologies,
}


def _drawing(
    name: str, title: str, caption: str, draw: Callable[["Figure"], None], size: tuple[float, float]
) -> Drawing:
    """Draw a figure as SVG and PNG, independently of the user's settings of matplotlib."""
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
