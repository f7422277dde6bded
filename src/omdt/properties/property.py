"""Properties: what is asked of a policy, as a value that can be written in PRISM's syntax."""

from dataclasses import dataclass
from enum import StrEnum

from omdt.errors import InputError
from omdt.properties.conditions import Condition, Truth
from omdt.properties.tokens import quoted


class Kind(StrEnum):
    """What is maximised or minimised."""

    REACH = "reach"
    """The probability to reach a target: F or U."""
    STAY = "stay"
    """The probability to stay in some states for ever: G."""
    TOTAL = "total"
    """The expected total of a reward, over all time or until a target: C or F."""
    DISCOUNTED = "discounted"
    """The expected discounted total of a reward: Cdiscount."""


@dataclass(frozen=True)
class Property:
    """What is asked of a policy.

    Attributes:
        kind: of what the figure is.
        maximise: whether the figure is to be large; otherwise it is to be small.
        reward: name of the reward; None for the only one. Probabilities have none.
        target: the states to reach or, of the kind STAY, those to stay in; None for totals over all time.
        staying: the states that must not be left before the target, of the kind REACH; None for all.
        discount: γ, of the kind DISCOUNTED; None for that of the MDP.
    """

    kind: Kind = Kind.DISCOUNTED
    maximise: bool = True
    reward: str | None = None
    target: Condition | None = None
    staying: Condition | None = None
    discount: float | None = None

    def __post_init__(self) -> None:
        probability = self.kind in (Kind.REACH, Kind.STAY)
        object.__setattr__(self, "kind", Kind(self.kind))
        if self.staying == Truth(True):
            object.__setattr__(self, "staying", None)
        if probability and (self.target is None or self.reward is not None):
            raise InputError("a probability is asked about a target, and has no reward")
        if self.kind is Kind.DISCOUNTED and self.target is not None:
            raise InputError("a discounted total goes over all time; leave out the target, or the discount")
        if self.staying is not None and self.kind is not Kind.REACH:
            raise InputError("states that must not be left before the target are for probabilities to reach it only")
        if self.discount is None:
            return
        if self.kind is not Kind.DISCOUNTED:
            raise InputError("probabilities and totals have no discount")
        if isinstance(self.discount, bool) or not isinstance(self.discount, int | float) or not 0 < self.discount < 1:
            raise InputError(f"discount is {self.discount!r}; it must be above 0 and below 1")

    @property
    def _path(self) -> str:
        """What stands in the brackets."""
        if self.kind is Kind.STAY:
            return f"G {_operand(self.target)}"
        if self.staying is not None:
            return f"{_operand(self.staying)} U {_operand(self.target)}"
        if self.target is not None:
            return f"F {_operand(self.target)}"
        if self.kind is Kind.TOTAL:
            return "C"
        return "Cdiscount" if self.discount is None else f"Cdiscount={float(self.discount)!r}"

    @property
    def property(self) -> str:
        """The property in PRISM's syntax; what it leaves to the MDP, such as the only reward, it does not say."""
        best = "max" if self.maximise else "min"
        if self.kind in (Kind.REACH, Kind.STAY):
            return f"P{best}=? [{self._path}]"
        reward = "" if self.reward is None else f"{{{quoted(self.reward)}}}"
        return f"R{reward}{best}=? [{self._path}]"


def _operand(states: Condition | None) -> str:
    """A condition behind F or G or beside U; connectives get parentheses, so that no tool binds them otherwise."""
    return f"({states})" if " " in str(states) and not str(states).startswith('"') else str(states)
