"""The first coarse tree: everything undecided, or the kept tree of the task with its open places."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from omdt.methods.search.coarse.coarse_tree import CoarseTree, Cut, Undecided, count_ends, subtree
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Path, SizeLimit
from omdt.rules import KeptLeaf, KeptNode, KeptSplit, Open


@dataclass(frozen=True, eq=False)
class First:
    """Where the coarse search begins.

    Attributes:
        tree: the coarse tree that stands for all trees within the limits; None if there are none.
        size: the limits of the whole tree.
        leaves: the largest number of leaves below the open places that have a limit of their own.
    """

    tree: CoarseTree | None
    size: SizeLimit
    leaves: Mapping[Path, int] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model, ladders: Ladders) -> "First":
        """The first coarse tree of a task."""
        size, kept = model.size, model.task.kept
        if kept is None:
            return cls(Undecided(size.depth), size)
        numbers = {path: i for i, path in enumerate(path for path, it in kept.nodes() if isinstance(it, KeptSplit))}
        opened = ((path, it.leaves) for path, it in kept.nodes() if isinstance(it, Open))
        too_deep = any(len(path) > size.depth for path, _ in kept.nodes())
        tree = None if too_deep else _coarse(kept.root, (), size, ladders, numbers)
        if tree is not None and count_ends(tree) > size.leaves:
            tree = None
        return cls(tree, size, {path: leaves for path, leaves in opened if leaves is not None})

    def is_full(self, tree: CoarseTree, path: Path) -> bool:
        """Whether an end cannot grow because the whole tree, or the open place that it is in, has its last leaf."""
        if count_ends(tree) >= self.size.leaves:
            return True
        inside = (place for place in self.leaves if path[: len(place)] == place)
        return any(count_ends(subtree(tree, place)) >= self.leaves[place] for place in inside)


def _coarse(node: KeptNode, path: Path, size: SizeLimit, ladders: Ladders, numbers: Mapping[Path, int]) -> CoarseTree:
    """A kept tree below a path as a coarse tree."""
    if isinstance(node, KeptLeaf):
        return Leaf(node.action)
    if isinstance(node, Open):
        limits = [size.depth - len(path)]
        limits += [] if node.depth is None else [node.depth]
        limits += [] if node.leaves is None else [node.leaves - 1]
        return Undecided(min(limits))
    left = _coarse(node.left, (*path, False), size, ladders, numbers)
    right = _coarse(node.right, (*path, True), size, ladders, numbers)
    return Cut(ladders.kept(numbers[path]), left, right)
