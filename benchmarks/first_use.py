"""What the first use costs: CPU seconds of a first solve on a machine that has compiled nothing yet, and of the next.

    python benchmarks/first_use.py [--kernels]

Every problem gets an empty cache for compiled kernels and is solved by the command line twice, cold and warm. Bytecode
of Python is there as after `pip install`, which compiles what it installs: a solve before makes it, and is not counted.
CPU seconds are those of all threads and processes, user and system. `--kernels` also lists every kernel that was
compiled, with its seconds and its number of signatures.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

MOST_SECONDS = 8.0
"""CPU seconds that the first solve of the first problem may take."""

PROBLEMS = {
    "README": ("frozenlake_4x4", "--depth", "2"),
    "make demo": ("traffic_intersection", "--depth", "2"),
    "a table": ("machine.csv", "--depth", "1", "--discount", "0.9"),
    "acyclic": ("tictactoe_vs_random", "--depth", "1"),
    "1,600 states": ("frozenlake", "--set", "size=40", "--set", "seed=1", "--depth", "2", "--node-limit", "2"),
}
"""What people solve first, by where they read of it or by its shape; the first entry is the one with a limit."""

TABLE = """\
wear,action,next wear,probability,reward
0,run,1,0.5,4
0,run,0,0.5,4
1,run,2,0.5,3
1,run,1,0.5,3
2,run,3,0.5,1
2,run,2,0.5,1
1,repair,0,1,-2
2,repair,0,1,-2
0,repair,0,1,-2
"""

PROGRAM = """
import atexit, json, sys, time
from numba.core import event
from omdt.cli import main

class Kernels(event.Listener):
    def __init__(self):
        self.running, self.began, self.seconds = 0, 0.0, []

    def on_start(self, event):
        self.began = self.began if self.running else time.process_time()
        self.running += 1

    def on_end(self, event):
        self.running -= 1
        if not self.running:
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__qualname__}"
            self.seconds.append((name, time.process_time() - self.began))

kernels = Kernels()
event.register("numba:compile", kernels)
output = sys.argv.pop(1)
atexit.register(lambda: json.dump(kernels.seconds, open(output, "w")))
main()
"""
"""Runs the command line and writes the seconds of every compilation of its main process."""

Kernels = list[tuple[str, float]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", action="store_true", help="list the kernels of every problem")
    chosen = parser.parse_args()
    table = Table("first solve", title="CPU seconds with an empty cache, and again with a full one")
    for heading in ("problem", "cold", "of which kernels", "kernels", "warm"):
        table.add_column(heading, justify="right", no_wrap=True)
    output, first = Console(), None
    for name, words in PROBLEMS.items():
        _, (cold, kernels), (warm, _) = measured(words)
        first = cold if first is None else first
        compiling = sum(seconds for _, seconds in kernels)
        table.add_row(name, words[0], f"{cold:.1f}", f"{compiling:.1f}", str(len(kernels)), f"{warm:.1f}")
        if chosen.kernels:
            output.print(f"{' '.join(words)}", style="bold")
            for line in listed(kernels):
                output.print(line, highlight=False)
    output.print(table)
    verdict = "kept" if first is not None and first <= MOST_SECONDS else "NOT kept"
    output.print(f"the first solve of the README takes {first:.1f} s; the limit of {MOST_SECONDS:g} s is {verdict}")


def listed(kernels: Kernels) -> Iterator[str]:
    """A line per kernel, the slowest first."""
    names = {name: [seconds for other, seconds in kernels if other == name] for name, _ in kernels}
    for name, seconds in sorted(names.items(), key=lambda item: -sum(item[1])):
        times = "" if len(seconds) == 1 else f"  ({len(seconds)} signatures)"
        yield f"  {sum(seconds):5.2f}  {name}{times}"


def measured(words: tuple[str, ...]) -> list[tuple[float, Kernels]]:
    """CPU seconds and compiled kernels of a run that makes bytecode, of one with an empty cache, and of the next."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "machine.csv").write_text(TABLE, encoding="utf-8")
        return [run(Path(folder), words, cache) for cache in ("other", "cache", "cache")]


def run(folder: Path, words: tuple[str, ...], cache: str) -> tuple[float, Kernels]:
    """CPU seconds and compiled kernels of one run in a folder, with a cache in it."""
    before, report = children_seconds(), folder / "kernels.json"
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(report), "solve", *words],
        cwd=folder,
        env=os.environ
        | {"NUMBA_CACHE_DIR": str(folder / cache)}
        | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    kernels: Kernels = [(name, seconds) for name, seconds in json.loads(report.read_text(encoding="utf-8"))]
    return children_seconds() - before, kernels


def children_seconds() -> float:
    """CPU seconds of all processes that this one has started, with those that these have started."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
