"""Any size: planning, trees, bounds and memory for every family of environments from 10³ to 10⁶ states.

Run with `make bench-size`; families, sizes, depths, threads and the time limit can be chosen:

    python benchmarks/size.py --families admission --exponents 3 4 --depths 1 2 --threads 1 --seconds 60

The whole takes hours, half of them with `--threads 1` and half with `--threads 2`. Every row is kept in a file as soon
as it is measured, and a later call measures only what is missing; `--fresh` measures the chosen rows anew. `--cpu`
counts seconds of CPU instead of seconds on the wall, on one thread, for a machine that does other work, too.

Every case has a process of its own, so that its peak memory is its own. Seconds of planning count towards the time
limit. "First tree" and "best tree" are seconds after planning; "gap" is what a tree of this depth may still gain,
"optimum" the bound without a limit on the size, so a bound below it tells something. "Shortfall" is the certified loss
of the tree against the best policy of any form, as a part of what that policy gains over the random one.
"""

import argparse
import csv
import io
import itertools
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# The processes inherit it. One thread is as fast on matrices of this size and needs less memory.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No module that takes memory is imported here: a new process starts with the peak of the one that made it.
import omdt
from cpu_clock import count_cpu_seconds
from sizes import SIZES

ROWS = Path(__file__).with_name("size_rows.csv")
"""Where rows are kept."""


class Case(NamedTuple):
    """One family at one size with one depth."""

    family: str
    about: int
    depth: int
    threads: int
    seconds: float
    clock: str


class Figures(NamedTuple):
    """What was measured of a case; seconds are by the clock of the case, and `proof` is empty without a proof."""

    states: int
    transitions: int
    build: float
    planning: float
    first: float
    best: float
    value: float
    bound: float
    optimum: float
    gap: float
    shortfall: float
    proof: float | str
    MiB: float


Row = dict[str, str]
"""A case and its figures by name, as they are kept."""


def measure(case: Case) -> Figures:
    """The figures of one case."""
    if case.clock == "cpu":
        count_cpu_seconds()
    from omdt import planning

    omdt.solve(omdt.make("mountain_car", size=12), max_depth=1)
    began = time.perf_counter()
    mdp = omdt.make(case.family, **SIZES[case.family][case.about])
    built = time.perf_counter() - began
    planning.optimal_values(mdp)
    planned = time.perf_counter() - began - built
    limit = max(1.0, case.seconds - planned)
    solution = omdt.solve(mdp, max_depth=case.depth, time_limit=limit, threads=case.threads)
    enough = solution.value - 1e-9 * abs(solution.value)
    optimum = solution.optimal_return
    return Figures(
        states=mdp.n_states,
        transitions=mdp.transitions.nnz,
        build=built,
        planning=planned,
        first=solution.trace[0][0],
        best=next(seconds for seconds, value, _ in solution.trace if value >= enough),
        value=solution.value,
        bound=solution.bound,
        optimum=optimum,
        gap=solution.gap,
        shortfall=(optimum - solution.value) / (optimum - solution.random_return),
        proof=solution.seconds if solution.proven and solution.seconds is not None else "",
        MiB=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
    )


def measured_alone(case: Case) -> Figures:
    """The figures of one case, measured in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (case,))


def key(row: Row) -> tuple[str, ...]:
    """The case of a row."""
    return tuple(row[name] for name in Case._fields)


def read_rows() -> dict[tuple[str, ...], Row]:
    """The rows that are kept, by case."""
    if not ROWS.exists():
        return {}
    with open(ROWS, encoding="utf-8", newline="") as stream:
        return {key(row): row for row in csv.DictReader(stream)}


def write_rows(rows: dict[tuple[str, ...], Row]) -> None:
    """Keep rows; the file has either all of them or what it had before."""
    from omdt.files import write_whole

    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, Case._fields + Figures._fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows.values())
    write_whole(ROWS, lambda stream: stream.write(text.getvalue().encode()))


SHOWN = {
    "family": "family",
    "states": "states:,.0f",
    "transitions": "transitions:,.0f",
    "depth": "depth",
    "threads": "threads",
    "limit": "seconds:.0f",
    "build": "build:.1f",
    "planning": "planning:.1f",
    "first": "first:.1f",
    "best": "best:.1f",
    "value": "value:.6g",
    "bound": "bound:.6g",
    "optimum": "optimum:.6g",
    "gap": "gap:.2g",
    "shortfall": "shortfall:.1%",
    "proof": "proof:.1f",
    "MiB": "MiB:,.0f",
}
"""The headings of the table, each with the name of its figure and how that is written."""


def line(row: Row) -> str:
    """A row of the table."""
    cells = []
    for shown in SHOWN.values():
        name, _, form = shown.partition(":")
        cells.append(format(float(row[name]), form) if form and row[name] else row[name])
    return "| " + " | ".join(cells) + " |"


def cases(chosen: argparse.Namespace) -> Iterator[Case]:
    """The chosen cases, small problems first."""
    clock, threads = ("cpu", [1]) if chosen.cpu else ("wall", chosen.threads)
    for exponent, family, depth, n in itertools.product(chosen.exponents, chosen.families, chosen.depths, threads):
        yield Case(family, 10**exponent, depth, n, chosen.seconds * (5 if exponent == 6 else 1), clock)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--exponents", type=int, nargs="+", default=[3, 4, 5, 6], help="10 to which power")
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit; five times as much at 10⁶ states")
    parser.add_argument("--cpu", action="store_true", help="count seconds of CPU, on one thread")
    parser.add_argument("--fresh", action="store_true", help="measure the chosen rows anew")
    chosen = parser.parse_args()
    print("| " + " | ".join(SHOWN) + " |")
    print("|---" * len(SHOWN) + "|", flush=True)
    for case in cases(chosen):
        name, kept = tuple(map(str, case)), read_rows()
        if chosen.fresh or name not in kept:
            figures = measured_alone(case)
            kept = read_rows()
            kept[name] = {field: str(value) for field, value in (case._asdict() | figures._asdict()).items()}
            write_rows(kept)
        print(line(kept[name]), flush=True)


if __name__ == "__main__":
    main()
