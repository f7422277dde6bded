"""Support: whether values without a discount are earned by a policy, and what is true where they are not.

Without a discount, the Bellman operator may have several fixpoints. In a set of states that can be visited for ever
without any reward, every common value is one: each state has it because the next one has it. Sweeps from above stop at
such a value although nothing stands behind it.

A value is *supported* if it is known to be the truth, or if an action that is worth as much leads to a supported state
with positive probability. If all states to which these actions lead from the start are supported, they form a policy
that comes to known values almost surely and earns what the values say.

**Deflating.** Let X be the states that are not supported. From a state of X, a policy plays actions that stay in X
without any reward, for ever or until it plays another one there. So the best value W of all states of X is at most what
staying for ever is worth, or what one of the other actions allows,

    W ≤ r(s, a) + p W + Σ_{s' not in X} P(s, a, s') V(s'),        p = probability to stay in X,

that is W ≤ (r(s, a) + Σ_{s' not in X} P(s, a, s') V(s')) / (1 − p). An action that stays in X for sure and costs
something cannot be the one with W; one that earns something there leaves W without a bound.
"""

import numpy as np
from numba import njit

from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search.coarse.lowering import Sweeping
from omdt.methods.search.model import Arrays


def supporting_actions(
    arrays: Arrays, sweeping: Sweeping, choices: Bools, V: Floats, known: Bools, slack: float
) -> Ints:
    """[S] an action that supports the value of each state; A where it is known, −1 where it is not supported.

    Args:
        arrays: the MDP.
        sweeping: its predecessors.
        choices: [S, A] the actions that may be taken.
        V: [S] the values.
        known: [S] states whose values are known to be true.
        slack: by how much an action may be worth less than the value of its state.
    """
    found: Ints = _supporting_actions(arrays, sweeping, choices, V, known, slack)
    return found


@njit(cache=True, nogil=True)
def _supporting_actions(arrays, sweeping, choices, V, known, slack):  # type: ignore[no-untyped-def]
    A = arrays.rewards.shape[1]
    action, waiting, count = np.full(len(V), -1), np.empty(len(V), dtype=np.int64), 0
    for s in range(len(V)):
        if known[s]:
            action[s] = A
            waiting[count] = s
            count += 1
    done = 0
    while done < count:
        t = waiting[done]
        done += 1
        for k in range(sweeping.first[t], sweeping.first[t + 1]):
            s = sweeping.predecessors[k]
            if action[s] < 0:
                action[s] = _supporting(arrays, choices, V, s, t, slack)
                if action[s] >= 0:
                    waiting[count] = s
                    count += 1
    return action


@njit(cache=True, nogil=True)
def _supporting(arrays, choices, V, s, t, slack):  # type: ignore[no-untyped-def]
    """An action that leads from s to t and is worth as much as s; −1 if there is none.

    A finite value does not support an infinite one, whatever else the action leads to.
    """
    if V[s] == np.inf and V[t] < np.inf:
        return -1
    indptr, indices, probabilities = arrays.indptr, arrays.indices, arrays.probabilities
    A = arrays.rewards.shape[1]
    for a in range(A):
        if not choices[s, a]:
            continue
        total, leads = arrays.rewards[s, a], False
        for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
            total += probabilities[k] * V[indices[k]]
            leads = leads or indices[k] == t
        if leads and total >= V[s] - slack:
            return a
    return -1


def comes_to_unsupported(arrays: Arrays, action: Ints, starts: Ints) -> bool:
    """Whether the supporting actions [S] lead from the first states to a state that is not supported."""
    return bool(_comes_to_unsupported(arrays, action, starts))


@njit(cache=True, nogil=True)
def _comes_to_unsupported(arrays, action, starts):  # type: ignore[no-untyped-def]
    indptr, indices, A = arrays.indptr, arrays.indices, arrays.rewards.shape[1]
    visited, waiting, count = np.zeros(len(action), dtype=np.bool_), np.empty(len(action), dtype=np.int64), 0
    for s in starts:
        visited[s] = True
        waiting[count] = s
        count += 1
    while count > 0:
        count -= 1
        s = waiting[count]
        if action[s] < 0:
            return True
        if action[s] < A:
            for k in range(indptr[s * A + action[s]], indptr[s * A + action[s] + 1]):
                if not visited[indices[k]]:
                    visited[indices[k]] = True
                    waiting[count] = indices[k]
                    count += 1
    return False


def deflate(arrays: Arrays, sweeping: Sweeping, choices: Bools, V: Floats, unsupported: Bools) -> float:
    """Lower V in the states that are not supported to W, rounded up; by how much it was lowered at most.

    Args:
        arrays: the MDP.
        sweeping: rewards, and what an action that never leaves its state is worth.
        choices: [S, A] the actions that may be taken.
        V: [S] values above the truth.
        unsupported: [S] X.
    """
    highest = float(_highest(arrays, sweeping, choices, V, unsupported))
    lowered = np.flatnonzero(unsupported & (highest < V))
    if len(lowered) == 0:
        return 0.0
    most = float(V[lowered].max()) - highest
    V[lowered] = highest
    return most


@njit(cache=True, nogil=True)
def _highest(arrays, sweeping, choices, V, unsupported):  # type: ignore[no-untyped-def]
    """W, rounded up."""
    indptr, indices, probabilities = arrays.indptr, arrays.indices, arrays.probabilities
    A = arrays.rewards.shape[1]
    highest = sweeping.endless
    for s in range(len(V)):
        if not unsupported[s]:
            continue
        for a in range(A):
            if not choices[s, a]:
                continue
            total, leave = sweeping.rewards[s, a], 0.0
            size = abs(total)
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                if not unsupported[indices[k]]:
                    term = probabilities[k] * V[indices[k]]
                    total += term
                    size += abs(term)
                    leave += probabilities[k]
            if leave == 0.0:
                if total > 0.0:
                    return np.inf
            elif size == np.inf:
                if total != -np.inf:
                    return np.inf
            else:
                total = (total + sweeping.margin * size) / leave
                highest = max(highest, total + abs(total) * sweeping.divided)
    return highest
