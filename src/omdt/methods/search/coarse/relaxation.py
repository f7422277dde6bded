"""Relaxation: an upper bound on all trees that a coarse tree stands for.

In every state, the agent may take the action of any leaf that the state can reach, and any action where an undecided
end can be reached, independently of all other states. The optimal values of this MDP are a bound, which is lower than
the unrestricted optimum as soon as leaves with a decided action contain states for certain.

**Sweeps.** Let T be the Bellman operator of this MDP. If V is above its fixpoint, so is min(V, T V) in any single state,
whatever was updated before. So Gauss–Seidel sweeps that begin with the values of a less decided tree give a valid
bound at any time. Every update is rounded up, hence no discount is needed to bound what rounding adds up to.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from omdt.mdp import EPSILON, MDP, Bools, Floats, Ints
from omdt.methods.search.bounds.option_values import product_from_above
from omdt.methods.search.coarse.coarse_tree import CoarseTree, ends
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf
from omdt.watch import Watch


class Relaxed(NamedTuple):
    """The bound of a coarse tree.

    Attributes:
        bound: no completion returns more.
        values: [S] above the value of every completion.
    """

    bound: float
    values: Floats


class Relaxation:
    """Bounds coarse trees."""

    def __init__(self, model: Model, ladders: Ladders) -> None:
        self.model, self.ladders = model, ladders
        self.everywhere = np.ones(model.mdp.n_states, dtype=np.bool_)
        longest = int(np.diff(model.mdp.transitions.indptr).max())
        self._margin = (longest + 8) * EPSILON
        self._order: Ints = np.argsort(-model.optimal.value, kind="stable")
        self._leave = 1 - model.mdp.discount * staying(model.mdp)
        self._predecessors = predecessors(model.mdp)

    def choices(self, tree: CoarseTree) -> Bools:
        """[S, A] the actions that a state may take."""
        model = self.model
        choices = np.zeros(model.mdp.rewards.shape, dtype=np.bool_)
        for end in ends(tree, self.ladders, self.everywhere):
            if isinstance(end.node, Leaf):
                choices[:, end.node.action] |= end.reached
            else:
                choices[end.reached] = True
        return choices if model.task.allowed is None else choices & model.task.allowed

    def bound(self, tree: CoarseTree, above: Floats, target: float, watch: Watch) -> Relaxed:
        """The bound of a coarse tree.

        Args:
            tree: the coarse tree.
            above: [S] values above those of every completion.
            target: a bound as low as this is low enough.
            watch: ends the computation by an `OutOfTimeError`.
        """
        model, settings = self.model, self.model.settings
        choices = self.choices(tree)
        if model.task.allowed is not None and not choices.any(axis=1).all():
            return Relaxed(-np.inf, above)
        V, p0 = above.copy(), model.mdp.initial
        active = np.ones(len(V), dtype=np.bool_)
        bound = product_from_above(p0, V)
        for count in range(settings.coarse_sweeps):
            watch.check()
            order = self._order if count % 2 == 0 else self._order[::-1]
            least = settings.coarse_settled * (bound - target)
            changed = _lower(model.arrays, self._leave, self._predecessors, order, choices, V, active, self._margin, least)
            bound = product_from_above(p0, V)
            if bound <= target or not changed:
                break
        self.sweeps = getattr(self, "sweeps", 0) + count + 1
        return Relaxed(bound, V)

    def visits(self, policy: Ints) -> Floats:
        return _visits(self.model.arrays, self._order[::-1], policy, 10)


def predecessors(mdp: MDP):
    P = mdp.transitions
    by_state = sparse.csr_array((np.ones(P.nnz, dtype=np.int8), P.indices.copy(), P.indptr[:: mdp.n_actions].copy()), shape=(mdp.n_states, mdp.n_states))
    by_state.sum_duplicates()
    t = by_state.T.tocsr()
    return t.indptr, t.indices


def staying(mdp: MDP) -> Floats:
    P = mdp.transitions
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    stays = P.indices == rows // mdp.n_actions
    staying = np.zeros(P.shape[0])
    np.add.at(staying, rows[stays], P.data[stays])
    return staying.reshape(mdp.rewards.shape)


@njit(cache=True)
def _lower(arrays, leave, predecessors, order, choices, V, active, margin, least):  # type: ignore[no-untyped-def]
    """Lower V [S], which is above the truth, to what its successors allow, rounded up; the largest change."""
    indptr, indices, discounted, rewards = arrays.indptr, arrays.indices, arrays.discounted, arrays.rewards
    where, before = predecessors
    A = rewards.shape[1]
    changed = False
    for s in order:
        if not active[s]:
            continue
        active[s] = False
        best = -np.inf
        for a in range(A):
            if not choices[s, a]:
                continue
            total = rewards[s, a]
            size = abs(total)
            for k in range(indptr[s * A + a], indptr[s * A + a + 1]):
                if indices[k] != s:
                    term = discounted[k] * V[indices[k]]
                    total += term
                    size += abs(term)
            stay = leave[s, a]
            total = (total + margin * size) / stay
            total += abs(total) * 4 * EPSILON / stay
            if total > best:
                best = total
                if best >= V[s]:
                    break
        if best < V[s]:
            if V[s] - best > least:
                changed = True
                for k in range(where[s], where[s + 1]):
                    active[before[k]] = True
                active[s] = False
            V[s] = best
    return changed


@njit(cache=True)
def _visits(arrays, order, policy, sweeps):  # type: ignore[no-untyped-def]
    indptr, indices, discounted = arrays.indptr, arrays.indices, arrays.discounted
    A = arrays.rewards.shape[1]
    visits, waiting = np.zeros_like(arrays.initial), arrays.initial.copy()
    for _ in range(sweeps):
        left = 0.0
        for s in order:
            if waiting[s] < 1e-6:
                continue
            row = s * A + policy[s]
            stay = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] == s:
                    stay += discounted[k]
            here = waiting[s] / (1 - stay)
            visits[s] += here
            left += waiting[s]
            waiting[s] = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] != s:
                    waiting[indices[k]] += discounted[k] * here
        if left < 1e-2:
            break
    return visits
