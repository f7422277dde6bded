"""A tree as lines of text, and names that fit into one line."""

from collections.abc import Callable, Sequence

import numpy as np

from omdt.tree.nodes import LEAF, NodeArrays


def printable(name: str) -> str:
    """A name with line breaks and other control characters spelled out, fit for one line of text."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def question(name: str, threshold: float, equality: bool, integer: bool) -> str:
    """A question about a feature, as in `X ≤ 2`.

    Args:
        name: the feature.
        threshold: the number that it is compared with.
        equality: whether the question is for equality.
        integer: whether the feature takes whole numbers only, so that the threshold is rounded down.
    """
    whole = integer and (not equality or threshold == int(threshold))
    number = str(int(np.floor(threshold))) if whole else f"{threshold:.6g}"
    return f"{printable(name)} {'=' if equality else '≤'} {number}"


def indented(tree: NodeArrays, asked: Callable[[int], str], action_names: Sequence[str]) -> str:
    """A tree as indented lines.

    Args:
        tree: the tree.
        asked: the text of a decision node.
        action_names: names of the actions.
    """
    lines: list[str] = []
    stack = [(0, "", "")]
    while stack:
        node, first, rest = stack.pop()
        if tree.feature[node] == LEAF:
            lines.append(first + printable(action_names[tree.action[node]]))
            continue
        lines.append(first + asked(node))
        stack.append((int(tree.right[node]), rest + "└── no:  ", rest + "         "))
        stack.append((int(tree.left[node]), rest + "├── yes: ", rest + "│        "))
    return "\n".join(lines)
