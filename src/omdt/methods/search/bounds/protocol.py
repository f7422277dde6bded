"""What a bound is: it looks at a node and returns a number that no completion exceeds, with the evidence for it.

Bounds do not know of one another. Which of them are asked for a node, and in which order, is decided by `exploration`
alone.
"""

from dataclasses import dataclass
from typing import Protocol

from omdt.mdp import Floats
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.nodes import Node
from omdt.methods.search.partial_tree import Path
from omdt.watch import Watch


@dataclass(frozen=True, eq=False)
class LossEvidence:
    """What leaves and open regions lose, counted from a basis, is more than the target allows."""

    basis: Basis


@dataclass(frozen=True, eq=False)
class VectorEvidence:
    """A vector [S] on which no option gains, so that it is above the value of every completion."""

    values: Floats


Evidence = LossEvidence | VectorEvidence


@dataclass(frozen=True, eq=False)
class Bounded:
    """A bound on all completions of a node.

    Attributes:
        value: no completion returns more.
        evidence: why; None if a certificate has no words for it.
        place: the open region that promises to lower the bound most when it is branched on; None for no preference.
    """

    value: float
    evidence: Evidence | None = None
    place: Path | None = None


class Bound(Protocol):
    """Bounds nodes."""

    def bound(self, node: Node, target: float, watch: Watch) -> Bounded:
        """An upper bound on the return of all completions of a node.

        Args:
            node: with at least one open region.
            target: a bound as low as this is low enough.
            watch: ends the computation by an `OutOfTimeError`.
        """
