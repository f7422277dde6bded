"""Times of the foundation: building and planning every environment, planning on large grids, simulation.

Run with `make bench`. Times are wall-clock seconds on one run after the compiled loops are loaded; peak memory is that
of a process that builds and plans one grid and nothing else, less what the same process needs for a tiny grid.
"""

import multiprocessing
import resource
import time

from rich.console import Console
from rich.table import Table

from omdt import planning, simulation
from omdt.environments import PAPER, make
from omdt.mdp import MDP

GRIDS = (100, 316, 1000)


def seconds(function, *arguments, **keywords):
    start = time.perf_counter()
    result = function(*arguments, **keywords)
    return time.perf_counter() - start, result


def plan(mdp: MDP) -> planning.Certified:
    return planning.expected_return(mdp, planning.optimal_values(mdp))


def peak_mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def grid(size: int) -> tuple[int, int, float, float, float, float, float]:
    plan(make("frozenlake_4x4"))
    before = peak_mebibytes()
    building, mdp = seconds(make, "frozenlake", size=size, seed=0, hole_probability=0.1)
    planning_time, value = seconds(plan, mdp)
    memory = peak_mebibytes() - before
    scale = abs(planning.optimal_values(mdp).value).max()
    return mdp.n_states, mdp.transitions.nnz, building, planning_time, memory, mdp.nbytes / 2**20, value.error / scale


def print_environments(console: Console) -> None:
    table = Table(title="Building and planning the paper's environments (seconds)")
    table.add_column("environment")
    for heading in ("states", "transitions", "build", "optimal values", "relative error"):
        table.add_column(heading, justify="right")
    plan(make("frozenlake_4x4"))
    for name in PAPER:
        building, mdp = seconds(make, name)
        planning_time, values = seconds(planning.optimal_values, mdp)
        error = values.error / abs(values.value).max()
        sizes = f"{mdp.n_states:,}", f"{mdp.transitions.nnz:,}"
        table.add_row(name, *sizes, f"{building:.3f}", f"{planning_time:.3f}", f"{error:.0e}")
    console.print(table)


def print_grids(console: Console) -> None:
    table = Table(title="Optimal values of frozen lakes of n × n cells, 4 actions (seconds, MiB)")
    for heading in (
        "states",
        "transitions",
        "build",
        "optimal values",
        "peak memory",
        "of it the MDP",
        "relative error",
    ):
        table.add_column(heading, justify="right")
    context = multiprocessing.get_context("spawn")
    for size in GRIDS:
        with context.Pool(1) as pool:
            states, transitions, building, planning_time, memory, own, error = pool.apply(grid, (size,))
        times = f"{building:.2f}", f"{planning_time:.2f}"
        table.add_row(f"{states:,}", f"{transitions:,}", *times, f"{memory:,.0f}", f"{own:,.0f}", f"{error:.0e}")
    console.print(table)


def print_simulation(console: Console) -> None:
    table = Table(title="Simulation of the optimal policy on one core")
    table.add_column("environment")
    for heading in ("episodes", "steps", "steps per second"):
        table.add_column(heading, justify="right")
    for name, episodes in (("frozenlake_12x12", 100_000), ("system_administrator_1", 5_000), ("blackjack", 5_000)):
        mdp = make(name)
        policy = planning.greedy(planning.q_values(mdp, planning.optimal_values(mdp)))
        simulation.simulate(mdp, policy, episodes=1)
        taken, rollouts = seconds(simulation.simulate, mdp, policy, episodes=episodes)
        steps = int(rollouts.lengths.sum())
        table.add_row(name, f"{episodes:,}", f"{steps:,}", f"{steps / taken:,.0f}")
    console.print(table)


if __name__ == "__main__":
    output = Console(width=130)
    print_environments(output)
    print_grids(output)
    print_simulation(output)
