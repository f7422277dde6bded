"""A tree as an SVG drawing, without the help of another program.

The background is transparent and every text stands on a coloured box, so the drawing is readable on light and on dark
pages.
"""

import unicodedata
from html import escape

from omdt.export.layout import BOX_HEIGHT, Layout, full_text, laid_out
from omdt.export.palette import INK, LINE, PAPER, colour
from omdt.tree import LEAF, TreePolicy

FONT_SIZE = 14.0


def to_svg(tree: TreePolicy) -> str:
    """The drawn tree; each box shows its full text as a tooltip."""
    layout = laid_out(tree, text_width)
    inner = [i for i in range(tree.n_nodes) if tree.feature[i] != LEAF]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{layout.width:.1f}" height="{layout.height:.1f}"'
        f' viewBox="0 0 {layout.width:.1f} {layout.height:.1f}" role="img"'
        f' font-family="system-ui, sans-serif" font-size="{FONT_SIZE:g}" text-anchor="middle">',
        "<title>decision tree policy</title>",
        f'<g fill="none" stroke="{LINE}" stroke-width="1.5">',
        *(_edge(layout, i, int(child)) for i in inner for child in (tree.left[i], tree.right[i])),
        "</g>",
        f'<g fill="{LINE}" font-size="12">',
        *(_answer(layout, int(tree.left[i]), "yes", "end", -6) for i in inner),
        *(_answer(layout, int(tree.right[i]), "no", "start", 6) for i in inner),
        "</g>",
        *(_box(tree, layout, i) for i in range(tree.n_nodes)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def text_width(text: str) -> float:
    """The approximate width of a text in a sans-serif font; the estimate is high rather than low."""
    return FONT_SIZE * sum(_advance(character) for character in text)


def _advance(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.1
    if character in " .,:;'|!ijl()[]":
        return 0.36
    if character.isupper() or character in "mw≤=+<>&@%—…":
        return 0.8
    return 0.61 if character.isascii() else 0.7


def _edge(layout: Layout, parent: int, child: int) -> str:
    start, *others = (f"{x:.1f} {y:.1f}" for x, y in layout.curve(parent, child))
    return f'<path d="M{start}C{" ".join(others)}"/>'


def _answer(layout: Layout, child: int, text: str, anchor: str, away: float) -> str:
    x, y = layout.x[child] + away, layout.top(child) - 8
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _box(tree: TreePolicy, layout: Layout, i: int) -> str:
    leaf = tree.feature[i] == LEAF
    fill = colour(int(tree.action[i])) if leaf else PAPER
    x, y, width = layout.x[i] - layout.box_width[i] / 2, layout.top(i), layout.box_width[i]
    return (
        f"<g><title>{escape(full_text(tree, i))}</title>"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BOX_HEIGHT:g}" rx="{16 if leaf else 4}"'
        f' fill="{fill}" stroke="{LINE}"/>'
        f'<text x="{layout.x[i]:.1f}" y="{y + BOX_HEIGHT / 2 + 0.35 * FONT_SIZE:.1f}" fill="{INK}">'
        f"{escape(layout.texts[i])}</text></g>"
    )
