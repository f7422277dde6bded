"""A tree as nested conditions: the shape that the Python, C and JavaScript functions share.

A question becomes a condition around one of its subtrees. The other subtree follows after it, without an `else`,
because every path through the first one has returned. The subtree inside the condition is the one that nests less,
which makes the depth of nesting the Strahler number of the tree: at most log2 of the number of leaves, however deep the
tree is. Compilers and parsers have limits on nesting, some as low as one hundred.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from omdt.mdp import Ints
from omdt.names import identifiers
from omdt.tree import LEAF, TreePolicy

_CLOSE = -2
"""Stands for the end of a condition on the stack of nodes."""


@dataclass(frozen=True)
class Syntax:
    """How a language writes what a tree needs.

    Attributes:
        condition: the line that opens a condition, with {} for the comparison.
        close: the line that closes it; empty if indentation does.
        result: the line that returns an action, with {} for the action.
        equality: the operators for equal and for different.
        number: gives the literal of a 64-bit number, exact to the last bit.
    """

    condition: str
    close: str
    result: str
    equality: tuple[str, str]
    number: Callable[[float], str] = repr


def constants(tree: TreePolicy) -> tuple[list[str], list[str]]:
    """The names of upper-case constants, one per feature and one per action."""
    features = identifiers((name.upper() for name in tree.feature_names), "NUMBER")
    actions = identifiers((name.upper() for name in tree.action_names), "NUMBER")
    return [f"FEATURE_{name}" for name in features], [f"ACTION_{name}" for name in actions]


def caveats(tree: TreePolicy) -> list[str]:
    """Where an exported tree cannot know what is available; the lines contain no names, so they fit in any comment."""
    table, lines = tree.exceptions, []
    if table.look_alikes:
        lines.append(f"{table.look_alikes:,} visited states look alike but offer different actions; in these states,")
        lines.append("check which actions are available before you play the action of the tree.")
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
    """Operator and number of the comparison that is true if the answer is yes, or if it is no."""
    operators = syntax.equality if tree.equality[node] else ("<=", ">")
    operator = operators[0] if yes else operators[1]
    return f"{operator} {syntax.number(float(tree.threshold[node]))}"


def _nesting(tree: TreePolicy) -> Ints:
    """[N] how deep the conditions of the subtree below each node are nested."""
    nesting: Ints = np.zeros(tree.n_nodes, dtype=np.int64)
    for i in reversed(range(tree.n_nodes)):
        if tree.feature[i] != LEAF:
            one, other = sorted((nesting[tree.left[i]], nesting[tree.right[i]]))
            nesting[i] = max(one + 1, other)
    return nesting
