"""The method `search`: local search for good trees and exact search for the proof, in turns.

Turns are counted in climbs and nodes, not in seconds, so that the same seed gives the same tree unless the time limit
cuts the run off. A limit on nodes ends the run after the round in which it is reached; where an MDP is too large for
exact search, every climb counts as a node.
"""

from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from omdt.errors import InputError
from omdt.mdp import MDP
from omdt.methods.search.exact import can_search
from omdt.methods.search.frontier import Frontier
from omdt.methods.search.local import LocalSearch, to_policy
from omdt.methods.search.losses import cheapest_dense
from omdt.solution import Claim, Limits, Stop, Watch
from omdt.splits import Splits

FIRST_CLIMBS = 3
BUSY_ROUNDS = 10
"""For so many rounds after the last improvement the local search has a turn in every round, then in ever fewer."""


def search(mdp: MDP, splits: Splits, limits: Limits, watch: Watch, *, executor: Executor | None = None) -> Claim:
    """The best tree within the size limit, with a proof when there is time for it.

    Args:
        mdp: the problem.
        splits: the questions a tree may ask.
        limits: a limit on the size is required.
        watch: the clock and the record of progress.
        executor: explores parts of the search elsewhere; by default as many processes as the limits have threads.
    """
    if not limits.limits_size:
        raise InputError("the method search needs a size limit; give a depth, a number of leaves, or both")
    frontier: Frontier | None = None
    # Many threads of the linear algebra wait for one another on systems as small as these, and round differently.
    with watch.catching_interrupts(), threadpool_limits(1):
        local = LocalSearch(mdp, splits, limits, watch)
        local.start()
        local.climb(FIRST_CLIMBS)
        if can_search(mdp):
            frontier = Frontier(mdp, limits, watch, local, executor)
            _take_turns(frontier, local, watch)
        else:
            while watch.remaining > 0 and not local.done and not watch.out_of_nodes:
                local.climb(1)
                watch.nodes += 1
    bound = local.bound if frontier is None else frontier.bound
    return Claim(to_policy(local.best, splits, mdp), max(bound, local.value), _stop(frontier, watch))


def _take_turns(frontier: Frontier, local: LocalSearch, watch: Watch) -> None:
    """Explore and climb until everything is explored or time is up."""
    improved = 0
    try:
        while not (frontier.done or frontier.out_of_memory or watch.out_of_nodes) and watch.remaining > 0:
            before = local.value
            climbs = int(_has_turn(frontier.rounds - improved))
            frontier.round(partial(local.climb, climbs))
            if local.value > before:
                improved = frontier.rounds
    finally:
        frontier.workers.stop()


def _has_turn(quiet_rounds: int) -> bool:
    """Whether the local search has a turn so many rounds after the last improvement."""
    return quiet_rounds <= BUSY_ROUNDS or quiet_rounds % BUSY_ROUNDS == 0


def _stop(frontier: Frontier | None, watch: Watch) -> Stop:
    if frontier is not None and frontier.done:
        return Stop.COMPLETE
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
