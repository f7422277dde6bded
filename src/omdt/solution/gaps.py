"""Gaps: how far a bound is from a value, relative to the value."""

import math

from omdt.planning import ROUNDING

SMALL = 1e-5
"""The least value that a gap is relative to, as a part of the scale of the problem's returns.

A gap relative to a value that is nearly 0 would be huge although the difference matters to nobody.
"""


def relative_gap(value: float, bound: float, scale: float = 0.0) -> float:
    """How far a bound is above a value, relative to the value, or to a small part of the scale if that is larger.

    It is infinite where one of the two is and the other is not.
    """
    above = difference(bound, value)
    return max(0.0, above) / _measure(value, scale) if math.isfinite(above) else max(0.0, above)


def difference(larger: float, smaller: float) -> float:
    """How far two figures are apart; 0 where both are the same infinity."""
    return 0.0 if larger == smaller else larger - smaller


def tolerated_excess(value: float, gap: float, scale: float) -> float:
    """By how much a bound may exceed a value whose relative gap counts as proven, in the units of the return.

    Args:
        value: the value.
        gap: the requested gap.
        scale: the scale of the problem's returns, as `planning.scale` has it.
    """
    return max(gap * _measure(value, scale), ROUNDING * scale)


def _measure(value: float, scale: float) -> float:
    """What a gap is relative to; a tiny number where both value and scale are 0."""
    return max(abs(value), SMALL * scale) or 1e-12
