"""The method `search`: local search for good trees and exact search for the proof, in turns.

Turns are counted in climbs and nodes, not in seconds, so that the same seed gives the same tree unless the time limit
cuts the run off.
"""

from omdt.errors import InputError
from omdt.mdp import MDP
from omdt.methods.search.exact import ExactSearch, can_search
from omdt.methods.search.local import LocalSearch, to_policy
from omdt.solution import Claim, Limits, Stop, Watch
from omdt.splits import Splits

FIRST_CLIMBS = 3
CLIMBS_A_TURN = 1
NODES_A_TURN = 300


def search(mdp: MDP, splits: Splits, limits: Limits, watch: Watch) -> Claim:
    """The best tree within the size limit, with a proof when there is time for it."""
    if not limits.limits_size:
        raise InputError("the method search needs a size limit; give a depth, a number of leaves, or both")
    exact: ExactSearch | None = None
    with watch.catching_interrupts():
        local = LocalSearch(mdp, splits, limits, watch)
        local.start()
        local.climb(FIRST_CLIMBS)
        if can_search(mdp):
            exact = ExactSearch(mdp, limits, watch, local)
            while not exact.run(NODES_A_TURN) and watch.remaining > 0:
                local.climb(CLIMBS_A_TURN)
        else:
            while watch.remaining > 0 and not local.done:
                local.climb(CLIMBS_A_TURN)
    bound = local.bound if exact is None else exact.bound
    return Claim(to_policy(local.best, splits, mdp), max(bound, local.value), _stop(exact, watch))


def _stop(exact: ExactSearch | None, watch: Watch) -> Stop:
    if exact is not None and not exact.heap:
        return Stop.COMPLETE
    if watch.interrupted:
        return Stop.INTERRUPTED
    return Stop.TIME if watch.remaining == 0 else Stop.HEURISTIC
