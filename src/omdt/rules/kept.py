"""Kept trees: a tree whose nodes are fixed, but for the places that are marked as open."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from omdt.counting import counted
from omdt.errors import InputError
from omdt.rules.outline import Path
from omdt.tree import LEAF, TreePolicy
from omdt.tree.nested import number_of, position

MOST_LEVELS = 200
"""Maximum depth of a kept tree, far beyond what anyone reads; deeper ones could not be followed by recursion."""


@dataclass(frozen=True)
class Open:
    """A place where a subtree may be grown, with limits of its own if they are given."""

    depth: int | None = None
    leaves: int | None = None


@dataclass(frozen=True)
class KeptLeaf:
    """A leaf that stays."""

    action: int


@dataclass(frozen=True)
class KeptSplit:
    """A question that stays: left if the column is at most the threshold or, in an equality, if it is equal to it."""

    column: int
    threshold: float
    equality: bool
    left: "KeptNode"
    right: "KeptNode"


KeptNode = Open | KeptLeaf | KeptSplit


@dataclass(frozen=True)
class Kept:
    """A tree that stays as it is but for its open places."""

    root: KeptNode

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule."""
        places = [_place(path) for path, node in self.nodes() if isinstance(node, Open)]
        shown = ", ".join(places[:4]) + (f" and {len(places) - 4} more" if len(places) > 4 else "")
        return f"keeps the given tree but for {shown}" if places else "is the given tree"

    def nodes(self) -> Iterator[tuple[Path, KeptNode]]:
        """All nodes with the way to each, parents before their children."""
        stack: list[tuple[Path, KeptNode]] = [((), self.root)]
        while stack:
            path, node = stack.pop()
            yield path, node
            if isinstance(node, KeptSplit):
                stack += [((*path, True), node.right), ((*path, False), node.left)]

    @property
    def depth(self) -> int | None:
        """The largest depth of a completion by the limits of the open places; None if one of them has none."""
        depths = []
        for path, node in self.nodes():
            if isinstance(node, Open):
                own = node.depth if node.leaves is None else min(node.leaves - 1, node.depth or node.leaves - 1)
                if own is None:
                    return None
                depths.append(len(path) + own)
            else:
                depths.append(len(path))
        return max(depths)

    def difference(self, tree: TreePolicy) -> str | None:
        """Where a tree differs from the kept one, to be read after `the tree …`; None if it does not."""
        stack: list[tuple[KeptNode, int, Path]] = [(self.root, 0, ())]
        while stack:
            node, at, path = stack.pop()
            if isinstance(node, Open):
                if (found := _beyond(node, tree, at)) is not None:
                    return f"has {found} in place of {_place(path)}"
                continue
            if not _same(node, tree, at):
                return f"does not keep {_place(path)}"
            if isinstance(node, KeptSplit):
                stack.append((node.right, int(tree.right[at]), (*path, True)))
                stack.append((node.left, int(tree.left[at]), (*path, False)))
        return None


def parsed_tree(nested: object, feature_names: Sequence[str], action_names: Sequence[str]) -> Kept:
    """The kept tree of a nested dictionary: a tree as solutions have it, with `{"open": true}` where it may grow.

    Raises:
        InputError: naming the place, such as `tree.left.right`.
    """
    return Kept(_parsed(nested, feature_names, action_names, "tree", MOST_LEVELS))


def freed(nested: Any, place: str) -> Any:
    """A nested dictionary of a tree with an open place, which is named as in `tree.left.right`.

    Raises:
        InputError: if there is no such place.
    """
    steps = [step for step in place.replace("/", ".").split(".") if step not in ("", "tree", "root")]
    for step in steps:
        if step not in ("left", "right"):
            raise InputError(f"the place {place!r:.80} has {step!r:.40} in it; write it as in tree.left.right")
    return _freed(nested, steps, place)


def _freed(nested: Any, steps: list[str], place: str) -> Any:
    if not steps:
        return {"open": True}
    if not isinstance(nested, dict) or steps[0] not in nested:
        raise InputError(f"the tree has no place {place!r:.80}: it has a leaf above it")
    return {**nested, steps[0]: _freed(nested[steps[0]], steps[1:], place)}


def _parsed(
    node: object, feature_names: Sequence[str], action_names: Sequence[str], path: str, levels: int
) -> KeptNode:
    if not isinstance(node, dict):
        raise InputError(f"{path} must be an object with an action, a feature or open, not {node!r:.40}")
    if levels == 0:
        raise InputError(f"{path} is too deep: a kept tree has at most {MOST_LEVELS} levels")
    if node.get("open", False) is not False:
        return _open(node, path)
    if "action" in node:
        return KeptLeaf(position(node["action"], action_names, "action", path))
    compared = "equals" if "equals" in node else "threshold"
    missing = {"feature", "left", "right", compared} - node.keys()
    if missing:
        raise InputError(f"{path} lacks {', '.join(sorted(missing))}")
    left, right = (
        _parsed(node[side], feature_names, action_names, f"{path}.{side}", levels - 1) for side in ("left", "right")
    )
    column = position(node["feature"], feature_names, "feature", path)
    return KeptSplit(column, float(number_of(node[compared], path)), compared == "equals", left, right)


def _open(node: dict[str, object], path: str) -> Open:
    if node["open"] is not True:
        raise InputError(f"{path}.open is {node['open']!r:.40}; it must be true, or left out")
    unknown = node.keys() - {"open", "depth", "leaves"}
    if unknown:
        raise InputError(
            f"{path} is open and has {', '.join(sorted(map(repr, unknown)))}; it may have depth and leaves"
        )
    limits = {}
    for name, least in (("depth", 0), ("leaves", 1)):
        limit = node.get(name)
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < least):
            raise InputError(f"{path}.{name} is {limit!r:.40}; it must be a whole number from {least} on")
        limits[name] = limit
    return Open(limits["depth"], limits["leaves"])


def _place(path: Path) -> str:
    """A place in a tree as messages and `freed` name it."""
    return ".".join(("tree", *("right" if step else "left" for step in path)))


def _same(node: KeptLeaf | KeptSplit, tree: TreePolicy, at: int) -> bool:
    if isinstance(node, KeptLeaf):
        return bool(tree.action[at] == node.action)
    asked = (int(tree.feature[at]), float(tree.threshold[at]), bool(tree.equality[at]))
    return asked == (node.column, node.threshold, node.equality)


def _beyond(limits: Open, tree: TreePolicy, at: int) -> str | None:
    """What of a subtree is beyond the limits of an open place."""
    depth, leaves, stack = 0, 0, [(at, 0)]
    while stack:
        node, level = stack.pop()
        depth = max(depth, level)
        if tree.feature[node] == LEAF:
            leaves += 1
        else:
            stack += [(int(tree.left[node]), level + 1), (int(tree.right[node]), level + 1)]
    if limits.depth is not None and depth > limits.depth:
        return f"a subtree of depth {depth}"
    return counted(leaves, "leaf", "leaves") if limits.leaves is not None and leaves > limits.leaves else None
