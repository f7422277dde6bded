"""HiGHS: the default solver, open source, from the package highspy.

It does best with d and π continuous, without the rows that break symmetries and without its own heuristics, since the
start tree is better than what they find.
"""

import numpy as np
from scipy import sparse

from omdt.errors import require
from omdt.mdp import Floats
from omdt.methods.milp.backend import Answer, Record, SolverError
from omdt.methods.milp.forms import Tuning
from omdt.methods.milp.formulation import Model
from omdt.methods.milp.tolerance import TOLERANCE
from omdt.solution import Limits, Stop

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

IMPOSSIBLE = ("kInfeasible", "kUnbounded", "kUnboundedOrInfeasible", "kModelError", "kLoadError")


def run(model: Model, start: Floats, limits: Limits, record: Record) -> Answer:
    """Solve the program with HiGHS."""
    require("highspy", "highs", "the back-end highs")
    import highspy

    # The scheduler of threads is shared by the process and keeps the number of threads it was first given.
    highspy.Highs.resetGlobalScheduler(True)
    solver = highspy.Highs()
    options = {
        "output_flag": False,
        "time_limit": min(record.watch.remaining, highspy.kHighsInf),
        "mip_rel_gap": limits.gap / 2,
        "mip_abs_gap": 0.0,
        "mip_feasibility_tolerance": TOLERANCE,
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": DUAL_TOLERANCE,
        "mip_heuristic_effort": 0.0,
        "threads": limits.threads,
        "random_seed": limits.seed % 2**31,
    }
    for name, value in options.items():
        _check(solver.setOptionValue(name, value), f"does not accept {name} = {value}")
    _check(solver.passModel(_program(model)), "does not accept the program")
    solution = highspy.HighsSolution()
    solution.col_value = start
    _check(solver.setSolution(solution), "does not accept the start solution")

    watcher = _Watcher(record)
    solver.cbMipImprovingSolution += watcher.solution
    solver.cbMipInterrupt += watcher.bound
    _wait(solver)
    if watcher.failure is not None:
        raise watcher.failure
    status, info = solver.getModelStatus().name, solver.getInfo()
    if status in IMPOSSIBLE:
        raise SolverError(f"HiGHS ended with the status {status} on a program that has a solution")
    found = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    return Answer(
        vector=np.array(solver.getSolution().col_value) if found else None,
        bound=info.mip_dual_bound if status in STOPS else np.inf,
        stop=STOPS.get(status, Stop.HEURISTIC),
        nodes=int(info.mip_node_count),
        root_bound=watcher.root_bound,
    )


class _Watcher:
    """Passes solutions and bounds on; an exception would be lost in the solver's thread, so it is kept for later."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.root_bound = np.inf
        self.failure: Exception | None = None

    def solution(self, event) -> None:  # type: ignore[no-untyped-def]
        try:
            self.record.found(np.array(event.data_out.mip_solution))
        except Exception as failure:
            self.failure = failure

    def bound(self, event) -> None:  # type: ignore[no-untyped-def]
        if event.data_out.mip_node_count <= 1:
            self.root_bound = event.data_out.mip_dual_bound
        if self.failure is not None:
            event.interrupt()
        else:
            self.record.bounded(event.data_out.mip_dual_bound)


def _wait(solver) -> None:  # type: ignore[no-untyped-def]
    """Run in a thread of its own, so that Ctrl-C arrives here and stops the solver at its next check."""
    solver.HandleUserInterrupt = True
    solver.startSolve()
    while True:
        try:
            finished, _ = solver.wait(0.1)
        except KeyboardInterrupt:
            solver.cancelSolve()
        else:
            if finished:
                return


def _check(status, complaint: str) -> None:  # type: ignore[no-untyped-def]
    if status.name == "kError":
        raise SolverError(f"HiGHS {complaint}")


def _program(model: Model):  # type: ignore[no-untyped-def]
    import highspy

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
