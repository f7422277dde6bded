"""A tree as a fitted scikit-learn classifier (needs the extra `sklearn`), or as a Python script that builds one.

scikit-learn has only thresholds, and it rounds observations to 32 bits before it compares. An equality x = v becomes
two thresholds, at the 32-bit number v and at its predecessor, and the "no" subtree stands on both outer sides. The
result decides like the tree on every observation of 32-bit numbers. Other observations may be rounded to the other side
of a threshold.
"""

import inspect
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from omdt.errors import InputError, require
from omdt.export.python import exceptions_table
from omdt.tree import LEAF, Attach, Nodes, TreePolicy

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

MOST_NODES = 200_000
"""Maximum number of nodes without equalities: those of many features multiply, and nobody can use a larger tree."""

Interval = tuple[float, float]
"""The numbers x with lower < x ≤ upper."""


def to_sklearn(tree: TreePolicy) -> "DecisionTreeClassifier":
    """A fitted `DecisionTreeClassifier` that predicts the index of the action."""
    require("sklearn", "sklearn", "the export to scikit-learn")
    return classifier(**_arguments(tree))


def to_sklearn_script(tree: TreePolicy) -> str:
    """A Python script that builds the same classifier as `to_sklearn`, under the name `policy`."""
    arguments = ",\n".join(f"    {name}={value!r}" for name, value in _arguments(tree).items())
    return f'''"""A decision tree policy as a scikit-learn classifier: policy.predict(observations) indexes ACTIONS."""

import numpy as np

FEATURES = {list(tree.feature_names)!r}

ACTIONS = {list(tree.action_names)!r}
{_exceptions(tree)}

{inspect.getsource(classifier).replace(' -> "DecisionTreeClassifier"', "")}

policy = classifier(
{arguments},
)
'''


def _exceptions(tree: TreePolicy) -> str:
    """The table of exceptions; empty if there are none."""
    if not tree.exceptions.matter:
        return ""
    table = exceptions_table(tree, range(len(tree.action_names)))
    return f"\n# The classifier does not know these exceptions; look them up before you play its action.\n{table}\n"


def classifier(
    n_features: int,
    n_actions: int,
    depth: int,
    feature: list[int],
    threshold: list[float],
    left: list[int],
    right: list[int],
    action: list[int],
) -> "DecisionTreeClassifier":
    """A fitted classifier with these nodes; −1 marks a leaf in feature, left and right, and a question in action."""
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.tree._tree import NODE_DTYPE, TREE_LEAF, TREE_UNDEFINED, Tree

    inner = np.array(left) != -1
    nodes = np.zeros(len(left), dtype=NODE_DTYPE)
    nodes["left_child"] = np.where(inner, left, TREE_LEAF)
    nodes["right_child"] = np.where(inner, right, TREE_LEAF)
    nodes["feature"] = np.where(inner, feature, TREE_UNDEFINED)
    nodes["threshold"] = np.where(inner, threshold, TREE_UNDEFINED)
    nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = 1
    values = np.zeros((len(left), 1, n_actions))
    values[np.flatnonzero(~inner), 0, np.array(action)[~inner]] = 1
    values[inner] = 1 / n_actions
    tree = Tree(n_features, np.array([n_actions]), 1)
    tree.__setstate__({"max_depth": depth, "node_count": len(left), "nodes": nodes, "values": values})
    fitted = DecisionTreeClassifier()
    fitted.tree_ = tree
    fitted.classes_ = np.arange(n_actions)
    fitted.n_classes_ = n_actions
    fitted.n_features_in_ = n_features
    fitted.max_features_ = n_features
    fitted.n_outputs_ = 1
    return fitted


class Arguments(TypedDict):
    """The arguments of `classifier`."""

    n_features: int
    n_actions: int
    depth: int
    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    action: list[int]


def _arguments(tree: TreePolicy) -> Arguments:
    plain = _thresholds_only(tree) if tree.equality.any() else tree
    return {
        "n_features": len(plain.feature_names),
        "n_actions": len(plain.action_names),
        "depth": plain.depth,
        "feature": plain.feature.tolist(),
        "threshold": plain.threshold.tolist(),
        "left": plain.left.tolist(),
        "right": plain.right.tolist(),
        "action": plain.action.tolist(),
    }


def _thresholds_only(tree: TreePolicy) -> TreePolicy:
    """The tree without equalities, and without questions that the path has already answered."""
    grown = Nodes()
    stack: list[tuple[int, dict[int, Interval], Attach | None]] = [(0, {}, None)]
    while stack:
        node, ranges, attach = stack.pop()
        if len(grown) > MOST_NODES:
            raise InputError(
                f"scikit-learn knows thresholds only, and without its equalities this tree of {tree.n_nodes} nodes "
                f"would have more than {MOST_NODES}"
            )
        if tree.feature[node] == LEAF:
            grown.leaf(int(tree.action[node]), attach)
            continue
        j = int(tree.feature[node])
        *first, (child, last) = _parts(tree, node, ranges.get(j, (-np.inf, np.inf)))
        for side, interval in first:
            index = grown.split(j, interval[1], False, attach)
            stack.append((side, {**ranges, j: interval}, (index, "left")))
            attach = (index, "right")
        stack.append((child, {**ranges, j: last}, attach))
    return grown.tree(TreePolicy, tree.feature_names, tree.action_names, tree.integer)


def _parts(tree: TreePolicy, node: int, within: Interval) -> list[tuple[int, Interval]]:
    """The children of a decision node in the order of its feature, each with its part of the interval."""
    threshold, left, right = float(tree.threshold[node]), int(tree.left[node]), int(tree.right[node])
    cuts, children = [threshold], [left, right]
    if tree.equality[node]:
        with np.errstate(over="ignore"):
            value = np.float32(threshold)
        cuts, children = [float(np.nextafter(value, np.float32(-np.inf))), float(value)], [right, left, right]
    ends = [-np.inf, *cuts, np.inf]
    parts = [
        (child, (max(lower, within[0]), min(upper, within[1])))
        for child, lower, upper in zip(children, ends[:-1], ends[1:], strict=True)
    ]
    return [(child, (lower, upper)) for child, (lower, upper) in parts if lower < upper]
