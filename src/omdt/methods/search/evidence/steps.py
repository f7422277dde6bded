"""Steps: how the cases of a certificate are branched or closed, and what that rests on."""

from dataclasses import dataclass

from omdt import check
from omdt.methods.search.evidence.conflicts import Conflict


@dataclass(eq=False)
class ProvenLoss:
    """What leaves lose at least, with the λ (None for an infinite one) and the vector that show it, or with a conflict.

    `number` is that of its record; −1 before it is written.
    """

    leaves: tuple[tuple[int, int], ...]
    multiplier: float | None
    vector: bytes
    value: float
    conflict: Conflict | None = None
    number: int = -1

    def written(self, number: int) -> None:
        """Remember the number of its record; the vector is not needed any more."""
        self.number, self.vector = number, b""


@dataclass(frozen=True, eq=False)
class Step:
    """How a case is branched or closed.

    Attributes:
        kind: b for a branch, s for a sum, h for two halves, x for a leaf with an action that is left out, c for a
            conflict.
        place: the place of a branch.
        losses: the losses of a sum.
        claims: the claims of a sum, or of halves, two for each way to share the leaves; None for no loss.
        without: the state and the action that is left out, if that has to be shown.
        conflict: what the leaves contain.
    """

    kind: str
    place: int = 0
    losses: tuple[ProvenLoss, ...] = ()
    claims: "tuple[RegionClaim | None, ...]" = ()
    without: tuple[int, int] | None = None
    conflict: Conflict | None = None


@dataclass(eq=False)
class RegionClaim:
    """What every subtree of a size loses at least in a region, with the steps that show it.

    `number` is that of its record; −1 before it is written.
    """

    region: int
    size: check.Size
    steps: list[Step]
    value: float
    number: int = -1

    def written(self, number: int) -> None:
        """Remember the number of its record; the steps are not needed any more."""
        self.number, self.steps = number, []
