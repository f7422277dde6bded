"""Nodes of the branch and bound: partial trees, what is known of them, and what an exploration is to show."""

from dataclasses import dataclass
from typing import NamedTuple

from omdt.mdp import Floats, Ints
from omdt.methods.search.partial_tree import Path, Tree
from omdt.methods.search.regions import Region

Pins = tuple[tuple[int, int], ...]
"""States with the actions they are to have, whatever leaves they will belong to."""


@dataclass(frozen=True, eq=False)
class Partial:
    """A partial tree with what was learned on the way to it.

    Attributes:
        tree: with holes where nothing is decided.
        vector: [S] a vector above the value of every completion; None for the optimal values.
        choice: the way to the hole to branch on; None until the tree has a bound of its own.
        blind: of how many ancestors in a row losses could tell something and options nothing.
        by_options: whether the option bound is part of its bound.
        pins: what is decided about single states.
    """

    tree: Tree
    vector: Floats | None = None
    choice: Path | None = None
    blind: int = 0
    by_options: bool = False
    pins: Pins = ()


class Case(NamedTuple):
    """A partial tree and an upper bound on its completions."""

    bound: float
    partial: Partial


@dataclass(frozen=True, eq=False)
class OpenRegion:
    """A hole of a partial tree that states reach: the way to it and how many questions may follow."""

    path: Path
    region: Region
    depth: int


@dataclass(frozen=True, eq=False)
class Node:
    """A partial tree as bounds see it.

    Attributes:
        partial: the partial tree.
        actions: [S] the actions that are decided, −1 elsewhere.
        open: the open regions.
        spare: how many leaves may be added.
    """

    partial: Partial
    actions: Ints
    open: tuple[OpenRegion, ...]
    spare: int

    @property
    def tree(self) -> Tree:
        """The partial tree itself."""
        return self.partial.tree


@dataclass(frozen=True)
class Goal:
    """What an exploration is to show: that no tree returns more than a target.

    Attributes:
        value: the return of the incumbent.
        target: partial trees with a bound no higher than this are closed.
        budget: the loss of a tree that returns as much as the target, or a little more.
        raised: whether the target is higher than the proof needs.
        may_pin: whether single states may be pinned; only where no state is visited twice.
    """

    value: float
    target: float
    budget: float
    raised: bool = False
    may_pin: bool = False


@dataclass(frozen=True)
class Findings:
    """What came of exploring a case.

    Attributes:
        open: the cases that remain.
        closed: the highest bound of all that was closed.
        tree: the best complete tree that was evaluated and is better than the incumbent; None if there is none.
        value: its return, or that of the incumbent.
        nodes: how many partial trees were examined.
        late: whether time was up before as many were examined as should be.
    """

    open: list[Case]
    closed: float
    tree: Tree | None
    value: float
    nodes: int = 0
    late: bool = False
