"""The 52 cells of the paper by two versions of the search, side by side.

    make bench-side-by-side OLD=/path/to/a/clone/of/the/old/version

Each version has a process of its own, and each cell is solved by both, one after the other; they take turns to begin,
so that noise of the machine affects both. A cell that both prove is compared by its time, a cell that a time limit ends
by its bound, on the scale from the random to the optimal return. `--repeat 3` takes the best of three times.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent

PROGRAM = """
import json, sys
import omdt

def solve(name, depth, seconds):
    settings = {"as_published": True} if name == "inventory_management" else {}
    return omdt.solve(omdt.make(name, **settings), max_depth=depth, time_limit=seconds, threads=1)

for warm in ("frozenlake_4x4", "tictactoe_vs_random", "tiger_vs_antelope"):
    solve(warm, 1, None)
print(json.dumps(list(omdt.environments.PAPER)), flush=True)
for line in sys.stdin:
    found = solve(*json.loads(line))
    span = found.optimal_return - found.random_return
    value, bound = ((it - found.random_return) / span for it in (found.value, found.bound))
    print(json.dumps([value, bound, found.proven, found.seconds]), flush=True)
"""


@dataclass(frozen=True)
class Cell:
    """What one version makes of a cell; returns are normalised."""

    value: float
    bound: float
    proven: bool
    seconds: float


class Version:
    """A process with one version of the package."""

    def __init__(self, clone: Path) -> None:
        one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
        environment = os.environ | one_thread | {"PYTHONPATH": str(clone / "src")}
        command = [sys.executable, "-c", PROGRAM]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.names: list[str] = json.loads(cast(IO[str], self._process.stdout).readline())

    def solve(self, name: str, depth: int, seconds: float) -> Cell:
        """Solve a cell."""
        asked, answers = cast(IO[str], self._process.stdin), cast(IO[str], self._process.stdout)
        asked.write(json.dumps([name, depth, seconds]) + "\n")
        asked.flush()
        return Cell(*json.loads(answers.readline()))

    def end(self) -> None:
        """End the process."""
        self._process.communicate()


def compared(old: Cell, new: Cell) -> str:
    """How the new version differs from the old one."""
    if old.proven and new.proven:
        return f"{new.seconds / max(old.seconds, 1e-3):.2f} × the time"
    if old.proven != new.proven:
        return "[red]not proven any more[/]" if old.proven else "proven now"
    return f"bound {new.bound - old.bound:+.4f}"


def main() -> None:
    """Print both tables side by side."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="a clone of the old version")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", default="", help="part of an environment's name")
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--repeat", type=int, default=1)
    chosen = parser.parse_args()
    old, new = Version(chosen.old), Version(ROOT)
    table = Table("environment", title=f"Search with {chosen.seconds:g} s per cell: old | new")
    for heading in ("d", "return", "", "bound", "", "proven", "", "seconds", "", "new against old"):
        table.add_column(heading, justify="right")
    progress, old_seconds, new_seconds, turn = Console(stderr=True), 0.0, 0.0, 0
    for name in (name for name in new.names if chosen.only in name):
        for depth in chosen.depths:
            progress.print(f"{name} depth {depth}", style="dim")
            runs: dict[Version, list[Cell]] = {old: [], new: []}
            for _ in range(chosen.repeat):
                turn += 1
                for version in (old, new) if turn % 2 else (new, old):
                    runs[version].append(version.solve(name, depth, chosen.seconds))
            one, two = (min(runs[version], key=lambda run: run.seconds) for version in (old, new))
            if one.proven and two.proven:
                old_seconds, new_seconds = old_seconds + one.seconds, new_seconds + two.seconds
            values = [f"{it.value:.4f}" for it in (one, two)] + [f"{it.bound:.4f}" for it in (one, two)]
            values += ["yes" if it.proven else "" for it in (one, two)] + [f"{it.seconds:.2f}" for it in (one, two)]
            table.add_row(name, str(depth), *values, compared(one, two))
    old.end()
    new.end()
    output = Console(width=150)
    output.print(table)
    output.print(f"all cells that both prove: {old_seconds:.1f} s | {new_seconds:.1f} s")


if __name__ == "__main__":
    main()
