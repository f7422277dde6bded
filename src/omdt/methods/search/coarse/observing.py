"""Observers of the coarse search: who hears what it decides and closes."""

from typing import Protocol

from omdt.mdp import Floats
from omdt.methods.search.coarse.coarse_tree import CoarseTree
from omdt.methods.search.partial_tree import Path, Tree


class CoarseObserver(Protocol):
    """Hears what a coarse search does, in its order and in its thread."""

    def decided(self, tree: CoarseTree, path: Path, middle: int | None) -> None:
        """Something is decided at the end of a path: a range is divided before the question `middle`, or an end."""

    def closed(self, tree: CoarseTree, values: Floats) -> None:
        """No completion is better than the incumbent; `values` [S] are above the values of all completions."""

    def evaluated(self, tree: CoarseTree, only: Tree, values: Floats) -> None:
        """The only completion is no better than the incumbent now."""


class Unobserved:
    """Nobody listens."""

    def decided(self, tree: CoarseTree, path: Path, middle: int | None) -> None:
        """As in `CoarseObserver`."""

    def closed(self, tree: CoarseTree, values: Floats) -> None:
        """As in `CoarseObserver`."""

    def evaluated(self, tree: CoarseTree, only: Tree, values: Floats) -> None:
        """As in `CoarseObserver`."""
