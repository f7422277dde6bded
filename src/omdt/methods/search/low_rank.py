"""Low-rank updates: the returns of policies that differ in some states from one whose inverse is known.

Let V be the values and x the occupancies of a base policy π, and N = (I − γ P_π)⁻¹. A policy that plays other actions
in a set C of states returns

    J' = J + x_C · (I − γ (P' − P_π)_C N_{·C})⁻¹ A_C,        A_C = advantages of the new actions under π,

a linear system of the size of C (Woodbury). The next base policy is also an update of the one before, if it differs in
few states. Rounding adds up over such steps, so N is computed anew after some of them.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from omdt.lapack import solve_in_place
from omdt.mdp import Floats, Ints
from omdt.methods.search.model import Model

UPDATES = 50
"""Base policies in a row whose inverse is an update of the one before. Each loses a digit or less of the last three."""

UPDATED_SHARE = 0.25
"""Part of the states in which a base policy may differ from the one before; with more, an update takes as long as
computing the inverse anew."""


class Base(NamedTuple):
    """What low-rank updates need: the base policy, and no more of the MDP than its steps.

    Evaluations take a few microseconds, of which every array that is passed takes a part.

    Attributes:
        indptr: [S·A + 1] where the transitions of row s·A + a begin.
        indices: successors.
        discounted: probabilities of the transitions times the discount.
        policy: [S] its actions.
        inverse: [S, S] N.
        occupancies: [S] x.
        advantages: [S, A] advantages of every action.
    """

    indptr: Ints
    indices: Ints
    discounted: Floats
    policy: Ints
    inverse: Floats
    occupancies: Floats
    advantages: Floats


class Dense:
    """Evaluates policies by low-rank updates of the inverse of a dense matrix."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.states = np.arange(model.mdp.n_states)
        self.base: Base | None = None
        self._updates = 0

    def rebase(self, policy: Ints) -> None:
        """Make this the base policy."""
        mdp, arrays = self.model.mdp, self.model.arrays
        inverse = self._inverse(policy)
        values = inverse @ mdp.rewards[self.states, policy]
        self.value = float(mdp.initial @ values)
        self.occupancies = mdp.initial @ inverse
        self.advantages = advantages(self.model, values)
        steps = (arrays.indptr, arrays.indices, arrays.discounted)
        self.base = Base(*steps, policy.copy(), inverse, self.occupancies, self.advantages)

    def evaluate(self, policy: Ints) -> float:
        """The return of a policy."""
        return self.value + float(_gain(self.base, policy))

    def _inverse(self, policy: Ints) -> Floats:
        """[S, S] N of a policy."""
        mdp = self.model.mdp
        rows = self.states * mdp.n_actions + policy
        if self.base is not None and self._updates < UPDATES:
            changed = np.flatnonzero(policy != self.base.policy)
            if len(changed) <= UPDATED_SHARE * mdp.n_states:
                self._updates += 1
                return self._updated(self.base.inverse, rows, changed)
        self._updates = 0
        return np.asarray(np.linalg.inv(np.eye(mdp.n_states) - mdp.discount * mdp.transitions[rows].toarray()))

    def _updated(self, inverse: Floats, rows: Ints, changed: Ints) -> Floats:
        """N of a policy that differs from the base policy in the states C: N + N_{·C} (I − D_{·C})⁻¹ D.

        Here D = γ (P' − P_π)_C N, and γ P_π N = N − I.
        """
        if len(changed) == 0:
            return inverse
        D = self.model.mdp.discount * (self.model.mdp.transitions[rows[changed]] @ inverse) - inverse[changed]
        D[np.arange(len(changed)), changed] += 1.0
        return np.asarray(inverse + inverse[:, changed] @ np.linalg.solve(np.eye(len(changed)) - D[:, changed], D))


@njit(cache=True)
def _gain(base, policy):  # type: ignore[no-untyped-def]
    """How much more than the base policy another policy returns."""
    indptr, indices, discounted, inverse = base.indptr, base.indices, base.discounted, base.inverse
    S, A = base.advantages.shape
    changed = np.empty(S, dtype=np.int64)
    n = 0
    for s in range(S):
        if policy[s] != base.policy[s]:
            changed[n] = s
            n += 1
    if n == 0:
        return 0.0
    # Since γ P_π N = N − I, the matrix of the system is N_CC − γ P' N_{·C}.
    system, gains = np.empty((n, n)), np.empty((1, n))
    transitions = 0
    for i in range(n):
        row = changed[i] * A + policy[changed[i]]
        transitions += indptr[row + 1] - indptr[row]
    # With many transitions, it pays to put the columns N_{·C} side by side first.
    columns = np.empty((S if transitions > S else 0, n))
    for t in range(len(columns)):
        for j in range(n):
            columns[t, j] = inverse[t, changed[j]]
    for i in range(n):
        s = changed[i]
        gains[0, i] = base.advantages[s, policy[s]]
        for j in range(n):
            system[i, j] = inverse[s, changed[j]]
        for k in range(indptr[s * A + policy[s]], indptr[s * A + policy[s] + 1]):
            t, weight = indices[k], discounted[k]
            if len(columns) > 0:
                for j in range(n):
                    system[i, j] -= weight * columns[t, j]
            else:
                for j in range(n):
                    system[i, j] -= weight * inverse[t, changed[j]]
    solve_in_place(system, gains)
    total = 0.0
    for i in range(n):
        total += base.occupancies[changed[i]] * gains[0, i]
    return total


def advantages(model: Model, values: Floats) -> Floats:
    """[S, A] how much better every action is than that of the policy with the given values."""
    return model.look_ahead(values) - values[:, None]
