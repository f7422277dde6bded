"""Losses: how much less than the optimum a policy returns because of what it does in some of the states.

With U the optimal values and δ(s, a) = U(s) − r(s, a) − γ P(s, a)·U ≥ 0, a policy π with discounted visits x returns

    J(π) = p0·U − Σ_s x(s) δ(s, π(s)),

the optimum minus a loss that adds up over states, hence over the leaves of a tree. Only trees that lose no more than a
budget β are of interest. When the actions in a set F of states are given, what they lose *inside* F is at least

    ℓ(F) = max_{λ ≥ 0} min_π [ loss_F(π) + λ (loss(π) − β) ],        π free outside F,

for every λ a Markov decision process with costs (1 + λ) δ on F and λ δ elsewhere (`cheapest`). The maximum over λ of
this concave, piecewise linear function is approached by secants; λ → ∞ tells whether the budget is exceeded anyway.
For every policy π the line loss_F(π) + λ (loss(π) − β) is above the function, whether or not π is cheapest for this λ.
So the search for the cheapest policy may end early: for λ → ∞ with any policy within the budget, and for another λ with
any policy whose line is no higher there than the best bound so far, since this λ cannot give a better one.

**Rounding.** δ is rounded down, and what U lacks to satisfy δ ≥ 0 exactly is added to p0·U.
"""

from collections.abc import Callable
from copy import copy
from typing import NamedTuple

import numpy as np

from omdt.mdp import EPSILON, Bools, Floats, Ints
from omdt.methods.search.bounds.cheapest import Cheapest, Costs, Prices, Solver, solver_for
from omdt.methods.search.model import Model
from omdt.watch import Watch

FINITE = 1e300
"""What an infinite loss counts as where it is weighted."""


class Lost(NamedTuple):
    """What leaves lose at least inside, with the reason.

    Attributes:
        value: ℓ(F), rounded down; infinite if the budget is exceeded.
        multiplier: the λ from which it follows; infinite if every policy exceeds the budget, None without a loss or
            where an action is not allowed.
        values: [S] the costs of the cheapest policy for this λ.
    """

    value: float
    multiplier: float | None = None
    values: Floats | None = None


class Losses:
    """Bounds losses from below.

    Attributes:
        values: [S] U.
        optimum: p0·U, rounded up.
        delta: [S, A] δ, rounded down; infinite where an action is not allowed.
        policy: [S] the best policy.
        expected: [S, A] δ weighted with the visits of the best policy.
    """

    def __init__(
        self,
        model: Model,
        values: Floats,
        allowed: Bools,
        solver: Callable[[Model, Costs], Solver] = solver_for,
    ) -> None:
        mdp = model.mdp
        P = mdp.transitions
        self.settings, self.values = model.settings, values
        delta = values[:, None] - mdp.rewards - mdp.discount * (P @ values).reshape(mdp.rewards.shape)
        size = np.abs(values)[:, None] + np.abs(mdp.rewards)
        size = size + mdp.discount * (P @ np.abs(values)).reshape(mdp.rewards.shape)
        longest = int(np.diff(P.indptr).max())
        delta -= (longest + 8) * EPSILON * size
        delta[~allowed] = np.inf
        contraction = model.norms.contraction
        lack = max(0.0, -float(delta.min())) / contraction
        largest = float(np.abs(values).max()) + lack
        self.optimum = float(mdp.initial @ values) + lack + 4 * mdp.n_states * EPSILON * largest
        self.policy: Ints = np.argmin(delta, axis=1)
        self.delta: Floats = np.maximum(delta, 0.0)
        self.delta[np.arange(mdp.n_states), self.policy] = 0.0
        arrays, shrink = model.likely_first, 1 - (longest + 8) * EPSILON
        dynamics = (arrays.indptr, arrays.indices, arrays.discounted)
        self._costs = Costs(*dynamics, self.delta, self.policy, arrays.initial, contraction, shrink)
        self._solver = solver(model, self._costs)
        self.expected: Floats = self._solver.visits[:, None] * np.minimum(self.delta, FINITE)

    def cheapest(self, forced: Ints) -> Cheapest:
        """The policy that loses least of those that take some actions.

        Args:
            forced: [S] the actions that are given, −1 elsewhere.
        """
        return self._cheapest(forced, 0.0)

    def inside(self, forced: Ints, budget: float, enough: float) -> Lost:
        """ℓ(F), rounded down.

        Args:
            forced: [S] the action of every state in F, −1 elsewhere.
            budget: β.
            enough: a bound as high as this is high enough.
        """
        states = (forced >= 0).nonzero()[0]
        if self.delta[states, forced[states]].max(initial=0.0) == np.inf:
            return Lost(np.inf)
        policy, memory = self._solver.start(forced, self.policy)
        tolerance, iterations = self.settings.loss_tolerance * budget, self.settings.loss_iterations
        free = Prices(forced, 1.0, 1.0, budget, tolerance, iterations)
        bound, loss, total, V = self._solver.cheapest(self._costs, free, policy, memory)
        if bound > budget:
            return Lost(np.inf, np.inf, V)
        if loss <= self.settings.loss_accuracy * budget:
            return Lost(0.0)
        secants = _Secants(loss, total, budget)
        best = Lost(0.0)
        for _ in range(self.settings.max_multipliers):
            if best.value >= enough or secants.close(best.value, self.settings.loss_accuracy):
                break
            multiplier = secants.multiplier
            allowance = multiplier * budget
            prices = Prices(forced, 1.0 + multiplier, multiplier, allowance + best.value, tolerance, iterations)
            bound, loss, total, V = self._solver.cheapest(self._costs, prices, policy, memory)
            lost = bound - allowance - 4 * EPSILON * (bound + allowance)
            if lost > best.value:
                best = Lost(lost, multiplier, V)
            secants.add(loss, total)
        return best

    def to_blame(self, forced: Ints, values: Floats, budget: float) -> Ints | None:
        """States of F whose actions alone exceed a budget, as all of F does; None where states can be visited twice.

        Args:
            forced: [S] the action of every state in F, −1 elsewhere.
            values: [S] costs of the cheapest policy.
            budget: what is exceeded.
        """
        prices = Prices(forced, 1.0, 1.0, budget, 0.0, self.settings.loss_iterations)
        return self._solver.to_blame(self._costs, prices, values, self.settings.blame_attempts)

    def within(self, budget: float, watch: Watch) -> "Losses":
        """The same without the actions that no policy within the budget takes."""
        delta = self.delta.copy()
        forced = np.full(len(self.policy), -1)
        for s, a in zip(*np.nonzero(np.isfinite(self.delta)), strict=True):
            if a != self.policy[s]:
                watch.check()
                forced[s] = a
                if self._cheapest(forced, self.settings.loss_tolerance * budget).bound > budget:
                    delta[s, a] = np.inf
                forced[s] = -1
        return self.without(np.isinf(delta))

    def without(self, excluded: Bools) -> "Losses":
        """The same without some actions [S, A], which lose an infinite amount."""
        restricted = copy(self)
        restricted.delta = np.where(excluded, np.inf, self.delta)
        restricted._costs = self._costs._replace(delta=restricted.delta)
        return restricted

    def among(self, states: Bools) -> "Losses":
        """The same, but nothing is lost in other states; only where no state can be visited twice."""
        restricted = copy(self)
        restricted._solver = self._solver.among(states)
        return restricted

    def _cheapest(self, forced: Ints, tolerance: float) -> Cheapest:
        prices = Prices(forced, 1.0, 1.0, -np.inf, tolerance, self.settings.loss_iterations)
        return self._solver.cheapest(self._costs, prices, *self._solver.start(forced, self.policy))


class _Secants:
    """Where the concave function of λ may have its maximum.

    Every policy bounds the function by a line; `within` is a policy whose line falls, `beyond` one whose line rises,
    each given by its loss inside F and its loss everywhere.

    Attributes:
        multiplier: the next λ to try.
    """

    def __init__(self, loss: float, total: float, budget: float) -> None:
        self.budget, self._highest = budget, loss
        self._within, self._beyond = (loss, total), (0.0, 0.0)
        self.multiplier = loss / max(budget - total, 1e-6 * budget, 1e-300) / 4

    def close(self, best: float, accuracy: float) -> bool:
        """Whether the best value so far is close to the highest that is possible."""
        return self._highest - best <= accuracy * (self.budget + best)

    def add(self, loss: float, total: float) -> None:
        """Take a policy into account that is cheapest for the present λ, or cheap enough."""
        if total <= self.budget:
            self._within = (loss, total)
        else:
            self._beyond = (loss, total)
        within, beyond = self._within, self._beyond
        if beyond[1] <= within[1]:
            self.multiplier, self._highest = self.multiplier / 8, within[0]
        else:
            self.multiplier = max(0.0, (within[0] - beyond[0]) / (beyond[1] - within[1]))
            self._highest = within[0] + self.multiplier * (within[1] - self.budget)
