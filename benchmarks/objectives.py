"""The corpus of PRISM models: the best tree for every property, beside the optimum of all policies and dtPAYNT.

Run with `make bench-objectives` (it needs the extra storm); models, depths and the time limit of a row can be chosen:

    python benchmarks/objectives.py --only lake --depths 1 2 3 --seconds 60

The optimum is Storm's, over all policies (tests/data/corpus/optima.json). For a minimum, the value of a tree is at
least its bound. dtPAYNT gets the same model, property, depth and time if a command `paynt` is installed; it decides in
its own way what a tree does where its action is not available.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import omdt
from omdt.mdp import MDP

CORPUS = Path(__file__).parent.parent / "tests/data/corpus"
PAYNT_VALUE = re.compile(r"the synthesized tree has value:? (\S+)")
PAYNT_GRACE = 60.0
"""Seconds beyond the time limit after which dtPAYNT is stopped; it needs some to start and to build the model."""


@dataclass(frozen=True)
class Row:
    """One property of one model."""

    model: str
    property: str
    optimum: float

    @property
    def path(self) -> Path:
        """The model in the PRISM language."""
        return CORPUS / f"{self.model}.prism"


def rows(only: str) -> list[Row]:
    known = json.loads((CORPUS / "optima.json").read_text(encoding="utf-8"))
    return [
        Row(name, text, float(optimum))
        for name, facts in known.items()
        for text, optimum in facts["optima"].items()
        if only in name
    ]


@cache
def model(path: Path) -> MDP:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omdt.InputWarning)
        return omdt.read(path, objective='Pmax=? [F "init"]')


def paynt(row: Row, depth: int, seconds: float) -> str:
    """The value and the seconds of dtPAYNT, or why there are none."""
    command = shutil.which("paynt")
    if command is None:
        return "not installed"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(row.path, Path(folder) / "model.prism")
        text = re.sub(r"^R(min|max)(\{[^}]*\})", r"R\2\1", row.property)
        (Path(folder) / "model.props").write_text(text + "\n", encoding="utf-8")
        files = ["--sketch", "model.prism", "--props", "model.props"]
        limits = ["--tree-depth", str(depth), "--timeout", str(round(seconds))]
        began = time.perf_counter()
        try:
            done = subprocess.run(
                [command, folder, *files, *limits],
                capture_output=True,
                text=True,
                timeout=seconds + PAYNT_GRACE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "stopped"
    found = PAYNT_VALUE.findall(done.stdout + done.stderr)
    if not found:
        return "no tree" if done.returncode == 0 else "failed"
    return f"{float(found[-1]):.6g} ({time.perf_counter() - began:.0f} s)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", default="", help="part of a model's name")
    parser.add_argument("--depths", type=int, nargs="+", default=[2])
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    table = Table("model", title=f"Trees for the corpus with {chosen.seconds:g} s per row")
    table.add_column("states", justify="right")
    table.add_column("property", no_wrap=True)
    for heading in ("d", "optimum", "value", "bound", "proven", "seconds", "dtPAYNT"):
        table.add_column(heading, justify="right")
    proven = count = 0
    progress = Console(stderr=True)
    for row in rows(chosen.only):
        for depth in chosen.depths:
            progress.print(f"{row.model} depth {depth} {escape(row.property)}", style="dim", highlight=False)
            mdp = model(row.path)
            solution = omdt.solve(
                mdp,
                max_depth=depth,
                objective=omdt.Objective.parse(row.property),
                time_limit=chosen.seconds,
                threads=chosen.threads,
            )
            count += 1
            proven += solution.proven
            table.add_row(
                row.model,
                f"{mdp.n_states:,}",
                escape(row.property),
                str(depth),
                f"{row.optimum:.6g}",
                f"{solution.value:.6g}",
                f"{solution.bound:.6g}",
                "yes" if solution.proven else "",
                f"{solution.seconds:.1f}",
                paynt(row, depth, chosen.seconds),
            )
    output = Console(width=160)
    output.print(table)
    output.print(f"{proven} of {count} proven")


if __name__ == "__main__":
    main()
