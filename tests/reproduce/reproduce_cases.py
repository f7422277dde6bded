"""Records of runs that did not take place, and of some that did."""

from functools import cache

import omdt
from omdt import planning
from omdt.reproduce import paper
from omdt.reproduce.grid import Grid, Run, key, problem, problem_digest
from omdt.reproduce.store import Record
from omdt.solution import Solution, Stop
from omdt.tree import TreePolicy
from solutions import made_solution

MACHINE = dict.fromkeys(("host", "system", "processor", "cores", "python", "omdt", "numpy", "scipy", "numba"), "7")


def record_of(run: Run, solution: Solution) -> Record:
    digest = problem_digest(run.environment)
    name = key(run, digest, omdt.__version__)
    return Record(name, run, digest, solution, 1.5, 2**20, MACHINE, "2026-01-01T00:00:00+00:00")


@cache
def lake_solution(depth: int) -> Solution:
    """A solution as it comes back from a file, where seconds are rounded."""
    return Solution.from_dict(omdt.solve(problem("frozenlake_4x4"), max_depth=depth).to_dict())


def lake_record(depth: int = 1, seed: int = 0) -> Record:
    return record_of(Run("frozenlake_4x4", "search", depth, seed, 5.0), lake_solution(depth))


@cache
def optimal_return(environment: str) -> float:
    mdp = problem(environment)
    return planning.expected_return(mdp, planning.optimal_values(mdp)).value


def made_up(run: Run, normalised: float, bound: float) -> Record:
    """A run that claims some normalised return, with a tree of two leaves."""
    mdp = problem(run.environment)
    random, optimal = paper.environments()[run.environment].random_return, optimal_return(run.environment)
    value, above = (random + x * (optimal - random) for x in (normalised, bound))
    leaves = {"left": {"action": mdp.action_names[0]}, "right": {"action": mdp.action_names[1]}}
    tree = TreePolicy.from_dict(
        {"feature": mdp.feature_names[0], "threshold": 0.5, **leaves}, mdp.feature_names, mdp.action_names
    )
    bound = max(value, above)
    solution = made_solution(
        tree,
        problem=run.environment,
        method=run.method,
        max_depth=run.depth,
        discount=mdp.discount,
        value=value,
        bound=bound,
        stop=Stop.TIME,
        optimal_return=optimal,
        random_return=random,
        seconds=2.0,
        seed=run.seed,
        trace=((0.5, value, bound),),
    )
    return record_of(run, solution)


def made_up_records(grid: Grid) -> list[Record]:
    """All runs of a grid, each as good as the better of the paper's two methods, proven at depths 1 and 2."""
    records = []
    for run in grid.runs(grid.pieces("all")):
        depth = run.depth or 3
        best = paper.cells()[run.environment, depth].best
        records.append(made_up(run, best, best if depth < 3 else best + 0.05))
    return records
