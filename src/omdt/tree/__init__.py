"""Decision tree policies: the tree, how it is grown, pruned and compared, and its nested and textual forms."""

from omdt.tree.nodes import LEAF, Attach, Nodes, levels
from omdt.tree.policy import TreePolicy
from omdt.tree.ranges import Range
from omdt.tree.text import printable

__all__ = ["LEAF", "Attach", "Nodes", "Range", "TreePolicy", "levels", "printable"]
