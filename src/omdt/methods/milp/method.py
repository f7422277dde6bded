"""The method milp: the mixed-integer program, started from a good tree and solved by one of several solvers."""

from importlib import import_module
from typing import cast

from omdt import planning
from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.methods.milp.backend import Backend, Record
from omdt.methods.milp.encoding import encode
from omdt.methods.milp.formulation import formulate
from omdt.methods.milp.occupancy import horizon
from omdt.methods.options import MilpOptions
from omdt.methods.search.climbing import local_search
from omdt.methods.shrinking import shrunk
from omdt.solution import Claim, Stop
from omdt.splits import Splits
from omdt.task import Task
from omdt.tree import TreePolicy
from omdt.watch import Watch

OCCUPANCY_SECONDS = 10.0
"""Most time for the bounds M_sq, and at most a tenth of what remains."""


def solve_milp(task: Task, limits: Limits, watch: Watch, options: MilpOptions) -> Claim:
    """The best tree within the size limit, by mixed-integer programming.

    The solver is asked for half of the gap, the other half is for its tolerances. A stop at the gap counts as complete;
    what it proves is the bound and no more.
    """
    mdp, splits, allowed = task.problem, task.splits, task.allowed
    solver = cast(Backend, import_module(f"omdt.methods.milp.{options.backend}"))
    solver.load()
    horizon(mdp)
    with watch.catching_interrupts():
        optimal = planning.expected_return(mdp, planning.optimal_values(mdp))
        tree, value = _best_leaf(mdp, splits)
        watch.report(value, optimal.upper)
        grown = local_search(task, limits, watch.part(min(options.start_seconds, watch.remaining / 2)))
        tree = max(tree, grown, key=lambda it: _rank(it, task))
        start = planning.tree_return(mdp, tree, splits.observations)
        watch.report(start.value, optimal.upper)
        if optimal.upper - start.value <= limits.gap * abs(start.value) or optimal.value <= start.upper:
            return Claim(shrunk(tree, mdp, splits, watch.closing(), allowed), optimal.upper, Stop.COMPLETE)
        model = formulate(
            mdp,
            splits,
            max_depth=task.size.max_depth,
            max_leaf_nodes=task.size.max_leaf_nodes,
            form=options.form,
            start_value=start.lower,
            occupancy_watch=watch.part(min(OCCUPANCY_SECONDS, watch.remaining / 10)),
            tuning=solver.TUNING,
        )
        record = Record(model, tree, optimal.upper, watch, solver.DUAL_TOLERANCE)
        start_vector = encode(model, tree)
    if watch.interrupted:
        return Claim(tree, optimal.upper, Stop.INTERRUPTED)
    answer = solver.run(model, start_vector, limits, record)
    if answer.vector is not None:
        record.found(answer.vector)
    record.bounded(answer.bound)
    return Claim(shrunk(record.tree, mdp, splits, watch.closing(), allowed), record.bound, answer.stop)


def _rank(tree: TreePolicy, task: Task) -> tuple[bool, float]:
    """Trees that name only what is allowed come before others, then those that return more."""
    policy = tree.actions(task.observations)
    return task.permits(policy), planning.policy_return(task.problem, policy).value


def _best_leaf(mdp: MDP, splits: Splits) -> tuple[TreePolicy, float]:
    leaves = [TreePolicy.leaf(a, splits.feature_names, mdp.action_names) for a in range(mdp.n_actions)]
    values = [planning.evaluate(mdp, leaf, splits.observations) for leaf in leaves]
    best = max(range(len(leaves)), key=values.__getitem__)
    return leaves[best], values[best]
