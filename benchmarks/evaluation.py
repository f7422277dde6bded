"""Evaluation beside a plain sparse LU: one policy on chains of every shape, values, visits and certified error.

Run with `make bench-evaluation`. Seconds are CPU seconds of one process, the least of a few runs; every chain is
evaluated by both in the same run. "plain LU" is `scipy.sparse.linalg.splu` with its default order and one solution;
"values" is `planning.policy_values`, with its certificate; "kept" is what a similar policy takes with kept factors.
"""

import os
import time
from collections.abc import Callable
from typing import TypeVar

# Threads of the linear algebra that wait for one another count as seconds of CPU.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from scipy.sparse.linalg import splu

from omdt import planning
from omdt.environments import make
from omdt.mdp import MDP
from omdt.norms import norms
from omdt.systems import System, Use
from sizes import SIZES

T = TypeVar("T")

RUNS = 3
"""Runs of each computation, of which the fastest counts; one if the first takes more than a second."""


def seconds(function: Callable[[], T]) -> tuple[float, T]:
    """The least CPU time of some runs, and a result."""
    best = np.inf
    for _ in range(RUNS):
        begin = time.process_time()
        result = function()
        best = min(best, time.process_time() - begin)
        if best > 1:
            break
    return best, result


def chain_mdp(columns: np.ndarray, probabilities: np.ndarray, discount: float) -> MDP:
    """An MDP with two actions: the chain [S, k] with the given successors, and one whose first two are swapped."""
    S, k = columns.shape
    other = probabilities[:, [1, 0, *range(2, k)]] if k > 1 else probabilities
    data = np.stack([probabilities, other], axis=1)
    rows = np.repeat(np.arange(2 * S), k)
    P = sparse.csr_array((data.ravel(), (rows, np.repeat(columns, 2, axis=0).ravel())), shape=(2 * S, S))
    rewards = np.random.default_rng(0).random((S, 2))
    return MDP(P, rewards, np.eye(1, S)[0], np.arange(S), discount=discount)


def ring(S: int, discount: float) -> MDP:
    """States in a circle, each left for the next one half of the time."""
    states = np.arange(S)
    return chain_mdp(np.stack([(states + 1) % S, states], axis=1), np.full((S, 2), 0.5), discount)


def protocol(rounds: int, discount: float) -> MDP:
    """Thousands of small components: rounds of up to seven states with retries, each followed by later rounds."""
    rng = np.random.default_rng(1)
    begins = np.concatenate([[0], np.cumsum(rng.integers(1, 8, size=rounds))])
    states = np.arange(begins[-1])
    own = np.searchsorted(begins, states, side="right") - 1
    retry = np.where(states + 1 < begins[own + 1], states + 1, begins[own])
    later = [np.minimum(states + rng.integers(1, reach, size=len(states)), len(states) - 1) for reach in (50, 500)]
    return chain_mdp(np.stack([retry, *later], axis=1), np.tile([0.6, 0.3, 0.1], (len(states), 1)), discount)


def mixing(S: int, successors: int, discount: float) -> MDP:
    """Every state leads to a few random others."""
    rng = np.random.default_rng(2)
    return chain_mdp(rng.integers(S, size=(S, successors)), rng.dirichlet(np.ones(successors), S), discount)


def rough_grid(side: int, discount: float) -> MDP:
    """A square with its own drift in every cell; the last corner leads back to the first."""
    rng = np.random.default_rng(3)
    row, column = np.divmod(np.arange(side * side), side)
    moves = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    columns = np.stack([np.clip(row + r, 0, side - 1) * side + np.clip(column + c, 0, side - 1) for r, c in moves], 1)
    columns[-1] = 0
    return chain_mdp(columns, rng.dirichlet(np.ones(4), side * side), discount)


def family(name: str, states: int, discount: float) -> MDP:
    """A family of environments at a size."""
    return make(name, discount=discount, **SIZES[name][states])


CHAINS: dict[str, Callable[[], MDP]] = {
    "ring, γ .9999": lambda: ring(10_000, 0.9999),
    "ring, γ .999999": lambda: ring(100_000, 0.999999),
    "lake 30 × 30, γ .99": lambda: make("frozenlake", size=30, seed=0, hole_probability=0.1),
    "lake 100 × 100, γ .9999": lambda: make("frozenlake", size=100, seed=0, hole_probability=0.1, discount=0.9999),
    "lake 316 × 316, γ .9999": lambda: make("frozenlake", size=316, seed=0, hole_probability=0.1, discount=0.9999),
    "drifting grid, γ .9999": lambda: rough_grid(100, 0.9999),
    "drifting grid, γ .999999": lambda: rough_grid(200, 0.999999),
    "two queues, γ .99": lambda: family("admission", 10**4, 0.99),
    "two queues, γ .999999": lambda: family("admission", 10**4, 0.999999),
    "machines, γ .9999": lambda: family("maintenance", 10**3, 0.9999),
    "mountain car, γ .9999": lambda: family("mountain_car", 10**4, 0.9999),
    "cart and pole, γ .9999": lambda: family("cart_pole", 10**3, 0.9999),
    "protocol, γ .9999": lambda: protocol(1_500, 0.9999),
    "protocol, γ .999999": lambda: protocol(6_000, 0.999999),
    "network, γ .99": lambda: make("system_administrator_2"),
    "mixing, γ .99": lambda: mixing(1_500, 4, 0.99),
    "mixing, γ .999999": lambda: mixing(3_000, 2, 0.999999),
}


def evaluated(mdp: MDP) -> tuple[float, float, float, float, str]:
    """Seconds by plain LU, for values, and with kept factors; the relative error; and what solved the system."""
    rng = np.random.default_rng(4)
    policy = rng.integers(mdp.n_actions, size=mdp.n_states)
    P, r = planning.markov_chain(mdp, policy)
    M = mdp.discount * P
    plain, expected = seconds(lambda: splu((sparse.eye_array(mdp.n_states) - M).tocsc()).solve(r))
    own, values = seconds(lambda: planning.policy_values(mdp, policy))
    size = float(np.abs(values.value).max())
    if np.abs(values.value - expected).max() > values.error + 1e-9 * size:
        raise AssertionError("the values of both differ by more than their errors")
    base = System(M, norms(mdp).shrinkage, use=Use.MANY)
    start = base.solve(r)
    changed = np.where(rng.random(mdp.n_states) < 0.02, rng.integers(mdp.n_actions, size=mdp.n_states), policy)
    P, r = planning.markov_chain(mdp, changed)
    M = mdp.discount * P
    kept, _ = seconds(lambda: System(M, norms(mdp).shrinkage, near=base.inverse).solve(r, start))
    return plain, own, kept, values.error / size, type(base.inverse).__name__


def main() -> None:
    """Print the table."""
    table = Table(title="One policy: a plain sparse LU, ours with its certificate, a similar policy by kept factors")
    table.add_column("chain")
    for heading in ("states", "plain LU ms", "values ms", "ratio", "kept ms", "relative error", "solver"):
        table.add_column(heading, justify="right")
    evaluated(rough_grid(20, 0.9))
    evaluated(mixing(1_000, 3, 0.9))
    worst = 0.0
    for name, build in CHAINS.items():
        mdp = build()
        plain, own, kept, error, solver = evaluated(mdp)
        worst = max(worst, own / plain)
        times = f"{1e3 * plain:,.1f}", f"{1e3 * own:,.1f}", f"{own / plain:.2f}", f"{1e3 * kept:,.1f}"
        table.add_row(name, f"{mdp.n_states:,}", *times, f"{error:.0e}", solver)
    console = Console(width=130)
    console.print(table)
    console.print(f"Largest ratio: {worst:.2f}; it should be at most 5.")


if __name__ == "__main__":
    main()
