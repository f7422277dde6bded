"""Orders of the states in which one pass, or a few sweeps, solve the equations of a policy."""

import numpy as np
from numba import njit

from omdt import planning
from omdt.mdp import MDP, Floats, Ints
from omdt.norms import norms
from omdt.systems import System


def topological_order(mdp: MDP) -> Ints | None:
    """[S] states with every successor, other than the state itself, after it; None if there is a cycle."""
    order = _sorted(mdp.transitions.indptr[:: mdp.n_actions].copy(), mdp.transitions.indices)
    return order if len(order) == mdp.n_states else None


def order_by_steps(mdp: MDP, optimal: planning.Certified[Floats]) -> Ints:
    """[S] states by the discounted number of steps in which the optimal policy reaches a terminal state."""
    chain, _ = planning.markov_chain(mdp, planning.greedy(planning.q_values(mdp, optimal)))
    steps = System(mdp.discount * chain, norms(mdp).shrinkage).solve(np.where(mdp.terminal, 0.0, 1.0))
    return np.argsort(np.round(steps, 9), kind="stable")


@njit(cache=True)
def _sorted(indptr, indices):  # type: ignore[no-untyped-def]
    """The states that can be sorted topologically; fewer than all if there is a cycle."""
    S = len(indptr) - 1
    incoming = np.zeros(S, dtype=np.int64)
    for s in range(S):
        for k in range(indptr[s], indptr[s + 1]):
            if indices[k] != s:
                incoming[indices[k]] += 1
    order = np.empty(S, dtype=np.int64)
    count = 0
    for s in range(S):
        if incoming[s] == 0:
            order[count] = s
            count += 1
    done = 0
    while done < count:
        s = order[done]
        done += 1
        for k in range(indptr[s], indptr[s + 1]):
            t = indices[k]
            if t != s:
                incoming[t] -= 1
                if incoming[t] == 0:
                    order[count] = t
                    count += 1
    return order[:count]
