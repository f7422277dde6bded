"""Multipliers: what a unit of a limited total is worth, and the rewards from which starts are made with them.

For multipliers λ ≥ 0, the best policy for the rewards r − Σ λ_i c_i trades return for costs. The smallest multiplier
for which the best policy of any form keeps a limit is near the one for which the best tree does, so trees that are good
for these rewards are good starts.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Floats, Ints
from omdt.methods.search.ruled.worth import Evaluation
from omdt.watch import Watch

STEPS, STEPS_OF_MANY_STATES = 10, 2
"""Times that a multiplier is multiplied, and then halved; fewer with many states, where optimal policies take long."""

FACTOR = 4.0
"""By this a multiplier is multiplied until the best policy keeps the limit."""

PRICED = (1.0, 2.0, 0.5)
"""Multiples of the multipliers for which starts are made, in this order."""


class Multipliers:
    """The multipliers of the ceilings of a task."""

    def __init__(self, evaluation: Evaluation, watch: Watch) -> None:
        self.evaluation, self.watch = evaluation, watch
        self._ceilings = evaluation.task.ceilings
        many = evaluation.guide.n_states >= evaluation.model.settings.impatient_states
        self._steps = STEPS_OF_MANY_STATES if many else STEPS

    @cached_property
    def values(self) -> Floats:
        """One multiplier per ceiling, for which the best policy of any form about keeps the limit."""
        values = np.zeros(len(self._ceilings))
        for i in range(len(values)):
            values = self._raised(values, i)
        return values

    def problems(self) -> Iterator[MDP]:
        """Discounted problems whose optimal policies are good starts: the guide, priced ones, and costs alone."""
        guide = self.evaluation.guide
        yield guide
        if not self._ceilings:
            return
        for factor in PRICED if self.values.any() else ():
            yield self.priced(factor * self.values)
        costs = sum(it.costs / unit for it, unit in zip(self._ceilings, self.evaluation.units, strict=True))
        yield replace(guide, rewards=-np.asarray(costs))

    def priced(self, multipliers: Floats) -> MDP:
        """The guide with the costs of all ceilings subtracted from its rewards."""
        guide = self.evaluation.guide
        charged = sum(it * ceiling.costs for it, ceiling in zip(multipliers, self._ceilings, strict=True))
        return replace(guide, rewards=guide.rewards - charged) if len(multipliers) else guide

    def _raised(self, values: Floats, i: int) -> Floats:
        """Multipliers with one of them raised until the best policy keeps its limit, if any does."""
        if self._keeps(values, i):
            return values
        low, high = 0.0, self.evaluation.scale / self.evaluation.units[i]
        for _ in range(self._steps):
            if self._keeps(_with(values, i, high), i) or self.watch.remaining == 0:
                break
            low, high = high, FACTOR * high
        for _ in range(self._steps):
            middle = (low + high) / 2
            if self.watch.remaining == 0:
                break
            low, high = (low, middle) if self._keeps(_with(values, i, middle), i) else (middle, high)
        return _with(values, i, high)

    def _keeps(self, multipliers: Floats, i: int) -> bool:
        """Whether the best policy of any form keeps a limit."""
        ceiling, policy = self._ceilings[i], self.best_policy(self.priced(multipliers))
        costs = ceiling.costs[np.arange(len(policy)), policy]
        return float(self.evaluation.visits_of(policy) @ costs) <= ceiling.limit + ceiling.tolerance

    def best_policy(self, problem: MDP) -> Ints:
        """[S] an optimal policy."""
        return planning.greedy(planning.q_values(problem, planning.optimal_values(problem, self.watch)))


def _with(values: Floats, i: int, value: float) -> Floats:
    """An array with another value in one place."""
    changed: Floats = values.copy()
    changed[i] = value
    return changed
