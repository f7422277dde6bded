"""Worth: what a complete tree returns net of prices, by how much it breaks rules, and where it could gain.

A climb compares trees by their *merit*, the net return minus a penalty for broken rules. All rules but those about
shape and leaves are about visits, which one linear system tells (`visits`). Without a discount, returns and totals are
those of the problem itself; the guide, a discounted stand-in (`omdt.guide`), tells trees apart that return the same.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from omdt import judging, planning
from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Tree, to_policy
from omdt.methods.search.ruled.facts import Facts
from omdt.methods.search.ruled.keeping import Questions
from omdt.methods.search.ruled.visits import Visits
from omdt.methods.search.ruling import Ruling
from omdt.watch import OutOfTimeError, Watch

CLOSE = 1e-6
"""Relative distance to a limit below which `Ruling` decides whether a tree keeps it: beyond, the visits are known
accurately enough."""

HINT = 0.1
"""Weight of the guide's return in the merit without a discount: enough to tell trees apart that return the same."""

HOPELESS = 1e6
"""Penalty in units of the scale of returns, and excess, of what is infinite."""


class Worth(NamedTuple):
    """What a tree is worth under the rules.

    Attributes:
        value: its net return.
        hint: its net return on the guide, which is the same if there is a discount.
        excess: by how much it breaks rules, relative to their limits; 0 if it keeps them all.
        close: whether a total or a share is so close to its limit that rounding could decide.
    """

    value: float
    hint: float
    excess: float
    close: bool = False


WORTHLESS = Worth(-math.inf, -math.inf, math.inf)


class Slopes(NamedTuple):
    """First-order effects of changes of the present tree.

    Attributes:
        gains: [S, A] of another action, per state, with penalties for ceilings and forbidden actions.
        visits: [S] the occupancies, mixed with a small part of all states alike, 0 in terminal states.
    """

    gains: Floats
    visits: Floats


class Evaluation:
    """Evaluates trees under the rules of a task.

    Attributes:
        count: number of trees evaluated so far.
        guide: the discounted MDP on which first-order gains are computed; `task.problem` if it has a discount.
        units: the unit in which the excess over each ceiling is measured.
        scale: of returns, above 0.
    """

    def __init__(self, model: Model, questions: Questions, watch: Watch) -> None:
        self.model, self.task = model, model.task
        self.questions, self.watch, self.count = questions, watch, 0
        self.guide = self.task.guide
        self._visits = Visits(self.guide, model.topological, watch)
        self._ruling = Ruling(model)
        self._states = np.arange(self.guide.n_states)
        self.units = [max(abs(it.limit), float(np.abs(it.costs).max()), 1e-300) for it in self.task.ceilings]
        self.scale = model.scale if model.scale > 0 else max(float(np.abs(self.guide.rewards).max()), 1e-300)

    @cached_property
    def _decides(self) -> Bools:
        """[S] whether there is something to decide in a state: only such visits are paid for."""
        decides: Bools = ~self.task.problem.terminal
        return decides

    def facts(self, tree: Tree) -> Facts:
        """What a tree does and asks."""
        return Facts.of(tree, self.questions, self._states)

    def merit(self, worth: Worth, weight: float) -> float:
        """What a climb compares: the net return minus the weighted excess in units of the scale of returns."""
        value = worth.value if math.isfinite(worth.value) else -HOPELESS * self.scale
        if self.task.problem.discount == 1:
            value += HINT * max(worth.hint, -HOPELESS * self.scale)
        return value - weight * self.scale * min(worth.excess, HOPELESS)

    def worth(self, facts: Facts) -> Worth:
        """What a tree is worth; nothing if time runs out meanwhile."""
        self.count += 1
        visits = np.maximum(self._visits.of(facts.policy), 0.0)
        paid = self._paid(facts)
        hint = float(visits @ (self._taken(self.guide.rewards, facts) - paid)) - self._once(facts)
        if self.task.problem.discount < 1:
            totals = [float(visits @ self._taken(it.costs, facts)) for it in self.task.ceilings]
            found = self._judged(facts, hint, hint, totals, self._shares(facts, visits))
        else:
            found = self._on_the_problem(facts, hint)
        if self.watch.remaining == 0:
            return WORTHLESS
        return self._ruled(facts, found) if found.close else found

    def _ruled(self, facts: Facts, found: Worth) -> Worth:
        """The worth of a tree that is so close to a limit that rounding could decide."""
        try:
            verdict = self._ruling.verdict(facts.tree, self.watch)
        except OutOfTimeError:
            return WORTHLESS
        if verdict.broken is not None:
            return found._replace(excess=max(found.excess, CLOSE))
        return Worth(verdict.value.value, found.hint, 0.0)

    def visits_of(self, policy: Ints) -> Floats:
        """[S] the discounted visits of a policy, on the guide if there is no discount."""
        return self._visits.of(policy)

    def _on_the_problem(self, facts: Facts, hint: float) -> Worth:
        """The same without a discount."""
        tree = to_policy(facts.tree, self.model.splits, self.model.mdp)
        returned = judging.net_return(self.task, tree, self.watch)
        sure = planning.is_rounding(returned.error, max(abs(returned.value), self.model.scale))
        totals = [judging.cost_of(self.task, it, facts.policy, self.watch).value for it in self.task.ceilings]
        shares = judging.leaf_shares(self.task, tree, facts.policy, self.watch) if self.task.least_share else None
        return self._judged(facts, returned.value if sure else returned.lower, hint, totals, shares)

    def _judged(self, facts: Facts, value: float, hint: float, totals: list[float], shares: Floats | None) -> Worth:
        """The worth of a tree with the given totals per ceiling and shares [leaves]."""
        excess, close = facts.shape_excess(self.task), False
        for ceiling, unit, total in zip(self.task.ceilings, self.units, totals, strict=True):
            over = (total - ceiling.limit) / unit if math.isfinite(total) else HOPELESS
            close |= abs(over) <= CLOSE
            excess += over if total > ceiling.limit + ceiling.tolerance else 0.0
        if self.task.least_share is not None and shares is not None:
            missing = 1 - shares / self.task.least_share.least
            close |= bool((np.abs(missing) <= CLOSE).any())
            excess += float(missing[missing > judging.SHARE_TOLERANCE].sum())
        return Worth(value, hint, excess, close)

    def slopes(self, facts: Facts, multipliers: Floats, weight: float) -> Slopes:
        """First-order effects around a tree, which becomes the base of further evaluations.

        Args:
            facts: the tree.
            multipliers: what a unit of each ceiling's costs is taken to cost.
            weight: of the excess in the merit.
        """
        rewards = self.guide.rewards - self._charged(facts, multipliers, weight) - self._paid(facts)[:, None]
        visits, values = self._visits.rebase(facts.policy, self._taken(rewards, facts))
        ahead = (self.guide.transitions @ values).reshape(rewards.shape)
        mixing, counted = self.model.settings.mixing, np.where(self._decides, np.maximum(visits, 0.0), 0.0)
        mixed = (1 - mixing) * counted + mixing * counted.sum() / len(counted) * self._decides
        gains: Floats = (rewards + self.guide.discount * ahead - values[:, None]) * mixed[:, None]
        if self.task.allowed is not None:
            gains[~self.task.allowed] = -self.model.settings.forbidden_loss * (np.abs(gains).sum() + 1e-300)
        return Slopes(gains, mixed)

    def _charged(self, facts: Facts, multipliers: Floats, weight: float) -> Floats:
        """[S, A] what the costs of all ceilings are taken to cost; more for one that the tree exceeds."""
        charged = np.zeros_like(self.guide.rewards)
        for ceiling, unit, multiplier in zip(self.task.ceilings, self.units, multipliers, strict=True):
            total = float(self._visits.of(facts.policy) @ self._taken(ceiling.costs, facts))
            exceeded = total > ceiling.limit + ceiling.tolerance
            charged += max(float(multiplier), weight * self.scale / unit if exceeded else 0.0) * ceiling.costs
        return charged

    def _paid(self, facts: Facts) -> Floats:
        """[S] what a visit of each state pays for questions."""
        prices = self.task.prices
        return np.zeros(len(facts.leaf)) if prices is None else np.where(self._decides, facts.tolls(prices), 0.0)

    def _once(self, facts: Facts) -> float:
        """What the tree pays once."""
        return 0.0 if self.task.prices is None else self.task.prices.paid_once(facts.outline)

    def _shares(self, facts: Facts, visits: Floats) -> Floats | None:
        """[leaves] the share of each leaf in the visits that count; None if no rule asks for it."""
        if self.task.least_share is None:
            return None
        counted = np.where(self._decides, visits, 0.0) if self._decides.any() else visits
        total, leaves = counted.sum(), len(facts.actions)
        shares: Floats = np.bincount(facts.leaf, counted, leaves) / total if total > 0 else np.ones(leaves)
        return shares

    def _taken(self, rewards: Floats, facts: Facts) -> Floats:
        """[S] what the tree's actions have of rewards or costs [S, A]."""
        taken: Floats = rewards[self._states, facts.policy]
        return taken
