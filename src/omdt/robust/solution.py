"""The solution of an interval MDP: all its figures are guaranteed returns."""

from omdt.limits import Limits
from omdt.robust.interval_mdp import IntervalMDP
from omdt.robust.solve import robust_solve
from omdt.robust.values import WorstCase
from omdt.solution import GUARANTEED_RETURN, Solution
from omdt.task import Size
from omdt.watch import Watch


def robust_solution(problem: IntervalMDP, size: Size, limits: Limits, watch: Watch) -> Solution:
    """The tree that guarantees the most, as a solution; the arguments are those of `robust_solve`.

    Its value is what the tree returns at least, its bound is what no tree of the size guarantees more than, and the
    optimal and the random return are what the best policy of any form and the random policy guarantee.
    """
    found = robust_solve(problem, size, limits, watch)
    random = WorstCase(problem).of_random(watch.closing())
    return Solution(
        problem=problem.name,
        method="search",
        max_depth=size.max_depth,
        max_leaf_nodes=size.max_leaf_nodes,
        discount=problem.discount,
        tree=found.tree,
        value=found.value,
        bound=found.bound,
        requested_gap=limits.gap,
        stop=found.stop,
        optimal_return=found.best.value,
        random_return=random.value,
        seconds=watch.elapsed if limits.node_limit is None else None,
        seed=limits.seed,
        trace=tuple(watch.trace),
        node_limit=limits.node_limit,
        rounding=found.rounding,
        scale=found.scale,
        value_error=found.worst.above + found.worst.below,
        optimal_error=max(found.best.above, found.best.below),
        random_error=max(random.above, random.below),
        objective=GUARANTEED_RETURN,
    )
