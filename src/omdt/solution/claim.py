"""What a method claims: a tree, a bound, and why it stopped."""

from dataclasses import dataclass
from enum import StrEnum

from omdt.tree import TreePolicy


class Stop(StrEnum):
    """Why a method stopped; says nothing about how good its bound is."""

    COMPLETE = "complete"
    """It finished: no tree within the limits is better than the one it returns."""
    TIME = "time"
    NODES = "nodes"
    MEMORY = "memory"
    INTERRUPTED = "interrupted"
    HEURISTIC = "heuristic"
    """It does not search for a proof."""


@dataclass(frozen=True)
class Claim:
    """What a method says it found; only `solve` turns it into a `Solution`.

    Attributes:
        tree: the best tree found.
        bound: an upper bound on the return of every tree within the limits.
        stop: why the method stopped.
    """

    tree: TreePolicy
    bound: float
    stop: Stop
