"""Coarse trees: partial trees that ask ranges of questions.

A coarse tree stands for all trees that ask one question of every range and have some subtree of limited size in place
of everything undecided. What a state does may then be open: it can reach several leaves.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from omdt.mdp import Bools
from omdt.methods.search.coarse.ladders import Ladders, Range
from omdt.methods.search.partial_tree import Leaf, Path, Split, Tree


class Cut(NamedTuple):
    """A range of questions, of which one is asked, and the coarse trees for both answers."""

    asked: Range
    left: "CoarseTree"
    right: "CoarseTree"


@dataclass(frozen=True)
class Undecided:
    """Any subtree of at most this depth; with depth 0 it is a leaf whose action is not decided yet."""

    depth: int


CoarseTree = Cut | Leaf | Undecided


@dataclass(frozen=True, eq=False)
class End:
    """Where a path through a coarse tree ends.

    Attributes:
        path: the way to it.
        node: the leaf, or what is undecided there.
        reached: [S] the states that go there under some of the questions.
    """

    path: Path
    node: Leaf | Undecided
    reached: Bools


def ends(tree: CoarseTree, ladders: Ladders, states: Bools) -> Iterator[End]:
    """All ends of a coarse tree, for the given states [S]."""
    stack: list[tuple[CoarseTree, Path, Bools]] = [(tree, (), states)]
    while stack:
        node, path, reached = stack.pop()
        if isinstance(node, Cut):
            left, right = ladders.may_go(node.asked)
            stack.append((node.right, (*path, True), reached & right))
            stack.append((node.left, (*path, False), reached & left))
        else:
            yield End(path, node, reached)


def cuts(tree: CoarseTree, path: Path = ()) -> Iterator[tuple[Path, Cut]]:
    """All cuts of a coarse tree with the way to each."""
    if isinstance(tree, Cut):
        yield path, tree
        yield from cuts(tree.left, (*path, False))
        yield from cuts(tree.right, (*path, True))


def placed(tree: CoarseTree, path: Path, subtree: CoarseTree) -> CoarseTree:
    """The coarse tree with another subtree at the end of a path."""
    if not path:
        return subtree
    assert isinstance(tree, Cut), "the path leads out of the tree"
    if path[0]:
        return tree._replace(right=placed(tree.right, path[1:], subtree))
    return tree._replace(left=placed(tree.left, path[1:], subtree))


def subtree(tree: CoarseTree, path: Path) -> CoarseTree:
    """What stands at the end of a path."""
    for right in path:
        assert isinstance(tree, Cut), "the path leads out of the tree"
        tree = tree.right if right else tree.left
    return tree


def count_ends(tree: CoarseTree) -> int:
    """The smallest number of leaves that a completion has."""
    return count_ends(tree.left) + count_ends(tree.right) if isinstance(tree, Cut) else 1


def narrowed(tree: CoarseTree, ladders: Ladders, reached: Bools) -> CoarseTree | None:
    """The coarse tree without questions that divide nothing; None if a cut has no others, or has equal leaves.

    What is left out does the same as smaller trees, which are examined elsewhere. Kept questions stay as they are.

    Args:
        tree: the coarse tree.
        ladders: the questions.
        reached: [S] the states that may reach it.
    """
    if not isinstance(tree, Cut):
        return tree
    kept = ladders.is_kept(tree.asked)
    asked = tree.asked if kept else ladders.dividing(tree.asked, reached)
    if asked is None:
        return None
    may_left, may_right = ladders.may_go(asked)
    left = narrowed(tree.left, ladders, reached & may_left)
    right = narrowed(tree.right, ladders, reached & may_right)
    if left is None or right is None or (isinstance(left, Leaf) and left == right and not kept):
        return None
    return Cut(asked, left, right)


def complete(tree: CoarseTree, ladders: Ladders) -> Tree | None:
    """The only tree that a coarse tree stands for; None if there may be several."""
    if isinstance(tree, Leaf):
        return tree
    if isinstance(tree, Undecided) or tree.asked.high - tree.asked.low > 1:
        return None
    left, right = complete(tree.left, ladders), complete(tree.right, ladders)
    return None if left is None or right is None else Split(ladders.question(tree.asked), left, right)
