"""The results of the finished runs of a grid: means over seeds, bounds and proofs, on the paper's scale."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, stdev

from omdt.reproduce import paper
from omdt.reproduce.grid import Grid
from omdt.reproduce.pieces import DEPTHS
from omdt.reproduce.running import Failure
from omdt.reproduce.store import Record
from omdt.solution import Solution


@dataclass(frozen=True)
class Summary:
    """The runs of one method in one cell.

    Attributes:
        runs: number of runs.
        value: mean normalised return.
        error: standard error of this mean; None for one run.
        bound: the lowest normalised upper bound of any run.
        proven: whether any run has a proof.
        proof_seconds: mean time of the runs with a proof; None if no run has one.
        seconds: mean time of all runs.
        best: the solution with the highest return.
        middle: the solution with the median return; the lower of two for an even number of runs.
    """

    runs: int
    value: float
    error: float | None
    bound: float
    proven: bool
    proof_seconds: float | None
    seconds: float
    best: Solution
    middle: Solution


class Results:
    """The finished runs of a grid, by cell and method.

    Args:
        grid: the grid.
        records: its finished runs.
        failures: its runs that failed.
    """

    def __init__(self, grid: Grid, records: Iterable[Record], failures: Iterable[Failure] = ()) -> None:
        self.grid = grid
        self.records = sorted(records, key=lambda record: str(record.run))
        self._runs: dict[tuple[str, str, int | None], list[Record]] = {}
        for record in self.records:
            cell = (record.run.environment, record.run.method, record.run.depth)
            self._runs.setdefault(cell, []).append(record)
        self.failures = list(failures)

    def summary(self, environment: str, method: str, depth: int | None) -> Summary | None:
        """The runs of a method in a cell; None if none is finished."""
        records = self._runs.get((environment, method, depth))
        if not records:
            return None
        runs = [record.solution for record in records]
        values = [paper.normalised(environment, run.value, run.optimal_return) for run in runs]
        proofs = [record.seconds for record in records if record.solution.proven]
        return Summary(
            runs=len(runs),
            value=fmean(values),
            error=stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None,
            bound=min(paper.normalised(environment, run.bound, run.optimal_return) for run in runs),
            proven=bool(proofs),
            proof_seconds=fmean(proofs) if proofs else None,
            seconds=fmean(record.seconds for record in records),
            best=max(runs, key=lambda run: run.value),
            middle=sorted(runs, key=lambda run: run.value)[(len(runs) - 1) // 2],
        )

    def why_missing(self, environment: str, method: str, depth: int | None) -> str:
        """Why a cell has no run of a method."""
        for failure in self.failures:
            if (failure.run.environment, failure.run.method, failure.run.depth) == (environment, method, depth):
                return failure.reason
        return "not run yet"


@dataclass(frozen=True)
class Verdict:
    """How the search compares with the paper over all cells.

    Attributes:
        cells: number of cells for which the search has a tree.
        level: number of these cells in which it is at least as good as the better of the paper's two methods, in two
            decimals.
        short: the other cells, with both returns.
        proven: number of cells in which the search has a proof.
        paper_proven: number of the same cells in which the paper has a proof.
        unproven: the cells without a proof, with return and bound.
    """

    cells: int
    level: int
    short: tuple[str, ...]
    proven: int
    paper_proven: int
    unproven: tuple[str, ...]


def verdict(results: Results) -> Verdict:
    """Count the cells in which the search is at least as good as the paper, and those in which it has a proof."""
    short, unproven, paper_proven, count = [], [], 0, 0
    for environment in results.grid.environments:
        for depth in DEPTHS:
            ours, theirs = results.summary(environment, "search", depth), paper.cells()[environment, depth]
            if ours is None:
                continue
            count += 1
            name = f"{environment} depth {depth}"
            paper_proven += theirs.proof_seconds is not None
            if round(ours.value, 2) < theirs.best:
                short.append(f"{name} ({ours.value:.2f}, paper {theirs.best:.2f})")
            if not ours.proven:
                unproven.append(f"{name} ({ours.value:.2f}, bound {ours.bound:.2f})")
    return Verdict(count, count - len(short), tuple(short), count - len(unproven), paper_proven, tuple(unproven))
