"""Observers: who hears what an exploration does, and may object to a closure that it cannot show to others."""

from typing import Protocol

from omdt.mdp import Ints
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.bounds.protocol import Evidence
from omdt.methods.search.nodes import Node, OpenRegion
from omdt.methods.search.partial_tree import Tree


class Observer(Protocol):
    """Hears what an exploration does.

    Attributes:
        inherits_vectors: whether option bounds may start from the vector of the parent.
    """

    inherits_vectors: bool

    def closes(self, tree: Tree, evidence: Evidence | None) -> bool:
        """A bound closes a partial tree; False if the evidence does not convince, so that it is branched instead."""

    def evaluated(self, node: Node) -> None:
        """A complete tree was closed by its own return."""

    def branched(self, node: Node, place: OpenRegion, alike: Ints) -> None:
        """A node is branched at an open region; `alike` are the symmetries that turn it into itself."""

    def based(self, node: Node, basis: Basis) -> None:
        """A node is explored with its own leaves as basis."""


class Unobserved:
    """Nobody listens; every bound convinces."""

    inherits_vectors = True

    def closes(self, tree: Tree, evidence: Evidence | None) -> bool:
        """As in `Observer`."""
        return True

    def evaluated(self, node: Node) -> None:
        """As in `Observer`."""

    def branched(self, node: Node, place: OpenRegion, alike: Ints) -> None:
        """As in `Observer`."""

    def based(self, node: Node, basis: Basis) -> None:
        """As in `Observer`."""
