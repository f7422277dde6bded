"""The 52 cells of the paper, thirteen environments at depths 1 to 4, by the method search.

Run with `make bench-search`; `--seconds` is the time limit of a cell, names and depths can be chosen:

    python benchmarks/search.py --seconds 60 --only frozenlake --depths 1 2 3 --threads 1

With `--easy` only the cells that the paper's solver proved within its two hours; `--cpu` counts seconds of CPU on one
thread, so that other work on the machine does not matter. A second table has the targets beside what was reached.

Returns are normalised as in the paper, by the random return of its code, and inventory_management is as published. The
last columns are the better of the paper's two methods and the time its solver needed for a proof (two hours at most).
"""

import argparse
import csv
import json
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console
from rich.table import Table

import omdt
from cpu_clock import count_cpu_seconds
from omdt.environments import PAPER
from omdt.solution import Solution
from targets import Reached, table_of

ROOT = Path(__file__).parent.parent
REFERENCE = json.loads((ROOT / "tests/data/reference.json").read_text(encoding="utf-8"))["environments"]


def paper_results() -> dict[tuple[str, int], dict[str, str]]:
    with open(ROOT / "src/omdt/reproduce/paper_cells.csv", encoding="utf-8", newline="") as stream:
        return {(row["mdp"], int(row["depth"])): row for row in csv.DictReader(stream)}


def normalised(name: str, value: float) -> float:
    facts = REFERENCE.get(f"{name}_as_published", REFERENCE[name])
    random = facts["random_return_published"]
    return (value - random) / (facts["optimal_return"] - random)


def seconds_to_best(solution: Solution) -> float:
    enough = solution.value - 1e-9 * abs(solution.value)
    return next(seconds for seconds, value, _ in solution.trace if value >= enough)


def cell(name: str, depth: int, limit: float, threads: int) -> Solution:
    settings = {"as_published": True} if name == "inventory_management" else {}
    return omdt.solve(omdt.make(name, **settings), max_depth=depth, time_limit=limit, threads=threads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", default="", help="part of an environment's name")
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--easy", action="store_true", help="only what the paper's solver proved")
    parser.add_argument("--cpu", action="store_true", help="count seconds of CPU, on one thread")
    chosen = parser.parse_args()
    threads = 1 if chosen.cpu else chosen.threads
    if chosen.cpu:
        count_cpu_seconds()
    omdt.solve(omdt.make("frozenlake_4x4"), max_depth=1)
    omdt.solve(omdt.make("tictactoe_vs_random"), max_depth=1)
    published = paper_results()
    table = Table("environment", title=f"Search with {chosen.seconds:g} s a cell")
    for heading in ("d", "return", "bound", "proven", "to best (s)", "to end (s)", "paper", "its proof (s)"):
        table.add_column(heading, justify="right")
    reached: dict[tuple[str, int], Reached] = {}
    level = 0
    progress = Console(stderr=True)
    for name in (name for name in PAPER if chosen.only in name):
        for depth in chosen.depths:
            theirs = published[name, depth]
            is_easy = theirs["omdt_seconds_to_proof"] != "timeout"
            if chosen.easy and not is_easy:
                continue
            progress.print(f"{name} depth {depth}", style="dim")
            solution = cell(name, depth, chosen.seconds, threads)
            best = max(float(theirs["omdt_2h"]), float(theirs["viper"]))
            ours, bound = normalised(name, solution.value), normalised(name, solution.bound)
            reached[name, depth] = Reached(ours, bound, solution.proven, solution.seconds, is_easy)
            level += round(ours, 2) >= best
            table.add_row(
                name,
                str(depth),
                f"{ours:.4f}",
                f"{bound:.4f}",
                "yes" if solution.proven else "",
                f"{seconds_to_best(solution):.1f}",
                f"{solution.seconds:.1f}",
                f"{best:.2f}" if round(ours, 2) >= best else f"[bold red]{best:.2f}[/]",
                theirs["omdt_seconds_to_proof"],
            )
    output = Console(width=110)
    output.print(table)
    output.print(table_of(reached, chosen.seconds))
    proven, count = sum(it.proven for it in reached.values()), len(reached)
    output.print(
        f"{proven} of {count} proven; {level} of {count} at least as good as the better of the paper's methods"
    )


if __name__ == "__main__":
    main()
