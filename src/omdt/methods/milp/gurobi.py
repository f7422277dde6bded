"""Gurobi: commercial, from the package gurobipy, whose licence allows 2,000 rows and columns and no more."""

from importlib import import_module
from typing import Any

import numpy as np

from omdt.errors import InputError, require
from omdt.limits import Limits
from omdt.mdp import Floats
from omdt.methods.milp.backend import NO_SOLUTION, Answer, Record, SolverError, interruptible, stop_of
from omdt.methods.milp.forms import Tuning
from omdt.methods.milp.formulation import Model
from omdt.methods.milp.tolerance import TOLERANCE
from omdt.solution import Stop

TUNING = Tuning()

DUAL_TOLERANCE = TOLERANCE
"""The smallest that Gurobi takes."""

STOPS = {
    "OPTIMAL": Stop.COMPLETE,
    "TIME_LIMIT": Stop.TIME,
    "MEM_LIMIT": Stop.MEMORY,
    "INTERRUPTED": Stop.INTERRUPTED,
}
"""What Gurobi's status means; any other is no proof of anything."""

INFEASIBLE = ("INFEASIBLE", "INF_OR_UNBD")
"""No program here is unbounded, since all columns have bounds."""

IMPOSSIBLE = ("UNBOUNDED",)


def load() -> Any:
    """The package gurobipy."""
    require("gurobipy", "gurobi", "the back-end gurobi")
    return import_module("gurobipy")


def run(model: Model, start: Floats | None, limits: Limits, record: Record) -> Answer:
    """Solve the program with Gurobi."""
    gurobipy = load()
    parameters = {
        "OutputFlag": 0,
        "LogToConsole": 0,
        "TimeLimit": min(record.watch.remaining, gurobipy.GRB.INFINITY),
        "MIPGap": limits.gap / 2,
        "MIPGapAbs": 0.0,
        "FeasibilityTol": TOLERANCE,
        "IntFeasTol": TOLERANCE,
        "OptimalityTol": DUAL_TOLERANCE,
        "Threads": limits.threads,
        "Seed": limits.seed % 2_000_000_000,
    }
    try:
        with gurobipy.Env(params=parameters) as environment, gurobipy.Model(env=environment) as solver:
            return _solved(model, start, record, solver, gurobipy.GRB)
    except gurobipy.GurobiError as error:
        if error.errno == gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED:
            rows, columns = model.A.shape
            raise InputError(
                f"the program has {rows} rows and {columns} columns, more than Gurobi's licence allows (the one that "
                "comes with gurobipy stops at 2,000 of either); get a full licence, or use the back-end highs or scip"
            ) from None
        raise SolverError(f"Gurobi: {error}") from error


def _solved(model: Model, start: Floats | None, record: Record, solver: Any, GRB: Any) -> Answer:
    vtypes = np.where(model.integer, GRB.INTEGER, GRB.CONTINUOUS)
    z = solver.addMVar(len(model.objective), model.lower, model.upper, model.objective, vtypes)
    solver.ModelSense, solver.ObjCon = GRB.MAXIMIZE, model.offset / model.unit
    equal, above = model.row_lower == model.row_upper, np.isinf(model.row_upper)
    senses = np.where(equal, GRB.EQUAL, np.where(above, GRB.GREATER_EQUAL, GRB.LESS_EQUAL))
    solver.addMConstr(model.A, z, senses, np.where(above, model.row_lower, model.row_upper))
    z.BranchPriority = model.priority.astype(np.int32)
    if start is not None:
        z.Start = start
    watcher = _Watcher(record, z, GRB.Callback)
    interrupted = interruptible(lambda: solver.optimize(watcher), solver.terminate)
    if watcher.failure is not None:
        raise watcher.failure
    names = {getattr(GRB.Status, name): name for name in (*STOPS, *INFEASIBLE, *IMPOSSIBLE)}
    status = names.get(solver.Status, str(solver.Status))
    if status in INFEASIBLE and start is None:
        return NO_SOLUTION
    if status in (*INFEASIBLE, *IMPOSSIBLE):
        raise SolverError(f"Gurobi ended with the status {status} on a program that has a solution")
    return Answer(
        vector=np.array(z.X) if solver.SolCount else None,
        bound=solver.ObjBound if status in STOPS else np.inf,
        stop=stop_of(status, STOPS, interrupted=interrupted),
        nodes=int(solver.NodeCount),
        root_bound=watcher.root_bound,
    )


class _Watcher:
    """Passes solutions and bounds on; an exception would be lost in the solver, so it is kept for later."""

    def __init__(self, record: Record, z: Any, codes: Any) -> None:
        self.record, self.z, self.codes = record, z, codes
        self.root_bound = np.inf
        self.failure: Exception | None = None

    def __call__(self, solver: Any, where: int) -> None:
        try:
            if where == self.codes.MIPSOL:
                self.record.found(np.array(solver.cbGetSolution(self.z)))
            elif where == self.codes.MIP:
                bound = solver.cbGet(self.codes.MIP_OBJBND)
                if solver.cbGet(self.codes.MIP_NODCNT) <= 1:
                    self.root_bound = bound
                self.record.bounded(bound)
        except Exception as failure:
            self.failure = failure
            solver.terminate()
