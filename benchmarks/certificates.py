"""What certificates cost: seconds to prove without and with one, its size, and seconds to check it.

    python benchmarks/certificates.py [--seconds 60] [ENVIRONMENT:DEPTH …]

By default the thirteen environments of the paper at depths 1 to 4; those that are not proven within the time limit are
left out. Search and checker run on one core.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
import time
from pathlib import Path

import omdt
from omdt import check
from omdt.certificate import model_of
from omdt.environments import PAPER

ROW = "| {} | {} | {:.1f} | {:.1f} | {:,.0f} | {:,} | {:.1f} |"


def measure(name: str, depth: int, seconds: float) -> None:
    mdp = omdt.make(name)
    plain = omdt.solve(mdp, max_depth=depth, time_limit=seconds, threads=1)
    if not plain.proven:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate"
        certified = omdt.solve(mdp, max_depth=depth, certificate=path, threads=1)
        size = path.stat().st_size / 1000
        start = time.perf_counter()
        verdict = check.check(model_of(mdp), certified.to_dict(), path)
        checking = time.perf_counter() - start
    print(ROW.format(name, depth, plain.seconds, certified.seconds, size, verdict.cases, checking), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("cells", nargs="*")
    options = parser.parse_args()
    everything = [f"{name}:{depth}" for name in PAPER for depth in range(1, 5)]
    # What is compiled on first use is not part of any measurement.
    omdt.solve(omdt.make("frozenlake_4x4"), max_depth=2)
    print("| environment | depth | proof | with certificate | kB | cases | check |\n|---|---|---|---|---|---|---|")
    for cell in options.cells or everything:
        name, depth = cell.rsplit(":", 1)
        measure(name, int(depth), options.seconds)


if __name__ == "__main__":
    main()
