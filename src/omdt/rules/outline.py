"""Outlines: what is certain of a tree that may not be complete, which is what rules about its shape look at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.tree import LEAF, TreePolicy

OPEN = -1
"""Stands for an action that is not decided."""

Path = tuple[bool, ...]
"""The way from the root to a node: True for every step to the right."""


@dataclass(frozen=True, eq=False)
class Outline:
    """What all completions of a partial tree have in common.

    Attributes:
        asked: the column that each question is about, by the way to it.
        ends: the action of each leaf, by the way to it; OPEN where an action or a whole subtree is not decided.
        find_policy: computes `policy`.
    """

    asked: Mapping[Path, int]
    ends: Mapping[Path, int]
    find_policy: Callable[[], Ints]

    @cached_property
    def policy(self) -> Ints:
        """[S] the action that is named in each state; OPEN where that is not certain."""
        return self.find_policy()

    @property
    def complete(self) -> bool:
        """Whether nothing is open."""
        return OPEN not in self.ends.values()

    @property
    def columns(self) -> set[int]:
        """The columns that are asked about."""
        return set(self.asked.values())

    def leaves_below(self, path: Path) -> int:
        """The smallest number of leaves at the end of a path and below."""
        return sum(end[: len(path)] == path for end in self.ends)


def outline_of(tree: TreePolicy, observations: Floats) -> Outline:
    """The outline of a complete tree on observations [S, F']."""
    asked: dict[Path, int] = {}
    ends: dict[Path, int] = {}
    stack: list[tuple[int, Path]] = [(0, ())]
    while stack:
        node, path = stack.pop()
        if tree.feature[node] == LEAF:
            ends[path] = int(tree.action[node])
            continue
        asked[path] = int(tree.feature[node])
        stack.append((int(tree.right[node]), (*path, True)))
        stack.append((int(tree.left[node]), (*path, False)))
    return Outline(asked, ends, lambda: np.asarray(tree.actions(observations)))
