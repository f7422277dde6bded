"""Evaluation: the returns of many policies that differ in few states, as fast as the shape of the MDP allows.

Let V be the values and x the occupancies of a base policy π, and N = (I − γ P_π)⁻¹. A policy that plays other actions
in a set C of states returns

    J' = J + x_C · (I − γ (P' − P_π)_C N_{·C})⁻¹ A_C,        A_C = advantages of the new actions under π,

a linear system of the size of C (Woodbury). There are three engines:

- `Acyclic`: no state can be visited twice, except by staying in it; one pass in topological order is exact.
- `Dense`: few states; N is kept, and other policies are evaluated by low-rank updates.
- `Sparse`: many states; sparse factors are kept, and precondition the systems of other policies.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numba import njit
from scipy import sparse

from omdt import planning
from omdt.mdp import Floats, Ints
from omdt.methods.search.model import Model
from omdt.methods.search.sweeps import forward
from omdt.systems import System, Use, step_seconds
from omdt.watch import Watch


class Engine(Protocol):
    """Evaluates policies [S], some of them relative to a base policy.

    Attributes:
        value: the return of the base policy.
        advantages: [S, A] how much better every action is than that of the base policy.
        occupancies: [S] the discounted visits of the base policy.
    """

    value: float
    advantages: Floats
    occupancies: Floats

    def rebase(self, policy: Ints) -> None:
        """Make this the base policy."""

    def evaluate(self, policy: Ints) -> float:
        """The return of a policy."""


def engine(model: Model, watch: Watch) -> Engine:
    """The engine that fits the MDP.

    Args:
        model: the model of the task.
        watch: ends evaluations that take long.
    """
    if model.topological is not None:
        return Acyclic(model, model.topological)
    return Dense(model) if _dense_pays(model) else Sparse(model, watch)


def _dense_pays(model: Model) -> bool:
    """Whether a dense inverse fits into memory and costs less than evaluating policies without it.

    Low-rank updates of the inverse take so little time beside it that they do not count.
    """
    mdp, settings = model.mdp, model.settings
    S = mdp.n_states
    if S * mdp.rewards.size > settings.dense_entries:
        return False
    steps = settings.evaluations_per_base * settings.steps_per_evaluation
    per_step = step_seconds(S, int(mdp.transitions.nnz) // mdp.n_actions)
    return settings.seconds_per_cube * float(S) ** 3 <= steps * per_step


class Acyclic:
    """Evaluates every policy by one pass over the states in topological order."""

    def __init__(self, model: Model, order: Ints) -> None:
        self.model, self.order = model, order

    def rebase(self, policy: Ints) -> None:
        """Make this the base policy."""
        values = _backward(self.model.arrays, self.order, policy)
        self.value = float(self.model.mdp.initial @ values)
        self.occupancies = forward(self.model.arrays, self.order, policy, 1)
        self.advantages = _advantages(self.model, values)

    def evaluate(self, policy: Ints) -> float:
        """The return of a policy."""
        return float(self.model.mdp.initial @ _backward(self.model.arrays, self.order, policy))


@njit(cache=True)
def _backward(arrays, order, policy):  # type: ignore[no-untyped-def]
    """[S] the values of a policy, given a topological order."""
    indptr, indices, probabilities = arrays.indptr, arrays.indices, arrays.probabilities
    S, A = arrays.rewards.shape
    values = np.zeros(S)
    for i in range(S - 1, -1, -1):
        s = order[i]
        ahead, stay = 0.0, 0.0
        row = s * A + policy[s]
        for k in range(indptr[row], indptr[row + 1]):
            if indices[k] == s:
                stay += probabilities[k]
            else:
                ahead += probabilities[k] * values[indices[k]]
        values[s] = (arrays.rewards[s, policy[s]] + arrays.discount * ahead) / (1 - arrays.discount * stay)
    return values


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

    def rebase(self, policy: Ints) -> None:
        """Make this the base policy."""
        mdp = self.model.mdp
        rows = mdp.transitions[self.states * mdp.n_actions + policy].toarray()
        inverse = np.linalg.inv(np.eye(mdp.n_states) - mdp.discount * rows)
        values = inverse @ mdp.rewards[self.states, policy]
        self.value = float(mdp.initial @ values)
        self.occupancies = mdp.initial @ inverse
        self.advantages = _advantages(self.model, values)
        arrays = self.model.arrays
        steps = (arrays.indptr, arrays.indices, arrays.discounted)
        self.base = Base(*steps, policy.copy(), inverse, self.occupancies, self.advantages)

    def evaluate(self, policy: Ints) -> float:
        """The return of a policy."""
        return self.value + float(_gain(self.base, policy))


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
    system = np.empty((n, n))
    right = np.empty(n)
    for i in range(n):
        s = changed[i]
        right[i] = base.advantages[s, policy[s]]
        for j in range(n):
            system[i, j] = inverse[s, changed[j]]
        for k in range(indptr[s * A + policy[s]], indptr[s * A + policy[s] + 1]):
            t = indices[k]
            for j in range(n):
                system[i, j] -= discounted[k] * inverse[t, changed[j]]
    gains = np.linalg.solve(system, right)
    total = 0.0
    for i in range(n):
        total += base.occupancies[changed[i]] * gains[i]
    return total


class Sparse:
    """Evaluates policies by the kept factors of the base policy, or whatever stands in for them where they fill up.

    They are the preconditioner of the system of another policy (`omdt.systems.krylov`): a policy that differs in k
    states takes at most k + 1 solutions with these factors. When time runs out during an evaluation, a certified lower
    bound of the return is taken for the return.
    """

    def __init__(self, model: Model, watch: Watch) -> None:
        self.model, self.watch = model, watch
        self._system: System | None = None
        self._values: Floats | None = None

    def rebase(self, policy: Ints) -> None:
        """Make this the base policy."""
        mdp, M = self.model.mdp, self._matrix(policy)
        self._system = System(M, self.model.norms.shrinkage, use=Use.MANY)
        self._values = self._solved(self._system, policy)
        self.value = self._return(self._system, policy, self._values)
        self.occupancies = self._system.solve_transposed(mdp.initial, watch=self.watch)
        self.advantages = _advantages(self.model, self._values)

    def evaluate(self, policy: Ints) -> float:
        """The return of a policy."""
        near = None if self._system is None else self._system.inverse
        system = System(self._matrix(policy), self.model.norms.shrinkage, near=near)
        return self._return(system, policy, self._solved(system, policy))

    def _matrix(self, policy: Ints) -> sparse.csr_array:
        """[S, S] γ P of a policy."""
        arrays, mdp = self.model.arrays, self.model.mdp
        rows = np.arange(mdp.n_states) * mdp.n_actions + policy
        whole = sparse.csr_array((arrays.discounted, arrays.indices, arrays.indptr), shape=mdp.transitions.shape)
        return whole[rows]

    def _solved(self, system: System, policy: Ints) -> Floats:
        values = system.solve(self._rewards(policy), self._values, watch=self.watch)
        values[self.model.mdp.terminal] = 0.0
        return values

    def _return(self, system: System, policy: Ints, values: Floats) -> float:
        mdp = self.model.mdp
        if self.watch.remaining > 0:
            return float(mdp.initial @ values)
        certified = planning.certified_values(mdp, policy, system, self._rewards(policy), values, self.watch)
        return planning.expected_return(mdp, certified).lower

    def _rewards(self, policy: Ints) -> Floats:
        rewards: Floats = self.model.mdp.rewards[np.arange(self.model.mdp.n_states), policy]
        return rewards


def _advantages(model: Model, values: Floats) -> Floats:
    """[S, A] how much better every action is than that of the policy with the given values."""
    return model.look_ahead(values) - values[:, None]
