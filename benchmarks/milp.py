"""The mixed-integer program: both forms on every solver, side by side.

    python benchmarks/milp.py [--quick] [--time-limit 120] [--backend highs]… [--form strong]… [CELL …]

Prints, for each cell (environment and depth): rows and columns, nodes, the bound before branching, the tree's return,
the bound, the normalised return beside the paper's, and the CPU seconds of the solver alone and of the whole run with
its start tree. `–` marks what does not apply: programs beyond the size that Gurobi's pip licence allows, and cells that
the start tree alone proves.
"""

import argparse
import json
import math
import time
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from omdt import planning
from omdt.environments import make
from omdt.errors import InputError
from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.methods.milp.backend import Answer
from omdt.methods.milp.formulation import Model
from omdt.methods.milp.method import solve_milp
from omdt.methods.options import BACKENDS, FORMS, MilpOptions
from omdt.task import Size, Task
from omdt.watch import Watch

QUICK = ("frozenlake_4x4:1", "frozenlake_4x4:2", "frozenlake_4x4:3", "frozenlake_8x8:1")
CELLS = (
    *QUICK,
    "frozenlake_4x4:4",
    "frozenlake_8x8:2",
    "frozenlake_12x12:1",
    "3d_navigation:1",
    "blackjack:1",
    "blackjack:2",
    "xor:2",
    "traffic_intersection:1",
    "traffic_intersection:2",
)
PAPER_RETURNS = {
    "frozenlake_4x4:1": 0.19,
    "frozenlake_4x4:2": 0.67,
    "frozenlake_4x4:3": 0.96,
    "frozenlake_4x4:4": 1.00,
    "frozenlake_8x8:1": 0.74,
    "frozenlake_8x8:2": 0.93,
    "frozenlake_12x12:1": 0.06,
    "3d_navigation:1": 0.00,
    "blackjack:1": 0.98,
    "blackjack:2": 1.00,
    "xor:2": 1.00,
    "traffic_intersection:1": 0.50,
    "traffic_intersection:2": 0.98,
}
MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}
REFERENCE = json.loads((Path(__file__).parents[1] / "tests" / "data" / "reference.json").read_text())["environments"]


@dataclass
class Spy:
    """Looks over the shoulder of an adapter: the program it was given and its answer."""

    backend: str
    model: Model | None = None
    answer: Answer | None = None
    seconds: float = 0.0

    def __enter__(self) -> "Spy":
        self.module = import_module(f"omdt.methods.milp.{self.backend}")
        self.run = self.module.run

        def run(model, *rest):
            self.model = model
            started = time.process_time()
            self.answer = self.run(model, *rest)
            self.seconds = time.process_time() - started
            return self.answer

        self.module.run = run
        return self

    def __exit__(self, *exception: object) -> None:
        self.module.run = self.run


def measure(cell: str, mdp: MDP, backend: str, form: str, time_limit: float) -> str:
    name, depth = cell.rsplit(":", 1)
    task, options = Task.over_thresholds(mdp, Size(int(depth))), MilpOptions(backend, form)
    started = time.process_time()
    with Spy(backend) as spy:
        try:
            claim = solve_milp(task, Limits(time_limit), Watch(time_limit), options)
        except InputError:
            return f"{cell:24} {backend:7} {form:7} –  beyond the licence"
    seconds = time.process_time() - started
    value = planning.evaluate(mdp, claim.tree)
    random = REFERENCE[name]["random_return_published"]
    normalised = (value - random) / (REFERENCE[name]["optimal_return"] - random)
    gap = max(0.0, claim.bound - value) / max(abs(value), 1e-12)
    rows, columns, nodes, root = "–", "–", "–", "–"
    if spy.model is not None and spy.answer is not None:
        rows, columns = map(str, spy.model.A.shape)
        nodes = str(spy.answer.nodes)
        root = f"{spy.answer.root_bound * spy.model.unit:.6g}" if math.isfinite(spy.answer.root_bound) else "–"
    return (
        f"{cell:24} {backend:7} {form:7} {rows:>6} {columns:>6} {nodes:>7} {root:>10} "
        f"{value:>11.7g} {claim.bound:>11.7g} {gap:>8.1e} {normalised:>6.2f} {PAPER_RETURNS.get(cell, math.nan):>6.2f} "
        f"{claim.stop:>9} {spy.seconds:>7.1f} {seconds:>7.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", metavar="CELL", help="as in frozenlake_4x4:3; by default all")
    parser.add_argument("--quick", action="store_true", help="the small cells only")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds for each run")
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="repeatable; by default all")
    parser.add_argument("--form", action="append", choices=FORMS, help="repeatable; by default both")
    arguments = parser.parse_args()
    backends = [backend for backend in arguments.backend or BACKENDS if find_spec(MODULES[backend])]
    # What is compiled on first use must not count for the first cell.
    warm = make("frozenlake_4x4")
    solve_milp(Task.over_thresholds(warm, Size(1)), Limits(), Watch(), MilpOptions(backends[0]))
    print(
        f"{'cell':24} {'backend':7} {'form':7} {'rows':>6} {'cols':>6} {'nodes':>7} {'root bound':>10} {'return':>11} "
        f"{'bound':>11} {'gap':>8} {'norm.':>6} {'paper':>6} {'stop':>9} {'solver':>7} {'CPU s':>7}"
    )
    for cell in arguments.cells or (QUICK if arguments.quick else CELLS):
        mdp = make(cell.rsplit(":", 1)[0])
        for backend in backends:
            for form in arguments.form or FORMS:
                print(measure(cell, mdp, backend, form, arguments.time_limit), flush=True)


if __name__ == "__main__":
    main()
