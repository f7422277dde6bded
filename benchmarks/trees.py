"""How good the trees of short runs are: the worst, median and best over seeds beside the best known ones.

Run with `make bench-trees`. Every run has one core and 20 seconds of CPU, so that other work on the machine does not
matter; `--wall` counts seconds on the wall instead. Cells, seeds and seconds can be chosen:

    python benchmarks/trees.py --only tiger --depths 3 4 --seeds 5 --seconds 20

Returns are normalised as in the paper. The best known ones are in `best_trees.csv` beside this file, and a better one
is written there. A run is level if its return is at most 0.005 below the best known one.
"""

import argparse
import os
from statistics import median

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console
from rich.table import Table

import omdt
from best_trees import LEVEL, Cell, best_known, keep
from cpu_clock import count_cpu_seconds
from search import normalised


def run(cell: Cell, seconds: float, seed: int) -> float:
    name, depth = cell
    return normalised(name, omdt.solve(omdt.make(name), max_depth=depth, time_limit=seconds, seed=seed).value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="part of an environment's name")
    parser.add_argument("--depths", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--wall", action="store_true", help="count seconds on the wall")
    chosen = parser.parse_args()
    if not chosen.wall:
        count_cpu_seconds()
    best, progress, level = best_known(), Console(stderr=True), 0
    cells = [cell for cell in best if chosen.only in cell[0] and cell[1] in chosen.depths]
    clock = "on the wall" if chosen.wall else "of CPU"
    table = Table("environment", title=f"{chosen.seeds} runs of {chosen.seconds:g} s {clock} per cell")
    for heading in ("d", "worst", "median", "best", "best known", "level"):
        table.add_column(heading, justify="right")
    for cell in cells:
        progress.print(f"{cell[0]} depth {cell[1]}", style="dim")
        found = [run(cell, chosen.seconds, seed) for seed in range(chosen.seeds)]
        known = best[cell]
        if max(found) > known + 5e-6:
            best[cell] = max(found)
            keep(best)
        is_level = min(found) >= best[cell] - LEVEL
        level += is_level
        figures = (f"{value:.4f}" for value in (min(found), median(found), max(found), known))
        table.add_row(cell[0], str(cell[1]), *figures, "yes" if is_level else "")
    output = Console(width=110)
    output.print(table)
    output.print(f"{level} of {len(cells)} cells level: the worst run is at most {LEVEL} below the best known tree")


if __name__ == "__main__":
    main()
