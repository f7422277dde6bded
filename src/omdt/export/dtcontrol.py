"""A tree in dtControl's JSON: a node has a `split` and two `children`, a leaf has its action as `actual_label`."""

from typing import TypedDict

from omdt.export.documents import dumped
from omdt.tree import LEAF, TreePolicy


class Node(TypedDict, total=False):
    """A node in dtControl's JSON."""

    actual_label: list[str] | None
    children: list["Node"]
    split: dict[str, object] | None
    edge_label: str


def to_dtcontrol(tree: TreePolicy) -> str:
    """The tree in the JSON that dtControl writes for its own trees."""
    nodes = [_node(tree, i) for i in range(tree.n_nodes)]
    for node, left, right in zip(nodes, tree.left, tree.right, strict=True):
        if left != LEAF:
            nodes[left]["edge_label"], nodes[right]["edge_label"] = "true", "false"
            node["children"] = [nodes[left], nodes[right]]
    return dumped(tree, nodes[0])


def _node(tree: TreePolicy, i: int) -> Node:
    if tree.feature[i] == LEAF:
        return {"actual_label": [tree.action_names[tree.action[i]]], "children": [], "split": None}
    split: dict[str, object] = {
        "lhs": {"coeff": 1, "var": tree.feature_names[tree.feature[i]]},
        "op": "==" if tree.equality[i] else "<=",
        "rhs": float(tree.threshold[i]),
    }
    return {"actual_label": None, "children": [], "split": split}
