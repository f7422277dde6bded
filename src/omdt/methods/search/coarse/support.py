"""Support: whether values without a discount are earned by a policy, or only by going round in circles.

Without a discount, the Bellman operator may have several fixpoints. In a set of states that can be visited for ever
without any reward, every common value is one: each state has it because the next one has it. Sweeps from above stop at
such a value although nothing stands behind it.

A value is *supported* if it is known to be the truth, or if an action that is worth as much leads to a supported state
with positive probability. If all states to which these actions lead from the start are supported, they form a policy
that comes to known values almost surely and earns what the values say. Otherwise the values have to be computed by
other means.
"""

import numpy as np
from numba import njit

from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search.coarse.lowering import Sweeping
from omdt.methods.search.model import Arrays


def is_supported(
    arrays: Arrays, sweeping: Sweeping, choices: Bools, V: Floats, known: Bools, starts: Ints, slack: float
) -> bool:
    """Whether values are supported in all states to which the supporting actions lead from the start.

    Args:
        arrays: the MDP.
        sweeping: its predecessors.
        choices: [S, A] the actions that may be taken.
        V: [S] the values.
        known: [S] states whose values are known to be true.
        starts: the first states.
        slack: by how much an action may be worth less than the value of its state.
    """
    return bool(_is_supported(arrays, sweeping, choices, V, known, starts, slack))


@njit(cache=True, nogil=True)
def _is_supported(arrays, sweeping, choices, V, known, starts, slack):  # type: ignore[no-untyped-def]
    indptr, indices = arrays.indptr, arrays.indices
    A = arrays.rewards.shape[1]
    # The supporting action of each state; −1 where there is none yet, A where the value is known.
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
    visited, count = np.zeros(len(V), dtype=np.bool_), 0
    for s in starts:
        visited[s] = True
        waiting[count] = s
        count += 1
    while count > 0:
        count -= 1
        s = waiting[count]
        if action[s] < 0:
            return False
        if action[s] < A:
            for k in range(indptr[s * A + action[s]], indptr[s * A + action[s] + 1]):
                if not visited[indices[k]]:
                    visited[indices[k]] = True
                    waiting[count] = indices[k]
                    count += 1
    return True


@njit(cache=True, nogil=True)
def _supporting(arrays, choices, V, s, t, slack):  # type: ignore[no-untyped-def]
    """An action that leads from s to t and is worth as much as s; −1 if there is none."""
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
