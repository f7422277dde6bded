"""The runs of a comparison: which there are, and how they run one by one or in several processes."""

from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from dataclasses import dataclass, field, replace
from typing import Any

from omdt.mdp import MDP
from omdt.methods.registry import method_named
from omdt.objective import DISCOUNTED_RETURN, Asked
from omdt.processes import POLL_SECONDS, Pool
from omdt.rules import Rules
from omdt.solution import Solution, Stop
from omdt.solving import solve
from omdt.watch import Watch

Runs = Generator[tuple["Job", Solution]]
"""Finished runs, as they finish."""


@dataclass(frozen=True)
class Job:
    """One run of one method."""

    row: str
    method: str
    seed: int = 0
    limits: dict[str, Any] = field(default_factory=dict)
    objective: Asked = DISCOUNTED_RETURN
    options: dict[str, Any] = field(default_factory=dict)
    rules: Rules | None = None

    def run(self, mdp: MDP) -> Solution:
        """Solve the problem by the method, on one core: other runs may need the others."""
        return solve(
            mdp,
            method=self.method,
            seed=self.seed,
            objective=self.objective,
            rules=() if self.rules is None else self.rules,
            threads=1,
            **self.limits,
            **self.options,
        )


def jobs_of(
    limits: dict[str, Any], objective: Asked, seeds: int, milp: str | None, rules: Rules | None = None
) -> list[Job]:
    """All runs, those that take longest first.

    Args:
        limits: the arguments of `omdt.solve` that limit the size and the time of a run.
        objective: what is asked.
        seeds: number of runs of VIPER.
        milp: the solver of milp, or None if milp takes no part.
        rules: what the trees of methods that look for trees under rules must respect.
    """
    jobs = [
        *([] if milp is None else [Job("milp", "milp", limits=limits, options={"backend": milp})]),
        Job("search", "search", limits=limits),
        Job("iddt", "iddt", limits=limits),
        *(Job("viper", "viper", seed, limits) for seed in range(seeds)),
        Job("copy", "copy"),
        Job("copy-any", "copy", options={"ties": "any"}),
    ]
    ruled = (rules if method_named(job.method).keeps_rules else None for job in jobs)
    return [replace(job, objective=objective, rules=stated) for job, stated in zip(jobs, ruled, strict=True)]


def one_by_one(mdp: MDP, jobs: list[Job], watch: Watch) -> Runs:
    """Run the jobs in this process; none begins after an interrupt."""
    for job in jobs:
        solution = job.run(mdp)
        yield job, solution
        if watch.interrupted or solution.stop is Stop.INTERRUPTED:
            return


def side_by_side(mdp: MDP, jobs: list[Job], watch: Watch, processes: int) -> Runs:
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
