"""Observers: who hears what an exploration does, and may object to a closure that it cannot show to others."""

from typing import Protocol

from omdt.mdp import Ints
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.bounds.protocol import Evidence
from omdt.methods.search.nodes import Node, OpenRegion, Partial


class Observer(Protocol):
    """Hears what an exploration does.

    Attributes:
        inherits_vectors: whether option bounds may start from the vector of the parent.
    """

    inherits_vectors: bool

    def closes(self, partial: Partial, evidence: Evidence | None) -> bool:
        """A bound closes a partial tree; False if the evidence does not convince, so that it is branched instead."""

    def evaluated(self, node: Node, basis: Basis) -> None:
        """A complete tree was closed by its own return."""

    def branched(self, node: Node, place: OpenRegion, alike: Ints, basis: Basis) -> None:
        """A node is branched at an open region of a basis; `alike` are the symmetries that turn it into itself."""

    def pinned(self, node: Node, state: int, alike: Ints, basis: Basis) -> None:
        """The action of a state is decided; `alike` are the symmetries that turn node and state into themselves."""

    def based(self, partial: Partial, basis: Basis, within: Basis) -> None:
        """A partial tree is explored with a basis of its own, made within another one."""

    def left(self, basis: Basis) -> None:
        """Nothing more will be explored with a basis."""


class Unobserved:
    """Nobody listens; every bound convinces."""

    inherits_vectors = True

    def closes(self, partial: Partial, evidence: Evidence | None) -> bool:
        """As in `Observer`."""
        return True

    def evaluated(self, node: Node, basis: Basis) -> None:
        """As in `Observer`."""

    def branched(self, node: Node, place: OpenRegion, alike: Ints, basis: Basis) -> None:
        """As in `Observer`."""

    def pinned(self, node: Node, state: int, alike: Ints, basis: Basis) -> None:
        """As in `Observer`."""

    def based(self, partial: Partial, basis: Basis, within: Basis) -> None:
        """As in `Observer`."""

    def left(self, basis: Basis) -> None:
        """As in `Observer`."""
