"""Differential testing at scale: random problems solved in several independent ways, until time is up.

    python tests/fuzz.py --seconds 600 --seed 0

Every problem is solved by the search and by trying all trees, whose best return is then known in exact rational
arithmetic. Some are also solved with a certificate, which the checker must accept, some by the mixed-integer program on
every installed solver, and some by the search in two processes, which must find the same. A disagreement is made as
small as possible and saved in tests/regressions, from where `test_fuzz.py` replays it in every run.
"""

import argparse
import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from omdt import check, planning
from omdt.certificate import model_of
from omdt.errors import InputError
from omdt.mdp import MDP
from omdt.solution import Solution, Stop
from random_mdps import any_mdp, shaped_mdp
from tasks import RandomTask, dense, exact_return, rare_paths

REGRESSIONS = Path(__file__).parent / "regressions"
SOLVERS = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}

PROGRAM_EVERY = 4
"""Problems per problem that is also solved as a mixed-integer program."""

PROGRAM_LEAVES = 4
"""Largest number of leaves for a mixed-integer program; programs for larger trees take too long."""

CERTIFICATE_EVERY = 3
"""Problems per problem that is also solved with a certificate, which is checked."""

THREADS_EVERY = 500
"""Problems per problem that is also solved in two processes: starting these takes a second."""

TIME_LIMIT = 60.0
"""Seconds after which a run counts as hanging."""

RELATIVE = 1e-9
"""Largest error of a value, relative to the returns of trees and policies: the tolerance of `omdt.solve`."""

ABSOLUTE = 1e-13
"""Largest further error of a value, relative to the largest conceivable return."""

Way = Callable[[RandomTask], str | None]
"""Solves a task in some way and says what is wrong with the answer, if anything is."""


def largest_return(mdp: MDP) -> float:
    """No return is larger."""
    return float(np.abs(mdp.rewards).max()) / (1 - mdp.discount)


def fault_of(task: RandomTask, solution: Solution) -> str | None:
    """What is wrong with an answer, in the light of the best tree of all."""
    best = exact_return(task.mdp, task.best_policy)
    own = exact_return(task.mdp, solution.tree.actions(task.splits.observations))
    near = Fraction(RELATIVE) * Fraction(max(abs(float(best)), abs(solution.optimal_return)))
    rounding = near + Fraction(ABSOLUTE) * Fraction(largest_return(task.mdp))
    value, bound = Fraction(solution.value), Fraction(solution.bound)
    if solution.tree.depth > task.size[0] or solution.tree.n_leaves > task.size[1]:
        return "the tree is too large"
    if bound < best:
        return f"the bound {solution.bound!r} is below the return {float(best)!r} of a tree"
    if abs(value - own) > rounding:
        return f"the value {solution.value!r} is not the return {float(own)!r} of the tree"
    if own > best + rounding:
        return f"the tree returns {float(own)!r}, more than the best of all trees, {float(best)!r}"
    if solution.proven and own < best - Fraction(task.gap) * abs(value) - rounding:
        return f"the tree is called proven at {float(own)!r}, but another returns {float(best)!r}"
    return None


def by_search(task: RandomTask) -> str | None:
    """The search must finish, and prove its tree but for what is not known of its return."""
    solution = task.solve(time_limit=TIME_LIMIT)
    fault = fault_of(task, solution)
    if fault is not None or solution.proven:
        return fault
    if solution.stop is not Stop.COMPLETE:
        return f"the search ended with {solution.stop}"
    unknown = planning.tree_return(task.mdp, solution.tree, task.splits.observations).error
    missing = solution.bound - solution.value - task.gap * abs(solution.value)
    negligible = abs(solution.optimal_return) <= 1e-6 * largest_return(task.mdp)
    return (
        None if negligible or missing <= 2 * unknown else f"nothing is left to search, but the gap is {solution.gap!r}"
    )


def by_certificate(task: RandomTask) -> str | None:
    """The certificate of the bound must convince the checker, whatever questions the trees may ask."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "certificate"
        solution = task.solve(time_limit=TIME_LIMIT, certificate=path)
        verdict = check.check(model_of(task.mdp), solution.to_dict(), path)
    return fault_of(task, solution) if verdict.bound == solution.bound else "the checker verified another bound"


def by_two_processes(task: RandomTask) -> str | None:
    """Two processes must find what one finds, to the last bit."""
    task = replace(task, settings={"solo_seconds": 0.0})
    alone, together = (_repeatable(task.solve(time_limit=TIME_LIMIT, threads=n)) for n in (1, 2))
    return None if alone == together else f"one process finds {alone}, two find {together}"


def _repeatable(solution: Solution) -> tuple[object, ...]:
    return solution.tree.to_dict(), solution.value, solution.bound, solution.stop


def by_program(backend: str) -> Way:
    """The mixed-integer program on one of the solvers, started from the best leaf."""

    def run(task: RandomTask) -> str | None:
        try:
            solution = task.solve(method="milp", backend=backend, start_seconds=0.0, time_limit=TIME_LIMIT)
        except InputError as error:
            # The licence that comes with Gurobi ends at a size that a few of these problems exceed.
            return None if "licence" in str(error) else repr(error)
        return fault_of(task, solution)

    return run


WAYS: dict[str, Way] = {
    "search": by_search,
    "certificate": by_certificate,
    "two processes": by_two_processes,
    **{f"milp on {name}": by_program(name) for name, module in SOLVERS.items() if find_spec(module)},
}


def checked(way: Way, task: RandomTask) -> str | None:
    """What is wrong with the answer; a crash is wrong, too."""
    try:
        return way(task)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def ways_for(number: int, task: RandomTask) -> list[str]:
    """In which ways the problem of this number is solved."""
    programs = [name for name in WAYS if name.startswith("milp")]
    small = task.size[1] <= PROGRAM_LEAVES
    return [
        "search",
        *(["certificate"] if number % CERTIFICATE_EVERY == 0 else []),
        *(programs if number % PROGRAM_EVERY == 0 and small else []),
        *(["two processes"] if number % THREADS_EVERY == 0 else []),
    ]


def task_of(seed: int, number: int) -> RandomTask:
    """The problem of this number."""
    rng = np.random.default_rng([seed, number])
    task = RandomTask.random(rng, shaped_mdp if rng.random() < 0.8 else any_mdp)
    return replace(task, settings=rare_paths(rng)) if rng.random() < 0.5 else task


def shrunk(task: RandomTask, way: Way) -> RandomTask:
    """The smallest problem that greedy steps lead to and whose answer is still wrong."""
    found: RandomTask | None = task
    while found is not None:
        task = found
        found = next((smaller for smaller in smaller_tasks(task) if checked(way, smaller) is not None), None)
    return task


def smaller_tasks(task: RandomTask) -> Iterator[RandomTask]:
    """Problems that are a little simpler."""
    mdp = task.mdp
    if task.settings:
        yield replace(task, settings={})
    if task.max_depth is not None and task.max_leaves is not None:
        yield replace(task, max_depth=None)
        yield replace(task, max_leaves=None)
    if task.max_depth:
        yield replace(task, max_depth=task.max_depth - 1)
    if task.max_leaves is not None and task.max_leaves > 1:
        yield replace(task, max_leaves=task.max_leaves - 1)
    if task.categorical:
        yield replace(task, categorical=())
    if task.predicates.size:
        yield replace(task, predicates=np.zeros((mdp.n_states, 0), dtype=np.bool_))
    for s in range(mdp.n_states if mdp.n_states > 1 else 0):
        kept = np.arange(mdp.n_states) != s
        yield replace(task, mdp=_without_state(mdp, kept), predicates=task.predicates[kept])
    for a in range(mdp.n_actions if mdp.n_actions > 1 else 0):
        yield replace(task, mdp=_changed(mdp, actions=np.arange(mdp.n_actions) != a))
    for j in range(mdp.n_features if mdp.n_features > 1 and not task.categorical else 0):
        yield replace(task, mdp=_changed(mdp, features=np.delete(mdp.features, j, axis=1)))
    yield from (replace(task, mdp=it) for it in _plainer(mdp))


def _without_state(mdp: MDP, kept: np.ndarray) -> MDP:
    """The MDP on the remaining states; where nothing is left of a distribution, the state stays as it is."""
    P, r, initial, discount = dense(mdp)
    P = P[kept][:, :, kept]
    stays = P.sum(axis=2) == 0
    P[stays] = np.broadcast_to(np.eye(len(P))[:, None, :], P.shape)[stays]
    initial = initial[kept] if initial[kept].any() else np.ones(len(P))
    parts = P / P.sum(axis=2, keepdims=True), r[kept], initial / initial.sum(), mdp.features[kept]
    return MDP.from_dense(*parts, discount=discount, available=mdp.available[kept], fallback=mdp.fallback)


def _changed(mdp: MDP, *, actions: np.ndarray | None = None, **parts: np.ndarray) -> MDP:
    P, r, initial, discount = dense(mdp)
    kept = np.ones(mdp.n_actions, dtype=np.bool_) if actions is None else actions
    arrays = {"transitions": P[:, kept], "rewards": r[:, kept], "initial": initial, "features": mdp.features, **parts}
    available = mdp.available[:, kept]
    if available.any(axis=1).all():
        arrays["available"] = available
    return MDP.from_dense(**arrays, discount=discount, fallback=mdp.fallback if actions is None else None)


def _plainer(mdp: MDP) -> Iterator[MDP]:
    """The same with rounder numbers, as far as they are not round yet."""
    P, r, initial, _ = dense(mdp)
    first = np.eye(mdp.n_states)[np.argmax(initial)]
    sure = np.eye(mdp.n_states)[np.argmax(P, axis=2)]
    rank = np.stack([np.unique(column, return_inverse=True)[1] for column in mdp.features.T], axis=1).astype(float)
    rounded = np.array([[float(f"{x:.1g}") for x in row] for row in r])
    for key, old, new in (
        ("initial", initial, first),
        ("transitions", P, sure),
        ("rewards", r, rounded),
        ("features", mdp.features, rank),
    ):
        if not np.array_equal(old, new):
            yield _changed(mdp, **{key: new})
    for discount in (0.5, 0.9):
        if discount < mdp.discount:
            yield replace(mdp, discount=discount)


def save(task: RandomTask, folder: Path = REGRESSIONS) -> Path:
    """Keep a problem for good, under a name that depends on nothing but the problem."""
    text = task.to_json()
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    folder.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@dataclass
class Tally:
    """What was done: how many answers of every kind were compared, and how many were wrong."""

    problems: int
    answers: Counter[str]
    faults: int


def fuzz(seconds: float, seed: int, most: int | None, folder: Path = REGRESSIONS) -> Tally:
    """Solve random problems until time is up or the largest number of them is reached."""
    end = time.monotonic() + seconds
    tally = Tally(0, Counter(), 0)
    while time.monotonic() < end and (most is None or tally.problems < most):
        task = task_of(seed, tally.problems)
        for name in ways_for(tally.problems, task):
            tally.answers[name] += 1
            fault = checked(WAYS[name], task)
            if fault is not None:
                tally.faults += 1
                path = save(shrunk(task, WAYS[name]), folder)
                print(f"problem {tally.problems} of seed {seed}, {name}: {fault}\n  saved as {path}", flush=True)
        tally.problems += 1
        if tally.problems % 500 == 0:
            print(f"{tally.problems:,} problems, {tally.faults} disagreements", flush=True)
    return tally


def main() -> None:
    """Fuzz; the exit status is 1 when anything disagreed."""
    parser = argparse.ArgumentParser(description="random problems, solved in several ways that must agree")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to go on (default: 600)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other problems (default: 0)")
    parser.add_argument("--cases", type=int, default=None, help="stop after this many problems (default: no limit)")
    options = parser.parse_args()
    began = time.monotonic()
    tally = fuzz(options.seconds, options.seed, options.cases)
    answers = ", ".join(f"{count:,} by {name}" for name, count in tally.answers.items())
    print(f"{tally.problems:,} problems in {time.monotonic() - began:,.0f} s, all by brute force; {answers}")
    print(f"{tally.faults} disagreements")
    sys.exit(tally.faults > 0)


if __name__ == "__main__":
    main()
