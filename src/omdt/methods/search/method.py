"""The method `search`: local search for good trees and exact search for the proof, in turns.

Turns are counted in climbs and nodes, not in seconds, so that the same seed gives the same tree unless the time limit
cuts the run off. A limit on nodes ends the run after the round in which it is reached; where an MDP is too large for
exact search, every climb counts as a node. Where there are few trees, all of them are evaluated instead; and as soon as
a tree returns as much as the best policy of any form, nothing is left to do.
"""

from functools import partial
from typing import NamedTuple

from omdt.errors import InputError
from omdt.limits import Limits
from omdt.methods.options import SearchOptions
from omdt.methods.search.certifying import certified, check_certifiable
from omdt.methods.search.clustering import on_cluster
from omdt.methods.search.enumeration import can_enumerate, enumerate_trees
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import to_policy
from omdt.methods.search.rounds import Rounds
from omdt.methods.shrinking import shrunk
from omdt.solution import Claim, Stop
from omdt.task import Task
from omdt.watch import Watch, one_thread


class _Outcome(NamedTuple):
    """How far the search came: the bound, whether it is complete, and its rounds if there were any."""

    bound: float
    complete: bool
    rounds: Rounds | None = None


def search(task: Task, limits: Limits, watch: Watch, options: SearchOptions) -> Claim:
    """The best tree within the size limit, with a proof when there is time for it."""
    # Many threads of the linear algebra wait for one another on systems as small as these, and round differently.
    with watch.catching_interrupts(), one_thread(), on_cluster(options) as options:
        model = Model.of(task, options.settings, watch)
        if options.certificate is not None:
            check_certifiable(model, options.certificate)
        incumbent = Incumbent(model, limits.gap, watch)
        local = LocalSearch(model, incumbent, limits.seed, watch)
        outcome = _searched(model, local, limits, watch, options)
        stop = Stop.COMPLETE if outcome.complete else _why_stopped(outcome.rounds, watch)
        if not outcome.complete:
            local.finish()
        if incumbent.tree is None:
            raise _no_tree(task, outcome.complete)
        policy = to_policy(incumbent.tree, task.splits, model.mdp)
        tree = shrunk(policy, model.mdp, task.splits, watch.closing(), task.allowed)
        bound = outcome.bound
        if outcome.rounds is not None and options.certificate is not None:
            bound = certified(outcome.rounds, incumbent, tree, bound, options.certificate)
    return Claim(tree, max(bound, incumbent.value), stop)


def _searched(model: Model, local: LocalSearch, limits: Limits, watch: Watch, options: SearchOptions) -> _Outcome:
    """Search by the means that fit the task."""
    incumbent, certify = local.incumbent, options.certificate is not None
    local.start()
    local.climb(model.settings.first_climbs)
    if not certify and incumbent.optimal_reached:
        return _Outcome(incumbent.unrestricted, complete=True)
    if not certify and can_enumerate(model):
        enumerated = enumerate_trees(model, local.questions, incumbent, local.consider, watch)
        if enumerated is not None:
            return _Outcome(enumerated, complete=True)
    if certify or model.searchable:
        # A certificate has no words for pinned states.
        rounds = Rounds(incumbent, limits, watch, options.executor, may_pin=not certify)
        _take_turns(rounds, local, watch)
        return _Outcome(rounds.bound, rounds.done, rounds)
    while watch.remaining > 0 and not (local.single or incumbent.optimal_reached or watch.out_of_nodes):
        local.climb(1)
        watch.count(1)
    return _Outcome(incumbent.unrestricted, incumbent.optimal_reached)


def _take_turns(rounds: Rounds, local: LocalSearch, watch: Watch) -> None:
    """Explore and climb until everything is explored or time is up."""
    improved = nodes = 0
    settings = local.model.settings
    nodes_per_climb = settings.swept_nodes_per_climb if local.model.swept else settings.nodes_per_climb
    try:
        while not (rounds.done or rounds.explorers.out_of_memory or watch.out_of_nodes) and watch.remaining > 0:
            before, quiet = local.incumbent.value, rounds.count - improved
            has_turn = quiet <= settings.busy_rounds or quiet % settings.busy_rounds == 0
            climbs = 1 + (watch.nodes - nodes) // nodes_per_climb if has_turn else 0
            nodes = watch.nodes
            rounds.round(partial(local.climb, climbs))
            if local.incumbent.value > before:
                improved = rounds.count
    finally:
        rounds.explorers.stop()


def _no_tree(task: Task, complete: bool) -> InputError:
    """Why there is nothing to return."""
    trees = f"tree of {task.size.words} {' and '.join(rule.words for rule in task.rules)}"
    relaxed = "relax a rule" if task.further_rules else "use --unavailable fallback"
    if not complete:
        return InputError(f"no {trees}, as far as was searched; allow more time or a larger tree, or {relaxed}")
    return InputError(
        f"no {trees}: states that such a tree cannot tell apart have no allowed action in common; "
        f"allow a larger tree, or {relaxed}"
    )


def _why_stopped(rounds: Rounds | None, watch: Watch) -> Stop:
    """Why a search ended before it was complete."""
    if watch.interrupted:
        return Stop.INTERRUPTED
    if rounds is not None and rounds.explorers.out_of_memory:
        return Stop.MEMORY
    if watch.remaining == 0:
        return Stop.TIME
    return Stop.NODES if watch.out_of_nodes else Stop.HEURISTIC
