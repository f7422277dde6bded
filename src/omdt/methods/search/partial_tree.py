"""Partial trees: leaves, splits and holes, as the search builds them.

A split asks a question, by its number among all questions of the task; states that answer yes go to the right. A hole
is an open region: nothing is decided there yet. A tree without holes is complete and is a policy.
"""

from dataclasses import dataclass
from typing import NamedTuple

from omdt.mdp import MDP
from omdt.splits import Splits
from omdt.task import Size
from omdt.tree import Nodes, TreePolicy


class Leaf(NamedTuple):
    """A leaf: one action for all states that reach it."""

    action: int


class Split(NamedTuple):
    """A question and the subtrees for both answers."""

    question: int
    left: "Tree"
    right: "Tree"


class Hole(NamedTuple):
    """An open region."""


Tree = Leaf | Split | Hole

HOLE = Hole()

Path = tuple[bool, ...]
"""The way from the root to a node: True for every step to the right."""


@dataclass(frozen=True)
class SizeLimit:
    """The largest depth and the largest number of leaves, both in force."""

    depth: int
    leaves: int

    @classmethod
    def of(cls, size: Size) -> "SizeLimit":
        """The limits that a task sets, of which at least one must be given."""
        most = 2 ** (size.max_depth or 0) if size.max_leaf_nodes is None else size.max_leaf_nodes
        return cls(most - 1 if size.max_depth is None else min(size.max_depth, most - 1), most)


def count_leaves(tree: Tree) -> int:
    """The number of leaves and holes."""
    return count_leaves(tree.left) + count_leaves(tree.right) if isinstance(tree, Split) else 1


def leaf_actions(tree: Tree) -> set[int]:
    """The actions of all leaves."""
    if isinstance(tree, Split):
        return leaf_actions(tree.left) | leaf_actions(tree.right)
    return {tree.action} if isinstance(tree, Leaf) else set()


def asked_questions(tree: Tree) -> set[int]:
    """The questions of all splits."""
    if not isinstance(tree, Split):
        return set()
    return {tree.question} | asked_questions(tree.left) | asked_questions(tree.right)


def replaced(tree: Tree, path: Path, subtree: Tree) -> Tree:
    """The tree with another subtree at the end of a path."""
    if not path:
        return subtree
    assert isinstance(tree, Split), "the path leads out of the tree"
    if path[0]:
        return Split(tree.question, tree.left, replaced(tree.right, path[1:], subtree))
    return Split(tree.question, replaced(tree.left, path[1:], subtree), tree.right)


def sibling_action(tree: Tree, path: Path) -> int | None:
    """The action of the leaf beside the node at the end of a path; None if no leaf is there."""
    if not path:
        return None
    for right in path[:-1]:
        assert isinstance(tree, Split), "the path leads out of the tree"
        tree = tree.right if right else tree.left
    assert isinstance(tree, Split), "the path leads out of the tree"
    sibling = tree.left if path[-1] else tree.right
    return sibling.action if isinstance(sibling, Leaf) else None


def to_policy(tree: Tree, splits: Splits, mdp: MDP) -> TreePolicy:
    """The tree policy of a complete tree."""
    nodes = Nodes()
    stack: list[tuple[Tree, tuple[int, str] | None]] = [(tree, None)]
    while stack:
        node, attach = stack.pop()
        assert not isinstance(node, Hole), "a tree with a hole is no policy"
        if isinstance(node, Leaf):
            nodes.leaf(node.action, attach)
            continue
        k = node.question
        index = nodes.split(int(splits.feature[k]), float(splits.threshold[k]), bool(splits.equality[k]), attach)
        stack.append((node.right, (index, "right")))
        stack.append((node.left, (index, "left")))
    return nodes.tree(TreePolicy, splits.feature_names, mdp.action_names)
