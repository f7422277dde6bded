"""How long a proof would take: an estimate from a sample of partial trees, before an hour is spent on it.

    python benchmarks/effort.py frozenlake_12x12 --depth 4 --samples 200 --seconds 60

The first question of a tree and those on both of its sides are fixed in all ways that the option bound leaves open. A
sample of these partial trees is explored to the end, each for `--seconds` at most, for the target that a proof of the
best known tree has (`best_trees.csv`). The mean of the sample times the number of partial trees estimates the CPU
seconds of the proof alone, on one core, without local search, coarse search and raised targets. It is too low where
some of the sample were cut off, and too high where the search would close many of them together, because it decides
about one side of a tree before it asks anything on the other.
"""

import argparse
import os
import random
import time
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table

import omdt
from best_trees import best_known
from omdt.methods.search.bounds.bases import budget_of
from omdt.methods.search.bounds.protocol import VectorEvidence
from omdt.methods.search.branching import Branching
from omdt.methods.search.exploration import explore
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Case, Goal, Partial
from omdt.methods.search.partial_tree import HOLE, Path
from omdt.methods.search.settings import DEFAULTS
from omdt.methods.search.symmetry import find
from omdt.splits import Splits
from omdt.task import Size, Task
from omdt.watch import Watch, one_thread
from search import REFERENCE

GAP = 1e-4
"""The gap of a proof, as a part of what the best policy gains over the random one."""

MAX_BYTES = 6 << 30
"""Memory for tables and inverses."""


def target_of(name: str, depth: int) -> float:
    """What a proof of the best known tree has to show."""
    facts = REFERENCE[name]
    least, most = facts["random_return_published"], facts["optimal_return"]
    return float(least + (best_known()[name, depth] + GAP) * (most - least))


class Beginnings:
    """Partial trees with one question at the root and one on each of its sides."""

    def __init__(self, knowledge: Knowledge, goal: Goal) -> None:
        self._knowledge, self._goal = knowledge, goal
        self._branching = Branching(knowledge, knowledge.bases.general(goal, Watch()))

    def all(self) -> list[Case]:
        """Those that the option bound leaves open."""
        partials = [Partial(HOLE)]
        for path in ((), (False,), (True,)):
            partials = [child for partial in partials for child in self._divided(partial, path)]
        cases = [self._bounded(partial) for partial in partials]
        return [case for case in cases if case.bound > self._goal.target]

    def _divided(self, partial: Partial, path: Path) -> list[Partial]:
        """A partial tree with every question in one of its open regions."""
        node = self._branching.node(partial)
        place = next((o for o in node.open if o.path == path), None)
        if place is None:
            return []
        return [child for _, child in self._branching.splits(node, place, self._branching.alike(node))]

    def _bounded(self, partial: Partial) -> Case:
        """A partial tree with its option bound."""
        found = self._knowledge.options.bound(self._branching.node(partial), self._goal.target, Watch())
        bound = min(found.value, self._knowledge.model.optimal_return.upper)
        # Where no state is visited twice, the bound begins with no vector.
        inherits = isinstance(found.evidence, VectorEvidence) and not self._knowledge.model.acyclic
        return Case(bound, replace(partial, vector=found.evidence.values if inherits else None, by_options=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="an environment of best_trees.csv")
    parser.add_argument("--depth", type=int, required=True)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60, help="most seconds per partial tree")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if (chosen.name, chosen.depth) not in best_known():
        parser.error(f"no tree of depth {chosen.depth} is known for {chosen.name}; best_trees.csv has those that are")
    mdp, target = omdt.make(chosen.name), target_of(chosen.name, chosen.depth)
    with one_thread():
        model = Model.of(Task(mdp, Splits.of(mdp), Size(chosen.depth, None)), DEFAULTS, Watch())
        knowledge = Knowledge(model, find(model), MAX_BYTES)
        goal = Goal(-np.inf, target, budget_of(knowledge.bases.losses.optimum, target))
        beginnings = Beginnings(knowledge, goal).all()
        sample = random.Random(chosen.seed).sample(beginnings, min(chosen.samples, len(beginnings)))
        taken, nodes, closed = [], 0, 0
        for case in sample:
            start = time.process_time()
            findings = explore(knowledge, case, goal, 10**9, Watch(chosen.seconds))
            taken.append(time.process_time() - start)
            nodes, closed = nodes + findings.nodes, closed + (not findings.open)
    table = Table("environment", title="The proof alone, estimated from a sample")
    for heading in ("d", "partial trees", "sample", "closed", "mean (s)", "longest (s)", "nodes", "all (s)"):
        table.add_column(heading, justify="right")
    mean = sum(taken) / max(1, len(taken))
    figures = f"{mean:.2f}", f"{max(taken, default=0.0):.1f}", f"{nodes:,}", f"{mean * len(beginnings):,.0f}"
    table.add_row(chosen.name, str(chosen.depth), f"{len(beginnings):,}", str(len(sample)), str(closed), *figures)
    Console().print(table)


if __name__ == "__main__":
    main()
