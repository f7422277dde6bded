"""A tree as nested conditions: the shape that the Python, C and JavaScript functions share.

A question becomes a condition around one of its sides, followed by the other side, because whoever took the first has
returned by then. The side inside is the one that nests less itself, which makes the nesting the Strahler number of the
tree: at most log2 of the number of leaves, however deep the tree. Compilers and parsers have limits on nesting, some
as low as one hundred.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from omdt.mdp import Ints
from omdt.names import identifiers
from omdt.tree import LEAF, TreePolicy

_CLOSE = -2


@dataclass(frozen=True)
class Syntax:
    """How a language writes what a tree needs.

    Attributes:
        condition: the line that opens a condition, with {} for the comparison.
        close: the line that closes it; empty where indentation does.
        result: the line that returns {}.
        equality: the operators for equal and for different.
        number: a literal for a 64-bit number, to the last bit.
    """

    condition: str
    close: str
    result: str
    equality: tuple[str, str]
    number: Callable[[float], str] = repr


def constants(tree: TreePolicy) -> tuple[list[str], list[str]]:
    """An upper-case constant for each feature and each action."""
    features = identifiers((name.upper() for name in tree.feature_names), "NUMBER")
    actions = identifiers((name.upper() for name in tree.action_names), "NUMBER")
    return [f"FEATURE_{name}" for name in features], [f"ACTION_{name}" for name in actions]


def caveats(tree: TreePolicy) -> list[str]:
    """Where an exported tree needs help to play what is available; the lines fit any comment, no name is in them."""
    table, lines = tree.exceptions, []
    if table.look_alikes:
        lines.append(f"{table.look_alikes:,} visited states look alike but offer different actions: there,")
        lines.append("ask which actions are available before the tree's action is played.")
    if table.left_out:
        lines.append(
            f"The table of exceptions leaves out {table.left_out:,} observations on which the action is not available."
        )
    return lines


def body(tree: TreePolicy, syntax: Syntax, features: list[str], actions: list[str]) -> str:
    """The lines that return the action for the array `observation`."""
    nesting = _nesting(tree)
    lines: list[str] = []
    stack = [(0, 1)]
    while stack:
        node, level = stack.pop()
        indent = "    " * level
        if node == _CLOSE:
            lines.append(indent + syntax.close)
        elif tree.feature[node] == LEAF:
            lines.append(indent + syntax.result.format(actions[tree.action[node]]))
        else:
            left, right = int(tree.left[node]), int(tree.right[node])
            yes = bool(nesting[left] <= nesting[right])
            comparison = f"observation[{features[tree.feature[node]]}] {_test(tree, node, yes, syntax)}"
            lines.append(indent + syntax.condition.format(comparison))
            stack.append((right if yes else left, level))
            if syntax.close:
                stack.append((_CLOSE, level))
            stack.append((left if yes else right, level + 1))
    return "\n".join(lines)


def _test(tree: TreePolicy, node: int, yes: bool, syntax: Syntax) -> str:
    """Operator and number of the comparison that holds when the answer is yes, or when it is no."""
    operators = syntax.equality if tree.equality[node] else ("<=", ">")
    operator = operators[0] if yes else operators[1]
    return f"{operator} {syntax.number(float(tree.threshold[node]))}"


def _nesting(tree: TreePolicy) -> Ints:
    """[N] how deep the conditions below each node nest."""
    nesting: Ints = np.zeros(tree.n_nodes, dtype=np.int64)
    for i in reversed(range(tree.n_nodes)):
        if tree.feature[i] != LEAF:
            one, other = sorted((nesting[tree.left[i]], nesting[tree.right[i]]))
            nesting[i] = max(one + 1, other)
    return nesting
