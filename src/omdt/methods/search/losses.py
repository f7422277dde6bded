"""Losses: how much less than the optimum a policy returns because of what it does in some of the states.

With U the optimal values and δ(s, a) = U(s) − r(s, a) − γ P(s, a)·U ≥ 0, a policy π with discounted visits x returns

    J(π) = p0·U − Σ_s x(s) δ(s, π(s)),

the optimum minus a loss that adds up over states, hence over the leaves of a tree. Only trees that lose no more than a
budget β are of interest. When the actions in a set F of states are given, what they lose *inside* F is at least

    ℓ(F) = max_{λ ≥ 0} min_π [ loss_F(π) + λ (loss(π) − β) ],        π free outside F,

for every λ a Markov decision process with costs (1 + λ) δ on F and λ δ elsewhere. The maximum over λ of this concave,
piecewise linear function is approached by secants; λ → ∞ tells whether the budget is exceeded anyway.

Three classes find the cheapest policy. `DenseLosses` does so by policy iteration around the optimal policy, which costs
nothing, so that only the states with another action enter a linear system (Woodbury); `SweptLosses`, for many states
with few successors, by policy iteration with Gauss–Seidel sweeps; `AcyclicLosses`, where no state can be visited twice,
by one backward pass.

**Rounding.** δ is rounded down, and what U lacks to satisfy δ ≥ 0 exactly is added to p0·U. All costs are non-negative,
so sums of n terms are exact but for a factor 1 ± (n + 8) ε. The values V that policy iteration ends with are not taken
on trust: with e = max_s V(s) − min_a [c(s, a) + γ P(s, a)·V], at least 0, the cheapest policy costs at least
p0·V − e / (1 − γ), whatever V is.
"""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numba import njit

from omdt.mdp import EPSILON, MDP, Bools, Floats, Ints
from omdt.methods.search.evaluation import VISIT_SWEEPS, forward, sweep
from omdt.norms import norms
from omdt.watch import Watch

ACCURACY = 0.01
"""The search for λ ends when it can add no more than this part of the budget and of the loss."""

MAX_MULTIPLIERS = 12
DELTA, ORDER = 3, 6
"""The places of δ, and of the order of states where there is one, in the arrays of a kernel."""

MAX_ITERATIONS = 60

TOLERANCE = 1e-4
"""Sweeps end when no loss changes by more than this part of the budget."""

SWEEPS = 9
"""Between two improvements of a policy."""

SPARSE = 0.1
"""Below this density a sparse product of matrices is faster than a dense one."""


class Losses:
    """Bounds losses from below.

    Attributes:
        values: [S] U.
        optimum: p0·U, rounded up.
        delta: [S, A] δ, rounded down; infinite where an action is not allowed.
        expected: [S, A] δ weighted with the visits of the optimal policy.
        kernel: finds the cheapest policy; all take the same arguments, and each what it needs of them.
        arrays: the first of these.
        witness: λ and the values of the cheapest policy from which the last answer of `inside` follows, or None.
    """

    expected: Floats
    kernel: Callable[..., Any]
    arrays: tuple[Any, ...]
    witness: tuple[float, Floats] | None = None

    def __init__(self, mdp: MDP, U: Floats, allowed: Bools) -> None:
        P = mdp.transitions
        shape = mdp.rewards.shape
        self.values = U
        delta = U[:, None] - mdp.rewards - mdp.discount * (P @ U).reshape(shape)
        size = np.abs(U)[:, None] + np.abs(mdp.rewards) + mdp.discount * (P @ np.abs(U)).reshape(shape)
        longest = int(np.diff(P.indptr).max())
        delta -= (longest + 8) * EPSILON * size
        delta[~allowed] = np.inf
        self.shrink = 1 - (longest + 8) * EPSILON
        self.contraction = norms(mdp).contraction
        lack = max(0.0, -float(delta.min())) / self.contraction
        largest = float(np.abs(U).max()) + lack
        self.optimum = float(mdp.initial @ U) + lack + 4 * mdp.n_states * EPSILON * largest
        self.policy: Ints = np.argmin(delta, axis=1)
        self.delta: Floats = np.maximum(delta, 0.0)
        self.delta[np.arange(mdp.n_states), self.policy] = 0.0
        self.model = (P.indptr, P.indices, mdp.discount * P.data, self.delta, self.policy, mdp.initial)

    def cheapest(
        self,
        forced: Ints,
        inside: float,
        outside: float,
        policy: Ints,
        memory: Floats | None = None,
        tolerance: float = 0.0,
    ) -> tuple[float, float, float, Floats]:
        """A lower bound on the cost of the cheapest policy, and that policy's loss inside F and as a whole.

        Args:
            forced: [S] the action of every state in F, −1 elsewhere.
            inside: cost of one unit of loss inside F.
            outside: cost of one unit of loss elsewhere.
            policy: [S] where to start; it becomes the cheapest policy.
            memory: from `remember`, for several calls that start from one another's policy.
            tolerance: by how much losses that are found by sweeps may still change.
        """
        memory = self.remember() if memory is None else memory
        found: tuple[float, float, float, Floats] = self.kernel(
            self.arrays, forced, inside, outside, policy, memory, tolerance
        )
        return found

    def _expected(self, mdp: MDP, order: Ints, sweeps: int) -> Floats:
        """δ weighted with visits, which are counted by so many sweeps against the order."""
        P = mdp.transitions
        model = (P.indptr, P.indices, P.data, mdp.rewards, mdp.discount)
        visits: Floats = forward(*model, order[::-1], self.policy, mdp.initial, sweeps)
        return visits[:, None] * np.minimum(self.delta, 1e300)

    def inside(self, forced: Ints, budget: float, enough: float) -> float:
        """ℓ(F), rounded down; infinite when the budget is exceeded.

        Args:
            forced: [S] the action of every state in F, −1 elsewhere.
            budget: β.
            enough: a bound as high as this is high enough.
        """
        self.witness = None
        states = np.flatnonzero(forced >= 0)
        if np.isinf(self.delta[states, forced[states]]).any():
            return np.inf
        policy, memory = np.where(forced >= 0, forced, self.policy), self.remember()
        bound, loss, total, V = self.cheapest(forced, 1.0, 1.0, policy, memory, TOLERANCE * budget)
        if bound > budget:
            self.witness = (np.inf, V)
            return np.inf
        if loss <= ACCURACY * budget:
            return 0.0
        # Every policy bounds the function of λ by a line; `within` is one that falls, `beyond` one that rises.
        best, highest = 0.0, loss
        within, beyond = (loss, total), (0.0, 0.0)
        multiplier = loss / max(budget - total, 1e-6 * budget, 1e-300) / 4
        for _ in range(MAX_MULTIPLIERS):
            if best >= enough or highest - best <= ACCURACY * (budget + best):
                break
            bound, loss, total, V = self.cheapest(
                forced, 1.0 + multiplier, multiplier, policy, memory, TOLERANCE * budget
            )
            allowance = multiplier * budget
            lost = bound - allowance - 4 * EPSILON * (bound + allowance)
            if lost > best:
                best, self.witness = lost, (multiplier, V)
            if total <= budget:
                within = (loss, total)
            else:
                beyond = (loss, total)
            if beyond[1] <= within[1]:
                multiplier, highest = multiplier / 8, within[0]
            else:
                multiplier = max(0.0, (within[0] - beyond[0]) / (beyond[1] - within[1]))
                highest = within[0] + multiplier * (within[1] - budget)
        return best

    def remember(self) -> Floats:
        """[S + 1, 2] room for the losses inside F and as a whole; the last row tells whether they are known."""
        return np.zeros((len(self.policy) + 1, 2))

    def within(self, budget: float, watch: Watch) -> "Losses":
        """The same without the actions that no policy within the budget takes."""
        restricted = copy(self)
        restricted.delta = self.delta.copy()
        forced = np.full(len(self.policy), -1)
        for s, a in zip(*np.nonzero(np.isfinite(self.delta)), strict=True):
            if a != self.policy[s]:
                watch.check()
                forced[s] = a
                policy = np.where(forced >= 0, forced, self.policy)
                if self.cheapest(forced, 1.0, 1.0, policy, tolerance=TOLERANCE * budget)[0] > budget:
                    restricted.delta[s, a] = np.inf
                forced[s] = -1
        restricted.arrays = (*self.arrays[:DELTA], restricted.delta, *self.arrays[DELTA + 1 :])
        return restricted

    def among(self, states: Bools) -> "Losses":
        """The same, but nothing is lost in other states; only where one pass in an order of states is enough."""
        restricted = copy(self)
        order = self.arrays[ORDER]
        restricted.arrays = (*self.arrays[:ORDER], order[states[order]], *self.arrays[ORDER + 1 :])
        return restricted


class DenseLosses(Losses):
    """Policy iteration around the optimal policy."""

    def __init__(self, mdp: MDP, U: Floats, allowed: Bools) -> None:
        super().__init__(mdp, U, allowed)
        self.kernel = cheapest_dense
        P = mdp.discount * mdp.transitions
        rows = np.arange(mdp.n_states) * mdp.n_actions + self.policy
        inverse = np.linalg.inv(np.eye(mdp.n_states) - P[rows].toarray())
        visits = mdp.initial @ inverse
        self.expected = visits[:, None] * np.minimum(self.delta, 1e300)
        columns = np.ascontiguousarray(inverse.T)
        product = (P if P.nnz < SPARSE * P.shape[0] * P.shape[1] else P.toarray()) @ inverse
        self.arrays = (*self.model, inverse, columns, product, visits, mdp.discount, self.contraction, self.shrink)


class SweptLosses(Losses):
    """Policy iteration with Gauss–Seidel sweeps in the given order of states."""

    def __init__(self, mdp: MDP, U: Floats, allowed: Bools, order: Ints) -> None:
        super().__init__(mdp, U, allowed)
        self.kernel = cheapest_swept
        self.expected = self._expected(mdp, order, VISIT_SWEEPS)
        self.arrays = (*self.model, order, self.contraction, self.shrink)


class AcyclicLosses(Losses):
    """One backward pass over the states."""

    def __init__(self, mdp: MDP, U: Floats, allowed: Bools, order: Ints) -> None:
        super().__init__(mdp, U, allowed)
        self.kernel = cheapest_acyclic
        self.expected = self._expected(mdp, order, 1)
        # A value is rounded at every one of the steps it is made of.
        self.arrays = (*self.model, order, self.shrink**mdp.n_states)


@njit(cache=True)
def cheapest_dense(model, forced, inside, outside, policy, memory, tolerance):  # type: ignore[no-untyped-def]
    """A lower bound on the cost of the cheapest policy, with its loss inside F and as a whole; `policy` becomes it.

    The losses of a policy do not depend on what they cost, so for another price only what is remembered is added up.
    """
    indptr, indices, data, delta, base, initial = model[:6]
    inverse, columns, product, visits, discount, contraction, shrink = model[6:]
    S, A = delta.shape
    V = np.zeros(S)
    changed = np.empty(S, dtype=np.int64)
    bound, loss, total = 0.0, 0.0, 0.0
    for _ in range(MAX_ITERATIONS):
        n = 0
        for s in range(S):
            if policy[s] != base[s]:
                changed[n] = s
                n += 1
        V[:] = 0.0
        loss, total = 0.0, 0.0
        if n > 0 and memory[S, 0] == 0.0:
            system = np.empty((n, n))
            right = np.zeros((n, 2))
            for i in range(n):
                s = changed[i]
                row = s * A + policy[s]
                for j in range(n):
                    system[i, j] = inverse[s, changed[j]] - product[row, changed[j]]
                right[i, 1] = delta[s, policy[s]]
                if forced[s] >= 0:
                    right[i, 0] = right[i, 1]
            y = np.linalg.solve(system, right)
            for i in range(n):
                memory[changed[i]] = y[i]
        memory[S, 0] = 1.0
        for i in range(n):
            s = changed[i]
            loss += visits[s] * memory[s, 0]
            total += visits[s] * memory[s, 1]
            V += ((inside - outside) * memory[s, 0] + outside * memory[s, 1]) * columns[s]
        excess, better, cost = 0.0, 0, 0.0
        least = np.inf
        for s in range(S):
            if not V[s] > 0.0:
                V[s] = 0.0
            least = min(least, V[s])
        for s in range(S):
            cost += initial[s] * V[s]
            weight, first, last = outside, 0, A
            if forced[s] >= 0:
                weight, first, last = inside, forced[s], forced[s] + 1
            best, choice = V[s], policy[s]
            for a in range(first, last):
                # What comes after costs at least γ `least`, which settles most actions at once.
                q = (weight * delta[s, a] + discount * least) * shrink
                if q >= best:
                    continue
                for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                    q += data[k] * (V[indices[k]] - least) * shrink
                    if q >= best:
                        break
                if q < best:
                    best, choice = q, a
            excess = max(excess, V[s] - best)
            if choice != policy[s] and best < V[s] * (1 - 1e-9):
                policy[s] = choice
                memory[S, 0] = 0.0
                better += 1
        bound = max(bound, cost * (1 - 2 * S * EPSILON) - excess / contraction * (1 + 4 * EPSILON))
        if better == 0:
            break
    return bound, loss, total, V


@njit(cache=True)
def cheapest_swept(model, forced, inside, outside, policy, memory, tolerance):  # type: ignore[no-untyped-def]
    """As `cheapest_dense`, with losses of a policy that are known up to a tolerance."""
    indptr, indices, data, delta, _, initial, order, contraction, shrink = model
    S, A = delta.shape
    V, best_values = np.zeros(S), np.zeros(S)
    rows, right = np.empty(S, dtype=np.int64), np.empty((S, 2))
    bound = -np.inf
    for _ in range(MAX_ITERATIONS):
        for s in range(S):
            rows[s] = s * A + policy[s]
            right[s, 1] = delta[s, policy[s]]
            right[s, 0] = right[s, 1] if forced[s] >= 0 else 0.0
        settled = sweep(indptr, indices, data, order, rows, right, memory, tolerance, SWEEPS)
        excess, better, cost = 0.0, 0, 0.0
        for s in range(S):
            V[s] = max(0.0, (inside - outside) * memory[s, 0] + outside * memory[s, 1])
            cost += initial[s] * V[s]
        for s in range(S):
            weight, first, last = outside, 0, A
            if forced[s] >= 0:
                weight, first, last = inside, forced[s], forced[s] + 1
            best, choice = V[s], policy[s]
            for a in range(first, last):
                q = weight * delta[s, a] * shrink
                if q >= best:
                    continue
                for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                    q += data[k] * V[indices[k]] * shrink
                    if q >= best:
                        break
                if q < best:
                    best, choice = q, a
            excess = max(excess, V[s] - best)
            if choice != policy[s] and best < V[s] * (1 - 1e-6):
                policy[s] = choice
                better += 1
        safe = cost * (1 - 2 * S * EPSILON) - excess / contraction * (1 + 4 * EPSILON)
        if bound < safe < np.inf:
            bound = safe
            best_values[:] = V
        if better == 0 and settled:
            break
    loss, total = 0.0, 0.0
    for s in range(S):
        loss += initial[s] * memory[s, 0]
        total += initial[s] * memory[s, 1]
    return max(bound, 0.0), loss, total, best_values


@njit(cache=True)
def cheapest_acyclic(model, forced, inside, outside, policy, memory, tolerance):  # type: ignore[no-untyped-def]
    """A lower bound on the cost of the cheapest policy, with its loss inside F and as a whole."""
    indptr, indices, data, delta, base, initial, order, shrink = model
    S, A = delta.shape
    V, loss, total = np.zeros(S), np.zeros(S), np.zeros(S)
    for s in order:
        weight, first, last = outside, 0, A
        if forced[s] >= 0:
            weight, first, last = inside, forced[s], forced[s] + 1
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
        V[s] = best
        if best > 0.0:
            ahead_loss, ahead_total, stay = 0.0, delta[s, choice], 0.0
            if forced[s] >= 0:
                ahead_loss = delta[s, choice]
            for k in range(indptr[s * A + choice], indptr[s * A + choice + 1]):
                if indices[k] == s:
                    stay += data[k]
                else:
                    ahead_loss += data[k] * loss[indices[k]]
                    ahead_total += data[k] * total[indices[k]]
            loss[s] = ahead_loss / (1 - stay)
            total[s] = ahead_total / (1 - stay)
    return (initial @ V) * shrink, initial @ loss, initial @ total, V
