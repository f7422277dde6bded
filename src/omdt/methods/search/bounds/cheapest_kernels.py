"""The compiled loops that find the cheapest policy; `cheapest` explains them and their arguments."""

import numpy as np
from numba import njit

from omdt.lapack import solve_in_place
from omdt.mdp import EPSILON
from omdt.methods.search.sweeps import sweep

CHUNK = 8
"""Successors that are added up between two looks at whether an action can still be the cheapest."""


@njit(inline="always")
def _added_up(costs, row, values, q):  # type: ignore[no-untyped-def]
    """A number plus the discounted values of the successors in a row."""
    for k in range(costs.indptr[row], costs.indptr[row + 1]):
        q += costs.discounted[k] * values[costs.indices[k]]
    return q


@njit(cache=True)
def cheapest_dense(costs, around, prices, policy, memory):  # type: ignore[no-untyped-def]
    """The cheapest policy, which `policy` becomes: a lower bound on its cost, its loss inside F and everywhere, costs.

    The losses of a policy do not depend on what they cost, so for another price only what is remembered is added up.
    Its values are checked only once, when no other action is cheaper or no further iteration is allowed.
    """
    indptr, indices, data, delta, base = costs.indptr, costs.indices, costs.discounted, costs.delta, costs.base
    forced, inside, outside, shrink = prices.forced, prices.inside, prices.outside, costs.shrink
    S, A = delta.shape
    V, above = np.empty(S), np.empty(S)
    changed = np.empty(S, dtype=np.int64)
    bound, loss, total = 0.0, 0.0, 0.0
    for iteration in range(prices.iterations):
        n = 0
        for s in range(S):
            if policy[s] != base[s]:
                changed[n] = s
                n += 1
        V[:] = 0.0
        loss, total = 0.0, 0.0
        if n > 0 and memory[S, 0] == 0.0:
            system = np.empty((n, n))
            losses = np.empty((2, n))
            for i in range(n):
                s = changed[i]
                row = s * A + policy[s]
                for j in range(n):
                    system[i, j] = around.changes[row, changed[j]]
                losses[1, i] = delta[s, policy[s]]
                losses[0, i] = losses[1, i] if forced[s] >= 0 else 0.0
            solve_in_place(system, losses)
            for i in range(n):
                memory[changed[i], 0], memory[changed[i], 1] = losses[0, i], losses[1, i]
        memory[S, 0] = 1.0
        for i in range(n):
            s = changed[i]
            loss += around.visits[s] * memory[s, 0]
            total += around.visits[s] * memory[s, 1]
            price = (inside - outside) * memory[s, 0] + outside * memory[s, 1]
            for t in range(S):
                V[t] += price * around.columns[s, t]
        excess, better, cost = 0.0, 0, 0.0
        least = np.inf
        for s in range(S):
            if not V[s] > 0.0:
                V[s] = 0.0
            least = min(least, V[s])
            cost += costs.initial[s] * V[s]
        if cost <= prices.cheap:
            break
        for s in range(S):
            above[s] = V[s] - least
        # What comes after costs at least γ `least`, which settles most actions at once.
        ahead = around.discount * least
        for s in range(S):
            best, choice = V[s], policy[s]
            for a in range(A if forced[s] < 0 else 0):
                if a == policy[s]:
                    continue
                q = outside * delta[s, a] + ahead
                k, end = indptr[s * A + a], indptr[s * A + a + 1]
                while k < end and q * shrink < best:
                    chunk = min(k + CHUNK, end)
                    for i in range(k, chunk):
                        q += data[i] * above[indices[i]]
                    k = chunk
                if q * shrink < best:
                    best, choice = q * shrink, a
            excess = max(excess, V[s] - best)
            if best < V[s] * (1 - 1e-9) and iteration + 1 < prices.iterations:
                # Small values are not exact enough to be compared with; what the present action leads to is.
                q = _added_up(costs, s * A + policy[s], above, outside * delta[s, policy[s]] + ahead)
                if best < q * shrink * (1 - 1e-9):
                    policy[s] = choice
                    memory[S, 0] = 0.0
                    better += 1
        if better > 0:
            continue
        for s in range(S):
            weight = inside if forced[s] >= 0 else outside
            q = _added_up(costs, s * A + policy[s], above, weight * delta[s, policy[s]] + ahead)
            excess = max(excess, V[s] - q * shrink)
        bound = max(bound, cost * (1 - 2 * S * EPSILON) - excess / costs.contraction * (1 + 4 * EPSILON))
        break
    return bound, loss, total, V


@njit(cache=True)
def cheapest_swept(costs, order, sweeps, prices, policy, memory):  # type: ignore[no-untyped-def]
    """As `cheapest_dense`, with losses of a policy that are known up to a tolerance."""
    indptr, indices, data, delta = costs.indptr, costs.indices, costs.discounted, costs.delta
    forced, inside, outside = prices.forced, prices.inside, prices.outside
    S, A = delta.shape
    V, best_values = np.zeros(S), np.zeros(S)
    rows, right = np.empty(S, dtype=np.int64), np.empty((S, 2))
    bound = -np.inf
    for _ in range(prices.iterations):
        for s in range(S):
            rows[s] = s * A + policy[s]
            right[s, 1] = delta[s, policy[s]]
            right[s, 0] = right[s, 1] if forced[s] >= 0 else 0.0
        settled = sweep(costs, order, rows, right, memory, prices.tolerance, sweeps)
        excess, better, cost = 0.0, 0, 0.0
        for s in range(S):
            V[s] = max(0.0, (inside - outside) * memory[s, 0] + outside * memory[s, 1])
            cost += costs.initial[s] * V[s]
        for s in range(S):
            weight, first, last = outside, 0, A
            if forced[s] >= 0:
                weight, first, last = inside, forced[s], forced[s] + 1
            best, choice = V[s], policy[s]
            for a in range(first, last):
                q = weight * delta[s, a] * costs.shrink
                if q >= best:
                    continue
                for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                    q += data[k] * V[indices[k]] * costs.shrink
                    if q >= best:
                        break
                if q < best:
                    best, choice = q, a
            excess = max(excess, V[s] - best)
            if choice != policy[s] and best < V[s] * (1 - 1e-6):
                policy[s] = choice
                better += 1
        safe = cost * (1 - 2 * S * EPSILON) - excess / costs.contraction * (1 + 4 * EPSILON)
        if bound < safe < np.inf:
            bound = safe
            for s in range(S):
                best_values[s] = V[s]
        if better == 0 and settled:
            break
    loss, total = 0.0, 0.0
    for s in range(S):
        loss += costs.initial[s] * memory[s, 0]
        total += costs.initial[s] * memory[s, 1]
    return max(bound, 0.0), loss, total, best_values


@njit(cache=True)
def cheapest_acyclic(costs, way, prices):  # type: ignore[no-untyped-def]
    """As `cheapest_dense`, by one pass against the topological order.

    Only states in F and those that lead to some loss are looked at: elsewhere the base policy costs nothing.
    """
    indptr, indices, data, delta, base = costs.indptr, costs.indices, costs.discounted, costs.delta, costs.base
    forced = prices.forced
    S, A = delta.shape
    V, loss, total = np.zeros(S), np.empty(S), np.empty(S)
    ahead = np.zeros(S, dtype=np.bool_)
    bound, whole_loss, whole_total = 0.0, 0.0, 0.0
    for s in way.order:
        weight, first, last = prices.outside, 0, A
        if forced[s] >= 0:
            weight, first, last = prices.inside, forced[s], forced[s] + 1
        elif not ahead[s]:
            continue
        best, choice = np.inf, base[s]
        # The optimal action comes first, because it is the cheapest wherever nothing ahead costs anything.
        for i in range(first - 1, last):
            a = base[s] if i < first else i
            if (i >= first and a == base[s] and last > first + 1) or a < first or a >= last:
                continue
            q, stay = weight * delta[s, a], 0.0
            if q >= best:
                continue
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                if indices[k] == s:
                    stay += data[k]
                else:
                    q += data[k] * V[indices[k]]
            q /= 1 - stay + 4 * EPSILON
            if q < best:
                best, choice = q, a
            if best == 0.0:
                break
        if not best > 0.0:
            continue
        V[s] = best
        ahead_loss, ahead_total, stay = 0.0, delta[s, choice], 0.0
        if forced[s] >= 0:
            ahead_loss = delta[s, choice]
        for k in range(indptr[s * A + choice], indptr[s * A + choice + 1]):
            t = indices[k]
            if t == s:
                stay += data[k]
            elif V[t] > 0.0:
                ahead_loss += data[k] * loss[t]
                ahead_total += data[k] * total[t]
        loss[s] = ahead_loss / (1 - stay)
        total[s] = ahead_total / (1 - stay)
        bound += costs.initial[s] * best
        whole_loss += costs.initial[s] * loss[s]
        whole_total += costs.initial[s] * total[s]
        for k in range(way.indptr[s], way.indptr[s + 1]):
            ahead[way.predecessors[k]] = True
    return bound * way.shrink, whole_loss, whole_total, V
