"""A tree as text for people and as JSON for programs."""

import json

from omdt.errors import InputError
from omdt.export.code import caveats
from omdt.tree import TreePolicy, printable

FORMAT = "omdt-tree-1"

MOST_LISTED = 20
"""Maximum number of exceptional observations in the text; more would bury the tree."""


def to_text(tree: TreePolicy) -> str:
    """The tree as indented lines, followed by what is played where its action is not available."""
    return "\n".join([tree.to_text(), *_exceptions(tree)]) + "\n"


def _exceptions(tree: TreePolicy) -> list[str]:
    table = tree.exceptions.table
    names = [printable(name) for name in tree.feature_names]
    lines = [
        f"{', '.join(f'{name} = {x:.6g}' for name, x in zip(names, observation, strict=True))}: "
        f"{printable(tree.action_names[action])} is played, the action above is not available"
        for observation, action in list(table.items())[:MOST_LISTED]
    ]
    if len(table) > MOST_LISTED:
        lines.append(f"… and {len(table) - MOST_LISTED:,} more observations on which another action is played")
    return ["", *lines, *caveats(tree)] if lines or caveats(tree) else []


def to_json(tree: TreePolicy) -> str:
    """The tree with its names: the part of a solution's JSON that is about the tree."""
    return dumped(
        tree,
        {
            "format": FORMAT,
            "feature_names": list(tree.feature_names),
            "integer_features": list(tree.integer),
            "truth_features": list(tree.truths),
            "action_names": list(tree.action_names),
            "tree": tree.to_dict(),
            **tree.exceptions.to_dict(tree.action_names),
        },
    )


def dumped(tree: TreePolicy, content: object) -> str:
    """One line of JSON with the tree nested in it."""
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise InputError(f"the tree is too deep for nested JSON: its depth is {tree.depth}") from None
    # Half a surrogate pair cannot be encoded; JSON and Python write it with the same escape sequence.
    return text.encode("utf-8", "backslashreplace").decode() + "\n"
