"""The tree of the page as an SVG: boxes show visits, and so does the width of a line.

The script of the page folds subtrees and moves the other boxes together. So each box is drawn relative to the place of
its group, and each line and answer has an attribute with the node that it leads to.
"""

from html import escape

import numpy as np

from omdt.export.layout import GAP, PADDING, ROW_GAP, Layout, full_text, placed, shortened
from omdt.export.svg import FONT_SIZE, text_width
from omdt.report.analysis import Analysis
from omdt.report.colours import action_colours
from omdt.report.runners_up import RunnerUp
from omdt.report.visits import through_nodes
from omdt.report.words import number, percent
from omdt.tree import LEAF, TreePolicy, printable

NOTE_SIZE = 12.0
"""Font size of the notes below a question or an action."""
LINE_HEIGHT = 17.0
"""Distance between the lines of text in a box."""
AWAY = 9.0
"""Distance between an answer and the line that it belongs to."""
MOST_LEAVES = 40
"""Maximum number of leaves of a tree that is shown whole at first. A larger tree is hidden until the script has folded
it, because drawing thousands of boxes takes seconds."""
NEVER = "never visited"
"""What is said of a node that no visit passes."""
THICKEST = 9.0
"""Width of a line that all visits follow; a line without visits has width 1."""


def drawn(tree: TreePolicy, analysis: Analysis) -> str:
    """The drawing; all colours except those of actions come from the style sheet of the page."""
    notes = [visits(float(share)) for share in analysis.node_share]
    colours = action_colours(tree)
    layout = _layout(tree, notes)
    inner = [i for i in range(tree.n_nodes) if tree.feature[i] != LEAF]
    size = "large" if tree.n_leaves > MOST_LEAVES else "small"
    parts = [
        f'<svg id="drawing" class="{size}" xmlns="http://www.w3.org/2000/svg"'
        f' width="{layout.width:.1f}" height="{layout.height:.1f}" viewBox="0 0 {layout.width:.1f} {layout.height:.1f}"'
        f' data-box="{layout.box_height:g}" data-row="{layout.box_height + ROW_GAP:g}" data-gap="{GAP:g}"'
        f' data-padding="{PADDING:g}" font-size="{FONT_SIZE:g}" text-anchor="middle" role="group"'
        ' aria-label="decision tree">',
        *(
            _line(layout, i, int(child), float(analysis.node_share[child]))
            for i in inner
            for child in (tree.left[i], tree.right[i])
        ),
        *(_answer(layout, int(tree.left[i]), "yes", "end", -AWAY) for i in inner),
        *(_answer(layout, int(tree.right[i]), "no", "start", AWAY) for i in inner),
        *(_box(tree, layout, i, notes[i], colours) for i in range(tree.n_nodes)),
        "</svg>",
    ]
    return "\n".join(parts)


def visits(share: float) -> str:
    """The share of visits in words."""
    return f"{percent(share)} of visits" if share > 0 else NEVER


def runner_up(tree: TreePolicy, found: RunnerUp) -> str:
    """The best other action of a leaf and how it would change the return, in words."""
    name = shortened(printable(tree.action_names[found.action]))
    if found.loss == 0:
        return f"{name} is as good"
    return f"{name} loses {number(found.loss)}" if found.loss > 0 else f"{name} gains {number(-found.loss)}"


def _layout(tree: TreePolicy, notes: list[str]) -> Layout:
    """The places of the boxes, which are as wide as their texts, also when the script has folded them."""
    texts = [shortened(full_text(tree, i)) for i in range(tree.n_nodes)]
    leaves = through_nodes(tree, np.flatnonzero(tree.feature == LEAF), np.ones(tree.n_leaves))
    small = NOTE_SIZE / FONT_SIZE
    widths = [
        max(text_width(text), small * text_width(note), small * text_width(f"{count:.0f} leaves below"))
        for text, note, count in zip(texts, notes, leaves, strict=True)
    ]
    return placed(tree, texts, np.array(widths) + 2 * PADDING, 2 * LINE_HEIGHT + PADDING)


def _line(layout: Layout, parent: int, child: int, share: float) -> str:
    start, *others = (f"{x:.1f} {y:.1f}" for x, y in layout.curve(parent, child))
    kind = "line" if share > 0 else "line unvisited"
    width = 1 + (THICKEST - 1) * share
    return f'<path class="{kind}" data-to="{child}" stroke-width="{width:.2f}" d="M{start}C{" ".join(others)}"/>'


def _answer(layout: Layout, child: int, text: str, anchor: str, away: float) -> str:
    place = _moved(float(layout.x[child]), layout.top(child))
    return f'<text class="answer" data-to="{child}" {place} x="{away:g}" y="-6" text-anchor="{anchor}">{text}</text>'


def _moved(x: float, y: float) -> str:
    return f'transform="translate({x:.1f} {y:.1f})"'


def _box(tree: TreePolicy, layout: Layout, i: int, note: str, colours: list[str]) -> str:
    leaf = tree.feature[i] == LEAF
    kind = "node leaf" if leaf else "node question"
    faded = " unvisited" if note == NEVER else ""
    fill = f' fill="{colours[tree.action[i]]}"' if leaf else ""
    width = layout.box_width[i]
    first = layout.box_height / 2 - LINE_HEIGHT / 2 + 0.35 * FONT_SIZE
    label = escape(f"{full_text(tree, i)}, {note}")
    return (
        f'<g class="{kind}{faded}" data-node="{i}" {_moved(float(layout.x[i]), layout.top(i))} tabindex="0"'
        f' role="button" aria-label="{label}"><title>{escape(full_text(tree, i))}</title>'
        f'<rect x="{-width / 2:.1f}" width="{width:.1f}" height="{layout.box_height:g}"'
        f' rx="{18 if leaf else 4}"{fill}/><text y="{first:.1f}">{escape(layout.texts[i])}</text>'
        f'<text class="note" y="{first + LINE_HEIGHT:.1f}">{escape(note)}</text></g>'
    )
