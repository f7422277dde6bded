"""A tree as a PNG or PDF picture, drawn with matplotlib (needs the extra `plots`)."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omdt.errors import InputError, require
from omdt.export.layout import BOX_HEIGHT, Layout, laid_out
from omdt.export.palette import INK, LINE, PAPER, colour
from omdt.tree import LEAF, TreePolicy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT_SIZE = 13.0
RESOLUTION = 144
"""Dots per inch of a PNG, two per unit of the layout, which is 1/72 inch: sharp on screens of high resolution."""
MOST_PIXELS = 2**15
"""Maximum length of a side in pixels; most programs cannot open larger pictures, and they need gigabytes of memory."""


def to_png(tree: TreePolicy) -> bytes:
    """The drawn tree on white as a PNG."""
    layout = tree_layout(tree)
    pixels = max(layout.width, layout.height) * RESOLUTION / 72
    if pixels > MOST_PIXELS:
        raise InputError(f"a PNG of this tree would have a side of {pixels:,.0f} pixels; export it to svg or pdf")
    return _saved(tree, layout, format="png", dpi=RESOLUTION, metadata={"Software": None})


def to_pdf(tree: TreePolicy) -> bytes:
    """The drawn tree as a PDF."""
    return _saved(tree, tree_layout(tree), format="pdf", metadata={"CreationDate": None})


def tree_layout(tree: TreePolicy) -> Layout:
    """The layout of a tree, in units of 1/72 inch."""
    require("matplotlib", "plots", "a picture of a tree")
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=FONT_SIZE)
    with _missing_glyphs_drawn_as_boxes():
        return laid_out(tree, lambda text: float(text_to_path.get_text_width_height_descent(text, font, False)[0]))


def _saved(tree: TreePolicy, layout: Layout, **options: Any) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(layout.width / 72, layout.height / 72))
    draw_tree(figure.add_axes((0, 0, 1, 1)), tree, layout)
    stream = io.BytesIO()
    with _missing_glyphs_drawn_as_boxes():
        figure.savefig(stream, **options)
    return stream.getvalue()


def draw_tree(axes: "Axes", tree: TreePolicy, layout: Layout) -> None:
    """Draw a tree that fills the given axes; its texts are scaled with it."""
    axes.set(xlim=(0, layout.width), ylim=(layout.height, 0), aspect="equal")
    axes.set_axis_off()
    room = axes.get_window_extent().transformed(axes.figure.dpi_scale_trans.inverted())
    scale = 72 * min(room.width / layout.width, room.height / layout.height)
    for i in range(tree.n_nodes):
        _draw_box(axes, tree, layout, i, scale)
        if tree.feature[i] != LEAF:
            _draw_edge(axes, layout, i, int(tree.left[i]), "yes ", "right", scale)
            _draw_edge(axes, layout, i, int(tree.right[i]), " no", "left", scale)


def _draw_box(axes: "Axes", tree: TreePolicy, layout: Layout, i: int, scale: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    leaf = tree.feature[i] == LEAF
    x, y, width = layout.x[i], layout.top(i), layout.box_width[i]
    box = FancyBboxPatch(
        (x - width / 2, y),
        width,
        BOX_HEIGHT,
        boxstyle=f"round,pad=0,rounding_size={BOX_HEIGHT / 2 if leaf else 4}",
        facecolor=colour(int(tree.action[i])) if leaf else PAPER,
        edgecolor=LINE,
        linewidth=scale,
    )
    axes.add_patch(box)
    _write(axes, x, y + BOX_HEIGHT / 2, layout.texts[i], color=INK, fontsize=FONT_SIZE * scale, ha="center")


def _draw_edge(axes: "Axes", layout: Layout, parent: int, child: int, answer: str, side: str, scale: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    curve = Path(layout.curve(parent, child), [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=LINE, linewidth=1.2 * scale))
    _write(axes, layout.x[child], layout.top(child) - 12, answer, color=LINE, fontsize=10 * scale, ha=side)


def _write(axes: "Axes", x: float, y: float, text: str, **style: Any) -> None:
    """Write a text as it is; dollar signs do not start a formula."""
    axes.text(x, y, text, va="center", parse_math=False, usetex=False, **style)


@contextmanager
def _missing_glyphs_drawn_as_boxes() -> Iterator[None]:
    """Suppress the warning about a character that the font lacks: matplotlib draws a box, which shows the same."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield
