"""Whether a second core pays: seconds to the proof on one core and on two, cell by cell.

Run with `make bench-parallel` on a machine that does nothing else; names, depths and the time limit can be chosen:

    python benchmarks/parallel.py --seconds 300 --only frozenlake --depths 2 3

A cell that one core does not prove in the time limit is left out. Where one core needs more than 20 s, the second one
should make it at least 1.6 times as fast; where it needs less, the second one should cost nothing. The columns "CPU"
are the processor seconds of all processes, which tell what two cores compute twice, also on a busy machine.
"""

import argparse
import os
import resource
import time
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console
from rich.table import Table

import omdt
from omdt.environments import PAPER
from omdt.solution import Solution

LONG_SECONDS, WANTED_RATIO = 20.0, 1.6


class Run(NamedTuple):
    """A solution with the seconds and the processor seconds that it took."""

    solution: Solution
    seconds: float
    cpu: float


def cpu_seconds() -> float:
    """Processor seconds of this process and of all its workers that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def run(name: str, depth: int, limit: float, threads: int) -> Run:
    """Solve a cell."""
    settings = {"as_published": True} if name == "inventory_management" else {}
    mdp = omdt.make(name, **settings)
    start, cpu = time.perf_counter(), cpu_seconds()
    solution = omdt.solve(mdp, max_depth=depth, time_limit=limit, threads=threads)
    return Run(solution, time.perf_counter() - start, cpu_seconds() - cpu)


def verdict(one: Run, two: Run) -> str:
    """Whether the second core keeps its promise."""
    if (one.solution.tree, one.solution.bound) != (two.solution.tree, two.solution.bound):
        return "another result"
    if one.seconds < LONG_SECONDS:
        return f"costs {max(0.0, two.seconds - one.seconds):.1f} s"
    return "pays" if one.seconds >= WANTED_RATIO * two.seconds else "pays too little"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--only", default="", help="part of an environment's name")
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 2, 3, 4])
    chosen = parser.parse_args()
    for name in ("frozenlake_4x4", "tictactoe_vs_random"):
        omdt.solve(omdt.make(name), max_depth=1)
    table = Table("environment", title="Seconds to the proof on one core and on two")
    for heading in ("d", "one (s)", "two (s)", "ratio", "CPU one (s)", "CPU two (s)", "second core"):
        table.add_column(heading, justify="right")
    progress = Console(stderr=True)
    for name in (name for name in PAPER if chosen.only in name):
        for depth in chosen.depths:
            progress.print(f"{name} depth {depth}", style="dim")
            one = run(name, depth, chosen.seconds, 1)
            if not one.solution.proven:
                continue
            two = run(name, depth, chosen.seconds, 2)
            seconds = (f"{one.seconds:.1f}", f"{two.seconds:.1f}", f"{one.seconds / two.seconds:.2f}")
            table.add_row(name, str(depth), *seconds, f"{one.cpu:.1f}", f"{two.cpu:.1f}", verdict(one, two))
    Console().print(table)


if __name__ == "__main__":
    main()
