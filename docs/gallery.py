"""Makes the gallery: for every environment a picture, the best trees of depths 1 to 4, and the front by depth.

    python docs/gallery.py                          all environments (some minutes)
    python docs/gallery.py --only xor --nodes 10    one section, printed on standard output

The searches end after a number of nodes and not of seconds, so that every machine makes the same page.
"""

import argparse
from dataclasses import replace
from html import escape
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

import omdt
from omdt import environments
from omdt.counting import counted
from omdt.report import plot_regions, plot_tree, plot_visits, write_plot
from omdt.report.amounts import UP, plain
from omdt.report.words import number
from omdt.tradeoffs.front_knee import PERFECT, share
from omdt.tradeoffs.front_points import Front, Point

DOCS = Path(__file__).parent

DEPTHS = (1, 2, 3, 4)

DRAWN = 2
"""Depth of the tree in the picture: small enough to be read in it."""

COLOURS = 64
"""Number of colours of a picture, which keeps its file small."""

OPENING = """# Gallery

Every environment with its best trees of depths 1 to 4, found by `omdt solve NAME --depth D --node-limit {nodes}`. That
takes some seconds, and every machine finds the same. Where a tree is not proven to be the best of its depth, its bound
says how much better another one might be; more nodes lower it. *Kept* is the share of what the best policy of any form
gains over the random one. A picture has the tree of depth {drawn}, the actions that it takes over the two features that
it asks about most often, and how often it visits them.

`make gallery` makes this page anew.
"""


def section(name: str, nodes: int, images: Path) -> str:
    """The part of the page about one environment; its pictures are written into a folder."""
    mdp = omdt.make(name)
    front = solved(mdp, nodes)
    drawn = front[DRAWN]
    _picture(drawn.solution, mdp, images / f"{name}.png")
    write_plot(front, images / f"{name}.svg")
    size = f"{counted(mdp.n_states, 'state')}, {counted(mdp.n_actions, 'action')}, {counted(mdp.n_features, 'feature')}"
    return "\n".join(
        [
            f"\n## {name}\n",
            f"{environments.describe(name).splitlines()[0]}",
            f"{size}; the best policy of any form returns {number(front.largest.optimal_return)}, the random one "
            f"{number(front.largest.random_return)}.\n",
            f"[![The best tree of depth {drawn.depth} for {name}, its actions and its visits]"
            f"(images/gallery/{name}.png)](images/gallery/{name}.png)\n",
            "| depth | leaves | return | bound | kept | proven |",
            "|---|---|---|---|---|---|",
            *(_row(point) for point in front),
            "",
            *_trees(front.points),
            f"\n![Return and bound by depth for {name}](images/gallery/{name}.svg)\n",
        ]
    )


def solved(mdp: omdt.MDP, nodes: int) -> Front:
    """The best trees of all depths; a deeper search that ends early may find no better tree than a shallower one."""
    points: list[Point] = []
    for depth in DEPTHS:
        found = omdt.solve(mdp, max_depth=depth, node_limit=nodes)
        if points and points[-1].value >= found.value:
            before = points[-1].solution
            found = replace(found, tree=before.tree, value=before.value, value_error=before.value_error)
        points.append(Point(found.tree.n_leaves, depth, found))
    return Front("depth", tuple(points))


def _row(point: Point) -> str:
    kept, solution = share(point), point.solution
    bound = number(point.value) if solution.excess == 0 else plain(solution.shown_bound, 6, UP).replace(",", "")
    return (
        f"| {point.depth} | {point.tree.n_leaves} | {number(point.value)} | {bound} | "
        f"{'–' if kept is None else _kept(kept)} | {'yes' if point.proven else 'no'} |"
    )


def _kept(kept: float) -> str:
    """A share in percent; only the best possible policy has 100 %."""
    shown = round(100 * kept, 1)
    if shown == 100 and kept < PERFECT:
        shown = 99.9
    return f"{shown + 0.0:.1f} %".replace("-", "−")


def _trees(points: tuple[Point, ...]) -> list[str]:
    """The trees as texts that unfold; a tree that is that of a smaller depth is not repeated."""
    lines: list[str] = []
    for before, point in zip([None, *points], points, strict=False):
        if before is not None and before.tree == point.tree:
            continue
        summary = f"The best tree of depth {point.depth}{'' if point.proven else ' so far'}"
        lines.append(f"<details><summary>{summary}</summary>\n<pre>{escape(point.tree.to_text())}</pre>\n</details>")
    return lines


def _picture(solution: omdt.Solution, mdp: omdt.MDP, target: Path) -> None:
    """The tree, its actions over the plane of two features, and its visits, side by side."""
    figure = Figure(figsize=(13, 3.4), layout="constrained", dpi=80)
    tree, actions, visits = figure.subplots(1, 3, width_ratios=(1.2, 1, 0.9))
    plot_regions(solution, mdp, ax=actions)
    plot_visits(solution, mdp, ax=visits)
    # The letters of the tree fit the room that the other two leave.
    figure.draw_without_rendering()
    plot_tree(solution.tree, ax=tree)
    figure.savefig(target)
    with Image.open(target) as picture:
        few = picture.convert("RGB").quantize(COLOURS)
    few.save(target, optimize=True)


def main() -> None:
    """Make the whole page, or print one section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=500, help="limit on the nodes of a search")
    parser.add_argument("--only", metavar="NAME", help="print the section of this environment instead")
    parser.add_argument("--images", type=Path, default=DOCS / "images" / "gallery", help="folder for the pictures")
    chosen = parser.parse_args()
    chosen.images.mkdir(parents=True, exist_ok=True)
    if chosen.only:
        print(section(chosen.only, chosen.nodes, chosen.images))
        return
    parts = [OPENING.format(nodes=chosen.nodes, drawn=DRAWN)]
    for name in environments.listed():
        parts.append(section(name, chosen.nodes, chosen.images))
        print(f"{name} is done", flush=True)
    (DOCS / "gallery.md").write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
