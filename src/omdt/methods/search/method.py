"""The method `search`: local search for good trees and exact search for the proof, in turns.

The proof has two forms. The coarse search (`coarse`) decides about ranges of thresholds and works at any number of
states; the fine search (`rounds`) decides about single questions and has stronger bounds, which need memory and time
that few states allow. Where both fit, they take turns (`turns`). Where there are few trees, all of them are evaluated
instead; and as soon as a tree returns as much as the best policy of any form, nothing is left to do.
"""

from typing import NamedTuple

from omdt.limits import Limits
from omdt.methods.options import SearchOptions
from omdt.methods.search.certifying import certified, check_certifiable
from omdt.methods.search.climbing import Climber, climber
from omdt.methods.search.clustering import on_cluster
from omdt.methods.search.early import early_tree
from omdt.methods.search.enumeration import can_enumerate, enumerate_trees
from omdt.methods.search.evidence.ranges import GAP_SEARCHED
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.model import Model
from omdt.methods.search.outcome import no_tree, why_stopped
from omdt.methods.search.partial_tree import to_policy
from omdt.methods.search.proofs import begin_proof
from omdt.methods.search.turns import Proof, take_turns
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
        recorded = options.certificate is not None and bool(task.rules or not model.searchable)
        incumbent = Incumbent(model, GAP_SEARCHED * limits.gap if recorded else limits.gap, watch)
        early = early_tree(task)
        if early is not None:
            incumbent.improve(*early)
        local = climber(model, incumbent, limits.seed, watch)
        outcome = _searched(model, local, limits, watch, options)
        stop = Stop.COMPLETE if outcome.complete else why_stopped(outcome.proof, watch)
        if not outcome.complete:
            local.finish()
        if incumbent.tree is None:
            raise no_tree(task, outcome.complete)
        tree = shrunk(to_policy(incumbent.tree, model.splits, model.mdp), task, watch.closing())
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
