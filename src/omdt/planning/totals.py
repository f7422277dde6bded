"""Totals: the optimal values without a discount, by policy iteration on a quotient, with a certified error.

**From below.** Policy iteration ends with a policy π that ends almost surely, and an estimate x of its values with a
residual of at most ρ. With h ≥ 1 + P_π h, its true values are at least x − ρ h (see `omdt.planning.durations`).

**From above.** Let ê be the excess r + P x − x[owner] of every row, and d = h[owner] − P h. If ê ≤ c d in all rows for
some c ≥ 0, then U = x + c h satisfies T U ≤ U. No policy is worth more than such a U: of those that end almost surely,
because U is bounded and so what is left of it after n steps vanishes; others are worth −∞, or do not exist in the
quotient. Rows that are clearly worse have ê ≪ 0 and may lead to where h is larger; rows that prevent c take part in the
policy for which h is made, and h is computed anew. Where every policy ends, the largest h of all policies has d ≥ 1 in
every row and always serves.

Rows of the MDP are understood to be divided by their sums exactly; what that and the sums of probabilities within the
quotient round by is part of ê and of d.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from omdt.mdp import EPSILON, MDP, Bools, Floats, Ints
from omdt.planning.certified import UNDERFLOW, Certified
from omdt.planning.quotient import Quotient, quotient
from omdt.systems import Approximation, System, Use, product
from omdt.watch import Watch, late

MAX_IMPROVEMENTS = 10_000
"""Maximum number of policies that are tried; what is returned then is still certified, with a wider error."""

SWEEPS = 10
"""Sweeps in both directions before every improvement of a policy; they carry values across many states at once."""

ATTEMPTS = 5
"""Policies from which h is made before the longest of all policies has to do."""


def best_totals(mdp: MDP, rewards: Floats, endless: float | None, watch: Watch | None) -> Certified[Floats]:
    """[S] the values of the best policy for total rewards; ∞ and −∞ where they are infinite.

    Args:
        mdp: the problem.
        rewards: [S, A] rewards in place of its own; −∞ for actions that must not be played.
        endless: what a policy is worth that never ends, as in `MDP`.
        watch: ends the computation early; errors are then infinite.
    """
    reduced = quotient(mdp, rewards, endless)
    found = _Iteration(reduced, _margin(mdp), watch).best_values()
    errors = np.broadcast_to(found.errors, found.values.shape)
    return Certified(reduced.on_states(found.values), reduced.on_states(errors, 0.0))


def inductive_totals(mdp: MDP, watch: Watch | None = None) -> Floats | None:
    """[S] finite numbers U that exceed the optimal values by rounding only and satisfy T U ≤ U but for rounding.

    Returns:
        None if some values are infinite, or time was too short.
    """
    reduced = quotient(mdp, mdp.rewards, mdp.endless)
    if not np.isfinite(reduced.known[reduced.member < 0]).all():
        return None
    above = _Iteration(reduced, _margin(mdp), watch).best_values().above
    if above is None:
        return None
    if not np.any(mdp.rewards > 0):
        # The smaller one of two such vectors is one as well, and 0 is one where nothing can be earned.
        above = np.minimum(above, 0.0)
    return reduced.on_states(above)


def longest(mdp: MDP, watch: Watch | None = None) -> float:
    """The largest expected number of steps before a terminal state, over all states and policies; ∞ if there is none.

    Returns:
        An upper bound that exceeds the true number by rounding only.
    """
    steps = np.where(mdp.terminal[:, None], 0.0, np.ones_like(mdp.rewards))
    return float(best_totals(mdp, steps, np.inf, watch).upper.max())


def _margin(mdp: MDP) -> float:
    """Relative rounding error of a row of a quotient: its sum, the sums of its entries, and its product."""
    return 4 * (int(np.diff(mdp.transitions.indptr).max()) + 4) * EPSILON


class _Found(NamedTuple):
    """What policy iteration finds.

    Attributes:
        values: [n] an estimate of the optimal values.
        errors: bounds on its errors.
        above: [n] U with T U ≤ U, where that holds by more than the rounding of U; None if there is none.
    """

    values: Floats
    errors: float | Floats
    above: Floats | None = None


class _Iteration:
    """Policy iteration on a quotient."""

    def __init__(self, reduced: Quotient, margin: float, watch: Watch | None) -> None:
        self._reduced, self._margin, self._watch = reduced, margin, watch
        self._inverse: Approximation | None = None

    def best_values(self) -> _Found:
        """The values of the best policy."""
        reduced = self._reduced
        if len(reduced.first) == 0:
            return _Found(np.zeros(0), np.zeros(0), np.zeros(0))
        rows = reduced.ending
        values = self._evaluated(rows, reduced.rewards)
        for _ in range(MAX_IMPROVEMENTS):
            if late(self._watch):
                return _Found(values, np.inf)
            better = self._improved(self._swept(values), rows)
            if better is None:
                break
            rows, values = better, self._evaluated(better, reduced.rewards)
        return self._certified(values, rows)

    def _swept(self, values: Floats) -> Floats:
        """Values after some sweeps, which never lower them by more than rounding."""
        reduced, values = self._reduced, values.copy()
        matrix = reduced.matrix
        for _ in range(SWEEPS):
            for forward in (True, False):
                _sweep(matrix.indptr, matrix.indices, matrix.data, reduced.rewards, reduced.first, values, forward)
        return values

    def _improved(self, values: Floats, rows: Ints) -> Ints | None:
        """[n] rows that are better than the given ones by more than rounding; None if there are none."""
        reduced = self._reduced
        rounded = self._margin * float(np.abs(values).max())
        return self._better_rows(reduced.rewards + reduced.matrix @ values, rows, rounded)

    def _better_rows(self, q: Floats, rows: Ints, least: float) -> Ints | None:
        """[n] the given rows, or others whose q [rows] is larger by more than `least`; None if there are none."""
        reduced = self._reduced
        best = np.maximum.reduceat(q, reduced.first)
        improves = best > q[rows] + least
        if not improves.any():
            return None
        at_best = np.flatnonzero(q == best[reduced.owner])[::-1]
        chosen = rows.copy()
        # Of rows that are equally good, the first one is written last.
        chosen[reduced.owner[at_best]] = at_best
        return np.where(improves, chosen, rows)

    def _evaluated(self, rows: Ints, rewards: Floats) -> Floats:
        """[n] the values of the policy that takes these rows."""
        system = self._system(rows)
        values = system.solve(rewards[rows], watch=self._watch)
        self._inverse = system.inverse
        return values

    def _system(self, rows: Ints) -> System:
        inverse = self._inverse
        near = None if inverse is None or inverse.preparing == 0 else inverse
        return System(sparse.csr_array(self._reduced.matrix[rows]), 0.0, near=near, use=Use.ONE)

    def _certified(self, values: Floats, rows: Ints) -> _Found:
        """The values with a bound on their distance from the optimal ones; ∞ if there is none by this way."""
        reduced = self._reduced
        q = reduced.rewards + product(reduced.matrix, values)
        sizes = np.abs(reduced.rewards) + np.abs(values)[reduced.owner] + reduced.matrix @ np.abs(values)
        rounded = self._margin * sizes + UNDERFLOW
        excess = q - values[reduced.owner]
        shortfall = float((rounded - excess)[rows].max())
        below: Floats | None = None
        for attempt in range(ATTEMPTS + 1):
            h = self._longest() if attempt == ATTEMPTS else self._durations(rows)
            if h is None:
                break
            if below is None:
                below = h * max(0.0, shortfall)
            ahead = product(reduced.matrix, h)
            decrease = h[reduced.owner] - ahead - self._margin * (h[reduced.owner] + ahead)
            c, preventing = _factor(excess + rounded, decrease)
            if not preventing.any():
                errors: Floats = np.maximum(below, c * h) * (1 + 8 * EPSILON)
                return _Found(values, errors, values + 2 * c * h)
            worst = np.flatnonzero(preventing)
            rows = rows.copy()
            rows[reduced.owner[worst]] = worst
        if below is None or np.any(reduced.rewards > 0):
            return _Found(values, np.inf)
        # Where nothing can be earned, no value is above 0.
        return _Found(values, np.maximum(below, np.abs(values)))

    def _durations(self, rows: Ints) -> Floats | None:
        """[n] h with h ≥ 1 + P h for the policy that takes these rows; None if it may never end."""
        h = np.maximum(self._evaluated(rows, np.ones(len(self._reduced.owner))), 0.0)
        ahead = product(self._reduced.matrix[rows], h)
        decrease = h - ahead - self._margin * (h + ahead + 1)
        least = float(decrease.min())
        return h / least * (1 + 4 * EPSILON) if np.isfinite(least) and least > 0 else None

    def _longest(self) -> Floats | None:
        """[n] the expected number of steps of the policy that takes longest; None if there are policies without end."""
        reduced = self._reduced
        rows = reduced.ending
        for _ in range(MAX_IMPROVEMENTS):
            h = self._durations(rows)
            if h is None or late(self._watch):
                return None
            # Half a step less than the longest is good enough: h still decreases by half a step in every row.
            better = self._better_rows(1 + reduced.matrix @ h, rows, 0.5)
            if better is None:
                return h
            rows = better
        return None


def _factor(excess: Floats, decrease: Floats) -> tuple[float, Bools]:
    """The least c with excess ≤ c · decrease where the decrease is positive, and the other rows that prevent it."""
    needed = np.divide(excess, decrease, out=np.zeros_like(decrease), where=decrease > 0)
    c = max(float(needed.max()), 0.0) * (1 + 4 * EPSILON)
    preventing: Bools = (decrease <= 0) & ~(excess <= c * decrease * (1 + 4 * EPSILON))
    return c, preventing


@njit(cache=True)
def _sweep(indptr, indices, data, rewards, first, values, forward):  # type: ignore[no-untyped-def]
    """One Gauss–Seidel pass over all states in place, upward only, with self-loops solved for exactly."""
    n, rows = len(first), len(rewards)
    for i in range(n):
        s = i if forward else n - 1 - i
        last = first[s + 1] if s + 1 < n else rows
        best = values[s]
        for row in range(first[s], last):
            ahead, stay = rewards[row], 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] == s:
                    stay += data[k]
                else:
                    ahead += data[k] * values[indices[k]]
            if stay < 1:
                best = max(best, ahead / (1 - stay))
        values[s] = best
