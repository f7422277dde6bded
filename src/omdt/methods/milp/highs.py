"""HiGHS: the default solver, open source, from the package highspy.

It does best with d and π continuous, without the rows that break symmetries and without its own heuristics, since the
start tree is better than what they find.
"""

from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from omdt.errors import require
from omdt.limits import Limits
from omdt.mdp import Floats
from omdt.methods.milp.backend import NO_SOLUTION, NOT_STARTED, Answer, Record, SolverError, interruptible, stop_of
from omdt.methods.milp.forms import Tuning
from omdt.methods.milp.formulation import Model
from omdt.methods.milp.tolerance import TOLERANCE
from omdt.solution import Stop

TUNING = Tuning()

DUAL_TOLERANCE = TOLERANCE / 10
"""Inside its branch and bound HiGHS takes a tenth of the feasibility tolerance, whatever the option for it says."""

STOPS = {
    "kOptimal": Stop.COMPLETE,
    "kTimeLimit": Stop.TIME,
    "kInterrupt": Stop.INTERRUPTED,
    "kMemoryLimit": Stop.MEMORY,
}
"""What HiGHS's status means; any other is no proof of anything."""

INFEASIBLE = ("kInfeasible", "kUnboundedOrInfeasible")
"""No program here is unbounded, since all columns have bounds."""

IMPOSSIBLE = ("kUnbounded", "kModelError", "kLoadError")


SMALLEST_COEFFICIENT = 1e-12
"""Coefficients up to this size are dropped: the least that HiGHS takes."""


def load() -> Any:
    """The package highspy."""
    require("highspy", "highs", "the back-end highs")
    return import_module("highspy")


def run(model: Model, start: Floats | None, limits: Limits, record: Record) -> Answer:
    """Solve the program with HiGHS."""
    highspy = load()
    solver = highspy.Highs()
    options = {
        "output_flag": False,
        "time_limit": min(record.watch.remaining, highspy.kHighsInf),
        "mip_rel_gap": limits.gap / 2,
        "mip_abs_gap": 0.0,
        "mip_feasibility_tolerance": TOLERANCE,
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": DUAL_TOLERANCE,
        # By default coefficients up to 1e-9 are dropped, after which presolve has cut off the best tree.
        "small_matrix_value": SMALLEST_COEFFICIENT,
        "mip_heuristic_effort": 0.0,
        "threads": limits.threads,
        "random_seed": limits.seed % 2**31,
    }
    for name, value in options.items():
        _check(solver.setOptionValue(name, value), f"does not accept {name} = {value}")
    with record.watch.catching_interrupts():
        _check(solver.passModel(_program(model, highspy)), "does not accept the program")
    if record.watch.interrupted:
        return NOT_STARTED
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start
        _check(solver.setSolution(solution), "does not accept the start solution")

    watcher = _Watcher(record)
    solver.cbMipImprovingSolution += watcher.solution
    solver.cbMipInterrupt += watcher.bound
    solver.cbSimplexInterrupt += watcher.simplex
    interrupted = interruptible(lambda: _run(solver), watcher.interrupt)
    if watcher.failure is not None:
        raise watcher.failure
    status, info = solver.getModelStatus().name, solver.getInfo()
    if status in INFEASIBLE and start is None:
        return NO_SOLUTION
    if status in (*INFEASIBLE, *IMPOSSIBLE):
        raise SolverError(f"HiGHS ended with the status {status} on a program that has a solution")
    found = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    return Answer(
        vector=np.array(solver.getSolution().col_value) if found else None,
        bound=info.mip_dual_bound if status in STOPS else np.inf,
        stop=stop_of(status, STOPS, interrupted=interrupted),
        nodes=int(info.mip_node_count),
        root_bound=watcher.root_bound,
    )


class _Watcher:
    """Passes solutions and bounds on; an exception would be lost in the solver, so it is kept for later."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.root_bound = np.inf
        self.failure: Exception | None = None
        self.stopping = False

    def interrupt(self) -> None:
        self.stopping = True

    def solution(self, event: Any) -> None:
        try:
            self.record.found(np.array(event.data_out.mip_solution))
        except Exception as failure:
            self.failure, self.stopping = failure, True

    def bound(self, event: Any) -> None:
        if event.data_out.mip_node_count <= 1:
            self.root_bound = event.data_out.mip_dual_bound
        self.record.bounded(event.data_out.mip_dual_bound)
        self.simplex(event)

    def simplex(self, event: Any) -> None:
        if self.stopping:
            event.interrupt()


def _run(solver: Any) -> None:
    solver.run()
    # The scheduler is shared by the process: its threads must end with this one, and the next run may want more.
    solver.resetGlobalScheduler(True)


def _check(status: Any, complaint: str) -> None:
    if status.name == "kError":
        raise SolverError(f"HiGHS {complaint}")


def _program(model: Model, highspy: Any) -> Any:
    matrix = sparse.csc_array(model.A)
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = model.A.shape
    lp.sense_, lp.offset_ = highspy.ObjSense.kMaximize, model.offset / model.unit
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = model.objective, model.lower, model.upper
    lp.row_lower_, lp.row_upper_ = model.row_lower, model.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[integer] for integer in model.integer.tolist()]
    return lp
