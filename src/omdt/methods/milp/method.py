"""The method milp: the mixed-integer program, started from a good tree and solved by one of several solvers."""

from importlib import import_module
from typing import cast

from omdt import planning
from omdt.errors import InputError
from omdt.mdp import MDP, Bools
from omdt.methods.milp.backend import Backend, Record
from omdt.methods.milp.formulation import FORMS, encode, formulate
from omdt.methods.search.local import local_search
from omdt.methods.shrinking import shrunk
from omdt.solution import Claim, Limits, Stop
from omdt.splits import Splits
from omdt.tree import TreePolicy
from omdt.unavailable import allowed_actions, names_only
from omdt.watch import Watch

BACKENDS = ("highs", "scip", "gurobi")

OCCUPANCY_SECONDS = 10.0
"""Most time for the bounds M_sq, and at most a tenth of what remains."""


def solve_milp(
    mdp: MDP,
    splits: Splits,
    limits: Limits,
    watch: Watch,
    *,
    backend: str = "highs",
    form: str = "strong",
    start_seconds: float = 1.0,
) -> Claim:
    """The best tree within the size limit, by mixed-integer programming.

    The solver is asked for half of the gap, the other half is for its tolerances. A stop at the gap counts as complete;
    what it proves is the bound and no more.

    Args:
        mdp: the problem.
        splits: the questions a tree may ask.
        limits: a limit on the size is required.
        watch: the clock and the record of progress.
        backend: `highs`, `scip` (on one core, whatever the limits say) or `gurobi`.
        form: `strong`, or `paper` for the program as printed.
        start_seconds: how long to look for a start tree.
    """
    _check(limits, backend, form)
    solver = cast(Backend, import_module(f"omdt.methods.milp.{backend}"))
    solver.load()
    with watch.catching_interrupts():
        optimal = planning.expected_return(mdp, planning.optimal_values(mdp))
        allowed = allowed_actions(mdp, limits.unavailable)
        tree, value = _best_leaf(mdp, splits)
        watch.report(value, optimal.upper)
        grown = local_search(mdp, splits, limits, watch.part(min(start_seconds, watch.remaining / 2)))
        tree = max(tree, grown, key=lambda it: _rank(it, mdp, splits, allowed))
        start = planning.tree_return(mdp, tree, splits.observations)
        watch.report(start.value, optimal.upper)
        if optimal.upper - start.value <= limits.gap * abs(start.value) or optimal.value <= start.upper:
            return Claim(shrunk(tree, mdp, splits, watch.closing(), allowed), optimal.upper, Stop.COMPLETE)
        model = formulate(
            mdp,
            splits,
            max_depth=limits.max_depth,
            max_leaf_nodes=limits.max_leaf_nodes,
            form=form,
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


def _rank(tree: TreePolicy, mdp: MDP, splits: Splits, allowed: Bools | None) -> tuple[bool, float]:
    """Trees that name only what is allowed come before others, then those that return more."""
    policy = tree.actions(splits.observations)
    permitted = allowed is None or names_only(allowed, policy)
    return permitted, planning.policy_return(mdp, policy).value


def _best_leaf(mdp: MDP, splits: Splits) -> tuple[TreePolicy, float]:
    leaves = [TreePolicy.leaf(a, splits.feature_names, mdp.action_names) for a in range(mdp.n_actions)]
    values = [planning.evaluate(mdp, leaf, splits.observations) for leaf in leaves]
    best = max(range(len(leaves)), key=values.__getitem__)
    return leaves[best], values[best]


def _check(limits: Limits, backend: str, form: str) -> None:
    if not limits.limits_size:
        raise InputError("the method milp needs a size limit: a depth, a number of leaves, or both")
    if backend not in BACKENDS:
        raise InputError(f"there is no back-end {backend!r}; there are {', '.join(BACKENDS)}")
    if form not in FORMS:
        raise InputError(f"there is no form {form!r} of the program; there are {' and '.join(FORMS)}")
