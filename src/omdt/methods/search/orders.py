"""Orders of the states in which one pass, or a few sweeps, solve the equations of a policy."""

import numpy as np
from numba import njit

from omdt import planning
from omdt.mdp import MDP, Floats, Ints
from omdt.norms import norms
from omdt.systems import System


def topological_order(mdp: MDP) -> Ints | None:
    """[S] states with every successor, other than the state itself, after it; None if there is a cycle."""
    P, S = mdp.transitions, mdp.n_states
    order = np.empty(S, dtype=np.int64)
    return order if _sort(P.indptr, P.indices, mdp.n_actions, np.zeros_like(order), order) == S else None


def order_by_steps(mdp: MDP, optimal: planning.Certified[Floats]) -> Ints:
    """[S] states by the discounted number of steps in which the optimal policy reaches a terminal state."""
    chain, _ = planning.markov_chain(mdp, planning.greedy(planning.q_values(mdp, optimal)))
    steps = System(mdp.discount * chain, norms(mdp).shrinkage).solve(np.where(mdp.terminal, 0.0, 1.0))
    return np.argsort(np.round(steps, 9), kind="stable")


@njit(cache=True)
def _sort(indptr, indices, A, incoming, order):  # type: ignore[no-untyped-def]
    """Sort states topologically; returns how many that was possible for, fewer than all if there is a cycle.

    Args:
        indptr: [S·A + 1] where the transitions of row s·A + a begin.
        indices: successors.
        A: number of actions.
        incoming: [S] memory, 0 at first.
        order: [S] filled in.
    """
    S = len(order)
    for s in range(S):
        for k in range(indptr[s * A], indptr[s * A + A]):
            if indices[k] != s:
                incoming[indices[k]] += 1
    count = 0
    for s in range(S):
        if incoming[s] == 0:
            order[count] = s
            count += 1
    done = 0
    while done < count:
        s = order[done]
        done += 1
        for k in range(indptr[s * A], indptr[s * A + A]):
            t = indices[k]
            if t != s:
                incoming[t] -= 1
                if incoming[t] == 0:
                    order[count] = t
                    count += 1
    return count
