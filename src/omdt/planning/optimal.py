"""Optimal values: policy iteration, with sweeps before every improvement and a certified error at the end."""

from weakref import WeakKeyDictionary

import numpy as np
from numba import njit

from omdt.arrays import read_only
from omdt.mdp import EPSILON, MDP, Bools, Floats, Ints
from omdt.norms import norms
from omdt.planning.certified import Certified, rounding
from omdt.planning.durations import Supersolution
from omdt.planning.totals import best_totals
from omdt.systems import TARGET, Approximation, System, Use, product
from omdt.watch import Watch, late

MAX_IMPROVEMENTS = 10_000
"""Maximum number of policies that are tried; what is returned then is still certified, with a wider error."""

INACCURATE = 0.1
"""A policy that will still be improved is evaluated up to this part of the largest improvement."""

STUCK = 0.95
"""Policy iteration ends when no action improves on the values of the policy itself, and evaluating it once more leaves
more than this part of the residual."""

_OPTIMA: WeakKeyDictionary[MDP, tuple[Certified[Floats], bool]] = WeakKeyDictionary()
"""The optimal values of the MDPs in use, since an MDP never changes, and whether they are final."""


def optimal_values(mdp: MDP, watch: Watch | None = None) -> Certified[Floats]:
    """[S] value of each state under the best policy without any size limit.

    They are computed once per MDP. Where a watch ended the computation, the next call goes on from there.
    """
    known, final = _OPTIMA.get(mdp, (None, False))
    if known is None or not (final or late(watch)):
        start = np.zeros(mdp.n_states) if known is None else known.value
        known = _best_values(mdp, mdp.rewards, mdp.endless, start, watch)
        _OPTIMA[mdp] = (known, not late(watch))
    return known


def is_final(mdp: MDP) -> bool:
    """Whether the optimal values of an MDP are known and no watch ended their computation."""
    return _OPTIMA.get(mdp, (None, False))[1]


def worst_values(mdp: MDP, watch: Watch | None = None) -> Certified[Floats]:
    """[S] value of each state under the worst policy."""
    endless = None if mdp.endless is None else -mdp.endless
    negated = _best_values(mdp, -mdp.rewards, endless, np.zeros(mdp.n_states), watch)
    return Certified(0.0 - negated.value, negated.errors)


def restricted_values(
    mdp: MDP, choices: Bools, start: Floats, watch: Watch | None = None, *, accuracy: float = 0.0
) -> Certified[Floats]:
    """[S] value of each state under the best policy that has only some actions to choose from.

    Args:
        mdp: the problem.
        choices: [S, A] the actions that may be taken, at least one per state.
        start: [S] values to start from, for example the optimal values of a less restricted problem.
        watch: ends the computation early.
        accuracy: an error as small as this is small enough.
    """
    return _best_values(mdp, np.where(choices, mdp.rewards, -np.inf), mdp.endless, start, watch, accuracy)


def _best_values(
    mdp: MDP, rewards: Floats, endless: float | None, start: Floats, watch: Watch | None, accuracy: float = 0.0
) -> Certified[Floats]:
    """The values of the best policy for other rewards [S, A], which are −∞ for actions that must not be played."""
    if mdp.discount == 1:
        return best_totals(mdp, rewards, endless, watch)
    return _Improvement(mdp, rewards, watch, accuracy).best_values(start)


class _Improvement:
    """Policy iteration for the given rewards [S, A], which are −∞ for actions that must not be played."""

    def __init__(self, mdp: MDP, rewards: Floats, watch: Watch | None, accuracy: float = 0.0) -> None:
        self._mdp, self._rewards, self._watch, self._accuracy = mdp, read_only(rewards), watch, accuracy
        self._norms = norms(mdp)
        self._states = np.arange(mdp.n_states)
        self._inverse: Approximation | None = None

    def best_values(self, start: Floats) -> Certified[Floats]:
        """The values of the best policy."""
        values, actions = start.copy(), np.argmax(self._rewards, axis=1)
        values[self._mdp.terminal] = 0.0
        residual, exact = np.inf, False
        for _ in range(MAX_IMPROVEMENTS):
            # Sweeps may carry a gain around a circle without end, where no action looks better than that of the policy.
            # Only the values of the policy itself show whether it is the best one.
            if not exact:
                self._sweep(values)
            q = self._look_ahead(values)
            best = q.max(axis=1)
            improves = best > q[self._states, actions] + 4 * EPSILON * np.abs(best)
            actions = np.where(improves, q.argmax(axis=1), actions)
            before_exact, exact = exact, not improves.any()
            inaccurate = 0.0 if exact else INACCURATE * float(np.abs(best - values).max())
            values = self._evaluated(actions, best, inaccurate)
            above, below = self._residual(values)
            before, residual = residual, float(np.maximum(above.max(axis=1), below).max())
            stuck = before_exact and exact and residual > STUCK * before
            size = float(np.abs(values).max())
            error = self._norms.error_of(residual)
            enough = max(self._accuracy, TARGET * size + 4 * self._norms.error_of(rounding(size, size)))
            if error <= enough or stuck or late(self._watch):
                break
        return Certified(values, self._errors(values, error, above, below))

    def _sweep(self, values: Floats) -> None:
        """Carry values across the state space, which policy iteration alone does one step per iteration."""
        P = self._mdp.transitions
        for forward in (True, False, True, False):
            if late(self._watch):
                return
            _sweep(P.indptr, P.indices, P.data, self._rewards, self._mdp.discount, values, forward)

    def _look_ahead(self, values: Floats) -> Floats:
        """[S, A] r + γ P V"""
        q: Floats = self._rewards + self._mdp.discount * (self._mdp.transitions @ values).reshape(self._rewards.shape)
        return q

    def _evaluated(self, actions: Ints, start: Floats, accuracy: float) -> Floats:
        """[S] the values of a policy."""
        mdp = self._mdp
        M = mdp.discount * mdp.transitions[self._states * mdp.n_actions + actions]
        inverse = self._inverse
        near = None if inverse is None or inverse.preparing == 0 else inverse
        system = System(M, self._norms.shrinkage, near=near, use=Use.ROUGH)
        values = system.solve(self._rewards[self._states, actions], start, accuracy=accuracy, watch=self._watch)
        self._inverse = system.inverse
        values[mdp.terminal] = 0.0
        return values

    def _residual(self, values: Floats) -> tuple[Floats, Floats]:
        """Upper bounds [S, A] on r + γ P V − V, and [S] on V − T V.

        They allow for the rounding of every action's Q-value by itself, so that a huge penalty on an action that nobody
        takes does not blur the maximum.
        """
        mdp, rewards = self._mdp, self._rewards
        q = rewards + mdp.discount * product(mdp.transitions, values).reshape(rewards.shape)
        rounded = rounding(np.where(rewards == -np.inf, 0.0, np.abs(rewards)), float(np.abs(values).max()))
        return q + rounded - values[:, None], values - (q - rounded).max(axis=1)

    def _errors(self, values: Floats, error: float, above: Floats, below: Floats) -> float | Floats:
        """The error of the values: state by state where 1 / (1 − γ) would make it large."""
        if error <= max(self._accuracy, TARGET * float(np.abs(values).max())) or late(self._watch):
            return error
        actions = (above + 0.0).argmax(axis=1)
        found = Supersolution(self._mdp, above, below, self._norms.shrinkage, self._watch).errors(actions)
        return error if found is None else np.minimum(found, error)


@njit(cache=True)
def _sweep(indptr, indices, data, rewards, discount, values, forward):  # type: ignore[no-untyped-def]
    """One Gauss–Seidel pass of T over all states in place, with self-loops solved for exactly."""
    S, A = rewards.shape
    for i in range(S):
        s = i if forward else S - 1 - i
        best = -np.inf
        for a in range(A):
            ahead, stay = 0.0, 0.0
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                if indices[k] == s:
                    stay += data[k]
                else:
                    ahead += data[k] * values[indices[k]]
            best = max(best, (rewards[s, a] + discount * ahead) / (1 - discount * stay))
        values[s] = best
