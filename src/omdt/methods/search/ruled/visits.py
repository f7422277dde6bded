"""Visits: the discounted occupancies of many policies that differ in few states.

The net return of a tree, the totals that ceilings limit and the shares of its leaves are all sums over its visits, so
one linear system per tree tells everything. Let x be the visits and N = (I − γ P)⁻¹ of a base policy. Another policy,
whose rows differ by D = γ (P' − P) in a set C of states, has the visits (Woodbury)

    x' = x + y D N,        y (I − D N_{·C}) = x_C.

There are three ways, as in `evaluation`: one pass in topological order where no state is visited twice, this formula
where states are few, and otherwise the factors of the base policy as the preconditioner of the other system.
"""

import numpy as np
from scipy import sparse

from omdt.mdp import MDP, Floats, Ints
from omdt.methods.search.model import Arrays
from omdt.methods.search.sweeps import forward
from omdt.norms import norms
from omdt.systems import System, Use
from omdt.watch import Watch

DENSE_STATES = 1200
"""Maximum number of states for a dense inverse: it takes as long as some ten evaluations without it."""

CHANGED_SHARE = 0.4
"""Largest part of the states that may change for the formula above to take less time than a system of its own."""


class Visits:
    """Visits of policies of a discounted MDP, relative to a base policy.

    Args:
        mdp: the problem, with a discount.
        order: [S] states in topological order; None if there is a cycle.
        watch: ends computations that take long.
    """

    def __init__(self, mdp: MDP, order: Ints | None, watch: Watch) -> None:
        assert mdp.discount < 1, "visits without a discount may be infinite"
        self.mdp, self.order, self.watch = mdp, order, watch
        self._arrays = Arrays.of(mdp)
        self._states = np.arange(mdp.n_states)
        self._dense = order is None and mdp.n_states <= DENSE_STATES
        self._policy: Ints | None = None
        self._inverse: Floats | None = None
        self._system: System | None = None

    def rebase(self, policy: Ints, rewards: Floats) -> tuple[Floats, Floats]:
        """Make this the base policy; its visits [S] and, for given rewards [S] per step, its values [S]."""
        self._policy = policy
        M = self._matrix(policy)
        if self._dense:
            self._inverse = np.linalg.inv(np.eye(len(policy)) - M.toarray())
            self._visits = self.mdp.initial @ self._inverse
            values: Floats = self._inverse @ rewards
        else:
            self._system = System(M, norms(self.mdp).shrinkage, use=Use.MANY)
            values = self._system.solve(rewards, watch=self.watch)
            self._visits = self._system.solve_transposed(self.mdp.initial, watch=self.watch)
        values[self.mdp.terminal] = 0.0
        return self._visits, values

    def of(self, policy: Ints) -> Floats:
        """[S] the visits of a policy."""
        if self.order is not None:
            visits: Floats = forward(self._arrays, self.order, policy, 1)
            return visits
        if self._policy is not None and self._inverse is not None:
            changed = np.flatnonzero(policy != self._policy)
            if len(changed) <= CHANGED_SHARE * len(policy):
                return self._updated(policy, changed, self._policy, self._inverse)
        near = None if self._system is None else self._system.inverse
        system = System(self._matrix(policy), norms(self.mdp).shrinkage, near=near)
        return system.solve_transposed(self.mdp.initial, watch=self.watch)

    def _updated(self, policy: Ints, changed: Ints, base: Ints, inverse: Floats) -> Floats:
        """[S] the visits of a policy that differs from the base policy in few states."""
        update = self.mdp.discount * (self._rows(policy, changed) - self._rows(base, changed))
        system = np.eye(len(changed)) - update @ inverse[:, changed]
        y = np.linalg.solve(system.T, self._visits[changed])
        visits: Floats = self._visits + (update.T @ y) @ inverse
        return visits

    def _rows(self, policy: Ints, states: Ints) -> sparse.csr_array:
        """[n, S] the transitions of a policy from n states."""
        return self.mdp.transitions[states * self.mdp.n_actions + policy[states]]

    def _matrix(self, policy: Ints) -> sparse.csr_array:
        """[S, S] γ P of a policy."""
        return self.mdp.discount * self._rows(policy, self._states)
