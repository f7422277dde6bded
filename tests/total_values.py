"""Total rewards in exact arithmetic: the values of chains and the best of all policies, by enumeration.

Rows are divided by their sums exactly. Nothing here is shared with `omdt.planning`.
"""

from fractions import Fraction
from itertools import product

import numpy as np

from omdt import MDP

INFINITE = {np.inf: float("inf"), -np.inf: float("-inf")}

Exact = Fraction | float
"""A rational number, or ∞ or −∞."""


def exact_rows(mdp: MDP) -> list[dict[int, Fraction]]:
    """The transitions of every row of an MDP, which sum to exactly 1."""
    P, rows = mdp.transitions, []
    for begin, end in zip(P.indptr[:-1], P.indptr[1:], strict=True):
        parts = {int(s): Fraction(float(p)) for s, p in zip(P.indices[begin:end], P.data[begin:end], strict=True)}
        total = sum(parts.values())
        rows.append({s: p / total for s, p in parts.items()})
    return rows


def _reachable(successors: list[set[int]], start: int) -> set[int]:
    found, stack = {start}, [start]
    while stack:
        for t in successors[stack.pop()] - found:
            found.add(t)
            stack.append(t)
    return found


def exact_totals(mdp: MDP, policy: np.ndarray, rewards: np.ndarray | None = None) -> list[Exact]:
    """The total reward of a policy [S] from every state."""
    S, A = mdp.rewards.shape
    given = mdp.rewards if rewards is None else rewards
    everything = exact_rows(mdp)
    rows = [everything[s * A + policy[s]] for s in range(S)]
    r = [Fraction(float(given[s, policy[s]])) for s in range(S)]
    reach = [_reachable([set(row) for row in rows], s) for s in range(S)]
    values: list[Exact | None] = [None] * S
    for s in range(S):
        closed = all(s in reach[t] for t in reach[s])
        if mdp.terminal[s]:
            values[s] = Fraction(0)
        elif closed and mdp.endless is not None:
            values[s] = INFINITE[mdp.endless]
        elif closed:
            signs = {(r[t] > 0) - (r[t] < 0) for t in reach[s]} - {0}
            assert len(signs) <= 1, "the total has no meaning"
            values[s] = Fraction(0) if not signs else float("inf") * signs.pop()
    for s in range(S):
        infinite = {values[t] for t in reach[s] if isinstance(values[t], float)}
        assert len(infinite) <= 1, "the total has no meaning"
        if infinite:
            values[s] = infinite.pop()
    open_states = [s for s in range(S) if values[s] is None]
    solved = _solved([{t: p for t, p in rows[s].items() if t in open_states} for s in open_states], r, open_states)
    return [solved[s] if values[s] is None else values[s] for s in range(S)]  # type: ignore[misc]


def _solved(rows: list[dict[int, Fraction]], r: list[Fraction], states: list[int]) -> dict[int, Fraction]:
    """The solution of x = r + P x by Gauss–Jordan elimination."""
    n, place = len(states), {s: i for i, s in enumerate(states)}
    system = [[Fraction(int(i == j)) for j in range(n)] + [r[states[i]]] for i in range(n)]
    for i, row in enumerate(rows):
        for t, p in row.items():
            system[i][place[t]] -= p
    for i in range(n):
        pivot = next(k for k in range(i, n) if system[k][i] != 0)
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [x / system[i][i] for x in system[i]]
        for k in range(n):
            if k != i and system[k][i] != 0:
                factor = system[k][i]
                system[k] = [x - factor * y for x, y in zip(system[k], system[i], strict=True)]
    return {s: system[i][n] for i, s in enumerate(states)}


def best_totals(mdp: MDP, choices: np.ndarray | None = None) -> list[Exact]:
    """The best total of any policy from every state."""
    S, A = mdp.rewards.shape
    allowed = np.ones((S, A), dtype=bool) if choices is None else choices
    best: list[Exact] = [float("-inf")] * S
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
