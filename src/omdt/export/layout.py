"""The layout of a drawn tree: every question is centred above its two children, and no boxes overlap.

A subtree is laid out in its own coordinates and described by its outline: the left and the right end of each of its
rows, the lowest row first. Two subtrees are moved together until their outlines are one gap apart. Only the rows that
both of them have are compared, and the outline of the taller subtree is extended in place. So each row is visited once
per subtree that ends in it, and the work is proportional to the number of nodes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.tree import LEAF, TreePolicy, levels, printable

GAP = 18.0
"""Minimum distance between neighbouring boxes, in units of the drawing."""
BOX_HEIGHT = 32.0
"""Height of a box: one line of text with some space around it."""
ROW_GAP = 52.0
"""Distance between the boxes of one row and those of the next: enough for the answers on the lines."""
PADDING = 12.0
"""Distance between a text and the sides of its box, and between the drawing and its border."""
LONGEST_TEXT = 40
"""Maximum number of characters in a box; a longer text loses its middle."""


@dataclass(frozen=True)
class Layout:
    """The places of all boxes of a drawn tree.

    Attributes:
        texts: [N] the text in each box.
        x: [N] centre of each box.
        level: [N] row of each box; the root is in row 0.
        box_width: [N] width of each box.
        box_height: height of every box.
        width: width of the drawing.
        height: height of the drawing.
    """

    texts: list[str]
    x: Floats
    level: Ints
    box_width: Floats
    box_height: float
    width: float
    height: float

    def top(self, node: int) -> float:
        """Distance of the top of a box from the top of the drawing."""
        return PADDING + float(self.level[node]) * (self.box_height + ROW_GAP)

    def curve(self, parent: int, child: int) -> list[tuple[float, float]]:
        """The four points of the Bézier curve from the bottom of a parent to the top of its child."""
        start, end = self.top(parent) + self.box_height, self.top(child)
        bend = (start + end) / 2
        x0, x1 = float(self.x[parent]), float(self.x[child])
        return [(x0, start), (x0, bend), (x1, bend), (x1, end)]


def laid_out(tree: TreePolicy, measure: Callable[[str], float]) -> Layout:
    """Place the nodes of a tree; `measure` returns the width of a text."""
    texts = [shortened(full_text(tree, i)) for i in range(tree.n_nodes)]
    box_width = np.array([measure(text) + 2 * PADDING for text in texts])
    return placed(tree, texts, box_width, BOX_HEIGHT)


def placed(tree: TreePolicy, texts: list[str], box_width: Floats, box_height: float) -> Layout:
    """Place the nodes of a tree whose boxes have the given texts and sizes."""
    level = levels(tree)
    x = _centres(tree, box_width)
    x += PADDING - (x - box_width / 2).min()
    return Layout(
        texts=texts,
        x=x,
        level=level,
        box_width=box_width,
        box_height=box_height,
        width=float((x + box_width / 2).max()) + PADDING,
        height=float(level.max()) * (box_height + ROW_GAP) + box_height + 2 * PADDING,
    )


def full_text(tree: TreePolicy, node: int) -> str:
    """The question of a decision node or the action of a leaf."""
    if tree.feature[node] == LEAF:
        return printable(tree.action_names[tree.action[node]])
    return tree.question(node)


def shortened(text: str) -> str:
    """The text without its middle if it is long; the end is kept because it holds the number of a question."""
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]}…{text[-half:]}"


@dataclass
class _Outline:
    """The ends of each row of a subtree, lowest row first, and the centre of its root, in the subtree's coordinates."""

    left: list[float]
    right: list[float]
    centre: float


def _centres(tree: TreePolicy, box_width: Floats) -> Floats:
    """[N] the centre of each box, up to a common shift."""
    outlines: dict[int, _Outline] = {}
    centre = np.zeros(tree.n_nodes)
    shift = np.zeros(tree.n_nodes)
    for i in reversed(range(tree.n_nodes)):
        half = float(box_width[i]) / 2
        if tree.feature[i] == LEAF:
            outlines[i] = _Outline([-half], [half], 0.0)
            continue
        left, right = int(tree.left[i]), int(tree.right[i])
        outlines[i], shift[left], shift[right] = _joined(outlines.pop(left), outlines.pop(right))
        centre[i] = outlines[i].centre
        outlines[i].left.append(centre[i] - half)
        outlines[i].right.append(centre[i] + half)
    # Parents come before their children, so the shift of a parent is final when it is added to its children.
    for parent in np.flatnonzero(tree.feature != LEAF):
        shift[[tree.left[parent], tree.right[parent]]] += shift[parent]
    return centre + shift


def _joined(one: _Outline, other: _Outline) -> tuple[_Outline, float, float]:
    """The outline of two neighbours in the coordinates of the taller one, and how far each is shifted in them."""
    common = min(len(one.left), len(other.left))
    distance = GAP + max(end - start for end, start in zip(one.right[-common:], other.left[-common:], strict=True))
    middle = (one.centre + other.centre + distance) / 2
    if len(one.left) >= len(other.left):
        one.right[-common:] = [end + distance for end in other.right[-common:]]
        one.centre = middle
        return one, 0.0, distance
    other.left[-common:] = [end - distance for end in one.left[-common:]]
    other.centre = middle - distance
    return other, -distance, 0.0
