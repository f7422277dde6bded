"""Differential testing of objectives without a discount: random problems solved in several independent ways.

    python tests/fuzz_totals.py --cases 1000 --seed 0

Every problem is solved by the search and by trying all trees in rational arithmetic; in turn also by the coarse search
alone, by the mixed-integer program where every policy ends, and by the heuristics.
"""

import argparse
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from exact_chains import Number
from omdt.errors import InputError
from omdt.solution import Solution
from total_tasks import TotalTask

TIME_LIMIT = 60.0
"""Seconds after which a run counts as hanging."""

RELATIVE = Fraction(1, 10**9)
"""Largest error of a value, relative to the value or to 1."""

COARSE = {"first_climbs": 0, "coarse_sweeps": 3, "coarse_nodes_per_round": 1}
"""Settings of the search that leave as much as possible to the proof."""

Way = Callable[[TotalTask], str | None]
"""Solves a task in some way and says what is wrong with the answer, if anything is."""


def exactly(figure: float) -> Number:
    """A figure of a solution as a number that can be compared with exact ones."""
    return figure if math.isinf(figure) else Fraction(figure)


def differ(one: Number, other: Number, tolerance: Fraction) -> bool:
    """Whether two values differ by more than a tolerance, relative to the second one or to 1."""
    if isinstance(one, float) or isinstance(other, float):
        return one != other
    return abs(one - other) > tolerance * max(1, abs(other))


def fault_of(task: TotalTask, solution: Solution, *, limited: bool = True) -> str | None:
    """What is wrong with an answer, in the light of the best tree of all; without a limit on size, less is known."""
    own = task.value(solution.tree.actions(task.splits.observations))
    if differ(exactly(solution.value), own, RELATIVE):
        return f"the value {solution.value!r} is not that of the tree, {float(own)!r}"
    if task.better(own, exactly(solution.bound)) and differ(own, exactly(solution.bound), RELATIVE):
        return f"the tree is worth {float(own)!r}, which is beyond the bound {solution.bound!r}"
    if not limited:
        return None
    if solution.tree.depth > task.size[0] or solution.tree.n_leaves > task.size[1]:
        return "the tree is too large"
    if task.better(task.best, exactly(solution.bound)):
        return f"the bound {solution.bound!r} is beyond the value {float(task.best)!r} of a tree"
    if solution.proven and differ(own, task.best, Fraction(11, 100_000)):
        return f"the tree is called proven at {float(own)!r}, but another is worth {float(task.best)!r}"
    return None


def by_search(task: TotalTask) -> str | None:
    """The search must finish with a proof."""
    solution = task.solve(time_limit=TIME_LIMIT)
    return fault_of(task, solution) or (None if solution.proven else f"not proven: {solution.bound!r}")


def by_coarse_search(task: TotalTask) -> str | None:
    """So must the coarse search alone."""
    solution = task.solve(COARSE, time_limit=TIME_LIMIT)
    return fault_of(task, solution) or (None if solution.proven else f"not proven: {solution.bound!r}")


def by(method: str, **options: object) -> Way:
    """A method that may refuse a task, or asks thresholds only."""

    def run(task: TotalTask) -> str | None:
        try:
            solution = task.solve(method=method, time_limit=TIME_LIMIT, **options)
        except InputError as error:
            if "every policy" in str(error) or "asks thresholds" in str(error):
                return None
            raise
        return fault_of(task, solution, limited=method != "copy")

    return run


WAYS: dict[str, tuple[Way, int]] = {
    "search": (by_search, 1),
    "coarse search": (by_coarse_search, 2),
    "milp": (by("milp", start_seconds=0.0), 2),
    "copy": (by("copy"), 1),
    "copy with ties": (by("copy", ties="any"), 2),
    "viper": (by("viper", iterations=3), 10),
    "iddt": (by("iddt"), 50),
}
"""The ways, and the number of problems per problem that is solved in each."""


def checked(way: Way, task: TotalTask) -> str | None:
    """What is wrong with the answer; a crash is wrong, too, unless the rewards have no total."""
    try:
        return way(task)
    except InputError as error:
        return None if "there is no total" in str(error) else repr(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@dataclass
class Tally:
    """What was done: how many answers of every kind were compared, and how many were wrong."""

    problems: int
    answers: Counter[str]
    faults: int


def fuzz(cases: int, seed: int) -> Tally:
    """Solve random problems."""
    tally = Tally(0, Counter(), 0)
    while tally.problems < cases:
        task = TotalTask.random(np.random.default_rng([seed, tally.problems]))
        for name, (way, every) in WAYS.items():
            if tally.problems % every == 0:
                tally.answers[name] += 1
                fault = checked(way, task)
                if fault is not None:
                    tally.faults += 1
                    what = f"{'largest' if task.maximise else 'smallest'} {task.kind}"
                    print(f"problem {tally.problems} of seed {seed}, {what}, {name}: {fault}", flush=True)
        tally.problems += 1
        if tally.problems % 100 == 0:
            print(f"{tally.problems:,} problems, {tally.faults} disagreements", flush=True)
    return tally


def main() -> None:
    """Fuzz; the exit status is 1 when anything disagreed."""
    parser = argparse.ArgumentParser(description="random problems without a discount, solved in ways that must agree")
    parser.add_argument("--cases", type=int, default=1000, help="number of problems (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other problems (default: 0)")
    options = parser.parse_args()
    began = time.monotonic()
    tally = fuzz(options.cases, options.seed)
    answers = ", ".join(f"{count:,} by {name}" for name, count in tally.answers.items())
    print(f"{tally.problems:,} problems in {time.monotonic() - began:,.0f} s, all by brute force; {answers}")
    print(f"{tally.faults} disagreements")
    sys.exit(tally.faults > 0)


if __name__ == "__main__":
    main()
