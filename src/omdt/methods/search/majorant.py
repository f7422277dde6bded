"""Majorants: a discounted MDP in which no policy returns less than it does without a discount.

The fine search needs a discount. Let U satisfy T U ≤ U for a problem without one (`planning.inductive_totals`), and let
δ(s, a) = U(s) − r(s, a) − P(s, a)·U ≥ 0 be the loss of an action. A policy π whose visits are x returns

    J(π) ≤ p0·U − Σ_{s, a} x(s, a) δ(s, a).

For a policy that ends almost surely this is an equality, since what is left of U after n steps vanishes. Of the others,
some are worth −∞; some stay for ever where nothing is earned, where U is not negative: leaving it out only makes the
right-hand side larger. Losses are not negative, so counting later ones less makes it larger again: with a discount,

    J(π) ≤ p0·U + (the discounted return of π for the rewards −δ).

The fine search bounds the last term for all trees. The bound is as good as that of a problem with a discount unless a
tree may go around for ever without a loss; there, the coarse search knows more.
"""

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from omdt import planning
from omdt.limits import Limits
from omdt.mdp import EPSILON, MDP, Floats
from omdt.methods.search.bounds.option_values import product_from_above
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Tree
from omdt.methods.search.rounds import Rounds
from omdt.methods.search.stand_in import StandIn
from omdt.watch import Watch

DISCOUNT = 0.99999
"""The discount of losses. A tree of n steps is credited with about n / 100,000 of its loss. Discounts closer to 1 would
blur the bounds of the fine search, whose rounding errors grow like 1 / (1 − γ)²."""


class Majorant(NamedTuple):
    """A discounted MDP whose returns, plus a constant, are at least those of a problem without a discount."""

    mdp: MDP
    constant: float


def majorant(problem: MDP, watch: Watch) -> Majorant | None:
    """The majorant of a problem without a discount; None if it has infinite values, or time is too short."""
    U = planning.inductive_totals(problem, watch)
    if U is None:
        return None
    losses = losses_from_below(problem, U)
    if losses.min() < 0:
        return None
    mdp = replace(problem, rewards=0.0 - losses, discount=DISCOUNT, endless=None)
    return Majorant(mdp, product_from_above(problem.initial, U))


def losses_from_below(problem: MDP, U: Floats) -> Floats:
    """[S, A] δ, rounded down, where every row of P is divided by its sum exactly.

    With σ the sum of a row as it is stored, σ δ = −(σ r + Σ_s' P(s, a, s') (U(s') − U(s))), in which nothing is lost
    where all values are the same.
    """
    P, A = problem.transitions, problem.n_actions
    lengths = np.diff(P.indptr)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    steps = P.data * (U[P.indices] - U[rows // A])
    sums = np.add.reduceat(P.data, P.indptr[:-1])
    earned = sums * problem.rewards.ravel()
    lost = 0.0 - (earned + np.add.reduceat(steps, P.indptr[:-1]))
    sizes = np.abs(earned) + np.add.reduceat(np.abs(steps), P.indptr[:-1])
    margin = (int(lengths.max()) + 8) * EPSILON
    lost = (lost - margin * sizes) / sums
    losses: Floats = (lost - 4 * margin * np.abs(lost)).reshape(problem.rewards.shape)
    return losses


class Mirror:
    """The incumbent of a task as the fine search sees it on a majorant: lower by the constant.

    Args:
        incumbent: that of the task.
        model: that of the majorant.
        constant: of the majorant.
        consider: called with trees that may be better.

    Attributes:
        model: that of the majorant.
        unrestricted: no policy returns more on the majorant.
    """

    def __init__(self, incumbent: Incumbent, model: Model, constant: float, consider: Callable[[Tree], None]) -> None:
        self._incumbent, self._constant, self._consider = incumbent, constant, consider
        self.model, self.unrestricted = model, model.optimal_return.upper

    @property
    def value(self) -> float:
        """What the best tree returns on the task itself, less the constant."""
        return self._incumbent.value - self._constant

    @property
    def target(self) -> float:
        """A tree that returns no more than this is no better than the best one."""
        return self._incumbent.target - self._constant

    def improve(self, tree: Tree, value: float) -> None:
        """Evaluate a tree on the task itself, whatever it returns on the majorant."""
        self._consider(tree)

    def lower(self, bound: float) -> None:
        """Take a new bound of the majorant."""
        self._incumbent.lower(min(self._incumbent.bound, self.on_task(bound)))

    def report(self) -> None:
        """Tell the watch."""
        self._incumbent.report()

    def on_task(self, bound: float) -> float:
        """The bound of the task that follows from a bound of the majorant."""
        return float(np.nextafter(bound + self._constant, np.inf))

    def is_enough(self, bound: float) -> bool:
        """Whether no tree is in the way that the majorant credits with more than it returns on the task."""
        return bound <= self.target


class Majorising:
    """Begins the fine search on the majorant of a task, as soon as that makes sense.

    Args:
        incumbent: that of the task.
        consider: called with trees that may be better.
        limits: threads and memory.
        watch: the clock.
        executor: explores cases elsewhere, or None.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        consider: Callable[[Tree], None],
        limits: Limits,
        watch: Watch,
        executor: Executor | None,
    ) -> None:
        self._incumbent, self._consider = incumbent, consider
        self._limits, self._watch, self._executor = limits, watch, executor
        self._impossible = False

    def begin(self) -> Rounds | None:
        """The fine search; None if there is none, or none yet because no tree has a finite value."""
        outer = self._incumbent.model
        if self._impossible or outer.too_large or not math.isfinite(self._incumbent.value):
            return None
        found = majorant(outer.mdp, self._watch)
        if found is None:
            self._impossible = True
            return None
        task = replace(outer.task, objective=StandIn(found.mdp))
        model = Model(task, outer.settings, planning.optimal_values(found.mdp, self._watch), outer.scale)
        mirror = Mirror(self._incumbent, model, found.constant, self._consider)
        return Rounds(mirror, self._limits, self._watch, self._executor)
