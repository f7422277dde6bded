"""Solutions: what a method claims, what `solve` makes of it, and its JSON form."""

from omdt.solution.claim import Claim, Stop
from omdt.solution.entries import spelled
from omdt.solution.experience import (
    LOG,
    SIMULATOR,
    Coverage,
    Experience,
    Guarantee,
    Interval,
    Judged,
    LeafCoverage,
    Rival,
    Round,
)
from omdt.solution.figures import MAX, MIN
from omdt.solution.gaps import relative_gap, tolerated_excess
from omdt.solution.solution import Solution, discounted_return, load, stated_objective
from omdt.solution.wording import GUARANTEED_RETURN, Wording, wording

__all__ = [
    "GUARANTEED_RETURN",
    "LOG",
    "MAX",
    "MIN",
    "SIMULATOR",
    "Claim",
    "Coverage",
    "Experience",
    "Guarantee",
    "Interval",
    "Judged",
    "LeafCoverage",
    "Rival",
    "Round",
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
