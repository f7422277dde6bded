"""What a user may say about reading a file, declared once for all formats."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omdt.objective import Objective


@dataclass(frozen=True)
class ReadOptions:
    """The parameters of `read`. The registry says which of `reward`, `cost` and `constants` a format takes.

    Attributes:
        discount: γ; by default that of the file, or 0.99 with a warning where the format has none.
        fallback: the action that is played where a tree names an unavailable one (see `MDP`); by default that of the
            file, if it has one.
        reward: name of the reward model to maximise; needed when there are several.
        cost: name of the reward model to minimise instead.
        constants: values of the constants that a model leaves open, such as "N=3,p=0.5".
        objective: what will be asked of the MDP; None for a discounted sum of its reward.
    """

    discount: float | None = None
    fallback: str | None = None
    reward: str | None = None
    cost: str | None = None
    constants: str | None = None
    objective: "Objective | None" = None

    def discount_or(self, own: float | None) -> float | None:
        """The given discount, that of the file, or what follows from the objective; None if nothing says one."""
        if self.discount is not None or own is not None:
            return own if self.discount is None else self.discount
        if self.objective is None:
            return None
        return self.objective.discount if self.objective.is_discounted else 1.0


SHARED = {"discount": "--discount", "fallback": "--fallback", "objective": "--property"}
"""The parameters that every format takes, with their flags on the command line."""
