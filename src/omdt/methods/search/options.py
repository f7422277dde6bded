"""The option bound: an upper bound on every tree that completes a partial one.

Relax the tree: in a fixed leaf the agent plays the leaf's action; in an open region it picks, on entering a state s, a
box B ∋ s of the region (see `boxes`) and an action a, keeps a until it leaves B, and picks again. Every tree can be
played like this, hence the optimal value V̄ of this semi-Markov problem bounds the value of every tree:

    W_{B,a} = V + (I − γ P_BB^a)⁻¹ (Q_a − V)   on B,     Q_a = r_a + γ P_a V,
    (T V)(s) = max_{B ∋ s, a} W_{B,a}(s)       in open regions,     Q_a(s) in a leaf with action a,     V̄ = T V̄.

T is monotone and, since an option lasts at least one step, T(V + c) ≤ T V + γ c for c ≥ 0. So

- if V ≥ V̄, then T V ≥ V̄: from the parent's bound every sweep gives a bound for the child;
- for any V, V̄ ≤ V + max(T V − V)⁺ / (1 − γ): the result of policy iteration is certified by its residual.

Where states have few successors, V̄ is approached from above by Gauss–Seidel sweeps over V and all W (`SweptOptions`);
where no state can be visited twice but by staying in it, one sweep in reverse topological order gives V̄ itself.
Otherwise policy iteration over options does, with a cached inverse for each box and action (`DenseOptions`).

**Rounding.** A computed inverse N̂ of M = I − γ P_BB has a residual ρ = ‖I − M N̂‖ and differs from the true one by at
most ‖N̂‖ ρ / (1 − ρ); products with it are off by n ε ‖N̂‖. Both, times ‖Q − V‖, and the rounding of Q itself, times
‖N̂‖, are added to T V wherever it is used as a bound. In a sweep every state adds at most e = (n + 8) ε max(|r|, |V|,
|W|) / (1 − γ) to the errors of its successors, which are discounted, so however many sweeps there are, all together add
at most e / (1 − γ).
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numba import njit

from omdt.mdp import EPSILON, MDP, Floats, Ints
from omdt.methods.search.boxes import Regions
from omdt.methods.search.evaluation import VISIT_SWEEPS, forward, look_ahead
from omdt.norms import norms
from omdt.watch import Watch

MAX_ITERATIONS = 30

MAX_SWEEPS = 1000
"""Every one of them gives a bound."""

SETTLED = 1e-3
"""Sweeps end when one takes less than this part of the way to the target."""

CHUNK_ENTRIES = 4_000_000
"""Numbers in the inverses that are stored at once."""

MAX_ENTRIES = 3e7
"""Transitions within all boxes of a partial tree; with more, sweeping takes too much memory."""


class OptionBound(Protocol):
    """Bounds partial trees."""

    def bound(
        self, leaf_action: Ints, active: Ints, start: Floats, target: float, watch: Watch
    ) -> tuple[float, Floats, Floats]:
        """An upper bound on p0·V̄, a vector [S] above V̄, and the occupancy [S] of the relaxed agent.

        Args:
            leaf_action: [S] action of the fixed leaf of each state, or −1 in open regions.
            active: numbers of the boxes of all open regions.
            start: [S] a vector above V̄, such as the parent's.
            target: a bound as low as this is low enough; the occupancy is then not computed.
            watch: ends the computation by an `OutOfTimeError`.
        """

    def price(self, active: Ints) -> float:
        """How many operations these boxes cost where nothing is known of them."""


class SweptOptions:
    """Sweeps over the states from a vector above V̄; in reverse topological order one is enough.

    Args:
        order: [S] states, each after most of its successors.
        acyclic: whether after all of them.
    """

    def __init__(self, mdp: MDP, regions: Regions, order: Ints, *, acyclic: bool) -> None:
        self.mdp, self.regions, self.order, self.acyclic = mdp, regions, order, acyclic
        P = mdp.transitions
        self.model = (P.indptr, P.indices, P.data, mdp.rewards, mdp.discount)
        longest = int(np.diff(P.indptr).max())
        contraction = norms(mdp).contraction
        self.unit = (longest + 8) * EPSILON / contraction**2
        self.entries_of = np.diff(P.indptr[:: mdp.n_actions])
        self.leave = 1 - mdp.discount * _staying(mdp)
        self.largest_reward = float(np.abs(mdp.rewards).max())

    def price(self, active: Ints) -> float:
        """As in `OptionBound`."""
        entries = float(self.entries_of[np.concatenate([self.regions.boxes[b] for b in active])].sum())
        return np.inf if entries > MAX_ENTRIES else entries

    def bound(
        self, leaf_action: Ints, active: Ints, start: Floats, target: float, watch: Watch
    ) -> tuple[float, Floats, Floats]:
        """As in `OptionBound`."""
        boxes = [self.regions.boxes[b] for b in active]
        starts = np.concatenate([[0], np.cumsum([len(box) for box in boxes])])
        members = np.concatenate(boxes) if boxes else np.zeros(0, dtype=np.int64)
        first, place, successors = _linked(*self.model[:2], self.mdp.n_actions, starts, members)
        V, action = start.copy(), leaf_action.copy()
        W = np.full((len(members), self.mdp.n_actions), np.inf)
        largest = max(self.largest_reward, _largest(start))
        bound = before = np.inf
        for _ in range(MAX_SWEEPS):
            watch.check()
            _sweep_options(*self.model, self.leave, self.order, leaf_action, first, place, successors, V, W, action)
            magnitude = max(largest, _largest(V), _largest(W))
            vector = np.minimum(V + self.unit * magnitude, start)
            before, bound = bound, _scalar_product(self.mdp.initial, vector)
            if self.acyclic or bound <= target or before - bound <= SETTLED * (bound - target):
                break
        if bound <= target:
            return bound, vector, np.zeros(0)
        sweeps = 1 if self.acyclic else VISIT_SWEEPS
        return bound, vector, forward(*self.model, self.order[::-1], action, self.mdp.initial, sweeps)


class DenseOptions:
    """Policy iteration over options."""

    def __init__(self, mdp: MDP, regions: Regions, max_bytes: int) -> None:
        self.mdp = mdp
        self.inverses = Inverses(mdp, regions, max_bytes)
        # A row that was normalised in floating point may exceed 1 a little.
        self.contraction = norms(mdp).contraction

    def price(self, active: Ints) -> float:
        """As in `OptionBound`."""
        return float(sum(len(self.inverses.regions.boxes[b]) ** 3 for b in active)) * self.mdp.n_actions

    def bound(
        self, leaf_action: Ints, active: Ints, start: Floats, target: float, watch: Watch
    ) -> tuple[float, Floats, Floats]:
        """As in `OptionBound`."""
        slots = self.inverses.slots(active, watch)
        V, best, vector = start, _scalar_product(self.mdp.initial, start), start
        norm, defect = self.inverses.norm[slots].max(initial=1.0), self.inverses.defect[slots].max(initial=0.0)
        if defect >= 0.5:
            return best, vector, self.mdp.initial
        system = np.eye(0)
        for _ in range(MAX_ITERATIONS):
            watch.check()
            Q = look_ahead(self.mdp, V)
            TV, box, action = _backup(V, Q, leaf_action, slots, *self.inverses.arrays)
            slack = self._slack(V, Q, norm, defect)
            excess = max(float(np.max(TV - V)) + slack, 0.0)
            # Where V was a bound, so is T V; where V is the value of a policy, its residual makes it one.
            above = TV + slack if V is start else V + excess / self.contraction * (1 + 4 * EPSILON)
            bound = _scalar_product(self.mdp.initial, above)
            if bound < best:
                best, vector = bound, above
            # V̄ lies between the policy's value and the bound; once both are clearly above the target, or as close as
            # rounding allows, a better bound does not matter.
            uncertainty = excess / self.contraction
            if best <= target or (V is not start and uncertainty <= max(0.05 * (best - target), 8 * slack)):
                break
            system, constant = self._policy(leaf_action, box, action)
            V = _solved(system, constant)
        visits = np.zeros(0) if best <= target else _solved(system.T, self.mdp.initial)
        return best, vector, visits

    def _slack(self, V: Floats, Q: Floats, norm: float, defect: float) -> float:
        """Bound on the rounding error of T V, given the largest norm and defect of an inverse."""
        rounding = 2 * self.mdp.n_states * EPSILON
        magnitude = float(np.abs(V).max() + np.abs(self.mdp.rewards).max())
        difference = float(np.abs(Q - V[:, None]).max())
        return norm * ((defect + rounding) * difference + rounding * magnitude)

    def _policy(self, leaf_action: Ints, box: Ints, action: Ints) -> tuple[Floats, Floats]:
        """I − M and c of the equation V = c + M V of the policy that picks the given options."""
        P = self.mdp.transitions
        model = (P.indptr, P.indices, P.data, self.mdp.rewards, self.mdp.discount)
        system, constant = _semi_markov(*model, leaf_action, box, action, *self.inverses.arrays)
        return system, constant


class Inverses:
    """(I − γ P_BB^a)⁻¹ of every box and action that was asked for, in flat arrays; all forgotten when memory is short.

    Attributes:
        arrays: starts and members (the states of each stored box), offsets and entries of its A inverses.
        norm: the largest ‖N̂‖∞ of each stored box.
        defect: the largest ‖I − M N̂‖∞ of each stored box.
    """

    def __init__(self, mdp: MDP, regions: Regions, max_bytes: int) -> None:
        self.mdp, self.regions = mdp, regions
        self.max_entries = max_bytes // 8
        self._forget()

    def _forget(self) -> None:
        self.slot: dict[int, int] = {}
        self.used = 0
        self.norm, self.defect = np.zeros(0), np.zeros(0)
        nothing = np.zeros(0, dtype=np.int64)
        self.arrays = (np.zeros(1, dtype=np.int64), nothing, nothing, np.empty(1 << 16))

    def slots(self, active: Ints, watch: Watch) -> Ints:
        """Where the boxes are stored; those that are not are computed."""
        missing = [int(b) for b in active if int(b) not in self.slot]
        if missing:
            needed = sum(len(self.regions.boxes[b]) ** 2 for b in missing) * self.mdp.n_actions
            if self.used + needed > self.max_entries:
                self._forget()
                missing = [int(b) for b in active]
            for some in self._chunks(missing):
                self._store(some, watch)
        return np.array([self.slot[int(b)] for b in active], dtype=np.int64)

    def _chunks(self, missing: list[int]) -> Iterator[list[int]]:
        """The boxes in portions that take less than a second; what is stored of them remains when time runs out."""
        chunk: list[int] = []
        entries = 0
        for b in missing:
            chunk.append(b)
            entries += len(self.regions.boxes[b]) ** 2 * self.mdp.n_actions
            if entries > CHUNK_ENTRIES:
                yield chunk
                chunk, entries = [], 0
        if chunk:
            yield chunk

    def _store(self, missing: list[int], watch: Watch) -> None:
        starts, members, offsets, entries = self.arrays
        boxes = [self.regions.boxes[b] for b in missing]
        inverses, norms, defects = zip(*(self._inverse(states, watch) for states in boxes), strict=True)
        self.norm, self.defect = np.append(self.norm, norms), np.append(self.defect, defects)
        sizes = np.array([inverse.size for inverse in inverses])
        total = self.used + int(sizes.sum())
        if total > len(entries):
            larger = np.empty(min(2 * total, max(total, self.max_entries)))
            larger[: self.used] = entries[: self.used]
            entries = larger
        for b, inverse in zip(missing, inverses, strict=True):
            entries[self.used : self.used + inverse.size] = inverse.ravel()
            self.slot[b] = len(self.slot)
            self.used += inverse.size
        new_starts = starts[-1] + np.cumsum([len(states) for states in boxes])
        new_offsets = total - int(sizes.sum()) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.arrays = (
            np.concatenate([starts, new_starts]),
            np.concatenate([members, *boxes]),
            np.concatenate([offsets, new_offsets]),
            entries,
        )

    def _inverse(self, states: Ints, watch: Watch) -> tuple[Floats, float, float]:
        """[A, n, n] the inverses of a box, their norm and their defect."""
        watch.check()
        n, A = len(states), self.mdp.n_actions
        rows = (states[None, :] * A + np.arange(A)[:, None]).ravel()
        inside = self.mdp.transitions[rows][:, states].toarray().reshape(A, n, n)
        system = np.eye(n) - self.mdp.discount * inside
        inverse: Floats = np.linalg.inv(system)
        norm = float(np.abs(inverse).sum(axis=2).max()) * (1 + 1e-9)
        residual = float(np.abs(np.eye(n) - system @ inverse).sum(axis=2).max())
        return inverse, norm, 2 * (residual + n * EPSILON * norm)


def _staying(mdp: MDP) -> Floats:
    """[S, A] the probability to stay in a state."""
    P = mdp.transitions
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    stays = P.indices == rows // mdp.n_actions
    staying = np.zeros(P.shape[0])
    np.add.at(staying, rows[stays], P.data[stays])
    return staying.reshape(mdp.rewards.shape)


def _largest(values: Floats) -> float:
    """The largest absolute value."""
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def _solved(system: Floats, right: Floats) -> Floats:
    return np.asarray(np.linalg.solve(system, right), dtype=np.float64)


def _scalar_product(p: Floats, v: Floats) -> float:
    """p·v rounded up, for a distribution p."""
    return float(p @ v) + 2 * len(p) * EPSILON * float(np.abs(v).max())


@njit(cache=True)
def _backup(V, Q, leaf_action, slots, starts, members, offsets, inverses):  # type: ignore[no-untyped-def]
    """T V with the box and the action that attain it."""
    S, A = Q.shape
    best = np.full(S, -np.inf)
    box = np.full(S, -1, dtype=np.int64)
    action = leaf_action.copy()
    for s in range(S):
        if leaf_action[s] >= 0:
            best[s] = Q[s, leaf_action[s]]
    for slot in slots:
        first = starts[slot]
        n = starts[slot + 1] - first
        gain = np.empty(n)
        for a in range(A):
            # Where nothing is gained W is at most Q(s, a), and need not be computed if that is no better than the best.
            promising = False
            for j in range(n):
                t = members[first + j]
                gain[j] = Q[t, a] - V[t]
                promising |= gain[j] > 0 or Q[t, a] > best[t]
            if not promising:
                continue
            for i in range(n):
                s = members[first + i]
                total = V[s]
                row = offsets[slot] + (a * n + i) * n
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
    placed = -1
    for s in np.argsort(box):
        a = action[s]
        if leaf_action[s] >= 0:
            constant[s] = rewards[s, a]
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                system[s, indices[k]] -= discount * data[k]
            continue
        slot = box[s]
        first = starts[slot]
        n = starts[slot + 1] - first
        if slot != placed:
            place[:] = -1
            for j in range(n):
                place[members[first + j]] = j
            placed = slot
        row = offsets[slot] + (a * n + place[s]) * n
        for j in range(n):
            weight = inverses[row + j]
            t = members[first + j]
            constant[s] += weight * rewards[t, a]
            for k in range(indptr[t * A + a], indptr[t * A + a + 1]):
                if place[indices[k]] < 0:
                    system[s, indices[k]] -= weight * discount * data[k]
    return system, constant


@njit(cache=True)
def _linked(indptr, indices, n_actions, starts, members):  # type: ignore[no-untyped-def]
    """Where states, boxes and transitions meet.

    The pairs of a state and a box around it are numbered by states; `first` is the first one of every state, `place`
    tells for each its place in `successors`, which has for every transition of the state, action by action, the pair of
    the successor and the same box, or −1 − t when it leaves the box for t.
    """
    S = (len(indptr) - 1) // n_actions
    count = np.zeros(S + 1, dtype=np.int64)
    for s in members:
        count[s + 1] += 1
    first = np.cumsum(count)
    place = np.zeros(len(members) + 1, dtype=np.int64)
    for s in range(S):
        for i in range(first[s], first[s + 1]):
            place[i + 1] = place[i] + indptr[(s + 1) * n_actions] - indptr[s * n_actions]
    successors = np.empty(place[-1], dtype=np.int32)
    filled = first.copy()
    pair = np.full(S, -1, dtype=np.int32)
    for b in range(len(starts) - 1):
        states = members[starts[b] : starts[b + 1]]
        for s in states:
            pair[s] = filled[s]
            filled[s] += 1
        for s in states:
            at = place[pair[s]]
            for k in range(indptr[s * n_actions], indptr[(s + 1) * n_actions]):
                t = indices[k]
                successors[at] = pair[t] if pair[t] >= 0 else -1 - t
                at += 1
        pair[states] = -1
    return first, place, successors


@njit(cache=True)
def _sweep_options(  # type: ignore[no-untyped-def]
    indptr, indices, data, rewards, discount, leave, order, leaf_action, first, place, successors, V, W, action
):
    """Lower V [S] and W [pairs, A], both above the truth, to what their successors allow.

    Where W is not known yet, it is infinite, and V counts instead.
    """
    A = rewards.shape[1]
    for s in order:
        start = indptr[s * A]
        if leaf_action[s] >= 0:
            a = leaf_action[s]
            ahead = rewards[s, a]
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                if indices[k] != s:
                    ahead += discount * data[k] * V[indices[k]]
            V[s] = min(V[s], ahead / leave[s, a])
            continue
        best = -np.inf
        for i in range(first[s], first[s + 1]):
            for a in range(A):
                ahead = rewards[s, a]
                for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                    pair = successors[place[i] + k - start]
                    if pair < 0:
                        ahead += discount * data[k] * V[-1 - pair]
                    elif pair != i:
                        ahead += discount * data[k] * min(W[pair, a], V[indices[k]])
                W[i, a] = min(W[i, a], ahead / leave[s, a])
                if W[i, a] > best:
                    best = W[i, a]
                    action[s] = a
        V[s] = min(V[s], best)
