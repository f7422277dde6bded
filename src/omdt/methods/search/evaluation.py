"""Evaluation: the return of many policies that differ in few states, as fast as the shape of the MDP allows.

Around a base policy π with value V, occupancy x and N = (I − γ P_π)⁻¹, a policy that plays other actions in a set C of
states has the return

    J' = J + x_C · (I − γ (P' − P_π)_C N_{·C})⁻¹ A_C,        A_C = advantage of the new actions under π,

a system of the size of C (Woodbury). Three engines share one interface:

- `Acyclic`: no state can be visited twice but by staying in it; one pass in topological order is exact.
- `Dense`: few states; N is kept, and changes are low-rank updates.
- `Sparse`: many states; every policy is evaluated by `planning`.

Bounds that are safe by themselves use `sweep` as well: Gauss–Seidel over the states in a good order.
"""

from typing import Protocol

import numpy as np
from numba import njit
from scipy import sparse
from scipy.sparse.linalg import spsolve

from omdt import planning
from omdt.mdp import EPSILON, MDP, Floats, Ints
from omdt.watch import Watch

DENSE_STATES = 1200
DENSE_ENTRIES = 50_000_000

SWEPT_STATES = 600
SWEPT_SUCCESSORS = 10
"""From so many states with no more successors on average, sweeps are faster than inverses."""

VISIT_SWEEPS = 30
"""Where visits only tell what to look at first, so many sweeps will do."""

LOWERED = 1 - 1e-9
"""By this factor a product of probabilities is lowered, so that rounding cannot make it too large."""

LEAP = 4
"""After so many sweeps what remains is extrapolated."""


class Engine(Protocol):
    """Evaluates policies [S]; `advantages` and `occupancies` belong to the policy last rebased to."""

    value: float
    advantages: Floats
    occupancies: Floats

    def rebase(self, policy: Ints) -> None:
        """Make this the base policy."""

    def evaluate(self, policy: Ints) -> float:
        """The return of a policy."""


def engine(mdp: MDP, watch: Watch | None = None) -> Engine:
    """The engine that fits the MDP; one that takes long looks at the watch."""
    order = topological_order(mdp)
    if order is not None:
        return Acyclic(mdp, order)
    if mdp.n_states <= DENSE_STATES and mdp.n_states * mdp.rewards.size <= DENSE_ENTRIES:
        return Dense(mdp)
    return Sparse(mdp, watch)


def topological_order(mdp: MDP) -> Ints | None:
    """[S] states with every successor, other than the state itself, after it; None when there is none."""
    order = _sorted(mdp.transitions.indptr[:: mdp.n_actions].copy(), mdp.transitions.indices)
    return order if len(order) == mdp.n_states else None


def sweep_order(mdp: MDP, optimal: planning.Certified[Floats]) -> Ints | None:
    """[S] states in a good order to sweep them; None where sweeps are not worth while."""
    if mdp.n_states < SWEPT_STATES or mdp.transitions.nnz > SWEPT_SUCCESSORS * mdp.rewards.size:
        return None
    return order_by_steps(mdp, optimal)


def order_by_steps(mdp: MDP, optimal: planning.Certified[Floats]) -> Ints:
    """[S] states by how soon the optimal policy comes to an end from there."""
    chain, _ = planning.markov_chain(mdp, planning.greedy(planning.q_values(mdp, optimal)))
    system = sparse.eye_array(mdp.n_states, format="csc") - mdp.discount * chain.tocsc()
    steps = spsolve(system, np.where(mdp.terminal, 0.0, 1.0))
    return np.argsort(np.round(steps, 9), kind="stable")


@njit(cache=True)
def _sorted(indptr, indices):  # type: ignore[no-untyped-def]
    """The states that can be sorted so; fewer than all when there is a cycle."""
    S = len(indptr) - 1
    incoming = np.zeros(S, dtype=np.int64)
    for s in range(S):
        for k in range(indptr[s], indptr[s + 1]):
            if indices[k] != s:
                incoming[indices[k]] += 1
    order = np.empty(S, dtype=np.int64)
    count = 0
    for s in range(S):
        if incoming[s] == 0:
            order[count] = s
            count += 1
    done = 0
    while done < count:
        s = order[done]
        done += 1
        for k in range(indptr[s], indptr[s + 1]):
            t = indices[k]
            if t != s:
                incoming[t] -= 1
                if incoming[t] == 0:
                    order[count] = t
                    count += 1
    return order[:count]


class Acyclic:
    """One pass over the states in topological order."""

    def __init__(self, mdp: MDP, order: Ints) -> None:
        self.mdp, self.order = mdp, order
        P = mdp.transitions
        self.arrays = (P.indptr, P.indices, P.data, mdp.rewards, mdp.discount, order)

    def rebase(self, policy: Ints) -> None:
        """Make this the base policy."""
        values = _backward(*self.arrays, policy)
        self.value = float(self.mdp.initial @ values)
        self.occupancies = forward(*self.arrays, policy, self.mdp.initial, 1)
        self.advantages = _advantages(self.mdp, values)

    def evaluate(self, policy: Ints) -> float:
        """The return of a policy."""
        return float(self.mdp.initial @ _backward(*self.arrays, policy))


@njit(cache=True)
def _backward(indptr, indices, data, rewards, discount, order, policy):  # type: ignore[no-untyped-def]
    S, A = rewards.shape
    values = np.zeros(S)
    for i in range(S - 1, -1, -1):
        s = order[i]
        ahead, stay = 0.0, 0.0
        row = s * A + policy[s]
        for k in range(indptr[row], indptr[row + 1]):
            if indices[k] == s:
                stay += data[k]
            else:
                ahead += data[k] * values[indices[k]]
        values[s] = (rewards[s, policy[s]] + discount * ahead) / (1 - discount * stay)
    return values


@njit(cache=True)
def forward(indptr, indices, data, rewards, discount, order, policy, initial, sweeps):  # type: ignore[no-untyped-def]
    """[S] discounted visits of a policy, as far as so many sweeps meet them; in topological order one is enough."""
    A = rewards.shape[1]
    visits, waiting = np.zeros_like(initial), initial.copy()
    for _ in range(sweeps):
        for s in order:
            row = s * A + policy[s]
            stay = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] == s:
                    stay += data[k]
            here = waiting[s] / (1 - discount * stay)
            visits[s] += here
            waiting[s] = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] != s:
                    waiting[indices[k]] += discount * data[k] * here
    return visits


@njit(cache=True)
def followed(indptr, indices, data, discount, order, initial, delta, budget, actions):  # type: ignore[no-untyped-def]
    """Where policies go that take the given actions and lose no more than a budget; in topological order.

    Who visits a state at all does so at least as often as the least likely way there has it, and not all actions can be
    afforded that often. `actions` [S] are −1 where none is given; where a state is visited for sure and only one action
    is left, it is completed by that. Returns how often, discounted, a state is the first one without an action, and
    which states are visited at all.
    """
    S, A = delta.shape
    least, entered = np.full(S, np.inf), initial.copy()
    least[initial > 0.0] = initial[initial > 0.0]
    for s in order:
        if least[s] == np.inf:
            continue
        if actions[s] < 0 and entered[s] > 0.0:
            left = 0
            for a in range(A):
                if LOWERED * entered[s] * delta[s, a] <= budget:
                    left += 1
                    last = a
            if left == 1:
                actions[s] = last
        for a in range(A):
            if LOWERED * least[s] * delta[s, a] > budget or (actions[s] >= 0 and a != actions[s]):
                continue
            stay = 0.0
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                if indices[k] == s:
                    stay += data[k]
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                t = indices[k]
                if t != s and data[k] > 0.0:
                    least[t] = min(least[t], discount * data[k] * least[s])
                    if actions[s] >= 0:
                        entered[t] += discount * data[k] * entered[s] / (1 - discount * stay + 4 * EPSILON)
        if actions[s] >= 0:
            entered[s] = 0.0
    return entered, least < np.inf


@njit(cache=True)
def sweep(indptr, indices, data, order, rows, right, values, tolerance, sweeps):  # type: ignore[no-untyped-def]
    """Bring `values` [S, 2] closer to the solution of V = right + γ P V by Gauss–Seidel; whether they have settled.

    After some sweeps what remains is extrapolated, as if every sweep took the same part of it; if the next one then
    changes more than the last one, that is taken back. Values have settled when no sweep changes one by more than the
    tolerance, or by more than rounding. γ P has a row for every state and action; `rows` [S] are those that count.
    """
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
                    stay -= data[k]
                else:
                    one += data[k] * values[t, 0]
                    two += data[k] * values[t, 1]
            one, two = one / stay, two / stay
            changes[s, 0], changes[s, 1] = one - values[s, 0], two - values[s, 1]
            values[s, 0], values[s, 1] = one, two
            largest = max(largest, abs(changes[s, 0]), abs(changes[s, 1]))
            highest = max(highest, abs(one), abs(two))
        if largest <= max(tolerance, 4 * EPSILON * highest):
            return True
        for i in range(2):
            if count % LEAP == 0 and count < sweeps:
                saved[:, i] = values[:S, i]
                size[i] = _leap(changes[:, i], before[:, i], values[:, i])
            elif count % LEAP == 1 and np.sum(changes[:, i] ** 2) > size[i] > 0.0:
                values[:S, i] = saved[:, i]
    return False


@njit(cache=True)
def _leap(changes, before, values):  # type: ignore[no-untyped-def]
    """Add what is left to change, if all further changes are multiples of the last one, as the one before suggests.

    Returns how large the last change was; 0 when there is no such suggestion.
    """
    now, then, common = 0.0, 0.0, 0.0
    for s in range(len(changes)):
        now += changes[s] * changes[s]
        then += before[s] * before[s]
        common += changes[s] * before[s]
    if not 0.0 < common < then:
        return 0.0
    left = common / (then - common)
    # What is no multiple is made larger by as much, which must not spoil the gain.
    if not left * left * (now * then - common * common) < 0.25 * now * then:
        return 0.0
    for s in range(len(changes)):
        values[s] += left * changes[s]
    return now


class Dense:
    """Low-rank updates of a dense inverse."""

    def __init__(self, mdp: MDP) -> None:
        self.mdp = mdp
        P = mdp.transitions
        self.arrays = (P.indptr, P.indices, mdp.discount * P.data)
        self.states = np.arange(mdp.n_states)

    def rebase(self, policy: Ints) -> None:
        """Make this the base policy."""
        self.policy = policy.copy()
        rows = self.mdp.transitions[self.states * self.mdp.n_actions + policy].toarray()
        self.inverse = np.linalg.inv(np.eye(self.mdp.n_states) - self.mdp.discount * rows)
        values = self.inverse @ self.mdp.rewards[self.states, policy]
        self.value = float(self.mdp.initial @ values)
        self.occupancies = self.mdp.initial @ self.inverse
        self.advantages = _advantages(self.mdp, values)

    def evaluate(self, policy: Ints) -> float:
        """The return of a policy."""
        gain = _gain(*self.arrays, self.inverse, self.occupancies, self.advantages, self.policy, policy)
        return self.value + float(gain)


@njit(cache=True)
def _gain(indptr, indices, data, inverse, occupancies, advantages, base, policy):  # type: ignore[no-untyped-def]
    """How much more than the base policy another one returns."""
    S, A = advantages.shape
    changed = np.empty(S, dtype=np.int64)
    n = 0
    for s in range(S):
        if policy[s] != base[s]:
            changed[n] = s
            n += 1
    if n == 0:
        return 0.0
    # Since γ P_π N = N − I, the matrix of the system is N_CC − γ P' N_{·C}.
    system = np.empty((n, n))
    right = np.empty(n)
    for i in range(n):
        s = changed[i]
        right[i] = advantages[s, policy[s]]
        for j in range(n):
            system[i, j] = inverse[s, changed[j]]
        for k in range(indptr[s * A + policy[s]], indptr[s * A + policy[s] + 1]):
            t = indices[k]
            for j in range(n):
                system[i, j] -= data[k] * inverse[t, changed[j]]
    gains = np.linalg.solve(system, right)
    total = 0.0
    for i in range(n):
        total += occupancies[changed[i]] * gains[i]
    return total


class Sparse:
    """Every policy by itself, from the values of the base policy on.

    When time is up in the middle of an evaluation, what a policy returns for sure counts as its return.
    """

    def __init__(self, mdp: MDP, watch: Watch | None = None) -> None:
        self.mdp, self.watch = mdp, watch
        self.values: Floats | None = None

    def rebase(self, policy: Ints) -> None:
        """Make this the base policy."""
        values = planning.policy_values(self.mdp, policy, self.watch, start=self.values)
        self.value, self.values = self._return(planning.policy_return(self.mdp, policy, self.watch)), values.value
        self.occupancies = planning.occupancies(self.mdp, policy, self.watch).value
        self.advantages = _advantages(self.mdp, values.value)

    def evaluate(self, policy: Ints) -> float:
        """The return of a policy."""
        values = planning.policy_values(self.mdp, policy, self.watch, start=self.values)
        return self._return(planning.expected_return(self.mdp, values))

    def _return(self, expected: planning.Certified[float]) -> float:
        return expected.lower if self.watch is not None and self.watch.remaining == 0 else expected.value


def look_ahead(mdp: MDP, values: Floats) -> Floats:
    """[S, A] r + γ P V"""
    q: Floats = mdp.rewards + mdp.discount * (mdp.transitions @ values).reshape(mdp.rewards.shape)
    return q


def _advantages(mdp: MDP, values: Floats) -> Floats:
    """[S, A] how much better each action is than following the policy whose values are given."""
    return look_ahead(mdp, values) - values[:, None]
