"""Any size: planning, trees, bounds and memory for every family of environments from 10³ to 10⁶ states.

Run with `make bench-size`; families, sizes, depths, threads and the time limit can be chosen:

    python benchmarks/size.py --families admission --exponents 3 4 --depths 1 2 --threads 1 --seconds 60

Every case has a process of its own, so that its peak memory is its own. Seconds of planning count towards the time
limit. "First tree" and "best tree" are seconds after planning; "gap" is what a tree of this depth may still gain,
"optimum" the bound without a limit on the size, so a bound below it tells something. "Shortfall" is the certified loss
of the tree against the best policy of any form, as a part of what that policy gains over the random one.
"""

import argparse
import multiprocessing
import os
import resource
import sys
import time
from dataclasses import dataclass

# The processes inherit it. One thread is as fast on matrices of this size and needs less memory.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No module that takes memory is imported here: a new process starts with the peak of the one that made it.
import omdt
from sizes import SIZES

HEADINGS = [
    "family",
    "states",
    "transitions",
    "depth",
    "threads",
    "build",
    "planning",
    "first",
    "best",
    "value",
    "bound",
    "optimum",
    "gap",
    "shortfall",
    "proof",
    "MiB",
]


@dataclass(frozen=True)
class Case:
    """One family at one size with one depth."""

    family: str
    states: int
    depth: int
    threads: int
    seconds: float


def measure(case: Case) -> list[str]:
    """The row of one case."""
    from omdt import planning

    omdt.solve(omdt.make("mountain_car", size=12), max_depth=1)
    began = time.perf_counter()
    mdp = omdt.make(case.family, **SIZES[case.family][case.states])
    built = time.perf_counter() - began
    planning.optimal_values(mdp)
    planned = time.perf_counter() - began - built
    limit = max(1.0, case.seconds - planned)
    solution = omdt.solve(mdp, max_depth=case.depth, time_limit=limit, threads=case.threads)
    enough = solution.value - 1e-9 * abs(solution.value)
    best = next(seconds for seconds, value, _ in solution.trace if value >= enough)
    optimum = solution.optimal_return
    shortfall = (optimum - solution.value) / (optimum - solution.random_return)
    return [
        case.family,
        f"{mdp.n_states:,}",
        f"{mdp.transitions.nnz:,}",
        str(case.depth),
        str(case.threads),
        f"{built:.1f}",
        f"{planned:.1f}",
        f"{solution.trace[0][0]:.1f}",
        f"{best:.1f}",
        f"{solution.value:.6g}",
        f"{solution.bound:.6g}",
        f"{optimum:.6g}",
        f"{solution.gap:.2g}",
        f"{100 * shortfall:.1f} %",
        f"{solution.seconds:.1f}" if solution.proven else "",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == 'darwin' else 2**10):,.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--exponents", type=int, nargs="+", default=[3, 4, 5, 6], help="10 to which power")
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=60, help="time limit; five times as much at 10⁶ states")
    chosen = parser.parse_args()
    print("| " + " | ".join(HEADINGS) + " |")
    print("|---" * len(HEADINGS) + "|", flush=True)
    context = multiprocessing.get_context("spawn")
    for exponent in chosen.exponents:
        seconds = chosen.seconds * (5 if exponent == 6 else 1)
        for family in chosen.families:
            for depth in chosen.depths:
                for threads in chosen.threads:
                    case = Case(family, 10**exponent, depth, threads, seconds)
                    with context.Pool(1) as pool:
                        print("| " + " | ".join(pool.apply(measure, (case,))) + " |", flush=True)


if __name__ == "__main__":
    main()
