"""Weighings: return and limited totals as one sum, which bounds the trees that keep the limits.

A tree that keeps the ceilings c_i·x ≤ limit_i, where x are its discounted visits, satisfies for all multipliers λ ≥ 0

    w · (return) ≤ w · (return) − Σ_i λ_i (c_i·x − limit_i) ≤ max_π [ payoffs of π ] + Σ_i λ_i limit_i

with payoffs w r − Σ_i λ_i c_i. The maximum over the policies of a relaxation is one more optimisation problem like that
of the return alone. With w = 1 it bounds the return (Lagrangian relaxation); with w = 0 a sum below 0 shows that no
tree keeps the ceilings.
"""

from dataclasses import dataclass

import numpy as np

from omdt.mdp import EPSILON, Floats
from omdt.methods.search.coarse.observing import PLAIN, Grounds
from omdt.methods.search.coarse.relaxation import Payoffs, Relaxation
from omdt.rules import Ceiling
from omdt.task import Task

SLACK = 2.0
"""Excess over a limit that bounds allow for, in tolerances of the limit: totals of trees are rounded, too."""


@dataclass(frozen=True, eq=False)
class Weighing:
    """One way to weigh return and totals.

    Attributes:
        grounds: the weights.
        payoffs: the weighted sum of rewards and costs, without tolls.
        above: [S] above the totals of all policies.
        constant: Σ_i λ_i limit_i, rounded up.
    """

    grounds: Grounds
    payoffs: Payoffs
    above: Floats
    constant: float

    @property
    def bounds_return(self) -> bool:
        """Whether it bounds the return; otherwise it only shows that a ceiling cannot be kept."""
        return self.grounds.weight > 0


def plain(relaxation: Relaxation) -> Weighing:
    """The return alone."""
    return Weighing(PLAIN, relaxation.payoffs, relaxation.model.optimal.upper, 0.0)


def limit_of(ceiling: Ceiling) -> float:
    """The largest total that counts as kept, whatever rounding does."""
    return ceiling.limit + SLACK * ceiling.tolerance


def payoffs_of(task: Task, grounds: Grounds) -> Payoffs:
    """The weighted sum of rewards and costs, rounded up."""
    problem = task.problem
    total = grounds.weight * problem.rewards
    size = np.abs(total)
    for multiplier, ceiling in zip(grounds.ceilings, task.ceilings, strict=True):
        costs = multiplier * ceiling.costs
        total, size = total - costs, size + np.abs(costs)
    rounded = (2 + len(task.ceilings)) * EPSILON * size if any(grounds.ceilings) else 0.0
    return Payoffs(total + rounded, problem.endless if grounds.weight > 0 else None)


def constant_of(task: Task, grounds: Grounds) -> float:
    """Σ_i λ_i limit_i, rounded up."""
    parts = [λ * limit_of(ceiling) for λ, ceiling in zip(grounds.ceilings, task.ceilings, strict=True)]
    return sum(parts) + 4 * len(parts) * EPSILON * sum(abs(part) for part in parts)


def reduced(payoffs: Payoffs, tolls: Floats) -> Payoffs:
    """Payoffs from which tolls [S, A] are paid, rounded up."""
    return payoffs._replace(rewards=payoffs.rewards - tolls + EPSILON * (np.abs(payoffs.rewards) + tolls))
