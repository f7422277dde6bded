"""Total rewards in exact arithmetic: the values of policies and the best of all policies, by enumeration."""

from fractions import Fraction
from itertools import product

import numpy as np

import exact_chains as exact
from omdt import MDP
from tasks import dense


def exact_rows(mdp: MDP) -> list[exact.Chain]:
    """For every state and action, the probability of every successor; they sum to exactly 1."""
    return exact.rows_of(dense(mdp)[0])


def exact_totals(mdp: MDP, policy: np.ndarray) -> list[exact.Number]:
    """The total reward of a policy [S] from every state."""
    rows = exact_rows(mdp)
    chain = [rows[s][a] for s, a in enumerate(policy)]
    rewards = [Fraction(float(mdp.rewards[s, a])) for s, a in enumerate(policy)]
    if mdp.endless is None:
        return exact.totals(chain, rewards)
    ends = set(np.flatnonzero(mdp.terminal).tolist())
    # A policy that misses the end is infinitely expensive, or worth infinitely much.
    sign = 1 if mdp.endless > 0 else -1
    return [sign * value for value in exact.totals_until(chain, [sign * r for r in rewards], ends)]


def best_totals(mdp: MDP, choices: np.ndarray | None = None) -> list[exact.Number]:
    """The best total of any policy from every state."""
    S, A = mdp.rewards.shape
    allowed = np.ones((S, A), dtype=bool) if choices is None else choices
    best: list[exact.Number] = [float("-inf")] * S
    for policy in product(*(np.flatnonzero(row) for row in allowed)):
        best = [max(a, b) for a, b in zip(best, exact_totals(mdp, np.array(policy)), strict=True)]
    return best


def random_total_mdp(rng: np.random.Generator, *, max_states: int = 5, max_actions: int = 3) -> MDP:
    """A small MDP without discount, with traps, cycles, terminal states and any meaning of never ending."""
    S, A = int(rng.integers(1, max_states + 1)), int(rng.integers(1, max_actions + 1))
    transitions = np.zeros((S, A, S))
    for s, a in np.ndindex(S, A):
        successors = rng.choice(S, size=min(S, int(rng.integers(1, 4))), replace=False)
        weights = rng.choice([1.0, 1.0, 2.0, 3.0, 1e-3], size=len(successors))
        transitions[s, a, successors] = weights / weights.sum()
    rewards = rng.choice([0.0, 0.0, 0.0, 1.0, 0.5, 0.3, 20.0], size=(S, A))
    for s in np.flatnonzero(rng.random(S) < 0.3):
        transitions[s], rewards[s] = np.eye(S)[s], 0.0
    sign, endless = [(1, None), (-1, None), (-1, -np.inf), (1, np.inf)][int(rng.integers(4))]
    features = rng.integers(0, 3, size=(S, 2)).astype(float)
    initial = np.eye(S)[0] if rng.random() < 0.5 else rng.dirichlet(np.ones(S))
    return MDP.from_dense(transitions, sign * rewards, initial, features, discount=1, endless=endless)
