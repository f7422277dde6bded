"""The tree of the page as an SVG: boxes show visits and runners-up, and the width of a line shows its visits.

The script of the page folds subtrees and moves the other boxes together. So each box is drawn relative to the place of
its group, and each line and answer has an attribute with the node that it leads to.
"""

from html import escape

import numpy as np

from omdt.export.layout import GAP, PADDING, ROW_GAP, Layout, full_text, placed, shortened
from omdt.export.palette import colour
from omdt.export.svg import FONT_SIZE, text_width
from omdt.report.analysis import Analysis
from omdt.report.runners_up import RunnerUp
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
THICKEST = 9.0
"""Width of a line that all visits follow; a line without visits has width 1."""


def drawn(tree: TreePolicy, analysis: Analysis) -> str:
    """The drawing; all colours except those of actions come from the style sheet of the page."""
    notes = [_notes(tree, analysis, i) for i in range(tree.n_nodes)]
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
        *(_box(tree, analysis, layout, notes[i], i) for i in range(tree.n_nodes)),
        "</svg>",
    ]
    return "\n".join(parts)


def visits(share: float) -> str:
    """The share of visits in words."""
    return f"{percent(share)} of visits" if share > 0 else "never visited"


def runner_up(tree: TreePolicy, found: RunnerUp) -> str:
    """The best other action of a leaf and how it would change the return, in words."""
    name = shortened(printable(tree.action_names[found.action]))
    if found.loss == 0:
        return f"{name} is as good"
    return f"{name} loses {number(found.loss)}" if found.loss > 0 else f"{name} gains {number(-found.loss)}"


def _notes(tree: TreePolicy, analysis: Analysis, i: int) -> list[str]:
    """The lines below the question or the action in a box."""
    notes = [visits(float(analysis.node_share[i]))]
    if i in analysis.runners_up:
        notes.append(runner_up(tree, analysis.runners_up[i]))
    return notes


def _layout(tree: TreePolicy, notes: list[list[str]]) -> Layout:
    texts = [shortened(full_text(tree, i)) for i in range(tree.n_nodes)]
    small = NOTE_SIZE / FONT_SIZE
    widths = [
        max(text_width(text), *(small * text_width(note) for note in below))
        for text, below in zip(texts, notes, strict=True)
    ]
    # All boxes have the same height, and a folded question has a second note.
    lines = 1 + (2 if tree.n_nodes > 1 else len(notes[0]))
    return placed(tree, texts, np.array(widths) + 2 * PADDING, LINE_HEIGHT * lines + PADDING)


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


def _box(tree: TreePolicy, analysis: Analysis, layout: Layout, notes: list[str], i: int) -> str:
    leaf = tree.feature[i] == LEAF
    kind = "node leaf" if leaf else "node question"
    faded = "" if analysis.node_share[i] > 0 else " unvisited"
    fill = f' fill="{colour(int(tree.action[i]))}"' if leaf else ""
    width = layout.box_width[i]
    first = layout.box_height / 2 - LINE_HEIGHT * len(notes) / 2 + 0.35 * FONT_SIZE
    lines = [f'<text y="{first:.1f}">{escape(layout.texts[i])}</text>']
    lines += [
        f'<text class="note" y="{first + LINE_HEIGHT * (k + 1):.1f}">{escape(note)}</text>'
        for k, note in enumerate(notes)
    ]
    label = escape(", ".join([full_text(tree, i), *notes]))
    return (
        f'<g class="{kind}{faded}" data-node="{i}" {_moved(float(layout.x[i]), layout.top(i))} tabindex="0"'
        f' role="button" aria-label="{label}"><title>{escape(full_text(tree, i))}</title>'
        f'<rect x="{-width / 2:.1f}" width="{width:.1f}" height="{layout.box_height:g}"'
        f' rx="{18 if leaf else 4}"{fill}/>{"".join(lines)}</g>'
    )
