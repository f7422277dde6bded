"""Evaluation: the returns of many policies, as fast as the shape of the MDP allows. There are three engines:

- `Acyclic`: no state can be visited twice, except by staying in it; one pass over the states that a policy visits, in
  topological order, is exact.
- `Dense`: few states; a dense inverse is kept, and other policies are evaluated by low-rank updates (`low_rank`).
- `Sparse`: many states; sparse factors are kept, and precondition the systems of other policies.
"""

from typing import Protocol

import numpy as np
from numba import njit
from scipy import sparse

from omdt import planning
from omdt.mdp import Floats, Ints
from omdt.methods.search.low_rank import Dense, advantages
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
        self.advantages = advantages(self.model, values)

    def evaluate(self, policy: Ints) -> float:
        """The return of a policy."""
        return float(_visited_return(self.model.arrays, self.order, policy))


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


@njit(cache=True)
def _visited_return(arrays, order, policy):  # type: ignore[no-untyped-def]
    """The return of a policy, given a topological order: the rewards of the states that it visits, and of no others."""
    indptr, indices, discounted = arrays.indptr, arrays.indices, arrays.discounted
    A = arrays.rewards.shape[1]
    waiting = arrays.initial.copy()
    total = 0.0
    for s in order:
        if waiting[s] == 0.0:
            continue
        row = s * A + policy[s]
        stay = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            if indices[k] == s:
                stay += discounted[k]
        here = waiting[s] / (1 - stay)
        total += here * arrays.rewards[s, policy[s]]
        for k in range(indptr[row], indptr[row + 1]):
            waiting[indices[k]] += discounted[k] * here
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
        self.advantages = advantages(self.model, self._values)

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
