"""Sweeps: passes over the states in a given order that bring values or visits of a policy closer to the truth."""

import numpy as np
from numba import njit

from omdt.mdp import EPSILON, MDP, Floats

LEAP = 4
"""Sweeps after which the remaining change is extrapolated."""


def staying(mdp: MDP) -> Floats:
    """[S, A] the probability to stay in a state."""
    P = mdp.transitions
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    stays = np.flatnonzero(P.indices == rows // mdp.n_actions)
    total: Floats = np.bincount(rows[stays], weights=P.data[stays], minlength=P.shape[0]).astype(np.float64)
    return total.reshape(mdp.rewards.shape)


@njit(cache=True)
def forward(arrays, order, policy, sweeps):  # type: ignore[no-untyped-def]
    """[S] discounted visits of a policy, as far as the given number of sweeps finds them.

    In topological order one sweep finds all.
    """
    indptr, indices, discounted = arrays.indptr, arrays.indices, arrays.discounted
    A = arrays.rewards.shape[1]
    visits, waiting = np.zeros_like(arrays.initial), arrays.initial.copy()
    for _ in range(sweeps):
        for s in order:
            row = s * A + policy[s]
            stay = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] == s:
                    stay += arrays.probabilities[k]
            here = waiting[s] / (1 - arrays.discount * stay)
            visits[s] += here
            waiting[s] = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] != s:
                    waiting[indices[k]] += discounted[k] * here
    return visits


@njit(cache=True)
def sweep(arrays, order, rows, right, values, tolerance, sweeps):  # type: ignore[no-untyped-def]
    """Bring `values` [S, 2] closer to the solution of V = right + γ P V by Gauss–Seidel; whether they have settled.

    After some sweeps the remaining change is extrapolated, as if every sweep took the same part of it; if the next
    sweep then changes more than the last one, the extrapolation is taken back. Values have settled when no sweep
    changes one by more than the tolerance, or by more than rounding. γ P has a row per state and action (`arrays` with
    `indptr`, `indices`, `discounted`); `rows` [S] are those of the policy.
    """
    indptr, indices, discounted = arrays.indptr, arrays.indices, arrays.discounted
    S = len(rows)
    changes, before, saved = np.zeros((S, 2)), np.zeros((S, 2)), np.zeros((S, 2))
    size = np.zeros(2)
    for count in range(1, sweeps + 1):
        changes, before = before, changes
        largest, highest = 0.0, 0.0
        for s in order:
            stay, one, two = 1.0, right[s, 0], right[s, 1]
            for k in range(indptr[rows[s]], indptr[rows[s] + 1]):
                t = indices[k]
                if t == s:
                    stay -= discounted[k]
                else:
                    one += discounted[k] * values[t, 0]
                    two += discounted[k] * values[t, 1]
            one, two = one / stay, two / stay
            changes[s, 0], changes[s, 1] = one - values[s, 0], two - values[s, 1]
            values[s, 0], values[s, 1] = one, two
            largest = max(largest, abs(changes[s, 0]), abs(changes[s, 1]))
            highest = max(highest, abs(one), abs(two))
        if largest <= max(tolerance, 4 * EPSILON * highest):
            return True
        for i in range(2):
            if count % LEAP == 0 and count < sweeps:
                # Loops, because an assignment between slices takes two seconds to compile.
                for s in range(S):
                    saved[s, i] = values[s, i]
                size[i] = _leap(changes[:, i], before[:, i], values[:, i])
            elif count % LEAP == 1 and size[i] > 0.0:
                square = 0.0
                for s in range(S):
                    square += changes[s, i] * changes[s, i]
                for s in range(S if square > size[i] else 0):
                    values[s, i] = saved[s, i]
    return False


@njit(cache=True)
def _leap(changes, before, values):  # type: ignore[no-untyped-def]
    """Add the remaining change, if all further changes are multiples of the last one, as the one before suggests.

    Returns how large the last change was; 0 if there is no such suggestion.
    """
    now, then, common = 0.0, 0.0, 0.0
    for s in range(len(changes)):
        now += changes[s] * changes[s]
        then += before[s] * before[s]
        common += changes[s] * before[s]
    if not 0.0 < common < then:
        return 0.0
    left = common / (then - common)
    # The part that is no multiple grows by the same factor, which must not spoil the gain.
    if not left * left * (now * then - common * common) < 0.25 * now * then:
        return 0.0
    for s in range(len(changes)):
        values[s] += left * changes[s]
    return now
