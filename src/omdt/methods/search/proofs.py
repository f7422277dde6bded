"""Proofs: which search for the proof fits a task."""

from functools import partial

from omdt.limits import Limits
from omdt.methods.options import SearchOptions
from omdt.methods.search.climbing import Climber, climb_before
from omdt.methods.search.coarse.coarse_search import CoarseSearch
from omdt.methods.search.evidence.ranges import RangeRecorder
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.majorant import Majorising
from omdt.methods.search.rounds import Rounds
from omdt.methods.search.turns import USUAL, CoarseFirst, Proof, Waiting
from omdt.watch import Watch


def begin_proof(
    local: Climber,
    limits: Limits,
    watch: Watch,
    options: SearchOptions,
    *,
    waiting: Waiting = USUAL,
    kin: list[Rounds] | None = None,
) -> Proof:
    """The proof that fits the task of a local search.

    Args:
        local: the local search.
        limits: how much work may go into it.
        watch: the clock.
        options: whether there is a certificate, and who else explores.
        waiting: how long the fine search waits for the coarse one.
        kin: fine searches of the same task with other sizes, to which this one is added if it is the first.
    """
    incumbent = local.incumbent
    fine = partial(_fine, incumbent, limits, watch, options, [] if kin is None else kin)
    task, settings = incumbent.model.task, incumbent.model.settings
    searchable = incumbent.model.searchable and task.only_leaf_rules
    if options.certificate is not None and (task.rules or not searchable):
        recorder = RangeRecorder(incumbent, limits.gap)
        return CoarseSearch(incumbent, local.questions, local.consider, limits, watch, recorder)
    if options.certificate is not None:
        # A certificate by cases has no words for ranges of thresholds.
        return fine()
    if searchable and settings.coarse_first_nodes == 0:
        return fine()
    coarse = CoarseSearch(incumbent, local.questions, local.consider, limits, watch)
    if searchable:
        assert isinstance(local, LocalSearch), "with a discount and no rules but those about leaves, climbs have gains"
        climb = partial(climb_before, local)
        return CoarseFirst(coarse, fine, watch, waiting=waiting, climb=climb)
    if incumbent.model.mdp.discount == 1 and task.only_leaf_rules:
        majorising = Majorising(incumbent, local.consider, limits, watch, options.executor)
        return CoarseFirst(coarse, majorising.begin, watch, waiting=waiting)
    return coarse


def _fine(incumbent: Incumbent, limits: Limits, watch: Watch, options: SearchOptions, kin: list[Rounds]) -> Rounds:
    """A fine search that shares what the first of its kin knows, or is the first itself."""
    found = Rounds(incumbent, limits, watch, options.executor, kin=kin[0] if kin else None)
    if not kin:
        kin.append(found)
    return found
