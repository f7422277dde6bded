"""The option bound: an upper bound on every tree that completes a partial one.

Relax the tree: in a fixed leaf the agent plays the leaf's action; in an open region it picks, on entering a state s, a
box B ∋ s of the region (see `boxes`) and an action a, keeps a until it leaves B, and picks again. Every tree can be
played like this, hence the optimal value V̄ of this semi-Markov problem bounds the value of every tree:

    W_{B,a} = V + (I − γ P_BB^a)⁻¹ (Q_a − V)   on B,     Q_a = r_a + γ P_a V,
    (T V)(s) = max_{B ∋ s, a} W_{B,a}(s)       in open regions,     Q_a(s) in a leaf with action a,     V̄ = T V̄.

T is monotone and, since an option lasts at least one step, T(V + c) ≤ T V + γ c for c ≥ 0. So

- if V ≥ V̄, then T V ≥ V̄: from the parent's bound every sweep gives a bound for the child;
- for any V, V̄ ≤ V + max(T V − V)⁺ / (1 − γ): the result of policy iteration is certified by its residual.

**Rounding.** A computed inverse N̂ of M = I − γ P_BB has the residual ‖I − M N̂‖ = ρ, and differs from the true one by at
most ‖N̂‖ ρ / (1 − ρ); products with it are off by n ε ‖N̂‖. Both, times ‖Q − V‖, and the rounding of Q itself, times ‖N̂‖,
are added to T V wherever it is used as a bound.
"""

import numpy as np
from numba import njit

from omdt.mdp import EPSILON, MDP, Floats, Ints
from omdt.methods.search.boxes import Regions

MAX_ITERATIONS = 30
FREE = -1


class OptionBound:
    """Bounds partial trees on MDPs of moderate size; inverses are cached by box."""

    def __init__(self, mdp: MDP, regions: Regions, max_bytes: int) -> None:
        self.mdp, self.regions = mdp, regions
        self.P = mdp.transitions
        self.max_entries = max_bytes // 8
        self._forget()

    def _forget(self) -> None:
        self.number = np.full(0, -1, dtype=np.int64)
        self.inverses = np.empty(1 << 16)
        self.offsets: list[int] = []
        self.starts = [0]
        self.members = np.empty(0, dtype=np.int64)
        self.used = 0
        self.norm = 1.0
        self.defect = 0.0

    def bound(self, leaf_action: Ints, active: Ints, start: Floats, target: float) -> tuple[float, Floats, Floats]:
        """An upper bound on p0·V̄, a vector above V̄, and the occupancy [S] at which options are entered.

        Args:
            leaf_action: [S] action of the fixed leaf of each state, or −1 in open regions.
            active: numbers of the boxes of all open regions.
            start: [S] a vector above V̄, such as the parent's.
            target: a bound as low as this is low enough.
        """
        slots = self._slots(active)
        V, best_bound, best_vector = start, float(self.mdp.initial @ start), start
        system = None
        for _ in range(MAX_ITERATIONS):
            Q = self.mdp.rewards + self.mdp.discount * (self.P @ V).reshape(self.mdp.rewards.shape)
            TV, box, action = self._backup(V, Q, leaf_action, slots)
            slack = self._slack(V, Q)
            excess = float(np.max(TV - V)) + slack
            # Where V was a bound so is T V; where V is a policy's value the residual makes it one.
            vector = TV + slack if V is start else V + max(excess, 0.0) / (1 - self.mdp.discount) * (1 + 4 * EPSILON)
            bound = _scalar_product(self.mdp.initial, vector)
            if bound < best_bound:
                best_bound, best_vector = bound, vector
            if best_bound <= target or (V is not start and excess <= 4 * slack + 1e-9 * abs(best_bound)):
                break
            system, constant = self._policy(leaf_action, box, action)
            V = np.linalg.solve(system, constant)
        entries = np.zeros(len(start)) if best_bound <= target else np.linalg.solve(system.T, self.mdp.initial)
        return best_bound, best_vector, entries

    def _slack(self, V: Floats, Q: Floats) -> float:
        """Bound on the rounding error of T V."""
        n = self.mdp.n_states
        magnitude = float(np.abs(V).max() + np.abs(self.mdp.rewards).max())
        difference = float(np.abs(Q - V[:, None]).max())
        return self.norm * ((self.defect + 2 * n * EPSILON) * difference + 2 * n * EPSILON * magnitude)

    def _slots(self, active: Ints) -> Ints:
        """Where the inverses of the boxes are stored; missing ones are computed."""
        sizes = sum(len(self.regions.boxes[b]) ** 2 for b in active)
        if self.used + sizes * self.mdp.n_actions > self.max_entries:
            self._forget()
        if len(self.number) < len(self.regions.boxes):
            grown = np.full(2 * len(self.regions.boxes), -1, dtype=np.int64)
            grown[: len(self.number)] = self.number
            self.number = grown
        new = [int(b) for b in active if self.number[b] < 0]
        if new:
            for b in new:
                self._store(b)
            self.arrays = (np.array(self.starts), np.concatenate([self.members, *self.pending]), np.array(self.offsets))
            self.members = self.arrays[1]
        return self.number[active]

    def _store(self, b: int) -> None:
        if not hasattr(self, "pending") or self.pending_owner is not self.members:
            self.pending: list[Ints] = []
            self.pending_owner = self.members
        states = self.regions.boxes[b]
        n, A, discount = len(states), self.mdp.n_actions, self.mdp.discount
        rows = (states[None, :] * A + np.arange(A)[:, None]).ravel()
        inside = self.P[rows][:, states].toarray().reshape(A, n, n)
        system = np.eye(n) - discount * inside
        inverse = np.linalg.inv(system)
        self.defect = max(self.defect, 2 * float(np.abs(np.eye(n) - system @ inverse).sum(axis=2).max()) + n * EPSILON)
        self.norm = max(self.norm, float(np.abs(inverse).sum(axis=2).max()) * (1 + 1e-9))
        if self.used + inverse.size > len(self.inverses):
            larger = np.empty(2 * (self.used + inverse.size))
            larger[: self.used] = self.inverses[: self.used]
            self.inverses = larger
        self.inverses[self.used : self.used + inverse.size] = inverse.ravel()
        self.number[b] = len(self.offsets)
        self.offsets.append(self.used)
        self.used += inverse.size
        self.pending.append(states)
        self.starts.append(self.starts[-1] + n)

    def _backup(self, V: Floats, Q: Floats, leaf_action: Ints, slots: Ints) -> tuple[Floats, Ints, Ints]:
        starts, members, offsets = self.arrays
        return _backup(V, Q, leaf_action, slots, starts, members, offsets, self.inverses)  # type: ignore[no-any-return]

    def _policy(self, leaf_action: Ints, box: Ints, action: Ints) -> tuple[Floats, Floats]:
        """I − M and c of the equation V = c + M V of the policy that picks the given options."""
        starts, members, offsets = self.arrays
        P = self.P
        return _semi_markov(
            P.indptr,
            P.indices,
            P.data,
            self.mdp.rewards,
            self.mdp.discount,
            leaf_action,
            box,
            action,
            starts,
            members,
            offsets,
            self.inverses,
        )


def _scalar_product(p: Floats, v: Floats) -> float:
    """p·v rounded up, for a distribution p."""
    return float(p @ v) + 2 * len(p) * EPSILON * float(np.abs(v).max())


@njit(cache=True)
def _backup(V, Q, leaf_action, slots, starts, members, offsets, inverses):  # type: ignore[no-untyped-def]
    """T V with the box and the action that attain it."""
    S, A = Q.shape
    best = np.full(S, -np.inf)
    box = np.full(S, -1, dtype=np.int64)
    action = np.full(S, -1, dtype=np.int64)
    for s in range(S):
        if leaf_action[s] >= 0:
            best[s] = Q[s, leaf_action[s]]
            action[s] = leaf_action[s]
    for i in range(len(slots)):
        slot = slots[i]
        first, last = starts[slot], starts[slot + 1]
        n = last - first
        gain = np.empty(n)
        for a in range(A):
            base = offsets[slot] + a * n * n
            for j in range(n):
                t = members[first + j]
                gain[j] = Q[t, a] - V[t]
            for k in range(n):
                s = members[first + k]
                total = V[s]
                row = base + k * n
                for j in range(n):
                    total += inverses[row + j] * gain[j]
                if total > best[s]:
                    best[s] = total
                    box[s] = slot
                    action[s] = a
    return best, box, action


@njit(cache=True)
def _semi_markov(  # type: ignore[no-untyped-def]
    indptr, indices, data, rewards, discount, leaf_action, box, action, starts, members, offsets, inverses
):
    """I − M and c of the equation V = c + M V of a policy over options."""
    S, A = rewards.shape
    system = np.eye(S)
    constant = np.zeros(S)
    place = np.full(S, -1, dtype=np.int64)
    order = np.argsort(box)
    current = -1
    for i in range(S):
        s = order[i]
        a = action[s]
        if leaf_action[s] >= 0:
            constant[s] = rewards[s, a]
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                system[s, indices[k]] -= discount * data[k]
            continue
        slot = box[s]
        first, last = starts[slot], starts[slot + 1]
        n = last - first
        if slot != current:
            place[:] = -1
            for j in range(n):
                place[members[first + j]] = j
            current = slot
        row = offsets[slot] + a * n * n + place[s] * n
        for j in range(n):
            weight = inverses[row + j]
            if weight == 0.0:
                continue
            t = members[first + j]
            constant[s] += weight * rewards[t, a]
            for k in range(indptr[t * A + a], indptr[t * A + a + 1]):
                if place[indices[k]] < 0:
                    system[s, indices[k]] -= weight * discount * data[k]
    return system, constant
