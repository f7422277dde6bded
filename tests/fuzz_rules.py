"""Differential testing of rules: random problems under random rules, solved in several ways that must agree.

    python tests/fuzz_rules.py --cases 1000 --seed 0

Every problem is solved by the search, by the mixed-integer program on one of the installed solvers and by trying all
trees with an independent reading of every rule (`rules/brute.py`). Methods must return the best of all trees that keep
the rules, with a bound that is not below it, and must say so if there is none.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

import omdt
from omdt.errors import InputError
from omdt.methods.search.settings import SearchSettings
from omdt.solution import Solution
from rules.brute import Problem, depth_of, leaves_of, plain
from rules.random_rules import KINDS, random_problem

TIME_LIMIT = 60.0
"""Seconds after which a run counts as hanging."""

GAP = 1e-6
"""Relative gap that counts as a proof."""

PROGRAM_GAP = 1e-4
"""Gap that the tolerances of a mixed-integer program may leave, relative to the scale of the problem."""

RELATIVE = 1e-8
"""Largest error of a value, relative to the scale of the problem."""

SOLVERS = {"highs": "highspy", "scip": "pyscipopt"}

Way = Callable[[Problem], str | None]
"""Solves a problem in some way and says what is wrong with the answer, if anything is."""


def solved(problem: Problem, **rest: object) -> Solution:
    """What a method finds."""
    return omdt.solve(
        problem.mdp,
        max_depth=problem.max_depth,
        max_leaf_nodes=problem.max_leaves,
        rules=problem.rules,
        unavailable=problem.unavailable,
        gap=GAP,
        time_limit=TIME_LIMIT,
        **rest,
    )


def fault_of(problem: Problem, solution: Solution) -> str | None:
    """What is wrong with an answer, in the light of the best tree of all."""
    best, tree = problem.best, plain(solution.tree)
    if best.value is None:
        return f"a tree of value {solution.value!r} is returned, but none keeps the rules"
    tolerance = RELATIVE * max(1.0, problem.scale)
    own = problem.judged(tree)
    size = depth_of(tree), leaves_of(tree)
    if problem.max_depth is not None and size[0] > problem.max_depth:
        return "the tree is too deep"
    if problem.max_leaves is not None and size[1] > problem.max_leaves:
        return "the tree has too many leaves"
    if own.broken and not own.doubtful:
        return f"the tree breaks {', '.join(sorted(own.broken))}"
    if abs(own.value - solution.value) > tolerance:
        return f"the value {solution.value!r} is not that of the tree, {own.value!r}"
    if own.value > best.value + tolerance:
        return f"the tree is worth {own.value!r}, more than the best of all, {best.value!r}"
    if solution.bound < best.value - 1e-5 * tolerance:
        return f"the bound {solution.bound!r} is below the value {best.value!r} of a tree"
    if own.value < best.value - tolerance - GAP * abs(best.value):
        return f"the tree is worth {own.value!r}, but another is worth {best.value!r}"
    left = tolerance if solution.method == "search" else PROGRAM_GAP * max(1.0, problem.scale)
    if not solution.proven and solution.bound - solution.value > left:
        return f"not proven: {solution.value!r}, bound {solution.bound!r}"
    return None


def by(**options: object) -> Way:
    """A method that must find the best tree, or say that there is none."""

    def run(problem: Problem) -> str | None:
        try:
            solution = solved(problem, **options)
        except InputError as error:
            told = str(error)
            if not told.startswith("no tree") or "as far as was searched" in told:
                raise
            best = problem.best.value
            return None if best is None else f"no tree is said to keep the rules, but one does, of value {best!r}"
        return fault_of(problem, solution)

    return run


PROGRAMS = [f"milp on {name}" for name, module in SOLVERS.items() if find_spec(module)]
PROGRAMS += ["milp in the paper's form"] if find_spec(SOLVERS["highs"]) else []
"""The ways whose solver is installed."""

COMBINATIONS: list[tuple[str, ...]] = [*combinations(KINDS, 1), *combinations(KINDS, 2)]
"""Every rule alone, and every pair of rules."""

RANDOM_COMBINATIONS = 19
"""Number of random combinations per round of all others; a round has 139 problems, a prime, so that every combination
meets every way in time."""

WAYS: dict[str, Way] = {
    "search": by(),
    "search without climbs": by(settings=SearchSettings(first_climbs=0, coarse_sweeps=3, coarse_nodes_per_round=1)),
    **{f"milp on {name}": by(method="milp", backend=name, start_seconds=0.0) for name in SOLVERS},
    "milp in the paper's form": by(method="milp", form="paper", start_seconds=0.0),
}


def ways_for(number: int) -> list[str]:
    """The search and, in turn, one of the other ways."""
    others = [name for name in WAYS if name != "search" and (not name.startswith("milp") or name in PROGRAMS)]
    return ["search", others[number % len(others)]]


def problem_of(seed: int, number: int) -> Problem:
    """A problem of a number: every rule alone, every pair of rules and random ones in turn."""
    rng = np.random.default_rng([seed, number])
    turn = number % (len(COMBINATIONS) + RANDOM_COMBINATIONS)
    return random_problem(rng, COMBINATIONS[turn] if turn < len(COMBINATIONS) else None)


def checked(way: Way, problem: Problem) -> str | None:
    """What is wrong with the answer; a crash is wrong, too."""
    try:
        return way(problem)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@dataclass
class Tally:
    """What was done: how many answers of every kind were compared, and how many were wrong."""

    problems: int
    infeasible: int
    doubtful: int
    answers: Counter[str]
    faults: list[str]


def fuzz(cases: int, seed: int, ways: list[str] | None = None, first: int = 0) -> Tally:
    """Solve random problems, from a number on."""
    tally = Tally(0, 0, 0, Counter(), [])
    for number in range(first, first + cases):
        problem = problem_of(seed, number)
        tally.problems += 1
        if problem.best.doubtful:
            tally.doubtful += 1
            continue
        tally.infeasible += problem.best.value is None
        for name in ways or ways_for(number):
            tally.answers[name] += 1
            fault = checked(WAYS[name], problem)
            if fault is not None:
                tally.faults.append(f"problem {number} of seed {seed}, {described(problem)}, {name}: {fault}")
                print(tally.faults[-1], flush=True)
        if tally.problems % 100 == 0:
            print(f"{tally.problems:,} problems, {len(tally.faults)} disagreements", flush=True)
    return tally


def described(problem: Problem) -> str:
    """Rules and size of a problem, on one line."""
    asked = {**problem.rules.to_dict(), "max_depth": problem.max_depth, "max_leaf_nodes": problem.max_leaves}
    return f"{asked} {'forbid ' if problem.unavailable == 'forbid' else ''}on {problem.mdp!r}"


def main() -> None:
    """Fuzz; the exit status is 1 when anything disagreed."""
    parser = argparse.ArgumentParser(description="random problems under random rules, solved in ways that must agree")
    parser.add_argument("--cases", type=int, default=1000, help="number of problems (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other problems (default: 0)")
    parser.add_argument("--way", action="append", choices=list(WAYS), help="only these ways (default: all in turn)")
    options = parser.parse_args()
    began = time.process_time()
    tally = fuzz(options.cases, options.seed, options.way)
    answers = ", ".join(f"{count:,} by {name}" for name, count in tally.answers.items())
    print(
        f"{tally.problems:,} problems in {time.process_time() - began:,.0f} s, all by brute force, of which "
        f"{tally.infeasible:,} have no tree that keeps the rules and {tally.doubtful:,} were left out because rounding "
        f"decides; {answers}"
    )
    print(f"{len(tally.faults)} disagreements")
    sys.exit(bool(tally.faults))


if __name__ == "__main__":
    main()
