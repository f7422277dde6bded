"""Shares of visits: no leaf is there for next to nothing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LeastShare:
    """Every leaf has at least a share of the discounted visits to states in which something is decided.

    This is the share that reports show for a leaf. A tree of one leaf keeps the rule.
    """

    least: float

    @property
    def words(self) -> str:
        """What a tree does that keeps the rule."""
        return f"gives every leaf at least {100 * self.least:.4g} % of the visits"
