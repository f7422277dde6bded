"""Scenarios: natures that are held fixed, so that the ordinary search finds good trees and first bounds.

A scenario is the MDP of one nature. No tree is sure of more than it returns there, so the bound of the ordinary search
for that MDP holds in the worst case too. The first scenario is nature's answer to the best policy of any form, with
which, for policies of any form, the two bounds meet. Every further one is nature's answer to the best tree so far.
"""

from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.methods.options import SearchOptions
from omdt.methods.registry import method_named
from omdt.robust.climbing import climb
from omdt.robust.incumbent import Incumbent
from omdt.robust.values import Worst, WorstCase
from omdt.task import Size, Task
from omdt.watch import Watch

ROUNDS = 4
"""Maximum number of scenarios."""

NODES = 500
"""Number of partial trees that the search of one scenario looks at."""

SHARE = 0.4
"""Part of the remaining time that scenarios may take."""


def scenario(worst: WorstCase, answered: Worst) -> MDP:
    """The MDP in which nature answers to given values."""
    _, p = worst.lookahead(answered.values)
    return worst.problem.mdp_of(p, answered.first)


def search_scenarios(incumbent: Incumbent, best: Worst, size: Size, limits: Limits) -> None:
    """Find first trees and bounds on scenarios, until the best tree answers its own nature best.

    Args:
        incumbent: takes trees and bounds.
        best: the values of the best policy of any form.
        size: how large trees may be.
        limits: of the whole run.
    """
    watch, answered = incumbent.watch, best
    whole = watch.part(SHARE * watch.remaining)
    for _ in range(ROUNDS):
        task = Task.over_thresholds(scenario(incumbent.worst, answered), size)
        _search(incumbent, task, limits, whole)
        climb(incumbent, task.splits)
        if incumbent.found is answered or incumbent.proven or whole.remaining == 0:
            return
        answered = incumbent.found


def _search(incumbent: Incumbent, task: Task, limits: Limits, whole: Watch) -> None:
    """Search one scenario: its tree may be the best so far, and its bound holds for all trees."""
    nodes = NODES if limits.node_limit is None else min(NODES, limits.node_limit)
    part = whole.part(whole.remaining, node_limit=nodes)
    own = Limits(None, limits.gap, limits.seed, 1, limits.memory_limit, nodes)
    claim = method_named("search").run(task, own, part, SearchOptions())
    if part.interrupted:
        incumbent.watch.interrupt()
    incumbent.consider(claim.tree)
    incumbent.lower_bound_to(claim.bound)
