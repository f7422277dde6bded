"""What each strengthening of the mixed-integer program is worth: `strong` with one change undone at a time.

    python benchmarks/milp_ablation.py [--seconds 120]

prints CPU seconds of the solver alone, nodes, and by how much the solver's claim exceeds the exact return of its tree,
for HiGHS and SCIP on three cells. All runs of a cell have the same start tree.
"""

import argparse
import time
from dataclasses import replace
from types import ModuleType

import numpy as np
from rich.console import Console
from rich.table import Table

import omdt
from omdt import planning
from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.methods.milp import highs, scip
from omdt.methods.milp.backend import Answer, Record
from omdt.methods.milp.encoding import decode, encode
from omdt.methods.milp.forms import Parts, strong_parts, weigh
from omdt.methods.milp.formulation import Model, assemble
from omdt.methods.search.climbing import local_search
from omdt.task import Size, Task
from omdt.tree import TreePolicy
from omdt.watch import Watch

CELLS = (("frozenlake_8x8", 2), ("blackjack", 2), ("traffic_intersection", 2))
CHANGES = (
    "strong",
    "all states, actions and questions",
    "no start tree and no budget row",
    "M not tightened by linear programs",
    "not scaled",
    "symmetry rows the other way",
    "integer d and π the other way",
)


class Silent(Record):
    """A record that lets overclaiming solutions pass, since they are what is measured."""

    def found(self, vector: np.ndarray) -> None:
        """Nothing is checked here."""


def unmerged(parts: Parts, mdp: MDP, splits: omdt.Splits) -> Parts:
    S, A = mdp.rewards.shape
    everything = {
        "states": np.arange(S),
        "kind": np.arange(S),
        "classes": np.tile(np.arange(A), (S, 1)),
        "state": np.repeat(np.arange(S), A),
        "action": np.tile(np.arange(A), S),
        "questions": splits,
    }
    return replace(parts, **everything)


def program(mdp: MDP, depth: int, solver: ModuleType, tree: TreePolicy, change: str) -> Model:
    splits = omdt.Splits.of(mdp)
    tuning = solver.TUNING
    if change == "symmetry rows the other way":
        tuning = replace(tuning, symmetry_rows=not tuning.symmetry_rows)
    if change == "integer d and π the other way":
        tuning = replace(tuning, integer_paths=not tuning.integer_paths)
    parts = strong_parts(mdp, splits, depth, None, tuning)
    if change == "all states, actions and questions":
        parts = unmerged(parts, mdp, splits)
    started = change != "no start tree and no budget row"
    tightened = started and change != "M not tightened by linear programs"
    start_value = planning.tree_return(mdp, tree).lower if started else None
    parts = weigh(parts, start_value, Watch(10.0) if tightened else None)
    if change == "not scaled":
        parts = replace(parts, scale=np.ones(len(parts.scale)), flow_unit=np.ones(mdp.n_states))
    return assemble(parts)


def run(model: Model, solver: ModuleType, tree: TreePolicy, limits: Limits) -> tuple[float, Answer]:
    record = Silent(model, tree, np.inf, Watch(limits.time_limit), solver.DUAL_TOLERANCE)
    start = time.process_time()
    answer = solver.run(model, encode(model, tree), limits, record)
    return time.process_time() - start, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120)
    seconds = parser.parse_args().seconds
    console = Console(width=140)
    for name, depth in CELLS:
        mdp = omdt.make(name)
        good = local_search(Task.over_thresholds(mdp, Size(depth)), Limits(), Watch(4))
        leaf = TreePolicy.leaf(0, mdp.feature_names, mdp.action_names)
        table = Table("change", title=f"{name}, depth {depth}")
        for solver in ("HiGHS", "SCIP"):
            for heading in ("seconds", "nodes", "overclaims by"):
                table.add_column(f"{solver} {heading}", justify="right")
        for change in CHANGES:
            tree = leaf if change.startswith("no start") else good
            row = []
            for solver in (highs, scip):
                model = program(mdp, depth, solver, tree, change)
                taken, answer = run(model, solver, tree, Limits(time_limit=seconds))
                over = model.claimed_return(answer.vector) - omdt.evaluate(mdp, decode(model, answer.vector))
                row += [
                    f"{taken:.1f}" if answer.stop == "complete" else f"> {taken:.0f}",
                    str(answer.nodes),
                    f"{over:.1e}",
                ]
            table.add_row(change, *row)
        console.print(table)


if __name__ == "__main__":
    main()
