"""The inner solvers of the search side by side: systems of equations, sweeps over the states, one pass.

Run with `make bench-solvers`. Every solver that can answer is asked for the same bounds: what a leaf loses in a region
of one to three answers (`losses`), and what options are worth after a first question (`options`). Columns are
milliseconds of CPU a call; the ratio tells how many times faster sweeps are than systems.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table

import omdt
from omdt import planning
from omdt.mdp import MDP, Ints
from omdt.methods.search.bounds.cheapest import AcyclicSolver, DenseSolver, SweptSolver
from omdt.methods.search.bounds.dense_options import DenseOptions
from omdt.methods.search.bounds.losses import Losses
from omdt.methods.search.bounds.option_values import OptionSolver
from omdt.methods.search.bounds.swept_options import SweptOptions
from omdt.methods.search.boxes import Boxes
from omdt.methods.search.model import Model
from omdt.methods.search.orders import order_by_steps
from omdt.methods.search.regions import Region, Regions
from omdt.methods.search.settings import DEFAULTS
from omdt.task import Size, Task
from omdt.watch import Watch

PROBLEMS: tuple[tuple[str, dict[str, int]], ...] = (
    ("frozenlake_12x12", {}),
    ("frozenlake", {"size": 20}),
    ("frozenlake", {"size": 30}),
    ("system_administrator_1", {}),
    ("blackjack", {}),
    ("tiger_vs_antelope", {}),
    ("tictactoe_vs_random", {}),
)
LEAVES = 40
BUDGET = 0.2
"""The part of the difference between the optimal and the random return that a tree may lose."""


@dataclass(frozen=True)
class Solvers:
    """Both bounds by every solver that fits a problem."""

    losses: dict[str, Losses]
    options: dict[str, OptionSolver]


def solvers(model: Model, boxes: Boxes) -> Solvers:
    """All solvers that can answer."""
    known = (model, model.optimal.value, model.allowed)
    if model.topological is not None:
        order = model.topological[::-1]
        one_pass = Losses(*known, lambda model, costs: AcyclicSolver(model, costs, order))
        return Solvers({"one pass": one_pass}, {"one pass": SweptOptions(model, boxes, order, acyclic=True)})
    order = order_by_steps(model.mdp, model.optimal)
    return Solvers(
        {
            "systems": Losses(*known, DenseSolver),
            "sweeps": Losses(*known, lambda model, costs: SweptSolver(model, costs, order)),
        },
        {
            "systems": DenseOptions(model, boxes, 2**31),
            "sweeps": SweptOptions(model, boxes, order, acyclic=False),
        },
    )


def random_regions(regions: Regions, rng: np.random.Generator) -> list[Region]:
    """Regions of one to three answers."""
    found = []
    while len(found) < LEAVES:
        region = regions.everything
        for _ in range(int(rng.integers(1, 4))):
            questions = regions.questions(region)
            if len(questions):
                region = regions.split(region, int(rng.choice(questions)))[int(rng.integers(2))]
        found.append(region)
    return found


def forced_actions(mdp: MDP, losses: Losses, region: Region) -> Ints:
    """[S] the action of a leaf that promises to lose least, −1 outside."""
    forced = np.full(mdp.n_states, -1)
    forced[region.states] = losses.expected[region.states].sum(axis=0).argmin()
    return forced


def milliseconds(calls: list[Callable[[], object]]) -> float:
    """CPU time per call; the first call is made once before."""
    calls[0]()
    start = time.process_time()
    for call in calls:
        call()
    return 1000 * (time.process_time() - start) / len(calls)


def row(name: str, settings: dict[str, int]) -> list[str]:
    mdp = omdt.make(name, **settings)
    model = Model.of(Task.over_thresholds(mdp, Size(2)), DEFAULTS, Watch())
    regions, optimal = Regions(model.sides), model.optimal
    all_boxes = Boxes(regions)
    best, random = (
        planning.expected_return(mdp, values).value
        for values in (optimal, planning.policy_values(mdp, planning.random_policy(mdp)))
    )
    budget = BUDGET * (best - random)
    found = solvers(model, all_boxes)
    first = next(iter(found.losses.values()))
    leaves = [forced_actions(mdp, first, region) for region in random_regions(regions, np.random.default_rng(0))]
    open_everywhere = np.full(mdp.n_states, -1)
    questions = regions.questions(regions.everything)
    sides = regions.split(regions.everything, int(questions[len(questions) // 2]))
    boxes = np.concatenate([all_boxes.of(side, 1, Watch()) for side in sides])
    times: dict[tuple[str, str], float] = {}
    for kind, losses in found.losses.items():
        times["losses", kind] = milliseconds([partial(losses.inside, leaf, budget, budget) for leaf in leaves])
    for kind, options in found.options.items():
        ask = partial(options.value, open_everywhere, boxes, optimal.upper, best - budget, Watch())
        times["options", kind] = milliseconds([ask] * 5)
    cells = []
    for bound in ("losses", "options"):
        cells += [_cell(times.get((bound, kind))) for kind in ("one pass", "systems", "sweeps")]
        systems, sweeps = times.get((bound, "systems")), times.get((bound, "sweeps"))
        cells.append("" if systems is None or sweeps is None else f"{systems / sweeps:.1f}")
    successors = mdp.transitions.nnz / mdp.rewards.size
    title = name + "".join(f" {key}={value}" for key, value in settings.items())
    return [title, f"{mdp.n_states:,}", f"{successors:.1f}", *cells]


def _cell(time_of_call: float | None) -> str:
    return "" if time_of_call is None else f"{time_of_call:.2f}"


def main() -> None:
    table = Table("problem", title="Milliseconds per bound")
    kinds = ("one pass", "systems", "sweeps", "ratio")
    for heading in ("states", "successors", *(f"{bound}\n{kind}" for bound in ("losses", "options") for kind in kinds)):
        table.add_column(heading, justify="right")
    for name, settings in PROBLEMS:
        table.add_row(*row(name, settings))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
