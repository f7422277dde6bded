"""Certificates of proofs that take long: each proof is written once, for the tree that a short run finds.

    python benchmarks/long_certificates.py system_administrator_1:4 frozenlake_12x12:4 --folder proofs

`omdt solve --certificate` proves a bound first and writes the proof afterwards, which takes as long again. Here a run
of `--seconds` without a proof finds the tree. If it is not the best one, the proof shows a higher bound and takes
longer. The folder then has a solution and a certificate of every cell, for `omdt check`. All runs on one core; the
columns `written` and `checked` are seconds of CPU.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import omdt
from omdt import MDP, check
from omdt.certificate import model_of
from omdt.methods.search.evidence.measures import Statement
from omdt.methods.search.evidence.recorder import prove
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.model import Model
from omdt.methods.search.settings import SearchSettings
from omdt.methods.search.symmetry import find
from omdt.solution import Solution, tolerated_excess
from omdt.task import Size, Task
from omdt.watch import Watch, one_thread
from search import normalised

MEMORY = 2**31
"""Bytes for what the proof remembers."""


def written(mdp: MDP, found: Solution, path: Path) -> float:
    """Write the proof of a tree; the bound that it shows."""
    model = Model.of(Task(mdp, omdt.Splits.of(mdp), Size(found.max_depth, None)), SearchSettings(), Watch())
    knowledge = Knowledge(model, find(model), MEMORY)
    room = tolerated_excess(found.value, found.requested_gap, model.scale)
    policy = found.tree.actions(mdp.features)
    statement = Statement(policy, found.value, found.value + 0.99 * room, room, raised=False)
    with one_thread():
        return prove(path, knowledge, statement)


def certify(name: str, depth: int, seconds: float, folder: Path) -> str:
    """A row of the table: a certificate is written and checked."""
    mdp = omdt.make(name)
    found = omdt.solve(mdp, max_depth=depth, time_limit=seconds, threads=1)
    path = folder / f"{name}_{depth}.omdt"
    start = time.process_time()
    claim = found.to_dict() | {"bound": written(mdp, found, path)}
    proven = time.process_time()
    (folder / f"{name}_{depth}.json").write_text(json.dumps(claim), encoding="utf-8")
    verdict = check.check(model_of(mdp), claim, path)
    checked = time.process_time() - proven
    returns = f"{normalised(name, found.value):.4f} | {normalised(name, verdict.bound):.4f}"
    size = f"{path.stat().st_size / 1e6:,.0f} | {verdict.cases:,}"
    return f"| {name} | {depth} | {returns} | {proven - start:,.0f} | {size} | {checked:,.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--folder", type=Path, default=Path("proofs"))
    parser.add_argument("cells", nargs="+", metavar="ENVIRONMENT:DEPTH")
    chosen = parser.parse_args()
    chosen.folder.mkdir(exist_ok=True)
    print("| environment | depth | return | bound | written | MB | cases | checked |")
    print("|---|---|---|---|---|---|---|---|")
    for cell in chosen.cells:
        name, depth = cell.rsplit(":", 1)
        print(certify(name, int(depth), chosen.seconds, chosen.folder), flush=True)


if __name__ == "__main__":
    main()
