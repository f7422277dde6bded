"""A tree as nested dictionaries, the form that it has in JSON."""

from collections.abc import Sequence
from typing import TypedDict

from omdt.errors import InputError
from omdt.tree.nodes import LEAF, Attach, NodeArrays, Nodes

LARGEST_INTEGER = 2**1023
"""Largest whole number that JSON may hold as a threshold; a 64-bit float holds nothing above twice that."""


class NestedNode(TypedDict, total=False):
    """A leaf has an `action`; a decision node has a `feature`, a `threshold` or `equals`, a `left` and a `right`."""

    action: str
    feature: str
    threshold: float
    equals: float
    left: "NestedNode"
    right: "NestedNode"


def to_nested(tree: NodeArrays, feature_names: Sequence[str], action_names: Sequence[str]) -> NestedNode:
    """The root of a tree, with its children in it."""
    nodes: list[NestedNode] = []
    for i in range(len(tree.feature)):
        if tree.feature[i] == LEAF:
            nodes.append({"action": action_names[tree.action[i]]})
        elif tree.equality[i]:
            nodes.append({"feature": feature_names[tree.feature[i]], "equals": float(tree.threshold[i])})
        else:
            nodes.append({"feature": feature_names[tree.feature[i]], "threshold": float(tree.threshold[i])})
    for node, left, right in zip(nodes, tree.left, tree.right, strict=True):
        if left != LEAF:
            node["left"], node["right"] = nodes[left], nodes[right]
    return nodes[0]


def from_nested(nested: object, feature_names: Sequence[str], action_names: Sequence[str]) -> Nodes:
    """The nodes of a nested dictionary; errors name the place in it, such as `tree.left.right`."""
    grown = Nodes()
    stack: list[tuple[object, str, Attach | None]] = [(nested, "tree", None)]
    while stack:
        node, path, attach = stack.pop()
        if not isinstance(node, dict):
            raise InputError(f"{path} must be an object with an action or a feature, not {node!r:.40}")
        if "action" in node:
            grown.leaf(position(node["action"], action_names, "action", path), attach)
            continue
        compared = "equals" if "equals" in node else "threshold"
        missing = {"feature", "left", "right", compared} - node.keys()
        if missing:
            raise InputError(f"{path} lacks {', '.join(sorted(missing))}")
        number = number_of(node[compared], path)
        feature = position(node["feature"], feature_names, "feature", path)
        index = grown.split(feature, number, compared == "equals", attach)
        stack.append((node["right"], path + ".right", (index, "right")))
        stack.append((node["left"], path + ".left", (index, "left")))
    return grown


def position(name: object, names: Sequence[str], what: str, path: str) -> int:
    """The index of a name; an error says which `what` is unknown, and where it was named."""
    if name not in names:
        raise InputError(f"{path} names the {what} {name!r:.80}, which is not among the {len(names)} {what}s")
    return [*names].index(str(name))


def number_of(value: object, path: str) -> float:
    """A number of a nested tree; an error says where it stands."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{path} compares with {value!r:.40}, which is not a number")
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        raise InputError(f"{path} compares with {value!r:.40}, which is too large a number")
    return value
