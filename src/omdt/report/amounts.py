"""Amounts as people write them: with few digits, a unit, and rounded to the safe side where that matters."""

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

DIGITS, MOST_DIGITS = 4, 9
"""Significant digits of an amount, and how many it may have to tell it from another one."""

PERCENT_DIGITS = 3
"""Significant digits of a percentage that compares two amounts."""

SMALLEST, LARGEST = 1e-6, 1e15
"""Amounts below and above are written with a power of ten."""

DOWN, NEAREST, UP = ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_CEILING
"""How an amount is rounded: towards −∞, to the nearest number, or towards ∞."""

NO_BREAK = "\u00a0"
"""A space at which no line ends, between a number and its unit."""


def rounded(value: float, digits: int, rounding: str = NEAREST) -> Decimal:
    """A finite number rounded to some significant digits; whole numbers keep all of theirs unless they are huge."""
    if value == 0:
        return Decimal(0)
    places = digits - 1 - math.floor(math.log10(abs(value)))
    step = Decimal(1).scaleb(-places if _unusual(value) else -max(0, places))
    # The shortest decimal number that stands for a binary one, so that 0.1 rounded up is 0.1.
    return (Decimal(repr(float(value))) / step).to_integral_value(rounding) * step


def _unusual(value: float) -> bool:
    return value != 0 and not SMALLEST <= abs(value) < LARGEST


def plain(value: float, digits: int = DIGITS, rounding: str = NEAREST) -> str:
    """A number with some significant digits, as in `1,579`, `−0.3652` or `∞`."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    number = rounded(value, digits, rounding)
    text = f"{number:.{digits - 1}e}" if _unusual(value) else f"{number:,f}"
    if "." in text and "e" not in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−", 1) if text.startswith("-") else text


def percentage(share: float, rounding: str = NEAREST, digits: int = PERCENT_DIGITS) -> str:
    """A share in percent, as in `96.7 %`."""
    return f"{plain(100 * share, digits, rounding)}{NO_BREAK}%"


@dataclass(frozen=True)
class Amounts:
    """How the figures of one objective are written.

    Attributes:
        unit: what stands behind an amount, such as `€`; may be empty.
        probability: whether the figures are probabilities, which are written in percent.
        digits: significant digits.
    """

    unit: str = ""
    probability: bool = False
    digits: int = DIGITS

    def amount(self, value: float, rounding: str = NEAREST) -> str:
        """A figure with its unit."""
        if self.probability:
            return percentage(value, rounding, self.digits)
        text = plain(value, self.digits, rounding)
        return f"{text}{NO_BREAK}{self.unit}" if self.unit else text

    def difference(self, value: float) -> str:
        """A difference between two figures with its unit."""
        if self.probability:
            return f"{plain(100 * value, self.digits)} percentage points"
        return self.amount(value)

    def telling_apart(self, value: float, bound: float, best: float, away: str) -> "Amounts":
        """The same with enough digits that a bound between two other figures still is between them when rounded away.

        Args:
            value: the figure of a tree.
            bound: what any tree of its size can reach.
            best: what the best policy of any form reaches.
            away: the direction from the value to the bound, `UP` or `DOWN`.
        """
        for digits in range(self.digits, MOST_DIGITS):
            own, limit, most = rounded(value, digits), rounded(bound, digits, away), rounded(best, digits)
            if own <= limit <= most or own >= limit >= most:
                return replace(self, digits=digits)
        return replace(self, digits=MOST_DIGITS)
