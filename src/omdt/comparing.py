"""compare(mdp, …): every method side by side on one problem, between the random policy and the best policy of any form.

The runs can share several processes. The row of a method that uses random numbers is the mean over its seeds; the row
of any other method is its one run.
"""

import csv
import io
import json
import math
import time
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from omdt import planning
from omdt.errors import InputError, require
from omdt.files import write_whole
from omdt.limits import Limits
from omdt.mdp import MDP, Floats
from omdt.objective import DISCOUNTED_RETURN, Asked, objective_of
from omdt.processes import POLL_SECONDS, Pool
from omdt.solution import MAX, MIN, Solution, Stop, Wording, discounted_return, spelled, wording
from omdt.solving import solve
from omdt.task import Size, Task
from omdt.watch import Watch

FORMAT = "omdt-comparison-1"

Runs = Generator[tuple["Job", Solution]]
"""Finished runs, as they finish."""

Progress = Callable[[int, int, str], None]
"""Hears of the number of finished runs, the number of all runs, and the row of the run that finished last."""

MEANING = {
    "random": "every available action equally likely",
    "viper": "imitates the optimal policy",
    "iddt": "soft tree by gradient ascent, made hard",
    "copy": "copies the optimal policy, size unlimited",
    "copy-any": "the same with any optimal action, size unlimited",
    "search": "looks for the best tree of this size",
    "optimal": "the best policy of any form",
}
"""The rows of a comparison, in order."""


@dataclass(frozen=True)
class Row:
    """What one method reached.

    Attributes:
        method: a key of `MEANING`.
        runs: number of seeds that the figures are means over.
        value: discounted return, or what else the objective says.
        value_error: standard error of its mean; None for one run.
        normalized_return: 0 is random, 1 is optimal; None where a return is infinite.
        normalized_error: standard error of its mean; None for one run.
        bound: the best bound that any run gave on the return of all trees of its size: the lowest upper bound, or the
            highest lower bound where the objective is to be small; None for a policy that is not a tree.
        proven: whether all runs proved their trees optimal; None for a policy that is not a tree.
        decision_nodes: mean number; None for a policy that is not a tree.
        seconds: mean time of a run.
    """

    method: str
    runs: int
    value: float
    value_error: float | None
    normalized_return: float | None
    normalized_error: float | None
    bound: float | None
    proven: bool | None
    decision_nodes: float | None
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """All rows of one problem.

    Attributes:
        problem: name of the MDP.
        max_depth: limit on the depth, or None.
        max_leaf_nodes: limit on the number of leaves, or None.
        discount: γ.
        rows: in the order of `MEANING`.
        interrupted: whether Ctrl-C ended it; rows may then be missing, or show runs that ended early.
        objective: what was asked, as in `Solution`; None for the discounted return.
        sense: whether the objective is to be large ("max") or small ("min").
    """

    problem: str
    max_depth: int | None
    max_leaf_nodes: int | None
    discount: float
    rows: tuple[Row, ...]
    interrupted: bool
    objective: str | None = None
    sense: str = MAX

    def __getitem__(self, method: str) -> Row:
        """The row of a method."""
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(method)

    @property
    def indifferent(self) -> bool:
        """Whether the random policy is optimal, so that there is nothing to compare."""
        random, optimal = self["random"].value, self["optimal"].value
        if not math.isfinite(optimal - random):
            return random == optimal
        better = random - optimal if self.sense == MIN else optimal - random
        return better <= planning.ROUNDING * max(abs(random), abs(optimal))

    @property
    def wording(self) -> Wording:
        """How the objective is spoken of."""
        return wording(self.objective, self.sense)

    def to_json(self) -> str:
        """One JSON object."""
        data = asdict(self)
        for row in data["rows"]:
            row |= {key: spelled(row[key]) for key in ("value", "bound")}
        data["objective"] = discounted_return(self.discount) if self.objective is None else self.objective
        return json.dumps({"format": FORMAT, **data}, ensure_ascii=False, allow_nan=False) + "\n"

    def to_csv(self) -> str:
        """A header and one line per row."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["problem", *Row.__dataclass_fields__])
        table.writerows([self.problem, *asdict(row).values()] for row in self.rows)
        return text.getvalue()

    def save(self, path: str | Path) -> None:
        """Write a file, whole or not at all: CSV if its name ends in .csv, else JSON."""
        text = self.to_csv() if Path(path).suffix.lower() == ".csv" else self.to_json()
        write_whole(Path(path), lambda stream: stream.write(text.encode()))


@dataclass(frozen=True)
class Job:
    """One run of one method."""

    row: str
    method: str
    seed: int = 0
    limits: dict[str, Any] = field(default_factory=dict)
    objective: Asked = DISCOUNTED_RETURN
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, mdp: MDP) -> Solution:
        """Solve the problem by the method."""
        return solve(mdp, method=self.method, seed=self.seed, objective=self.objective, **self.limits, **self.options)


def compare(
    mdp: MDP,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    objective: Asked | str = DISCOUNTED_RETURN,
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
        seeds: number of runs of VIPER, over which the mean is taken.
        time_limit: seconds for each run of each method.
        processes: number of runs at the same time; above 1, they run in processes of their own.
        progress: called with the number of finished runs, the number of all runs, and the method that finished last.

    Raises:
        InputError: if the limits do not fit.
        MissingExtraError: if scikit-learn is not installed.
        LostWorkerError: if one of the processes is killed, for example when memory runs out.
    """
    size = Size(max_depth, max_leaf_nodes)
    Limits(time_limit)
    _check_arguments(size, seeds, processes)
    task = Task.over_thresholds(mdp, size, objective_of(objective))
    limits = {"max_depth": max_depth, "max_leaf_nodes": max_leaf_nodes, "time_limit": time_limit}
    jobs = [replace(job, objective=task.objective) for job in _jobs(limits, seeds)]
    watch = Watch()
    with watch.catching_interrupts():
        references = _references(task)
        runs = _one_by_one(mdp, jobs, watch) if processes == 1 else _side_by_side(mdp, jobs, watch, processes)
        solutions = _collected(runs, len(jobs), progress)
    rows = references | {row: _summary(row, runs) for row, runs in solutions.items()}
    ordered = tuple(rows[name] for name in MEANING if name in rows)
    interrupted = watch.interrupted or any(s.stop is Stop.INTERRUPTED for runs in solutions.values() for s in runs)
    sense = MIN if task.objective.minimised else MAX
    discount = task.problem.discount
    return Comparison(mdp.name, max_depth, max_leaf_nodes, discount, ordered, interrupted, task.asked, sense)


def _check_arguments(size: Size, seeds: int, processes: int) -> None:
    """Raise before long work starts if there can be no comparison."""
    if not size.limited:
        raise InputError("a comparison needs a size limit; give a depth, a number of leaves, or both")
    for name, value in (("seeds", seeds), ("processes", processes)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name} is {value!r}; it must be a whole number of at least 1")
    require("sklearn", "sklearn", "a comparison with VIPER")


def _collected(runs: Runs, total: int, progress: Progress | None) -> dict[str, list[Solution]]:
    """The solutions of each row, by seed: rounding must not depend on which run finishes first."""
    found: list[tuple[Job, Solution]] = []
    with closing(runs):
        for job, solution in runs:
            found.append((job, solution))
            if progress is not None:
                progress(len(found), total, job.row)
    solutions: dict[str, list[Solution]] = {}
    for job, solution in sorted(found, key=lambda run: run[0].seed):
        solutions.setdefault(job.row, []).append(solution)
    return solutions


def _jobs(limits: dict[str, Any], seeds: int) -> list[Job]:
    """All runs, those that take longest first."""
    return [
        Job("search", "search", limits=limits),
        Job("iddt", "iddt", limits=limits),
        *(Job("viper", "viper", seed, limits) for seed in range(seeds)),
        Job("copy", "copy"),
        Job("copy-any", "copy", options={"ties": "any"}),
    ]


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


def _summary(row: str, runs: list[Solution]) -> Row:
    """The means over the runs of a method."""
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
        proven=all(solution.proven for solution in runs),
        decision_nodes=float(np.mean([solution.tree.n_decision_nodes for solution in runs])),
        seconds=float(np.mean([solution.effort[0] for solution in runs])),
    )


def _standard_error(values: list[float]) -> float | None:
    known = len(values) > 1 and all(map(math.isfinite, values))
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if known else None


def _one_by_one(mdp: MDP, jobs: list[Job], watch: Watch) -> Runs:
    """Run the jobs in this process; none begins after an interrupt."""
    for job in jobs:
        solution = job.run(mdp)
        yield job, solution
        if watch.interrupted or solution.stop is Stop.INTERRUPTED:
            return


def _side_by_side(mdp: MDP, jobs: list[Job], watch: Watch, processes: int) -> Runs:
    """Run the jobs in processes. After an interrupt, those under way return what they have, and no other begins."""
    with Pool(processes) as pool:
        waiting = {pool.submit(job.run, mdp): job for job in jobs}
        while waiting:
            for future in wait(waiting, POLL_SECONDS, FIRST_COMPLETED).done:
                job = waiting.pop(future)
                try:
                    solution = future.result()
                except CancelledError:
                    continue
                yield job, solution
            if watch.interrupted:
                pool.stop()
