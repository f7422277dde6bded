"""robust_solve: the tree with the best guaranteed return, with its worst-case value and a bound for all trees."""

from typing import NamedTuple

from omdt import planning
from omdt.errors import InputError
from omdt.limits import Limits
from omdt.robust.climbing import climb
from omdt.robust.incumbent import Incumbent
from omdt.robust.interval_mdp import IntervalMDP
from omdt.robust.scenarios import scenario, search_scenarios
from omdt.robust.search import Search
from omdt.robust.values import Worst, WorstCase
from omdt.solution import Stop
from omdt.task import Size, Task
from omdt.tree import TreePolicy
from omdt.watch import Watch, one_thread


class Guaranteed(NamedTuple):
    """A tree and what it guarantees.

    Attributes:
        tree: without questions that no state needs.
        value: the tree returns at least this, whatever nature does within the intervals.
        bound: no tree of the size guarantees more.
        stop: why the search ended.
        rounding: by how much value and bound may differ for no other reason than rounding.
        scale: the scale of the returns, against which a gap is measured where the value is nearly 0.
        worst: the tree's values in the worst case.
        best: the values that the best policy of any form guarantees.
    """

    tree: TreePolicy
    value: float
    bound: float
    stop: Stop
    rounding: float
    scale: float
    worst: Worst
    best: Worst


def robust_solve(problem: IntervalMDP, size: Size, limits: Limits, watch: Watch) -> Guaranteed:
    """The tree of limited size that guarantees the most, as far as the limits allow to search.

    Args:
        problem: the interval MDP.
        size: how large trees may be.
        limits: how much work may go into the search; it uses one core.
        watch: the clock and the record of progress.

    Raises:
        InputError: if the size is not limited.
    """
    if not size.limited:
        raise InputError("a robust search needs a size limit; give a depth, a number of leaves, or both")
    with watch.catching_interrupts(), one_thread():
        worst = WorstCase(problem)
        best = worst.best(watch=watch)
        answer = scenario(worst, best)
        scale, splits = planning.scale(answer, watch), Task.over_thresholds(answer, size).splits
        leaves = [
            TreePolicy.leaf(action, splits.feature_names, problem.action_names) for action in range(problem.n_actions)
        ]
        incumbent = Incumbent(worst, leaves[0], splits.observations, limits.gap, scale, watch)
        for leaf in leaves[1:]:
            incumbent.consider(leaf)
        incumbent.lower_bound_to(best.upper)
        search_scenarios(incumbent, best, size, limits)
        climb(incumbent, splits)
        stop = Stop.COMPLETE if incumbent.proven else Search(incumbent, splits, size, best, limits.memory_limit).run()
    tree = incumbent.tree.pruned(splits.observations)
    value = incumbent.value
    return Guaranteed(tree, value, max(incumbent.bound, value), stop, incumbent.rounding, scale, incumbent.found, best)
