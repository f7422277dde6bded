"""Lowering: sweeps that bring values which are above the truth closer to it, and never below.

Let T be the Bellman operator of an MDP in which each state may choose from a set of actions. If V is above the optimal
values of this MDP, lowering V(s) to (T V)(s) in any single state keeps it above, whatever was updated before. The
probability to stay in s is solved for:

    V(s) ← max_a (r(s, a) + γ Σ_{s' ≠ s} P(s, a, s') V(s')) / (1 − γ P(s, a, s)).

Every update is rounded up, hence rounding errors need not be bounded by the discount.

**Discount 1.** The rows of P are divided by their sums, so that 1 − P(s, a, s) is the sum of the other entries, and its
relative error is small however seldom the state is left. An action that never leaves its state earns its reward for
ever, which is worth ∞ or −∞; with reward 0 it is worth what `MDP.endless` says of policies that do not end, or nothing.
Terminal states are worth 0.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from omdt.mdp import EPSILON, MDP, Floats, Ints
from omdt.methods.search.sweeps import staying


class Sweeping(NamedTuple):
    """What sweeps need beside the arrays of the MDP.

    Attributes:
        leave: [S, A] one minus the discounted probability to stay.
        rewards: [S, A], with discount 1 times the sums of the rows.
        endless: what an action that never leaves its state and earns nothing is worth; only with discount 1.
        first: [S + 1] where the predecessors of every state begin.
        predecessors: of all states.
        sums: [S, A] the sums of the rows; empty with a discount.
        margin: relative rounding error of the sum in one update.
        divided: relative error of the division by `leave`, as far as it is the same for all actions.
        cancelled: the rest of that error, times `leave`.
    """

    leave: Floats
    rewards: Floats
    endless: float
    first: Ints
    predecessors: Ints
    sums: Floats
    margin: float
    divided: float
    cancelled: float

    @classmethod
    def of(cls, mdp: MDP) -> "Sweeping":
        """What sweeps over an MDP need."""
        P, S = mdp.transitions, mdp.n_states
        steps = (np.ones(P.nnz, dtype=np.bool_), P.indices, P.indptr[:: mdp.n_actions])
        backward = sparse.csc_array(steps, shape=(S, S)).tocsr()
        margin = (int(np.diff(P.indptr).max()) + 8) * EPSILON
        graph = (backward.indptr, backward.indices)
        if mdp.discount < 1:
            leave = 1 - mdp.discount * staying(mdp)
            return cls(leave, mdp.rewards, 0.0, *graph, np.empty((0, 0)), margin, 0.0, 4 * EPSILON)
        sums = np.asarray(P.sum(axis=1)).reshape(mdp.rewards.shape)
        unpaid = cls(_leaving(mdp), mdp.rewards, 0.0, *graph, sums, margin, 2 * margin, 0.0)
        return unpaid.paying(mdp.rewards, mdp.endless)

    def paying(self, rewards: Floats, endless: float | None) -> "Sweeping":
        """The same with other rewards [S, A], and another value of what never ends."""
        if self.sums.size == 0:
            return self._replace(rewards=rewards)
        return self._replace(rewards=rewards * self.sums, endless=0.0 if endless is None else endless)


def _leaving(mdp: MDP) -> Floats:
    """[S, A] the sum of the probabilities of all states but the present one."""
    P = mdp.transitions
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    others = np.flatnonzero(P.indices != rows // mdp.n_actions)
    total: Floats = np.bincount(rows[others], weights=P.data[others], minlength=P.shape[0]).astype(np.float64)
    return total.reshape(mdp.rewards.shape)


@njit(cache=True, nogil=True)
def lower(arrays, sweeping, choices, V, active, least, forward):  # type: ignore[no-untyped-def]
    """Lower V [S], which is above the truth, to what its successors allow; whether that changed a value much.

    Only active states are updated; predecessors of a state that changes by more than `least` become active. States are
    taken as they are numbered, forward or backward: any other order takes longer to read from memory than it saves.
    """
    A = arrays.rewards.shape[1]
    S = len(V)
    changed = False
    for i in range(S):
        s = i if forward else S - 1 - i
        if not active[s]:
            continue
        active[s] = False
        best = -np.inf
        for a in range(A):
            if choices[s, a]:
                best = max(best, _worth(arrays, sweeping, V, s, a))
                if best >= V[s]:
                    break
        if best < V[s]:
            if V[s] - best > least:
                changed = True
                for k in range(sweeping.first[s], sweeping.first[s + 1]):
                    active[sweeping.predecessors[k]] = True
                # The probability to stay is solved for, so a state need not wait for itself.
                active[s] = False
            V[s] = best
    return changed


@njit(inline="always")
def _worth(arrays, sweeping, V, s, a):  # type: ignore[no-untyped-def]
    """An upper bound on what an action is worth if it is taken until the state is left, and V is earned from there."""
    indptr, indices, discounted = arrays.indptr, arrays.indices, arrays.discounted
    row = s * arrays.rewards.shape[1] + a
    total, leave = sweeping.rewards[s, a], sweeping.leave[s, a]
    if leave <= 0.0:
        return sweeping.endless if total == 0.0 else (np.inf if total > 0.0 else -np.inf)
    size = abs(total)
    for k in range(indptr[row], indptr[row + 1]):
        if indices[k] != s:
            term = discounted[k] * V[indices[k]]
            total += term
            size += abs(term)
    if size == np.inf:
        # Nothing is lowered where both infinities would meet.
        return total if total == total else np.inf
    total = (total + sweeping.margin * size) / leave
    return total + abs(total) * (sweeping.divided + sweeping.cancelled / leave)
