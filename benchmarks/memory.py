"""Peak memory of a solve beside its limit: 12 times the transitions, and 200 bytes per state and feature.

A transition has 12 bytes. Every problem is solved in a process of its own. What counts is the peak of resident memory
from the finished MDP to the solution, the MDP included, without what the interpreter and its packages need before. The
script reads /proc, so it needs Linux:

    python benchmarks/memory.py --states 100000 1000000 --depth 3 --seconds 60 --only admission
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console
from rich.table import Table

import omdt
from sizes import SIZES

TRANSITION_BYTES = 12
"""Bytes per stored transition: a probability and the index of a state."""

TRANSITIONS, PER_FEATURE = 12, 200
"""The limit: copies of the transitions, and bytes per state and feature."""


class Measured(NamedTuple):
    """What one solve needed, in MB where it is memory."""

    states: int
    transitions: int
    features: int
    mdp: float
    peak: float
    seconds: float

    @property
    def limit(self) -> float:
        """The most that the solve may need."""
        transitions = TRANSITIONS * TRANSITION_BYTES * self.transitions
        return (transitions + PER_FEATURE * self.states * self.features) / 1e6


def resident(field: str) -> float:
    """VmRSS or VmHWM, the resident memory of this process now or at its peak, in MB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) * 1024 / 1e6


def measured(family: str, states: int, depth: int, seconds: float) -> Measured:
    """Solve a problem and measure the memory of this process."""
    # Compiles, or loads, what every solve needs, so that it does not count.
    omdt.solve(omdt.make("frozenlake_4x4"), max_depth=2)
    before = resident("VmRSS")
    mdp = omdt.make(family, **SIZES[family][states])
    made = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    solution = omdt.solve(mdp, max_depth=depth, time_limit=seconds, threads=1)
    assert solution.seconds is not None
    return Measured(
        mdp.n_states,
        int(mdp.transitions.nnz),
        mdp.n_features,
        made - before,
        resident("VmHWM") - before,
        solution.seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, nargs="+", default=[10**5, 10**6], choices=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--only", default="", help="part of a family's name")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60)
    chosen = parser.parse_args()
    table = Table("family", title=f"Memory of a solve, depth {chosen.depth}, {chosen.seconds:g} s")
    for heading in ("states", "transitions", "MDP (MB)", "peak (MB)", "limit (MB)", "of limit", "seconds"):
        table.add_column(heading, justify="right")
    progress = Console(stderr=True)
    for family in (name for name in SIZES if chosen.only in name):
        for states in chosen.states:
            progress.print(f"{family}, {states:,} states", style="dim")
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                found = alone.submit(measured, family, states, chosen.depth, chosen.seconds).result()
            share = found.peak / found.limit
            table.add_row(
                family,
                f"{found.states:,}",
                f"{found.transitions:,}",
                f"{found.mdp:,.0f}",
                f"{found.peak:,.0f}",
                f"{found.limit:,.0f}",
                f"{share:.0%}" if share <= 1 else f"[bold red]{share:.0%}[/]",
                f"{found.seconds:.0f}",
            )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
