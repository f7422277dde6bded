"""Blame: which few states of a set are enough to exceed a budget, where no state can be visited twice.

If leaves lose more than the budget, mostly a few of their states are to blame. States are left out as long as the
cheapest policy with the actions in those that remain exceeds the budget; every attempt takes one pass over the states.
Those come first that lose most in the cheapest policy of all, or in the base policy with this one action changed.
"""

import numpy as np
from numba import njit

from omdt.methods.search.bounds.cheapest_kernels import cheapest_acyclic


@njit(cache=True)
def lost_by_state(costs, way, forced, values):  # type: ignore[no-untyped-def]
    """[S] what the cheapest policy with given actions loses in every state; `values` are its costs."""
    indptr, indices, data, delta = costs.indptr, costs.indices, costs.discounted, costs.delta
    S, A = delta.shape
    visits, lost = costs.initial.copy(), np.zeros(S)
    # The order of the pass is backwards, and without the states in which nothing is lost.
    for i in range(len(way.order) - 1, -1, -1):
        s = way.order[i]
        if visits[s] == 0.0 or values[s] == 0.0:
            continue
        best, choice, left = np.inf, 0, 1.0
        for a in range(A):
            if forced[s] >= 0 and a != forced[s]:
                continue
            q, leaves = delta[s, a], 1.0
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                if indices[k] == s:
                    leaves -= data[k]
                else:
                    q += data[k] * values[indices[k]]
            if q < best * leaves:
                best, choice, left = q / leaves, a, leaves
        visits[s] /= left
        lost[s] = visits[s] * delta[s, choice]
        for k in range(indptr[s * A + choice], indptr[s * A + choice + 1]):
            if indices[k] != s:
                visits[indices[k]] += visits[s] * data[k]
    return lost


@njit(cache=True)
def _exceeds(costs, way, prices, budget, states, first, end, actions):  # type: ignore[no-untyped-def]
    """Whether the budget is exceeded if the actions in some of the states are left out."""
    for i in range(first, end):
        prices.forced[states[i]] = -1
    if cheapest_acyclic(costs, way, prices)[0] > budget:
        return True
    for i in range(first, end):
        prices.forced[states[i]] = actions[i]
    return False


@njit(cache=True)
def leave_out(costs, way, prices, budget, states, actions, attempts):  # type: ignore[no-untyped-def]
    """How many states are enough; these are moved to the front, with their actions.

    Args:
        costs: what actions lose.
        way: the order of the pass.
        prices: with the actions [S] in the states; they are left out here as well.
        budget: what is exceeded.
        states: [n] those that are to blame most come first.
        actions: [n] what is done there.
        attempts: maximum number of passes.
    """
    too_few, n = 0, len(states)
    while n - too_few > 1 and attempts > 0:
        # The first n states exceed the budget, the first `too_few` do not.
        middle = (too_few + n) // 2
        attempts -= 1
        if _exceeds(costs, way, prices, budget, states, middle, n, actions):
            n = middle
        else:
            too_few = middle
    size = n // 2
    while size > 0 and attempts > 0:
        first = 0
        while first < n and attempts > 0:
            end = min(first + size, n)
            attempts -= 1
            if _exceeds(costs, way, prices, budget, states, first, end, actions):
                for i in range(end, n):
                    states[first + i - end], actions[first + i - end] = states[i], actions[i]
                n -= end - first
            else:
                first = end
        size //= 2
    return n
