"""SCIP: open source, from the package pyscipopt; the fastest open solver on the strong form.

It does best when it branches on the questions first, from the top of the tree down, then on the leaves' actions, then
on d and π, which for that are integer; with rows that break symmetries; and without cuts, which hardly move the bound.
SCIP works on one core.
"""

from importlib import import_module
from typing import Any

import numpy as np

from omdt.errors import require
from omdt.limits import Limits
from omdt.mdp import Floats
from omdt.methods.milp.backend import NO_SOLUTION, NOT_STARTED, Answer, Record, SolverError, interruptible, stop_of
from omdt.methods.milp.forms import Tuning
from omdt.methods.milp.formulation import Model
from omdt.methods.milp.tolerance import TOLERANCE
from omdt.solution import Stop

TUNING = Tuning(integer_paths=True, symmetry_rows=True)

DUAL_TOLERANCE = TOLERANCE / 10

NEGLIGIBLE = TOLERANCE / 1000
"""Numbers as small as this are taken for zero, as are differences of sums as small as the tolerance. By default SCIP
does so with larger ones than the tolerance that it is asked for. It has closed the branch of the best tree then, on two
of 17,073 random problems."""

STOPS = {
    "optimal": Stop.COMPLETE,
    "gaplimit": Stop.COMPLETE,
    "timelimit": Stop.TIME,
    "memlimit": Stop.MEMORY,
    "userinterrupt": Stop.INTERRUPTED,
}
"""What SCIP's status means; any other is no proof of anything."""

INFEASIBLE = ("infeasible", "inforunbd")
"""No program here is unbounded, since all columns have bounds."""

IMPOSSIBLE = ("unbounded",)


def load() -> Any:
    """The package pyscipopt."""
    require("pyscipopt", "scip", "the back-end scip")
    return import_module("pyscipopt")


def run(model: Model, start: Floats | None, limits: Limits, record: Record) -> Answer:
    """Solve the program with SCIP."""
    pyscipopt = load()
    solver = pyscipopt.Model()
    solver.hideOutput()
    infinity = solver.infinity()
    solver.setParams(
        {
            "limits/time": min(record.watch.remaining, infinity),
            "limits/gap": limits.gap / 2,
            "numerics/feastol": TOLERANCE,
            "numerics/dualfeastol": DUAL_TOLERANCE,
            "numerics/sumepsilon": TOLERANCE,
            "numerics/epsilon": NEGLIGIBLE,
            "separating/maxroundsroot": 0,
            "separating/maxrounds": 0,
            # It has cut off the best tree of small problems, whose bounds on x' are tight, and saves no time here.
            "presolving/maxrounds": 0,
            "presolving/maxrestarts": 0,
            "randomization/randomseedshift": limits.seed % 2**31,
            "misc/catchctrlc": False,
        }
    )
    with record.watch.catching_interrupts():
        variables = _program(model, solver, pyscipopt.quicksum)
    if record.watch.interrupted:
        return NOT_STARTED
    if start is not None:
        solution = solver.createSol()
        for variable, value in zip(variables, start, strict=True):
            solver.setSolVal(solution, variable, value)
        solver.addSol(solution)
    watcher = _watcher(record, variables, pyscipopt)
    solver.includeEventhdlr(watcher, "watcher", "passes solutions and bounds on")
    interrupted = interruptible(solver.optimizeNogil, solver.interruptSolve)
    if watcher.failure is not None:
        raise watcher.failure
    status = solver.getStatus()
    if status in INFEASIBLE and start is None:
        return NO_SOLUTION
    if status in (*INFEASIBLE, *IMPOSSIBLE):
        raise SolverError(f"SCIP ended with the status {status} on a program that has a solution")
    root_bound = solver.getDualboundRoot()
    best = solver.getBestSol() if solver.getNSols() else None
    return Answer(
        vector=None if best is None else np.array([solver.getSolVal(best, variable) for variable in variables]),
        bound=solver.getDualbound() if status in STOPS else np.inf,
        stop=stop_of(status, STOPS, interrupted=interrupted),
        nodes=int(solver.getNTotalNodes()),
        root_bound=root_bound if abs(root_bound) < infinity else np.inf,
    )


def _program(model: Model, solver: Any, quicksum: Any) -> list[Any]:
    """Tell the solver the program; its variables, one per column."""
    variables = [
        solver.addVar(name, "I" if integer else "C", lower, upper, objective)
        for name, integer, lower, upper, objective in zip(
            model.column_names,
            model.integer.tolist(),
            model.lower.tolist(),
            model.upper.tolist(),
            model.objective.tolist(),
            strict=True,
        )
    ]
    for variable, priority in zip(variables, model.priority.tolist(), strict=True):
        solver.chgVarBranchPriority(variable, priority)
    solver.setMaximize()
    solver.addObjoffset(model.offset / model.unit)
    A = model.A
    for row, name in enumerate(model.row_names):
        entries = slice(A.indptr[row], A.indptr[row + 1])
        columns, values = A.indices[entries].tolist(), A.data[entries].tolist()
        total = quicksum(value * variables[column] for column, value in zip(columns, values, strict=True))
        lower, upper = float(model.row_lower[row]), float(model.row_upper[row])
        if lower == upper:
            solver.addCons(total == upper, name)
        else:
            solver.addCons(total <= upper if np.isinf(lower) else total >= lower, name)
    return variables


def _watcher(record: Record, variables: list[Any], pyscipopt: Any) -> Any:
    solutions = pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND
    nodes = pyscipopt.SCIP_EVENTTYPE.NODESOLVED

    class Watcher(pyscipopt.Eventhdlr):  # type: ignore[misc]
        """Passes solutions and bounds on; an exception would be lost in the solver, so it is kept for later."""

        failure: Exception | None = None

        def eventinit(self) -> None:
            self.model.catchEvent(solutions, self)
            self.model.catchEvent(nodes, self)

        def eventexit(self) -> None:
            self.model.dropEvent(solutions, self)
            self.model.dropEvent(nodes, self)

        def eventexec(self, event: Any) -> None:
            try:
                if event.getType() == solutions:
                    best = self.model.getBestSol()
                    record.found(np.array([self.model.getSolVal(best, variable) for variable in variables]))
                else:
                    record.bounded(self.model.getDualbound())
            except Exception as failure:
                self.failure = failure
                self.model.interruptSolve()

    return Watcher()
