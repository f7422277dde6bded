"""Coarse trees: partial trees that ask one question of a range, and what can become of them.

A coarse tree stands for all trees that ask one question of each of its ranges and have some subtree in place of
everything undecided. Of trees that act alike in every state, it is enough to consider one with the fewest leaves. Every
question of such a tree divides the states that come to it, and no two leaves with the same action stand side by side;
so coarse trees that contain no such tree are left out, and ranges contain only questions that may divide something.

Rules change little of this. Take any tree that obeys them: without a question that divides nothing, or with one leaf in
place of two that name the same action, it still obeys and pays no more, until nothing is left to leave out. Only kept
questions stay in any case (`Single`), and coarse trees are left out of which no tree obeys.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from .claimed import Size
from .ladders import Ladders, Range, Single
from .reading import Bools, require

MAX_PATH = 100  # questions on a path of a coarse tree: more than any tree that was searched has


class Leaf(NamedTuple):
    """A leaf with its action."""

    action: int


@dataclass(frozen=True)
class Undecided:
    """Any subtree of at most this depth. It is no tuple, so that it equals no leaf."""

    depth: int


class Cut(NamedTuple):
    """A range of questions, of which one is asked, or a kept question, and the coarse trees for both answers."""

    asked: Range | Single
    left: "CoarseTree"
    right: "CoarseTree"


CoarseTree: TypeAlias = Leaf | Undecided | Cut
Path: TypeAlias = tuple[int, ...]  # 0 for left, 1 for right


def ends(tree: CoarseTree, ladders: Ladders, states: Bools) -> Iterator[tuple[Path, Leaf | Undecided, Bools]]:
    """The ends of a coarse tree, each with its path and the states [S] that may come to it."""
    stack: list[tuple[Path, CoarseTree, Bools]] = [((), tree, states)]
    while stack:
        path, node, reached = stack.pop()
        if not isinstance(node, Cut):
            yield path, node, reached
            continue
        left, right = ladders.sides(node.asked)
        stack += [((*path, 1), node.right, reached & right), ((*path, 0), node.left, reached & left)]


def choices(tree: CoarseTree, ladders: Ladders, shape: tuple[int, int]) -> Bools:
    """[S, A] the actions that some tree takes in each state for which a coarse tree stands, and perhaps more."""
    found = np.zeros(shape, dtype=np.bool_)
    for _, node, reached in ends(tree, ladders, np.ones(shape[0], dtype=np.bool_)):
        found[reached, node.action if isinstance(node, Leaf) else slice(None)] = True
    return found


class Restriction(Protocol):
    """What rules say about coarse trees."""

    @property
    def keeps(self) -> bool:
        """Whether some questions are kept, even if they divide nothing."""

    def first(self, size: Size) -> CoarseTree | None:
        """The coarse tree that stands for all trees; None if no tree obeys the rules."""

    def is_full(self, tree: CoarseTree, path: Path) -> bool:
        """Whether only a leaf fits at the end of a path, because a place of limited size has no room for more."""

    def permits(self, tree: CoarseTree) -> bool:
        """Whether some tree may obey the rules that a coarse tree stands for."""


class Free:
    """No rules."""

    keeps = False

    def first(self, size: Size) -> CoarseTree | None:
        """A single undecided subtree."""
        return Undecided(size.depth)

    def is_full(self, tree: CoarseTree, path: Path) -> bool:
        """Never."""
        return False

    def permits(self, tree: CoarseTree) -> bool:
        """Always."""
        return True


class Growth:
    """What can become of coarse trees of a limited size."""

    def __init__(
        self, ladders: Ladders, size: Size, states: int, actions: int, rules: Restriction | None = None
    ) -> None:
        self.ladders, self.size, self.actions = ladders, size, actions
        self.rules = Free() if rules is None else rules
        self.everywhere = np.ones(states, dtype=np.bool_)

    @property
    def root(self) -> CoarseTree | None:
        """The coarse tree that stands for all trees; None if no tree obeys the rules."""
        first = self.rules.first(self.size)
        return first if first is not None and self.rules.permits(first) else None

    def children(self, tree: CoarseTree, path: Path, middle: int | None) -> list[CoarseTree]:
        """The coarse trees that take the place of one where something is decided at the end of a path.

        A range is divided before the question `middle`. Without it, an undecided subtree becomes a leaf or a cut by
        each column, and an undecided leaf gets each of the actions.
        """
        node, reached = self._found(tree, path)
        ways: list[CoarseTree]
        if isinstance(node, Cut):
            require(isinstance(node.asked, Range), "a kept question cannot be divided")
            assert isinstance(node.asked, Range)
            ladder, low, high = node.asked
            require(middle is not None and low < middle < high, f"a range cannot be divided before {middle}")
            assert middle is not None
            ways = [node._replace(asked=Range(ladder, *part)) for part in ((low, middle), (middle, high))]
        else:
            require(isinstance(node, Undecided) and middle is None, "there is nothing to decide at the end of the path")
            assert isinstance(node, Undecided)
            full = node.depth == 0 or count_ends(tree) >= self.size.leaves or self.rules.is_full(tree, path)
            # Where no state comes, every action is as good as another, unless the question before is kept.
            leaves = [Leaf(a) for a in range(self.actions if reached.any() or self.rules.keeps else 1)]
            ways = [*leaves] if full else self._subtrees(node.depth, reached)
        found = (self._narrowed(_placed(tree, path, way), self.everywhere) for way in ways)
        return [child for child in found if child is not None and self.rules.permits(child)]

    def _subtrees(self, depth: int, reached: Bools) -> list[CoarseTree]:
        below = Undecided(depth - 1)
        asked = [self.ladders.dividing(self.ladders.whole(i), reached) for i in range(len(self.ladders.ladders))]
        return [Undecided(0), *(Cut(it, below, below) for it in asked if it is not None)]

    def _found(self, tree: CoarseTree, path: Path) -> tuple[CoarseTree, Bools]:
        """What stands at the end of a path, and the states that may come there."""
        reached = self.everywhere
        require(len(path) <= MAX_PATH, "a path is too long")
        for side in path:
            require(isinstance(tree, Cut), "a path leads out of the tree")
            assert isinstance(tree, Cut)
            reached = reached & self.ladders.sides(tree.asked)[side]
            tree = tree.right if side else tree.left
        return tree, reached

    def _narrowed(self, tree: CoarseTree, reached: Bools) -> CoarseTree | None:
        """A coarse tree without questions that divide nothing; None if no smallest tree is left."""
        if not isinstance(tree, Cut):
            return tree
        kept = isinstance(tree.asked, Single)
        asked = tree.asked if isinstance(tree.asked, Single) else self.ladders.dividing(tree.asked, reached)
        if asked is None:
            return None
        may_left, may_right = self.ladders.sides(asked)
        left, right = self._narrowed(tree.left, reached & may_left), self._narrowed(tree.right, reached & may_right)
        alike = isinstance(left, Leaf) and left == right and not kept
        return None if left is None or right is None or alike else Cut(asked, left, right)


def _placed(tree: CoarseTree, path: Path, subtree: CoarseTree) -> CoarseTree:
    """The coarse tree with another subtree at the end of a path."""
    if not path or not isinstance(tree, Cut):
        return subtree
    if path[0]:
        return tree._replace(right=_placed(tree.right, path[1:], subtree))
    return tree._replace(left=_placed(tree.left, path[1:], subtree))


def count_ends(tree: CoarseTree) -> int:
    """The number of leaves that a completion has at least."""
    return count_ends(tree.left) + count_ends(tree.right) if isinstance(tree, Cut) else 1


def depth_of(tree: CoarseTree) -> int:
    """The number of questions on the longest path."""
    return 1 + max(depth_of(tree.left), depth_of(tree.right)) if isinstance(tree, Cut) else 0


def cuts(tree: CoarseTree, path: Path = ()) -> Iterator[tuple[Path, Cut]]:
    """All cuts of a coarse tree with the way to each."""
    if isinstance(tree, Cut):
        yield path, tree
        yield from cuts(tree.left, (*path, 0))
        yield from cuts(tree.right, (*path, 1))


def found_at(tree: CoarseTree, path: Path) -> CoarseTree:
    """What stands at the end of a path."""
    for side in path:
        require(isinstance(tree, Cut), "a path leads out of the tree")
        assert isinstance(tree, Cut)
        tree = tree.right if side else tree.left
    return tree
