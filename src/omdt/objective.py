"""Objectives: what is maximised or minimised over the trees.

Every method maximises an expected discounted return. An objective translates the user's MDP into the MDP whose return
that is, and a return of that MDP back into the number that users see. It belongs to the task (`omdt.task`); methods
read the translated MDP there and know nothing of objectives.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from omdt.mdp import MDP


@runtime_checkable
class Objective(Protocol):
    """What is asked of a tree. An objective of your own is any object with these three members."""

    @property
    def words(self) -> str:
        """What is maximised or minimised, as in `discounted return` or `expected discounted cost`."""

    def problem(self, mdp: MDP) -> MDP:
        """The MDP whose expected discounted return is maximised.

        It has the states, features, actions and available actions of the given one, in the same order; rewards,
        transitions and discount may differ.
        """

    def shown(self, value: float) -> float:
        """The number that users see for a return: the return itself, or its negative where a cost is minimised."""


@dataclass(frozen=True)
class DiscountedReturn:
    """The expected discounted return of the MDP as it is: what is maximised unless something else is asked for."""

    @property
    def words(self) -> str:
        """What is maximised."""
        return "discounted return"

    def problem(self, mdp: MDP) -> MDP:
        """The MDP itself."""
        return mdp

    def shown(self, value: float) -> float:
        """The return itself."""
        return value


DISCOUNTED_RETURN = DiscountedReturn()
"""The objective unless another one is asked for."""


def minimises(objective: Objective) -> bool:
    """Whether users see a number that is to be small."""
    return objective.shown(1.0) < 0
