"""Makes the pictures of the README and of the documentation's first page.

demo.svg is what `make demo` prints, as an SVG of a terminal. report.png and plots.png are the report and the plots
of docs/report.md; the report is shown in a browser (needs Chromium, and Pillow, which comes with matplotlib).
learning-curve.svg is the learning curve of docs/learning-simulators.md, which takes a minute or two.
"""

import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image
from rich.console import Console

import omdt
from omdt import printing
from omdt.report import plot_regions, plot_trace, plot_tree, plot_visits, write_report
from omdt.report.learning_curve import learning_curve

IMAGES = Path(__file__).parent / "images"

TEMPLATE = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
<rect fill="#292929" width="{width}" height="{height}" rx="8"/>
<g transform="translate(12, 20)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""

WINDOW = (1100, 1330)
"""Width and height of the browser window in pixels: the main part of the report."""

CURVE_WIDTH = 720.0
"""Width of the learning curve in pixels."""

COLOURS = 128
"""Number of colours of a photograph, which makes its file a third of the size."""


def terminal(target: Path) -> None:
    """Draw what `make demo` prints."""
    console = Console(record=True, width=84, force_terminal=True, highlight=False)
    console.print("$ omdt solve traffic_intersection --depth 2\n", style="dim")
    printing.show(omdt.solve(omdt.make("traffic_intersection"), max_depth=2), console)
    target.write_text(console.export_svg(code_format=TEMPLATE, unique_id="demo"), encoding="utf-8")


def plots(solution: omdt.Solution, mdp: omdt.MDP, target: Path) -> None:
    """Draw what the example in docs/report.md draws."""
    figure = Figure(figsize=(11, 7), layout="constrained", dpi=80)
    axes = figure.subplots(2, 2)
    plot_tree(solution.tree, ax=axes[0, 0])
    plot_trace(solution, ax=axes[0, 1])
    plot_regions(solution, mdp, ax=axes[1, 0])
    plot_visits(solution, mdp, ax=axes[1, 1])
    figure.savefig(target)
    _fewer_colours(target)


def report(solution: omdt.Solution, mdp: omdt.MDP, target: Path) -> None:
    """Photograph the report in a browser."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "policy.html"
        write_report(replace(solution, seconds=0.0), mdp, page, title="Which machine does the crew repair?", unit="€")
        size = f"--window-size={WINDOW[0]},{WINDOW[1]}"
        flags = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--user-data-dir={folder}/profile", size]
        subprocess.run(["chromium", *flags, f"--screenshot={target}", page.as_uri()], check=True, capture_output=True)
    _fewer_colours(target)


def learning(target: Path) -> None:
    """Draw the learning curve of docs/learning-simulators.md."""
    learned = omdt.learn("gym:CartPole-v1", max_depth=3)
    target.write_text(learning_curve(learned.experience, CURVE_WIDTH), encoding="utf-8")


def _fewer_colours(target: Path) -> None:
    with Image.open(target) as picture:
        few = picture.convert("RGB").quantize(COLOURS)
    few.save(target, optimize=True)


if __name__ == "__main__":
    terminal(IMAGES / "demo.svg")
    problem = omdt.make("maintenance", machines=2, levels=6)
    found = omdt.solve(problem, max_leaf_nodes=4)
    report(found, problem, IMAGES / "report.png")
    plots(found, problem, IMAGES / "plots.png")
    learning(IMAGES / "learning-curve.svg")
