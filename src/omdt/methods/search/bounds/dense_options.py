"""Options by policy iteration, with a stored inverse per box and action.

For any V, V̄ ≤ V + max(T V − V)⁺ / (1 − γ): the result of policy iteration is certified by its residual.

**Rounding.** A computed inverse N̂ of M = I − γ P_BB has a residual ρ = ‖I − M N̂‖ and differs from the true one by at
most ‖N̂‖ ρ / (1 − ρ); products with it are off by n ε ‖N̂‖. Both, times ‖Q − V‖, and the rounding of Q itself, times
‖N̂‖, are added to T V wherever it is used as a bound.
"""

import numpy as np
from numba import njit

from omdt.mdp import EPSILON, Floats, Ints
from omdt.methods.search.bounds.inverses import Inverses
from omdt.methods.search.bounds.option_values import OptionValue, product_from_above
from omdt.methods.search.boxes import Boxes
from omdt.methods.search.model import Model
from omdt.watch import Watch


class DenseOptions:
    """Policy iteration over options."""

    def __init__(self, model: Model, boxes: Boxes, max_bytes: int) -> None:
        self.model, self.mdp = model, model.mdp
        self.inverses = Inverses(model, boxes, max_bytes)
        # A row that was normalised in floating point may exceed 1 a little.
        self.contraction = model.norms.contraction

    def price(self, active: Ints) -> float:
        """As in `OptionSolver`."""
        return float(sum(len(self.inverses.boxes.states[b]) ** 3 for b in active)) * self.mdp.n_actions

    def value(self, leaf_action: Ints, active: Ints, start: Floats, target: float, watch: Watch) -> OptionValue:
        """As in `OptionSolver`."""
        slots = self.inverses.slots(active, watch)
        V, best, vector = start, product_from_above(self.mdp.initial, start), start
        norm, defect = self.inverses.norm[slots].max(initial=1.0), self.inverses.defect[slots].max(initial=0.0)
        if defect >= 0.5:
            return OptionValue(best, vector, self.mdp.initial)
        system = np.eye(0)
        for _ in range(self.model.settings.option_iterations):
            watch.check()
            Q = self.model.look_ahead(V)
            TV, box, action = self._backed_up(V, Q, leaf_action, slots)
            slack = self._slack(V, Q, norm, defect)
            excess = max(float(np.max(TV - V)) + slack, 0.0)
            # Where V was a bound, so is T V; where V is the value of a policy, its residual makes it one.
            above = TV + slack if V is start else V + excess / self.contraction * (1 + 4 * EPSILON)
            bound = product_from_above(self.mdp.initial, above)
            if bound < best:
                best, vector = bound, above
            # V̄ lies between the policy's value and the bound; once both are clearly above the target, or as close as
            # rounding allows, a better bound does not matter.
            uncertainty = excess / self.contraction
            if best <= target or (V is not start and uncertainty <= max(0.05 * (best - target), 8 * slack)):
                break
            system, constant = self._semi_markov(leaf_action, box, action)
            V = _solved(system, constant)
        visits = np.zeros(0) if best <= target else _solved(system.T, self.mdp.initial)
        return OptionValue(best, vector, visits)

    def _backed_up(self, V: Floats, Q: Floats, leaf_action: Ints, slots: Ints) -> tuple[Floats, Ints, Ints]:
        """T V with the box and the action that attain it, each [S]."""
        S = self.mdp.n_states
        best, box, action = np.full(S, -np.inf), np.full(S, -1, dtype=np.int64), leaf_action.copy()
        _backup(V, Q, leaf_action, slots, self.inverses.stored, np.empty(S), best, box, action)
        return best, box, action

    def _semi_markov(self, leaf_action: Ints, box: Ints, action: Ints) -> tuple[Floats, Floats]:
        """I − M [S, S] and c [S] of the equation V = c + M V of the policy that picks the given options."""
        S = self.mdp.n_states
        system, constant = np.eye(S), np.zeros(S)
        by_box, place = np.argsort(box, kind="stable"), np.full(S, -1, dtype=np.int64)
        stored = self.inverses.stored
        _add_options(self.model.arrays, leaf_action, box, action, by_box, stored, place, system, constant)
        return system, constant

    def _slack(self, V: Floats, Q: Floats, norm: float, defect: float) -> float:
        """Bound on the rounding error of T V, given the largest norm and defect of an inverse."""
        rounding = 2 * self.mdp.n_states * EPSILON
        magnitude = float(np.abs(V).max() + np.abs(self.mdp.rewards).max())
        difference = float(np.abs(Q - V[:, None]).max())
        return norm * ((defect + rounding) * difference + rounding * magnitude)


def _solved(system: Floats, right: Floats) -> Floats:
    return np.asarray(np.linalg.solve(system, right), dtype=np.float64)


# What a kernel allocates by itself takes longer to compile; here its caller does.


@njit(cache=True)
def _backup(V, Q, leaf_action, slots, stored, gain, best, box, action):  # type: ignore[no-untyped-def]
    """Write T V into `best`, and the box and the action that attain it where no leaf has the state; `gain` is scratch.

    Before the call, `best` is −∞, `box` −1, and `action` that of the leaf.
    """
    starts, members, offsets, inverses = stored.starts, stored.members, stored.offsets, stored.entries
    S, A = Q.shape
    for s in range(S):
        if leaf_action[s] >= 0:
            best[s] = Q[s, leaf_action[s]]
    for slot in slots:
        first = starts[slot]
        n = starts[slot + 1] - first
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


@njit(cache=True)
def _add_options(  # type: ignore[no-untyped-def]
    arrays, leaf_action, box, action, by_box, stored, place, system, constant
):
    """Subtract M from `system` and add c to `constant`; `by_box` sorts the states, and `place` is scratch, all −1."""
    indptr, indices, rewards = arrays.indptr, arrays.indices, arrays.rewards
    starts, members, offsets, inverses = stored.starts, stored.members, stored.offsets, stored.entries
    A = rewards.shape[1]
    placed = -1
    for s in by_box:
        a = action[s]
        if leaf_action[s] >= 0:
            constant[s] = rewards[s, a]
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                system[s, indices[k]] -= arrays.discounted[k]
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
                    system[s, indices[k]] -= weight * arrays.discount * arrays.probabilities[k]
