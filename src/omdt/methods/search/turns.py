"""Turns: who searches when, counted in climbs, rounds and nodes.

Nothing is measured in seconds, so that the same seed gives the same tree unless the time limit cuts the run off. A
limit on nodes ends the run after the round in which it is reached.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

from omdt.methods.search.climbing import Climber
from omdt.methods.search.coarse.coarse_search import CoarseSearch
from omdt.methods.search.fine_effort import FineEffort, exclusion_seconds, fine_effort
from omdt.methods.search.rounds import Rounds
from omdt.watch import OutOfTimeError, Watch

CLIMB_EVERY = 0.25
"""Estimated seconds of the coarse search between two turns of the local search while the fine search waits: enough for
a climb or two."""


class Proof(Protocol):
    """A search for the proof that no tree is better than the incumbent."""

    @property
    def count(self) -> int:
        """How many rounds there were."""

    @property
    def done(self) -> bool:
        """Whether nothing remains that could be better than the incumbent by more than the gap."""

    @property
    def bound(self) -> float:
        """No tree within the limits returns more."""

    @property
    def steady_bound(self) -> float:
        """The same without raised targets: when those are answered is a matter of seconds."""

    @property
    def out_of_memory(self) -> bool:
        """Whether there was not enough memory to go on."""

    @property
    def slow(self) -> bool:
        """Whether a node takes about as long as the evaluation of a tree, instead of far less."""

    def round(self, meanwhile: Callable[[], None]) -> None:
        """Search for a while, and do something else meanwhile or afterwards."""

    def rest(self) -> None:
        """End processes until the next round, because others have their turn."""

    def stop(self) -> None:
        """End threads and processes."""


def take_turns(proof: Proof, local: Climber, watch: Watch) -> None:
    """Prove and climb until everything is explored or time is up."""
    for _ in rounds(proof, local, watch):
        pass


def rounds(proof: Proof, local: Climber, watch: Watch) -> Iterator[None]:
    """The same round by round, so that others may have their turn in between."""
    improved = nodes = 0
    settings = local.model.settings
    nodes_per_climb = settings.swept_nodes_per_climb if local.model.swept else settings.nodes_per_climb
    quiet_nodes = settings.quiet_factor * nodes_per_climb
    while not (proof.done or proof.out_of_memory or watch.out_of_nodes) and watch.remaining > 0:
        before, quiet = local.incumbent.value, proof.count - improved
        if proof.slow:
            climbs = int(local.evaluations <= watch.nodes)
        else:
            busy = quiet <= settings.busy_rounds
            climbs = int(busy) + (watch.nodes - nodes) // (nodes_per_climb if busy else quiet_nodes)
        nodes = watch.nodes if climbs else nodes
        proof.round(partial(local.climb, climbs))
        if local.incumbent.value > before:
            improved = proof.count
        yield


class Waiting(NamedTuple):
    """How long the fine search waits for the coarse one.

    Attributes:
        seconds: minimum estimated seconds of the coarse search before the fine search is prepared.
        effort: what the fine search costs, if that is known from a similar task for which it was worth it; then it does
            not wait.
    """

    seconds: float = 0.3
    effort: FineEffort | None = None


USUAL = Waiting()


class CoarseFirst:
    """The coarse search, and after some time without a proof the fine search beside it.

    Time is estimated and never measured. The first nodes of the coarse search are estimated to take 0.3 s. Then the
    fine search is prepared, which tells how long it will take to fill its tables (`fine_effort`). Whether they pay is
    not known before the proof, as with skis that one may rent or buy: the fine search waits until the coarse search has
    taken a share of that time, and not as long while its bound is still that of all policies. Afterwards the search
    with the lower bound has the larger share of the time.

    Args:
        coarse: the coarse search.
        begin: begins the fine search; None if it cannot begin, or not yet.
        watch: counts the nodes of both.
        waiting: how long the fine search waits for the coarse one.
        climb: called with the estimated seconds to fill the tables before these are filled, since they are filled for
            the incumbent; while the fine search waits, also with the estimated seconds of the coarse one. Returns the
            estimated seconds that its climbs were worth, which may be more, since no climb ends in between.
    """

    def __init__(
        self,
        coarse: CoarseSearch,
        begin: Callable[[], Rounds | None],
        watch: Watch,
        *,
        waiting: Waiting = USUAL,
        climb: Callable[[float], float] = lambda seconds: seconds,
    ) -> None:
        self._coarse, self._begin, self._watch, self._waiting = coarse, begin, watch, waiting
        self._climb, self._climbed, self._ahead, self._waited = climb, 0.0, 0.0, 0.0
        self._settings = coarse.model.settings
        self._fine: Rounds | None = None
        self._effort = FineEffort(0.0, 0.0)
        self._coarse_nodes, self._fine_nodes = 0, 0

    @property
    def count(self) -> int:
        """How many rounds there were; those of the fine search while it has rounds."""
        return self._coarse.count if self._fine is None or self.slow else self._fine.count

    @property
    def done(self) -> bool:
        """Whether one of them has the proof."""
        return self._coarse.done or (self._fine is not None and self._fine.done)

    @property
    def bound(self) -> float:
        """No tree within the limits returns more."""
        return self._coarse.bound if self._fine is None else min(self._coarse.bound, self._fine.bound)

    @property
    def steady_bound(self) -> float:
        """The same without raised targets."""
        coarse = self._coarse.steady_bound
        return coarse if self._fine is None else min(coarse, self._fine.steady_bound)

    @property
    def lesson(self) -> Waiting | None:
        """How long the fine search had better wait for a similar task; None if the two searches did not compete."""
        if self._fine is None or self._coarse.done == self._fine.done:
            return None
        return Waiting(0.0, self._effort) if self._fine.done else USUAL

    @property
    def out_of_memory(self) -> bool:
        """Whether there was not enough memory to go on."""
        return self._fine is not None and self._fine.out_of_memory

    @property
    def slow(self) -> bool:
        """Whether the coarse search is alone: the fine one has had no rounds yet, or nothing is left for it."""
        return self._fine is None or self._fine.count == 0 or self._fine.exhausted

    def round(self, meanwhile: Callable[[], None]) -> None:
        """A round of the one whose turn it is; beside the fine search, nothing else is done in coarse rounds."""
        before = self._watch.nodes
        if self._fine is None or self._fine.exhausted or self._coarse_seconds < self._coarse_share(self._fine):
            self._coarse.round(meanwhile if self.slow else idle)
            self._coarse_nodes += self._watch.nodes - before
            if self._fine is not None and self._fine.count == 0 and self._coarse_seconds >= self._climbed + CLIMB_EVERY:
                self._climb_meanwhile(self._coarse_seconds - self._climbed)
        else:
            if self._fine.count == 0:
                self._waited = self._waiting_seconds
                if self._effort.tables > self._settings.solo_seconds:
                    self._fine.explorers.start_processes()
                self._climb(self._left_to_climb)
            self._fine.round(meanwhile)
            self._fine_nodes += self._watch.nodes - before
        if self._fine is None and self._coarse_seconds >= self._first_seconds and not self._coarse.done:
            self._prepare()

    def rest(self) -> None:
        """End processes until the next round."""
        if self._fine is not None:
            self._fine.rest()

    def stop(self) -> None:
        """End threads and processes."""
        self._coarse.stop()
        if self._fine is not None:
            self._fine.stop()

    def _prepare(self) -> None:
        """Begin the fine search if it can begin, and estimate its effort."""
        self._fine, self._climbed = self._begin(), self._coarse_seconds
        if self._fine is None:
            return
        if self._waiting.effort is not None:
            self._effort = self._waiting.effort
            return
        knowledge = self._fine.explorers.knowledge
        try:
            basis = knowledge.bases.general(self._fine.goal(), self._watch)
            self._effort = fine_effort(knowledge.model, knowledge.bases.regions, basis.losses, self._watch)
        except OutOfTimeError:
            return

    def _climb_meanwhile(self, seconds: float) -> None:
        """Climb beside the coarse search; while that tells nothing, what comes before tables comes ahead of time."""
        ahead = not self._coarse.tells and self._left_to_climb > 0
        weight = self._settings.hopeless_climbing if ahead else 1.0
        worth = self._climb(weight * seconds)
        self._climbed += worth / weight
        self._ahead += worth if ahead else 0.0

    @property
    def _left_to_climb(self) -> float:
        """For how many estimated seconds of the fine search nobody has climbed yet."""
        settings = self._settings
        needed = self._effort.tables * (1.0 if self._coarse.tells else settings.hopeless_tables)
        enough = settings.max_climbing_seconds / max(settings.climbing_share, 1e-9)
        return max(0.0, min(needed, enough) - self._ahead)

    @property
    def _coarse_seconds(self) -> float:
        """Estimated seconds of the coarse search so far; without nodes of its own it has had its share."""
        transitions = int(self._coarse.model.mdp.transitions.nnz)
        nodes = min(self._settings.coarse_first_nodes, self._settings.coarse_first_transitions / transitions)
        return self._coarse_nodes / nodes if nodes > 0 else math.inf

    @property
    def _first_seconds(self) -> float:
        """Estimated seconds of the coarse search before the fine search is prepared."""
        return max(self._waiting.seconds, self._waiting_share * exclusion_seconds(self._coarse.model))

    @property
    def _waiting_share(self) -> float:
        """Estimated seconds of the coarse search per second that the fine search will take to fill its tables."""
        return self._settings.waiting_share if self._waiting.effort is None else 0.0

    @property
    def _waiting_seconds(self) -> float:
        """Estimated seconds of the coarse search before the first round of the fine one."""
        settings = self._settings
        waiting = min(settings.max_waiting_seconds, self._waiting_share * self._effort.tables)
        return waiting if self._coarse.tells else min(waiting, settings.max_hopeless_seconds)

    def _coarse_share(self, fine: Rounds) -> float:
        """Estimated seconds that the coarse search may take altogether until the fine search has its next round."""
        settings = self._settings
        if fine.count == 0:
            return self._waiting_seconds
        # Raised targets do not count here: when they are answered is a matter of seconds.
        share = settings.leading_share if self._coarse.bound < fine.steady_bound else settings.trailing_share
        share = share if self._coarse.tells else settings.hopeless_share
        return max(self._waited, share * (self._waited + self._effort.node * self._fine_nodes))


def idle() -> None:
    """What is done beside a round, if there is nothing else to do."""
