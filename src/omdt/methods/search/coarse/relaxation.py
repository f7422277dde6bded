"""Relaxation: an upper bound on all trees that a coarse tree stands for.

In every state, the agent may take the action of any leaf that the state can reach, and any action where an undecided
end can be reached, independently of all other states. The optimal values of this MDP are a bound, which is lower than
the unrestricted optimum as soon as leaves with a decided action contain states for certain.

**Sweeps.** Let T be the Bellman operator of this MDP. If V is above its fixpoint, lowering V(s) to (T V)(s) in any
single state keeps it above, whatever was updated before. So Gauss–Seidel sweeps that begin with the values of a less
decided tree give a valid bound at any time. Every update is rounded up, hence rounding errors need not be bounded by
the discount. A state is updated again only after a successor has changed, so a sweep costs as much as it changes.

Where sweeps take too many passes, policy iteration finds the same values (`planning.restricted_values`).
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from omdt import planning
from omdt.mdp import EPSILON, MDP, Bools, Floats, Ints
from omdt.methods.search.bounds.option_values import product_from_above
from omdt.methods.search.coarse.coarse_tree import CoarseTree, ends
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf
from omdt.methods.search.sweeps import staying
from omdt.watch import Watch

VISIT_SWEEPS, SMALL_VISITS, SMALL_REST = 10, 1e-6, 1e-2
"""Visits only choose what is decided next: sweeps that estimate them, visits below which a state passes none on, and
visits in one sweep below which there are no further sweeps."""


class Relaxed(NamedTuple):
    """The bound of a coarse tree.

    Attributes:
        bound: no completion returns more.
        values: [S] above the value of every completion.
    """

    bound: float
    values: Floats


class Sweeping(NamedTuple):
    """What sweeps need beside the arrays of the MDP.

    Attributes:
        leave: [S, A] one minus the discounted probability to stay.
        first: [S + 1] where the predecessors of every state begin.
        predecessors: of all states.
        margin: relative rounding error of one update.
    """

    leave: Floats
    first: Ints
    predecessors: Ints
    margin: float

    @classmethod
    def of(cls, mdp: MDP) -> "Sweeping":
        """What sweeps over an MDP need."""
        P, S = mdp.transitions, mdp.n_states
        steps = (np.ones(P.nnz, dtype=np.bool_), P.indices, P.indptr[:: mdp.n_actions])
        backward = sparse.csc_array(steps, shape=(S, S)).tocsr()
        longest = int(np.diff(P.indptr).max())
        return cls(1 - mdp.discount * staying(mdp), backward.indptr, backward.indices, (longest + 8) * EPSILON)


class Relaxation:
    """Bounds coarse trees."""

    def __init__(self, model: Model, ladders: Ladders) -> None:
        self.model, self.ladders = model, ladders
        self.everywhere = np.ones(model.mdp.n_states, dtype=np.bool_)
        self._sweeping = Sweeping.of(model.mdp)

    def choices(self, tree: CoarseTree) -> Bools:
        """[S, A] the actions that may be taken in each state."""
        choices = np.zeros(self.model.mdp.rewards.shape, dtype=np.bool_)
        for end in ends(tree, self.ladders, self.everywhere):
            if isinstance(end.node, Leaf):
                choices[:, end.node.action] |= end.reached
            else:
                choices[end.reached] = True
        return choices if self.model.task.allowed is None else choices & self.model.task.allowed

    def bound(self, tree: CoarseTree, above: Floats, target: float, watch: Watch) -> Relaxed:
        """The bound of a coarse tree.

        Args:
            tree: the coarse tree.
            above: [S] values above those of every completion.
            target: a bound as low as this is low enough.
            watch: ends the computation by an `OutOfTimeError`.
        """
        choices = self.choices(tree)
        if not choices.any(axis=1).all():
            return Relaxed(-np.inf, above)
        V = above.copy()
        bound, settled = self._swept(choices, V, target, watch)
        if bound > target and not settled:
            V = np.minimum(V, self._solved(choices, V, self.model.settings.coarse_settled * (bound - target), watch))
            bound = product_from_above(self.model.mdp.initial, V)
        return Relaxed(bound, V)

    def visits(self, choices: Bools, q: Floats) -> Floats:
        """[S] roughly the discounted visits of the policy that takes the best choices by Q-values [S, A]."""
        policy = np.where(choices, q, -np.inf).argmax(axis=1)
        visits: Floats = _visits(self.model.arrays, policy)
        return visits

    def _swept(self, choices: Bools, V: Floats, target: float, watch: Watch) -> tuple[float, bool]:
        """Lower V by sweeps; the bound that it gives, and whether further sweeps would change little."""
        model, settings = self.model, self.model.settings
        active = np.ones(len(V), dtype=np.bool_)
        bound = product_from_above(model.mdp.initial, V)
        for count in range(settings.coarse_sweeps):
            watch.check()
            least = settings.coarse_settled * (bound - target)
            changed = _lower(model.arrays, self._sweeping, choices, V, active, least, count % 2 == 0)
            bound = product_from_above(model.mdp.initial, V)
            if bound <= target or not changed:
                return bound, True
        return bound, False

    def _solved(self, choices: Bools, V: Floats, accuracy: float, watch: Watch) -> Floats:
        """The values of the relaxation by policy iteration, from above."""
        values = planning.restricted_values(self.model.mdp, choices, V, watch, accuracy=accuracy)
        watch.check()
        return values.upper


@njit(cache=True, nogil=True)
def _lower(arrays, sweeping, choices, V, active, least, forward):  # type: ignore[no-untyped-def]
    """Lower V [S], which is above the truth, to what its successors allow; whether that changed a value much.

    Only active states are updated; predecessors of a state that changes by more than `least` become active. States are
    taken as they are numbered, forward or backward: any other order takes longer to read from memory than it saves.
    """
    indptr, indices, discounted, rewards = arrays.indptr, arrays.indices, arrays.discounted, arrays.rewards
    S, A = rewards.shape
    changed = False
    for i in range(S):
        s = i if forward else S - 1 - i
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
            stay = sweeping.leave[s, a]
            total = (total + sweeping.margin * size) / stay
            best = max(best, total + abs(total) * 4 * EPSILON / stay)
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


@njit(cache=True, nogil=True)
def _visits(arrays, policy):  # type: ignore[no-untyped-def]
    """[S] discounted visits of a policy, as far as a few sweeps find them."""
    indptr, indices, discounted = arrays.indptr, arrays.indices, arrays.discounted
    A = arrays.rewards.shape[1]
    visits, waiting = np.zeros_like(arrays.initial), arrays.initial.copy()
    S = len(waiting)
    for count in range(VISIT_SWEEPS):
        found = 0.0
        for i in range(S):
            s = i if count % 2 == 0 else S - 1 - i
            if waiting[s] < SMALL_VISITS:
                continue
            row = s * A + policy[s]
            stay = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] == s:
                    stay += discounted[k]
            here = waiting[s] / (1 - stay)
            visits[s] += here
            found += waiting[s]
            waiting[s] = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] != s:
                    waiting[indices[k]] += discounted[k] * here
        if found < SMALL_REST:
            break
    return visits
