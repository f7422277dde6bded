"""The front to eight leaves beside eight separate solves, to the same proofs, in one run.

Run with `make bench-front`; `--seconds` is the time limit of each separate solve, names can be chosen:

    python benchmarks/front.py --seconds 10 --only frozenlake_4x4

First the eight separate solves; then one front, whose time is taken at the moment when it has proven every size that
they have proven. It may go on until half of the time limits of the solves is over, and often proves more. Both use one
core; times are CPU seconds, so that other programs on the machine do not count.
"""

import argparse
import math
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console
from rich.table import Table

import omdt
from omdt.solution import Solution, relative_gap
from omdt.task import Size
from omdt.watch import TracePoint

LEAVES = 8
GAP = 1e-4
NAMES = ("frozenlake_4x4", "xor", "3d_navigation", "traffic_intersection", "blackjack")
"""Environments of the paper in which some sizes are proven within seconds."""


class Race:
    """Notes when a front has proven every size that the separate solves have proven.

    A bound for one size holds for all smaller ones, and a tree of one size is one of all larger ones.
    """

    def __init__(self, solutions: list[Solution]) -> None:
        optimum = solutions[0].optimal_return + solutions[0].optimal_error
        self._value, self._bound = [-math.inf] * LEAVES, [optimum] * LEAVES
        self._solutions = solutions
        self._begin = time.process_time()
        self.seconds: float | None = None

    def hear(self, size: Size, point: TracePoint) -> None:
        """Hear of a value and a bound for one size."""
        place = (size.max_leaf_nodes or 1) - 1
        for n in range(place, LEAVES):
            self._value[n] = max(self._value[n], point[1])
        for n in range(place + 1):
            self._bound[n] = min(self._bound[n], point[2])
        if self.seconds is None and all(map(self._is_level, range(LEAVES))):
            self.seconds = time.process_time() - self._begin

    def _is_level(self, n: int) -> bool:
        """Whether a size is proven, or was not by the separate solve either."""
        value, scale = self._value[n], self._solutions[n].scale
        return not self._solutions[n].proven or relative_gap(value, self._bound[n], scale) <= GAP


def separate(mdp: omdt.MDP, seconds: float) -> tuple[list[Solution], float]:
    begin = time.process_time()
    found = [omdt.solve(mdp, max_leaf_nodes=n, time_limit=seconds, gap=GAP, threads=1) for n in range(1, LEAVES + 1)]
    return found, time.process_time() - begin


def together(mdp: omdt.MDP, solutions: list[Solution], limit: float) -> tuple[omdt.Front, float | None]:
    race = Race(solutions)
    front = omdt.front(mdp, max_leaf_nodes=LEAVES, time_limit=limit, gap=GAP, progress=race.hear)
    return front, race.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", default="", help="part of an environment's name")
    chosen = parser.parse_args()
    warm = omdt.make("frozenlake_4x4")
    omdt.front(warm, max_leaf_nodes=5)
    omdt.solve(warm, max_leaf_nodes=5)
    table = Table("environment", title=f"{LEAVES} separate solves with up to {chosen.seconds:g} s each, and one front")
    for heading in ("proven apart", "proven together", "apart (s)", "together (s)", "ratio"):
        table.add_column(heading, justify="right")
    progress = Console(stderr=True)
    for name in (name for name in NAMES if chosen.only in name):
        progress.print(name, style="dim")
        mdp = omdt.make(name)
        solutions, apart = separate(mdp, chosen.seconds)
        front, seconds = together(mdp, solutions, LEAVES / 2 * chosen.seconds)
        table.add_row(
            name,
            f"{sum(solution.proven for solution in solutions)}",
            f"{sum(point.proven for point in front)}",
            f"{apart:.2f}",
            "not proven" if seconds is None else f"{seconds:.2f}",
            "" if seconds is None else f"{seconds / apart:.2f}",
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
