"""A tree in the DOT language of Graphviz."""

from omdt.export.palette import colour
from omdt.tree import LEAF, TreePolicy, printable


def to_dot(tree: TreePolicy) -> str:
    """A directed graph: questions are white boxes, leaves have the colour of their action."""
    lines = [
        "digraph policy {",
        '    node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="sans-serif"];',
        '    edge [fontname="sans-serif"];',
    ]
    for i in range(tree.n_nodes):
        if tree.feature[i] == LEAF:
            action = int(tree.action[i])
            label = _string(printable(tree.action_names[action]))
            lines.append(f'    n{i} [label={label}, fillcolor="{colour(action)}"];')
        else:
            lines.append(f"    n{i} [label={_string(tree.question(i))}];")
            lines.append(f'    n{i} -> n{tree.left[i]} [label="yes"];')
            lines.append(f'    n{i} -> n{tree.right[i]} [label="no"];')
    return "\n".join([*lines, "}"]) + "\n"


def _string(text: str) -> str:
    """A quoted string; backslashes and ampersands are escaped because they have a meaning in labels."""
    return '"' + text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') + '"'
