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


class Undecided(NamedTuple):
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


def count_ends(tree: CoarseTree) -> int:
    """The smallest number of leaves that a completion has."""
    return count_ends(tree.left) + count_ends(tree.right) if isinstance(tree, Cut) else 1


def within(tree: CoarseTree, path: Path, whole: Range, ladders: Ladders) -> Range:
    """The questions of a range that can divide what reaches the end of a path; it is empty if there are none."""
    for right in path:
        assert isinstance(tree, Cut), "the path leads out of the tree"
        whole = ladders.below(tree.asked, right, whole)
        tree = tree.right if right else tree.left
    return whole


def narrowed(tree: CoarseTree, ladders: Ladders) -> CoarseTree | None:
    """The coarse tree without questions that divide nothing because of those above them; None if a range is empty.

    Its completions with such a question do the same as smaller trees, which are examined elsewhere.
    """
    for path, cut in list(cuts(tree)):
        asked = within(tree, path, cut.asked, ladders)
        if asked.low >= asked.high:
            return None
        if asked != cut.asked:
            tree = placed(tree, path, _at(tree, path)._replace(asked=asked))
    return tree


def complete(tree: CoarseTree, ladders: Ladders) -> Tree | None:
    """The only tree that a coarse tree stands for; None if there may be several."""
    if isinstance(tree, Leaf):
        return tree
    if isinstance(tree, Undecided) or tree.asked.high - tree.asked.low > 1:
        return None
    left, right = complete(tree.left, ladders), complete(tree.right, ladders)
    return None if left is None or right is None else Split(ladders.question(tree.asked), left, right)


def _at(tree: CoarseTree, path: Path) -> Cut:
    """The cut at the end of a path."""
    for right in path:
        assert isinstance(tree, Cut), "the path leads out of the tree"
        tree = tree.right if right else tree.left
    assert isinstance(tree, Cut), "there is no cut at the end of the path"
    return tree
