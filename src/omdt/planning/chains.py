"""Chains: what remains of an MDP when a policy is fixed."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from omdt.errors import InputError
from omdt.graph import reached_from
from omdt.mdp import MDP, Bools, Floats, Ints

Policy = NDArray[np.int64] | NDArray[np.float64]
"""[S] one action per state, or [S, A] the probability of each action in each state."""


def random_policy(mdp: MDP) -> Floats:
    """[S, A] every available action with the same probability."""
    policy: Floats = mdp.available / mdp.available.sum(axis=1, keepdims=True)
    return policy


def markov_chain(mdp: MDP, policy: Policy) -> tuple[sparse.csr_array, Floats]:
    """P_π [S, S] and r_π [S]: the chain that remains when the policy is fixed."""
    S, A = mdp.rewards.shape
    check_policy(policy, S, A)
    if policy.ndim == 1:
        states = np.arange(S)
        return mdp.transitions[states * A + policy], mdp.rewards[states, policy]
    weights = sparse.csr_array((policy.ravel(), np.arange(S * A), np.arange(0, S * A + 1, A)), shape=(S, S * A))
    P = sparse.csr_array(weights @ mdp.transitions)
    P.eliminate_zeros()
    return P, (policy * mdp.rewards).sum(axis=1)


def reward_sizes(mdp: MDP, policy: Policy) -> Floats:
    """[S] the absolute rewards of a policy, on average over its actions."""
    if policy.ndim == 1:
        sizes: Floats = np.abs(mdp.rewards[np.arange(mdp.n_states), policy])
        return sizes
    averages: Floats = (policy * np.abs(mdp.rewards)).sum(axis=1)
    return averages


def visited(mdp: MDP, policy: Ints) -> Bools:
    """[S] whether a policy [S] ever comes to each state."""
    chosen = mdp.transitions[np.arange(mdp.n_states) * mdp.n_actions + policy]
    return reached_from(mdp.initial > 0, chosen.indices, chosen.indptr)


def visited_chain(mdp: MDP, policy: Ints) -> tuple[sparse.csr_array, Floats, Floats]:
    """P_π [n, n], r_π [n] and p0 [n] of the states that a policy visits."""
    return chain_on(mdp, policy, np.flatnonzero(visited(mdp, policy)))


def chain_on(mdp: MDP, policy: Ints, states: Ints) -> tuple[sparse.csr_array, Floats, Floats]:
    """P_π [n, n], r_π [n] and p0 [n] of some states that a policy never leaves."""
    rows = mdp.transitions[states * mdp.n_actions + policy[states]]
    P = rows if len(states) == mdp.n_states else rows[:, states]
    return P, mdp.rewards[states, policy[states]], mdp.initial[states]


def check_policy(policy: Policy, S: int, A: int) -> None:
    """Refuse what is not a policy."""
    if policy.shape not in ((S,), (S, A)):
        raise InputError(
            f"a policy must have shape [{S}] or [{S}, {A}], one row per state, but has shape {policy.shape}"
        )
    if policy.ndim == 1:
        bad = (policy < 0) | (policy >= A)
        if bad.any():
            s = int(np.argmax(bad))
            raise InputError(f"the policy takes action {policy[s]} in state {s}; there are {A} actions")
    else:
        bad = ~((policy >= 0).all(axis=1) & (np.abs(policy.sum(axis=1) - 1) <= 1e-9))
        if bad.any():
            raise InputError(f"the policy's probabilities in state {int(np.argmax(bad))} are not a distribution")
