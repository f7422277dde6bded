"""Durations: how far a residual may add up, state by state, instead of 1 / (1 − γ) everywhere.

**A policy.** Let M = γ P_π ≥ 0 and ĥ ≥ 0 with ĥ − M ĥ ≥ δ > 0 in every state that is not terminal, and ĥ = 0 in
terminal states, where nothing is earned and V̂ = 0 is exact. Then the spectral radius of M on the other states is below
1, their part of N = (I − M)⁻¹ is non-negative, and for a residual |e| ≤ ρ

    |V − V̂| = |N e| ≤ ρ N 1 ≤ (ρ / δ) N (ĥ − M ĥ) = (ρ / δ) ĥ.

ĥ is about the expected discounted number of steps until a terminal state is reached. Whatever found it, only the
inequality counts, which is checked with its own rounding; terms of a rounded γ P are part of that.

**The optimal values.** Let ê(s, a) = r(s, a) + γ P_a V̂ − V̂ (s) be at most ρ in every state and action, and d(s, a) =
ĥ(s) − γ P_a ĥ (s). For a number c ≥ 0 with

    ê(s, a) ≤ c d(s, a)   for all states and actions,

U = V̂ + c ĥ satisfies T U ≤ U, because r + γ P_a U = V̂ + ê(s, a) + c (ĥ − d(s, a)) ≤ U for every action. T is monotone
and its iterates converge to V*, so V* ≤ U. Actions that are clearly worse, ê ≪ 0, may lead to where ĥ is larger
(d < 0); only actions that are better or nearly as good must not. So c is at least the largest ê / d where d > 0, and at
most the smallest ê / d where d < 0; if there is such a number, V* − V̂ ≤ c ĥ. From below, V* ≥ V_π ≥ V̂ − ρ ĥ for the
greedy policy π by the first part, if ĥ is made for π. If there is no such c, the actions that prevent it take part in
the policy for which ĥ is made, and ĥ is computed anew. If a few attempts fail, 1 / (1 − γ) remains.
"""

import numpy as np
from scipy import sparse

from omdt.mdp import EPSILON, MDP, Bools, Floats, Ints
from omdt.planning.certified import UNDERFLOW
from omdt.systems import System, product
from omdt.watch import Watch

RESIDUAL = 0.1
"""Residual of ĥ that is small enough: it widens the error by a tenth."""

ATTEMPTS = 5
"""Policies from which ĥ is made before 1 / (1 − γ) has to do."""


def durations(system: System, ended: Bools, terms: int, watch: Watch | None) -> Floats | None:
    """[S] h with h ≥ 1 + γ P h where the chain has not ended and h = 0 elsewhere; None if time was too short.

    Args:
        system: γ P.
        ended: [S] states that are never left and in which nothing is earned.
        terms: rows of the MDP of which a row of P is mixed.
        watch: ends the computation early.
    """
    found = np.maximum(system.solve(np.where(ended, 0.0, 1.0), accuracy=RESIDUAL, watch=watch), 0.0)
    found[ended] = 0.0
    decrease = found - product(system.M, found) - (8 + terms) * EPSILON * (2 * found + 1)
    least = float(decrease.min(where=~ended, initial=np.inf))
    if not least > 0:
        return None
    return found / least * (1 + 4 * EPSILON) if np.isfinite(least) else found


class Supersolution:
    """Bounds the distance of V̂ from the optimal values state by state; see above.

    Args:
        mdp: the problem.
        excess: [S, A] upper bound on ê.
        shortfall: [S] upper bound on −ê of the greedy actions.
        shrinkage: 1 − γ.
        watch: ends the computation early.
    """

    def __init__(self, mdp: MDP, excess: Floats, shortfall: Floats, shrinkage: float, watch: Watch | None) -> None:
        self._mdp, self._excess, self._shortfall = mdp, excess, shortfall
        self._shrinkage, self._watch = shrinkage, watch
        self._acting = ~mdp.terminal

    def errors(self, actions: Ints) -> Floats | None:
        """[S] a bound on |V* − V̂|, with ĥ from the given greedy actions; None if there is none by this way."""
        mdp, states, played = self._mdp, np.arange(self._mdp.n_states), actions.copy()
        system, below = None, np.zeros(mdp.n_states)
        for attempt in range(ATTEMPTS):
            M = sparse.csr_array(mdp.discount * mdp.transitions[states * mdp.n_actions + played])
            system = System(M, self._shrinkage, near=None if system is None else system.inverse)
            h = durations(system, mdp.terminal, 0, self._watch)
            if h is None:
                return None
            if attempt == 0:
                # Here h ≥ 1 + γ P_π h for the greedy policy π itself.
                below = h * max(0.0, float(self._shortfall.max(where=self._acting, initial=0.0)))
            ahead = mdp.discount * product(mdp.transitions, h).reshape(mdp.rewards.shape)
            decrease = h[:, None] - ahead - 16 * EPSILON * (h[:, None] + ahead)
            c, preventing = self._factor(decrease)
            if not preventing.any():
                errors: Floats = np.maximum(below, c * h) * (1 + 4 * EPSILON)
                return errors
            worst = np.where(preventing, decrease, np.inf)
            played = np.where(preventing.any(axis=1), worst.argmin(axis=1), played)
        return None

    def _factor(self, decrease: Floats) -> tuple[float, Bools]:
        """The least c, and the states and actions [S, A] that prevent it."""
        acting, excess = self._acting[:, None], self._excess + UNDERFLOW
        needed = np.divide(excess, decrease, out=np.zeros_like(decrease), where=acting & (decrease > 0))
        c = max(float(needed.max()), 0.0) * (1 + 4 * EPSILON)
        preventing: Bools = acting & (decrease <= 0) & ~(excess <= c * decrease)
        return c, preventing
