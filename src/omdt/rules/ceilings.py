"""Ceilings: limits on the expected totals of other rewards of the problem."""

from dataclasses import dataclass, replace

from omdt.mdp import MDP, Floats


@dataclass(frozen=True, eq=False)
class Ceiling:
    """The expected total of some costs is at most a limit.

    The total is discounted like the objective's own rewards and counted over the same steps. A floor on rewards is a
    ceiling on their negatives.

    Attributes:
        name: of the rewards.
        costs: [S, A] per step.
        limit: the largest total that is allowed.
        is_floor: whether the costs are negative rewards, of which at least −limit is asked for.
    """

    name: str
    costs: Floats
    limit: float
    is_floor: bool = False

    @property
    def words(self) -> str:
        """What a tree does that keeps the limit."""
        sign = -1.0 if self.is_floor else 1.0
        return f"has {'at least' if self.is_floor else 'at most'} {sign * self.limit:.6g} {self.name}"

    @property
    def tolerance(self) -> float:
        """A total above the limit by no more than this counts as kept: what rounding may do to an exact tie."""
        return TOLERANCE * max(1.0, abs(self.limit))

    def counting(self, problem: MDP) -> MDP:
        """A problem whose returns are totals of the costs; nothing is added or taken away where it never ends."""
        return replace(problem, rewards=self.costs, endless=None)

    def total(self, cost: float) -> float:
        """A total of the costs as users see it."""
        return -cost if self.is_floor else cost


TOLERANCE = 1e-9
"""Excess over a limit that still counts as kept, relative to the limit (absolute for limits below 1)."""
