"""The method `search`: local search for good trees and exact search for the proof, in turns.

Turns are counted in climbs and nodes, not in seconds, so that the same seed gives the same tree unless the time limit
cuts the run off. A limit on nodes ends the run after the round in which it is reached; where an MDP is too large for
exact search, every climb counts as a node. Where there are few trees, all of them are evaluated instead; and as soon as
a tree returns as much as the best policy of any form, nothing is left to do.
"""

from functools import partial
from pathlib import Path
from typing import Any

from omdt.check import Questions
from omdt.errors import FalseClaimError, InputError, warn_input
from omdt.files import check_writable
from omdt.limits import Limits
from omdt.methods.options import SearchOptions
from omdt.methods.search.enumeration import can_enumerate, enumerate_trees
from omdt.methods.search.evidence import MARGIN, Goal, StoppedError, prove
from omdt.methods.search.exact import can_search
from omdt.methods.search.frontier import Frontier
from omdt.methods.search.local import LocalSearch, to_policy
from omdt.methods.search.losses import cheapest_dense
from omdt.methods.shrinking import shrunk
from omdt.solution import Claim, Stop, tolerated_excess
from omdt.task import Task
from omdt.tree import TreePolicy
from omdt.watch import Watch, one_thread

FIRST_CLIMBS = 3
NEARLY = 1e-3
"""The part of the gap by which the proof of an unfinished search may miss the bound that was reached."""

ERRORS = (8.0, 1e3, 1e5)
"""Margins of a certificate in errors of the optimal values; the next one is tried where evidence is missing."""

NODES_A_CLIMB = 64
"""In its turn the local search climbs once, and once more for so many nodes of the round before."""

SWEPT_NODES_A_CLIMB = 512
"""The same where nodes are bounded by sweeps: a climb costs more of them there."""

BUSY_ROUNDS = 10
"""For so many rounds after the last improvement the local search has a turn in every round, then in ever fewer."""


def search(task: Task, limits: Limits, watch: Watch, options: SearchOptions) -> Claim:
    """The best tree within the size limit, with a proof when there is time for it."""
    mdp, splits, certificate = task.problem, task.splits, options.certificate
    questions = None if certificate is None else _check_certifiable(task, certificate)
    frontier: Frontier | None = None
    # Many threads of the linear algebra wait for one another on systems as small as these, and round differently.
    with watch.catching_interrupts(), one_thread():
        local = LocalSearch(task, limits, watch)
        local.start()
        local.climb(FIRST_CLIMBS)
        bound, complete = local.unrestricted, local.optimal_reached
        if certificate is None and not complete and can_enumerate(local):
            enumerated = enumerate_trees(local)
            bound, complete = (bound, False) if enumerated is None else (enumerated, True)
        if certificate is not None or (not complete and can_search(mdp)):
            # A certificate has no words for pinned states.
            frontier = Frontier(mdp, limits, watch, local, options.executor, may_pin=certificate is None)
            _take_turns(frontier, local, watch)
            bound, complete = frontier.bound, frontier.done
        elif not complete:
            complete = _climb_on(local, watch)
        stop = Stop.COMPLETE if complete else _why_stopped(frontier, watch)
        if not complete:
            local.finish()
        if local.best is None:
            raise _no_tree(task, complete)
        tree = shrunk(to_policy(local.best, splits, mdp), mdp, splits, watch.closing(), local.allowed)
        if frontier is not None and certificate is not None:
            bound = _certified(frontier, tree, local, certificate, bound, questions)
    return Claim(tree, max(bound, local.value), stop)


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


def _climb_on(local: LocalSearch, watch: Watch) -> bool:
    """Climb until time is up; whether the best policy of any form is reached before."""
    while watch.remaining > 0 and not (local.single or local.optimal_reached or watch.out_of_nodes):
        local.climb(1)
        watch.nodes += 1
    return local.optimal_reached


def _check_certifiable(task: Task, path: Path) -> Questions | None:
    """Raise before long work starts if there can be no certificate; the questions that it will state."""
    mdp, splits = task.problem, task.splits
    check_writable(path)
    if not can_search(mdp):
        raise InputError(
            f"the search proves nothing about {mdp.n_states:,} states that can be visited again, so there is no "
            "certificate to write; leave it out"
        )
    questions = task.questions
    known = (Questions() if questions is None else questions).sides(splits.observations, splits.feature_names)
    if known.shape[1] != len(splits):
        raise InputError(
            f"{len(splits) - known.shape[1]} of the {len(splits)} questions divide the states as others do, or not at "
            "all; a certificate needs each question once, as Splits.of makes them"
        )
    return questions


def _certified(
    frontier: Frontier, tree: TreePolicy, local: LocalSearch, path: Path, bound: float, questions: Questions | None
) -> float:
    """Write the certificate of a bound; the bound that it proves, which is a little higher."""
    # A bound that was not pushed any further is met again only approximately.
    unfinished = bound + NEARLY * (bound - local.value)
    policy = tree.actions(local.splits.observations)
    asked = tolerated_excess(local.value, local.limits.gap, local.scale)
    for errors in ERRORS:
        # Where the gap is next to nothing, the rounding of the values needs room, which the target makes for it.
        room = max(asked, errors * local.optimal.error / MARGIN)
        tight = local.value + max(0.5 * asked, asked - 1.01 * MARGIN * room)
        target = min(local.target, tight) if frontier.done else unfinished
        goal = Goal(policy, local.value, target, room, not frontier.done, questions)
        try:
            return prove(path, frontier.explorer, frontier.problem.optimal.upper, goal)
        except StoppedError:
            warn_input(f"{path} was not written because of an interrupt")
            return bound
        except FalseClaimError:
            if errors == ERRORS[-1]:
                raise
    raise AssertionError("the last attempt returns or raises")


def _take_turns(frontier: Frontier, local: LocalSearch, watch: Watch) -> None:
    """Explore and climb until everything is explored or time is up."""
    improved = nodes = 0
    nodes_a_climb = SWEPT_NODES_A_CLIMB if frontier.explorer.swept else NODES_A_CLIMB
    try:
        while not (frontier.done or frontier.out_of_memory or watch.out_of_nodes) and watch.remaining > 0:
            before = local.value
            climbs = 1 + (watch.nodes - nodes) // nodes_a_climb if _has_turn(frontier.rounds - improved) else 0
            nodes = watch.nodes
            frontier.round(partial(local.climb, climbs))
            if local.value > before:
                improved = frontier.rounds
    finally:
        frontier.workers.stop()


def _has_turn(quiet_rounds: int) -> bool:
    """Whether the local search has a turn so many rounds after the last improvement."""
    return quiet_rounds <= BUSY_ROUNDS or quiet_rounds % BUSY_ROUNDS == 0


def _why_stopped(frontier: Frontier | None, watch: Watch) -> Stop:
    """Why a search ended before it was complete."""
    if watch.interrupted:
        return Stop.INTERRUPTED
    if frontier is not None and frontier.out_of_memory:
        return Stop.MEMORY
    if watch.remaining == 0:
        return Stop.TIME
    return Stop.NODES if watch.out_of_nodes else Stop.HEURISTIC


def is_compiled() -> bool:
    """Whether the search was compiled on this machine before."""
    kernel: Any = cheapest_dense
    return any(Path(kernel._cache.cache_path).glob("losses.cheapest_dense-*.nbi"))
