"""How time and memory grow with the states: random lakes of 4×4 to 40×40 tiles, rings of 5 to 11 computers.

Run with `make bench-growth`; the time limit of a case and the depth of its trees can be chosen:

    python benchmarks/growth.py --seconds 60 --depth 2

Every case has a process of its own, so that the peak is its own, the interpreter and its libraries included (the row
"nothing" has these alone). Times count from the call of `solve`; "best tree" is when the tree that was returned in the
end was found, and where there is no proof within the limit, its column has the relative gap that is left.
"""

import argparse
import multiprocessing
import os
import resource
import sys
from dataclasses import dataclass

# The processes inherit it. One thread is as fast on matrices of this size and needs less memory.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console
from rich.table import Table

# No module that takes memory is imported here: a new process starts with the peak of the one that made it.
import omdt

LAKES = tuple(range(4, 41, 4))
NETWORKS = tuple(range(5, 12))


@dataclass(frozen=True)
class Case:
    """One environment of a family."""

    title: str
    family: str
    settings: dict[str, int | str]


@dataclass(frozen=True)
class Growth:
    """What one case took; seconds, except where the name says otherwise."""

    states: int
    first: float
    best: float
    end: float
    gap: float
    proven: bool
    peak_mebibytes: float


def cases() -> list[Case]:
    lakes = [Case(f"lake {n}×{n}", "frozenlake", {"size": n, "seed": 0}) for n in LAKES]
    settings = {n: {"topology": "ring", "computers": n} for n in NETWORKS}
    return lakes + [Case(f"network of {n}", "system_administrator", settings[n]) for n in NETWORKS]


def measure(case: Case, depth: int, limit: float) -> Growth:
    """Solve one case in a process that has solved nothing else of size."""
    warm_up()
    mdp = omdt.make(case.family, **case.settings)
    solution = omdt.solve(mdp, max_depth=depth, time_limit=limit, threads=1)
    enough = solution.value - 1e-9 * abs(solution.value)
    return Growth(
        states=mdp.n_states,
        first=solution.trace[0][0],
        best=next(seconds for seconds, value, _ in solution.trace if value >= enough),
        end=solution.seconds,
        gap=solution.gap,
        proven=solution.proven,
        peak_mebibytes=peak_mebibytes(),
    )


def peak_mebibytes() -> float:
    """The most memory that this process has had; macOS counts it in bytes, other systems in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def warm_up() -> float:
    """Load the compiled code by two tiny problems, which together need all of it; the peak of that."""
    omdt.solve(omdt.make("frozenlake_4x4"), max_depth=2)
    omdt.solve(omdt.make("system_administrator", topology="ring", computers=3), max_depth=2)
    return peak_mebibytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--depth", type=int, default=2)
    chosen = parser.parse_args()
    table = Table("problem", title=f"Growth of the search with {chosen.seconds:g} s a case")
    for heading in ("states", "depth", "first tree (s)", "best tree (s)", "proof (s)", "peak (MiB)"):
        table.add_column(heading, justify="right")
    progress, context = Console(stderr=True), multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        table.add_row("nothing", "", "", "", "", "", f"{pool.apply(warm_up):,.0f}")
    for case in cases():
        progress.print(case.title, style="dim")
        with context.Pool(1) as pool:
            growth = pool.apply(measure, (case, chosen.depth, chosen.seconds))
        table.add_row(
            case.title,
            f"{growth.states:,}",
            str(chosen.depth),
            f"{growth.first:.2f}",
            f"{growth.best:.2f}",
            f"{growth.end:.2f}" if growth.proven else f"gap {growth.gap:.2g}",
            f"{growth.peak_mebibytes:,.0f}",
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
