"""compare(mdp, …): every method side by side on one problem, between the random policy and the best policy of any form.

The runs can share several processes. The row of a method that uses random numbers is the mean over its seeds; the row
of any other method is its one run.
"""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import closing

import numpy as np

from omdt import planning
from omdt.comparing.jobs import Job, Runs, jobs_of, one_by_one, side_by_side
from omdt.comparing.own import Own, OwnRun, check_names, number_of_runs, own_runs
from omdt.comparing.results import MEANING, Comparison, Row
from omdt.comparing.ruled import judged
from omdt.errors import InputError, require
from omdt.limits import Limits
from omdt.mdp import MDP, Floats
from omdt.methods.options import MilpOptions
from omdt.objective import DISCOUNTED_RETURN, Asked, objective_of
from omdt.progress import words
from omdt.rules import FALLBACK, Rules
from omdt.solution import MAX, MIN, Solution, Stop
from omdt.solving import task_of
from omdt.task import Size, Task
from omdt.verbs import verb
from omdt.watch import Watch

Progress = Callable[[int, int, str], None]
"""Hears of the number of finished runs, the number of all runs, and the row of the run that finished last."""


@verb(words.comparing)
def compare(
    mdp: MDP,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    objective: Asked | str = DISCOUNTED_RETURN,
    rules: Rules | None = None,
    extra: Mapping[str, Own] | None = None,
    milp: str | None = None,
    seeds: int = 3,
    time_limit: float | None = 30.0,
    processes: int = 1,
    progress: Progress | None = None,
) -> Comparison:
    """Run every method on one problem.

    Args:
        mdp: the problem.
        max_depth: maximum number of questions on any path.
        max_leaf_nodes: maximum number of leaves.
        objective: what is maximised or minimised, as in `omdt.solve`.
        rules: what trees must respect, as in `omdt.solve`. Only search and milp look for trees under rules; the row of
            any other method says which rule its tree breaks. All figures are net of what questions cost.
        extra: policies of your own by name: a tree, a solution, a model with `predict`, the action of every state [S]
            (by index or by name), or probabilities [S, A]; or a function of the MDP that returns one of these and is
            timed. A function with a parameter `seed` is called once per seed. They need not keep the size limit.
        milp: the solver of the method milp (highs, scip or gurobi), if that shall take part, too.
        seeds: number of runs of VIPER, over which the mean is taken.
        time_limit: seconds for each run of each method; your own functions have no limit.
        processes: number of runs at the same time; above 1, they run in processes of their own. Each uses one core.
        progress: called with the number of finished runs, the number of all runs, and the method that finished last.

    Raises:
        InputError: if the limits do not fit, or `extra` has something that is no policy of the MDP.
        MissingExtraError: if scikit-learn or the solver of milp is not installed.
        LostWorkerError: if one of the processes is killed, for example when memory runs out.
    """
    own, size = dict(extra or {}), Size(max_depth, max_leaf_nodes)
    Limits(time_limit)
    check_names(own)
    _check_arguments(size, seeds, processes, milp)
    task = task_of(mdp, size, None, objective_of(objective), FALLBACK, () if rules is None else rules)
    limits = {"max_depth": max_depth, "max_leaf_nodes": max_leaf_nodes, "time_limit": time_limit}
    jobs = jobs_of(limits, task.objective, seeds, milp, rules)
    heard = _Heard(len(jobs) + number_of_runs(own, seeds), progress)
    watch = Watch()
    with watch.catching_interrupts():
        references = _references(task)
        owned = _owned(task, own, seeds, heard, references)
        jobs = [] if watch.interrupted else jobs
        runs = one_by_one(mdp, jobs, watch) if processes == 1 else side_by_side(mdp, jobs, watch, processes)
        solutions = _collected(runs, heard)
        summaries = {row: _summary(row, *judged(task, found)) for row, found in solutions.items()}
    interrupted = watch.interrupted or any(s.stop is Stop.INTERRUPTED for runs in solutions.values() for s in runs)
    return Comparison(
        problem=mdp.name,
        max_depth=max_depth,
        max_leaf_nodes=max_leaf_nodes,
        discount=task.problem.discount,
        rows=_ordered(references, summaries, owned),
        interrupted=interrupted,
        objective=task.asked,
        sense=MIN if task.objective.minimised else MAX,
    )


def _ordered(references: dict[str, Row], summaries: dict[str, Row], owned: list[Row]) -> tuple[Row, ...]:
    """All rows in the order of `MEANING`, the user's own before the last one."""
    rows = references | summaries
    *ordered, best = (rows[name] for name in MEANING if name in rows)
    return (*ordered, *owned, best)


class _Heard:
    """Counts finished runs and tells of them.

    Args:
        total: number of all runs.
        progress: hears of them.
    """

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._progress, self._done = total, progress, 0

    def __call__(self, row: str) -> None:
        """A run of a row has finished."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total, row)


def _check_arguments(size: Size, seeds: int, processes: int, milp: str | None) -> None:
    """Raise before long work starts if there can be no comparison."""
    if not size.limited:
        raise InputError("a comparison needs a size limit; give a depth, a number of leaves, or both")
    for name, value in (("seeds", seeds), ("processes", processes)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name} is {value!r}; it must be a whole number of at least 1")
    if milp is not None:
        MilpOptions.declared()["backend"].kind.checked("milp", milp)
    require("sklearn", "sklearn", "a comparison with VIPER")


def _collected(runs: Runs, heard: _Heard) -> dict[str, list[Solution]]:
    """The solutions of each row, by seed: rounding must not depend on which run finishes first."""
    found: list[tuple[Job, Solution]] = []
    with closing(runs):
        for job, solution in runs:
            found.append((job, solution))
            heard(job.row)
    solutions: dict[str, list[Solution]] = {}
    for job, solution in sorted(found, key=lambda run: run[0].seed):
        solutions.setdefault(job.row, []).append(solution)
    return solutions


def _owned(task: Task, own: Mapping[str, Own], seeds: int, heard: _Heard, references: dict[str, Row]) -> list[Row]:
    """The rows of the user's own policies."""
    found: dict[str, list[OwnRun]] = {}
    for run in own_runs(task, own, seeds):
        found.setdefault(run.name, []).append(run)
        heard(run.name)
    return [_own_summary(runs, references["random"].value, references["optimal"].value) for runs in found.values()]


def _own_summary(runs: list[OwnRun], random: float, optimal: float) -> Row:
    """The means over the runs of one function, or the figures of one policy."""
    values = [run.value for run in runs]
    span = optimal - random
    scaled = [(value - random) / span if span else 1.0 for value in values]
    known = all(map(math.isfinite, (span, *values)))
    nodes = [run.decision_nodes for run in runs if run.decision_nodes is not None]
    return Row(
        method=runs[0].name,
        runs=len(runs),
        value=float(np.mean(values)),
        value_error=_standard_error(values),
        normalized_return=float(np.mean(scaled)) if known else None,
        normalized_error=_standard_error(scaled) if known else None,
        bound=None,
        proven=None,
        decision_nodes=float(np.mean(nodes)) if len(nodes) == len(runs) else None,
        seconds=float(np.mean([run.seconds for run in runs])),
        breaks=next((run.breaks for run in runs if run.breaks is not None), None),
    )


def _references(task: Task) -> dict[str, Row]:
    """The rows of the random policy and of the best policy of any form."""
    mdp = task.problem

    def row(method: str, values: Callable[[], planning.Certified[Floats]], normalized: float) -> Row:
        start = time.perf_counter()
        value = task.shown(planning.expected_return(mdp, values()).value)
        return Row(method, 1, value, None, normalized, None, None, None, None, time.perf_counter() - start)

    return {
        "random": row("random", lambda: planning.policy_values(mdp, planning.random_policy(mdp)), 0.0),
        "optimal": row("optimal", lambda: planning.optimal_values(mdp), 1.0),
    }


def _summary(row: str, runs: list[Solution], breaks: str | None = None) -> Row:
    """The means over the runs of a method, of which a tree may break a rule."""
    values = [solution.value for solution in runs]
    found = [solution.normalized_return for solution in runs]
    normalized = [share for share in found if share is not None]
    known = len(normalized) == len(found)
    best = max if runs[0].sense == MIN else min
    return Row(
        method=row,
        runs=len(runs),
        value=float(np.mean(values)),
        value_error=_standard_error(values),
        normalized_return=float(np.mean(normalized)) if known else None,
        normalized_error=_standard_error(normalized) if known else None,
        bound=best(solution.shown_bound for solution in runs),
        proven=all(solution.proven for solution in runs) if breaks is None else None,
        decision_nodes=float(np.mean([solution.tree.n_decision_nodes for solution in runs])),
        seconds=float(np.mean([solution.effort[0] for solution in runs])),
        breaks=breaks,
    )


def _standard_error(values: list[float]) -> float | None:
    known = len(values) > 1 and all(map(math.isfinite, values))
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if known else None
