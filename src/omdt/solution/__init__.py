"""Solutions: what a method claims, what `solve` makes of it, and its JSON form."""

from omdt.solution.claim import Claim, Stop
from omdt.solution.entries import spelled
from omdt.solution.figures import MAX, MIN
from omdt.solution.gaps import relative_gap, tolerated_excess
from omdt.solution.solution import Solution, discounted_return, load, stated_objective
from omdt.solution.wording import Wording, wording

__all__ = [
    "MAX",
    "MIN",
    "Claim",
    "Solution",
    "Stop",
    "Wording",
    "discounted_return",
    "load",
    "relative_gap",
    "spelled",
    "stated_objective",
    "tolerated_excess",
    "wording",
]
