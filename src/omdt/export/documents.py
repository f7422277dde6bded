"""A tree as text for people and as JSON for programs."""

import json

from omdt.errors import InputError
from omdt.tree import TreePolicy

FORMAT = "omdt-tree-1"


def to_text(tree: TreePolicy) -> str:
    """The tree as indented lines."""
    return tree.to_text() + "\n"


def to_json(tree: TreePolicy) -> str:
    """The tree with its names, as in the JSON of a solution and without the rest of it."""
    return dumped(
        tree,
        {
            "format": FORMAT,
            "feature_names": list(tree.feature_names),
            "integer_features": list(tree.integer),
            "action_names": list(tree.action_names),
            "tree": tree.to_dict(),
        },
    )


def dumped(tree: TreePolicy, content: object) -> str:
    """One line of JSON with the tree nested in it."""
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise InputError(f"the tree is too deep for nested JSON: its depth is {tree.depth}") from None
    # JSON spells half a surrogate pair as Python does, and no encoding can hold it otherwise.
    return text.encode("utf-8", "backslashreplace").decode() + "\n"
