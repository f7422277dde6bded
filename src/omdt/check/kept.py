"""Kept trees: nodes that stay as they are, and open places where subtrees of limited size may grow."""

from dataclasses import dataclass, field

from .claimed import Size
from .ladders import Single
from .ranges import CoarseTree, Cut, Leaf, Path, Undecided, count_ends, depth_of
from .reading import Json, finite, readable, require, typed

MAX_LEVELS = 200  # questions on a path of a tree that is read under rules, so that recursion can follow it


@dataclass(frozen=True)
class Place:
    """An open place with limits of its own, if it has any."""

    depth: int | None
    leaves: int | None

    def most_depth(self, most: int) -> int:
        """The largest depth of a subtree in this place where the size of the whole tree allows some depth."""
        limits = (most, self.depth, None if self.leaves is None else self.leaves - 1)
        return min(limit for limit in limits if limit is not None)


@dataclass(frozen=True)
class Kept:
    """A tree that stays but for its open places, which are undecided in it."""

    tree: CoarseTree
    places: dict[Path, Place] = field(default_factory=dict)

    def first(self, size: Size) -> CoarseTree | None:
        """The coarse tree that stands for all trees of a size that keep this one; None if it is too large itself."""

        def grown(node: CoarseTree, path: Path) -> CoarseTree:
            if isinstance(node, Cut):
                return Cut(node.asked, grown(node.left, (*path, 0)), grown(node.right, (*path, 1)))
            if isinstance(node, Leaf):
                return node
            return Undecided(self.places[path].most_depth(size.depth - len(path)))

        return grown(self.tree, ()) if depth_of(self.tree) <= size.depth else None

    def place_of(self, path: Path) -> tuple[Path, Place] | None:
        """The open place that a path leads into; None if it has no limits."""
        found = ((path[:i], self.places[path[:i]]) for i in range(len(path) + 1) if path[:i] in self.places)
        return next(found, None)

    def check(self, tree: CoarseTree) -> None:
        """Raise unless a complete tree has every node that is kept."""
        stack: list[tuple[CoarseTree, CoarseTree, Path]] = [(self.tree, tree, ())]
        while stack:
            kept, node, path = stack.pop()
            where = ".".join(("tree", *("right" if side else "left" for side in path)))
            if isinstance(kept, Undecided):
                place = self.places[path]
                fits = depth_of(node) <= place.most_depth(MAX_LEVELS)
                fits = fits and (place.leaves is None or count_ends(node) <= place.leaves)
                require(fits, f"the tree is too large in the open place {where}")
            elif isinstance(kept, Cut) and isinstance(node, Cut):
                require(kept.asked == node.asked, f"the tree does not keep the question at {where}")
                stack += [(kept.left, node.left, (*path, 0)), (kept.right, node.right, (*path, 1))]
            else:
                require(kept == node, f"the tree does not keep {where}")


def read_nodes(content: Json, names: tuple[str, ...], actions: tuple[str, ...]) -> Kept:
    """The nodes of a nested tree, in which places may be open."""
    places: dict[Path, Place] = {}

    def read(value: Json, path: Path) -> CoarseTree:
        node = typed(value, dict, "a node of the tree")
        readable(len(path) <= MAX_LEVELS, f"a tree under rules has at most {MAX_LEVELS} levels")
        if node.get("open", False) is not False:
            places[path] = _place(node)
            return Undecided(MAX_LEVELS)
        if "action" in node:
            action = typed(node["action"], str, "the action of a leaf")
            readable(action in actions, f"the tree takes the unknown action {action!r:.80}")
            return Leaf(actions.index(action))
        feature, equality = typed(node.get("feature"), str, "the feature of a node"), "equals" in node
        readable(feature in names, f"the tree asks for the unknown feature {feature!r:.80}")
        number = finite(node["equals"] if equality else node.get("threshold"), f"what {feature!r:.80} is compared with")
        left, right = read(node.get("left"), (*path, 0)), read(node.get("right"), (*path, 1))
        return Cut(Single(names.index(feature), equality, number), left, right)

    return Kept(read(content, ()), places)


def _place(node: dict[str, Json]) -> Place:
    readable(node["open"] is True and node.keys() <= {"open", "depth", "leaves"}, f"{node!r:.80} is no open place")
    limits = []
    for name, least in (("depth", 0), ("leaves", 1)):
        limit = node.get(name)
        readable(limit is None or typed(limit, int, name) >= least, f"the {name} of an open place is {limit!r:.40}")
        limits.append(limit if isinstance(limit, int) else None)
    return Place(*limits)
