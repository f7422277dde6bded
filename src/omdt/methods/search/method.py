"""The method `search`: local search for good trees and exact search for the proof, in turns.

The proof has two forms. The coarse search (`coarse`) decides about ranges of thresholds and works at any number of
states; the fine search (`rounds`) decides about single questions and has stronger bounds, which need memory and time
that few states allow. Where both fit, they take turns (`turns`). Where there are few trees, all of them are evaluated
instead; and as soon as a tree returns as much as the best policy of any form, nothing is left to do.
"""

from functools import partial
from typing import NamedTuple

from omdt.errors import InputError
from omdt.limits import Limits
from omdt.methods.options import SearchOptions
from omdt.methods.search.certifying import certified, check_certifiable
from omdt.methods.search.climbing import Climber, climber
from omdt.methods.search.clustering import on_cluster
from omdt.methods.search.coarse.coarse_search import CoarseSearch
from omdt.methods.search.enumeration import can_enumerate, enumerate_trees
from omdt.methods.search.evidence.ranges import GAP_SEARCHED, RangeRecorder
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.majorant import Majorising
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import to_policy
from omdt.methods.search.rounds import Rounds
from omdt.methods.search.turns import CoarseFirst, Proof, take_turns
from omdt.methods.shrinking import shrunk
from omdt.solution import Claim, Stop
from omdt.task import Task
from omdt.watch import Watch, one_thread


class _Outcome(NamedTuple):
    """How far the search came: the bound, whether it is complete, and the proof if one was begun."""

    bound: float
    complete: bool
    proof: Proof | None = None


def search(task: Task, limits: Limits, watch: Watch, options: SearchOptions) -> Claim:
    """The best tree within the size limit, with a proof when there is time for it."""
    # Many threads of the linear algebra wait for one another on systems as small as these, and round differently.
    with watch.catching_interrupts(), one_thread(), on_cluster(options) as options:
        model = Model.of(task, options.settings, watch)
        if options.certificate is not None:
            check_certifiable(model, options.certificate)
        recorded = options.certificate is not None and not model.searchable
        incumbent = Incumbent(model, GAP_SEARCHED * limits.gap if recorded else limits.gap, watch)
        local = climber(model, incumbent, limits.seed, watch)
        outcome = _searched(model, local, limits, watch, options)
        stop = Stop.COMPLETE if outcome.complete else why_stopped(outcome.proof, watch)
        if not outcome.complete:
            local.finish()
        if incumbent.tree is None:
            raise no_tree(task, outcome.complete)
        policy = to_policy(incumbent.tree, task.splits, model.mdp)
        tree = shrunk(policy, model.mdp, task.splits, watch.closing(), task.allowed)
        bound = outcome.bound
        if options.certificate is not None and outcome.proof is not None:
            bound = certified(outcome.proof, incumbent, tree, bound, options.certificate)
    return Claim(tree, max(bound, incumbent.value), stop)


def _searched(model: Model, local: Climber, limits: Limits, watch: Watch, options: SearchOptions) -> _Outcome:
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
    proof = begin_proof(local, limits, watch, options)
    try:
        take_turns(proof, local, watch)
    finally:
        proof.stop()
    return _Outcome(proof.bound, proof.done, proof)


def begin_proof(local: Climber, limits: Limits, watch: Watch, options: SearchOptions) -> Proof:
    """The proof that fits the task."""
    incumbent = local.incumbent

    def fine(*, may_pin: bool) -> Rounds:
        return Rounds(incumbent, limits, watch, options.executor, may_pin=may_pin)

    searchable, settings = incumbent.model.searchable, incumbent.model.settings
    if options.certificate is not None and not searchable:
        recorder = RangeRecorder(incumbent, local.questions, limits.gap)
        return CoarseSearch(incumbent, local.questions, local.consider, limits, watch, recorder)
    if options.certificate is not None:
        # A certificate by cases has no words for pinned states, nor for ranges of thresholds.
        return fine(may_pin=False)
    if searchable and settings.coarse_first_nodes == 0:
        return fine(may_pin=True)
    coarse = CoarseSearch(incumbent, local.questions, local.consider, limits, watch)
    if searchable:
        return CoarseFirst(coarse, partial(fine, may_pin=True), watch)
    if incumbent.model.mdp.discount == 1:
        majorising = Majorising(incumbent, local.consider, limits, watch, options.executor)
        return CoarseFirst(coarse, majorising.begin, watch)
    return coarse


def no_tree(task: Task, complete: bool) -> InputError:
    """Why there is nothing to return."""
    trees = f"tree of {task.size.words} {' and '.join(rule.words for rule in task.rules)}"
    relaxed = "relax a rule" if task.further_rules else "use --unavailable fallback"
    if not complete:
        return InputError(f"no {trees}, as far as was searched; allow more time or a larger tree, or {relaxed}")
    return InputError(
        f"no {trees}: states that such a tree cannot tell apart have no allowed action in common; "
        f"allow a larger tree, or {relaxed}"
    )


def why_stopped(proof: Proof | None, watch: Watch) -> Stop:
    """Why a search ended before it was complete."""
    if watch.interrupted:
        return Stop.INTERRUPTED
    if proof is not None and proof.out_of_memory:
        return Stop.MEMORY
    if watch.remaining == 0:
        return Stop.TIME
    return Stop.NODES if watch.out_of_nodes else Stop.HEURISTIC
