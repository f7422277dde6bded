"""The method milp: the mixed-integer program, started from a good tree and solved by one of several solvers."""

from dataclasses import replace
from importlib import import_module
from typing import cast

from omdt import planning
from omdt.judging import net_return, violations
from omdt.limits import Limits
from omdt.methods.milp.backend import NO_SOLUTION, Answer, Backend, Record, SolverError
from omdt.methods.milp.encoding import start_vector
from omdt.methods.milp.exclusion import without
from omdt.methods.milp.formulation import Model, formulate_task
from omdt.methods.milp.occupancy import horizon
from omdt.methods.options import MilpOptions
from omdt.methods.search.climbing import local_search
from omdt.methods.search.outcome import no_tree
from omdt.methods.shrinking import shrunk
from omdt.solution import Claim, Stop
from omdt.task import Task
from omdt.tree import TreePolicy
from omdt.watch import Watch

OCCUPANCY_SECONDS = 10.0
"""Maximum time for the bounds M_sq; it is also at most a tenth of what remains."""

MOST_EXCLUSIONS = 100
"""Maximum number of times that the program is solved again without trees that break a limit by next to nothing."""


def solve_milp(task: Task, limits: Limits, watch: Watch, options: MilpOptions) -> Claim:
    """The best tree within the size limit, by mixed-integer programming.

    The solver is asked for half of the gap, the other half is for its tolerances. A stop at the gap counts as complete;
    what it proves is the bound and no more.

    Raises:
        InputError: if no tree keeps the rules of the task, or none was found in the time.
    """
    solver = cast(Backend, import_module(f"omdt.methods.milp.{options.backend}"))
    solver.load()
    horizon(task.problem)
    with watch.catching_interrupts():
        optimal = planning.expected_return(task.problem, planning.optimal_values(task.problem))
        tree = _start(task, limits, watch, options, optimal.upper)
        start = None if tree is None else net_return(task, tree)
        if tree is not None and start is not None:
            near = optimal.upper - start.value <= limits.gap * abs(start.value)
            if near or optimal.value <= start.upper:
                return Claim(shrunk(tree, task, watch.closing()), optimal.upper, Stop.COMPLETE)
        model = formulate_task(
            task,
            form=options.form,
            start_value=None if start is None else start.lower,
            occupancy_watch=watch.part(min(OCCUPANCY_SECONDS, watch.remaining / 10)),
            tuning=solver.TUNING,
        )
        record = Record(model, tree, optimal.upper, watch, solver.DUAL_TOLERANCE)
    if watch.interrupted:
        return _claimed(task, record, Stop.INTERRUPTED, watch)
    answer = _solved(model, limits, record, solver)
    return _claimed(task, record, answer.stop, watch)


def _solved(model: Model, limits: Limits, record: Record, solver: Backend) -> Answer:
    """Let a solver run until its best tree keeps all rules."""
    for _ in range(MOST_EXCLUSIONS):
        start = None if record.tree is None else start_vector(model, record.tree)
        record.refused.clear()
        answer = solver.run(model, start, limits, record)
        if answer is NO_SOLUTION and record.tree is not None:
            raise SolverError("the solver finds no solution of a program for which a tree is known")
        if answer.vector is not None:
            record.found(answer.vector)
        record.bounded(answer.bound)
        if not record.refused or answer.stop is not Stop.COMPLETE:
            return answer
        model = without(model, record.refused)
    return replace(answer, stop=Stop.HEURISTIC)


def _claimed(task: Task, record: Record, stop: Stop, watch: Watch) -> Claim:
    """What is claimed in the end."""
    if record.tree is None:
        raise no_tree(task, complete=stop is Stop.COMPLETE)
    return Claim(shrunk(record.tree, task, watch.closing()), record.bound, stop)


def _start(task: Task, limits: Limits, watch: Watch, options: MilpOptions, bound: float) -> TreePolicy | None:
    """The best tree that a short local search finds, or the best leaf, if one of them keeps the rules."""
    leaves = (TreePolicy.leaf(a, task.splits.feature_names, task.mdp.action_names) for a in range(task.mdp.n_actions))
    tree = _best(task, [*leaves], watch, bound)
    grown = local_search(task, limits, watch.part(min(options.start_seconds, watch.remaining / 2)))
    return _best(task, [grown] if tree is None else [tree, grown], watch, bound)


def _best(task: Task, trees: list[TreePolicy], watch: Watch, bound: float) -> TreePolicy | None:
    """The best of some trees that keeps the rules; its value is reported."""
    values = {i: net_return(task, it).value for i, it in enumerate(trees) if next(violations(task, it), None) is None}
    if not values:
        return None
    best = max(values, key=values.__getitem__)
    watch.report(values[best], bound)
    return trees[best]
