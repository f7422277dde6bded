"""Where the nodes of a drawn tree stand: every question centred above its two sides, no two boxes in each other's way.

A subtree is laid out in a frame of its own and described by its outline: the left and the right end of each of its
rows, the lowest row first. Two subtrees are pushed together until their outlines are one gap apart; only the rows that
both of them have are looked at, and the outline of the taller one is extended in place. Each row is thus looked at once
for each subtree that ends in it, so the work is proportional to the number of nodes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.tree import LEAF, TreePolicy, levels, printable

GAP = 18.0
"""Least distance between neighbouring boxes."""
BOX_HEIGHT = 32.0
ROW_GAP = 52.0
"""Distance between the boxes of one row and those of the next."""
PADDING = 12.0
"""Distance of a text from the sides of its box, and of the drawing from its border."""
LONGEST_TEXT = 40
"""Characters of a name that are drawn."""


@dataclass(frozen=True)
class Layout:
    """A drawn tree.

    Attributes:
        texts: [N] what stands in each box.
        x: [N] centre of each box.
        level: [N] row of each box, the root's being 0.
        box_width: [N] width of each box.
        box_height: height of every box.
        width: width of the whole.
        height: height of the whole.
    """

    texts: list[str]
    x: Floats
    level: Ints
    box_width: Floats
    box_height: float
    width: float
    height: float

    def top(self, node: int) -> float:
        """Upper end of a box, downwards from the top of the drawing."""
        return PADDING + float(self.level[node]) * (self.box_height + ROW_GAP)

    def curve(self, parent: int, child: int) -> list[tuple[float, float]]:
        """The four points of the Bézier curve from the bottom of one box to the top of another."""
        start, end = self.top(parent) + self.box_height, self.top(child)
        bend = (start + end) / 2
        x0, x1 = float(self.x[parent]), float(self.x[child])
        return [(x0, start), (x0, bend), (x1, bend), (x1, end)]


def laid_out(tree: TreePolicy, measure: Callable[[str], float]) -> Layout:
    """Place the nodes of a tree whose texts have the measured widths."""
    texts = [shortened(full_text(tree, i)) for i in range(tree.n_nodes)]
    box_width = np.array([measure(text) + 2 * PADDING for text in texts])
    return placed(tree, texts, box_width, BOX_HEIGHT)


def placed(tree: TreePolicy, texts: list[str], box_width: Floats, box_height: float) -> Layout:
    """Place the nodes of a tree whose boxes have the given sizes."""
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
    """The text of a box with the middle left out where it is long; its end holds the number of a question."""
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]}…{text[-half:]}"


@dataclass
class _Outline:
    """The ends of each row of a subtree, lowest row first, and the centre of its root, in the subtree's own frame."""

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
    # Parents stand before their children: each shift is final when those below it are added to it.
    for parent in np.flatnonzero(tree.feature != LEAF):
        shift[[tree.left[parent], tree.right[parent]]] += shift[parent]
    return centre + shift


def _joined(one: _Outline, other: _Outline) -> tuple[_Outline, float, float]:
    """The outline of two neighbours in the frame of the taller, and how far each of them is shifted in it."""
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
