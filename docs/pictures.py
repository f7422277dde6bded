"""Makes the picture of the README: what `make demo` prints, as an SVG of a terminal."""

from pathlib import Path

from rich.console import Console

import omdt
from omdt import printing

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

if __name__ == "__main__":
    console = Console(record=True, width=84, force_terminal=True, highlight=False)
    console.print("$ omdt solve traffic_intersection --depth 2\n", style="dim")
    printing.show(omdt.solve(omdt.make("traffic_intersection"), max_depth=2), console)
    target = Path(__file__).parent / "images" / "demo.svg"
    target.write_text(console.export_svg(code_format=TEMPLATE, unique_id="demo"), encoding="utf-8")
