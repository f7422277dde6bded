"""Raised targets: easier questions whose answers are bounds while the proof is far away.

To show that no tree reaches a *raised* target somewhere between the incumbent and the unrestricted optimum takes less
than the proof: the budget is smaller, so bounds close cases much sooner. Every answer is a bound on all trees. The
target is then lowered, level by level. Nothing of this shows in the proof itself, nor in the tree.
"""

from omdt.methods.search.bounds.bases import budget_of
from omdt.methods.search.explorers import Explorers, idle
from omdt.methods.search.frontier import Frontier
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.nodes import Case, Goal
from omdt.watch import Watch


class RaisedTargets:
    """The share of the search that goes into raised targets.

    Args:
        root: the case of all trees.
        incumbent: the best tree.
        explorers: who explores.
        watch: the clock.
        slack: what a tree may return more than the trees that symmetries turn it into.
        max_vectors: how many vectors a frontier may keep.
        may_raise: whether targets may be raised at all.
        may_pin: whether single states may be pinned.

    Attributes:
        proven: no tree returns more, as the answers so far show.
    """

    def __init__(
        self,
        root: Case,
        incumbent: Incumbent,
        explorers: Explorers,
        watch: Watch,
        *,
        slack: float,
        max_vectors: int,
        may_raise: bool,
        may_pin: bool,
    ) -> None:
        self._root, self._incumbent, self._explorers, self._watch = root, incumbent, explorers, watch
        self._slack, self._max_vectors, self._may_pin = slack, max_vectors, may_pin
        self._settings = incumbent.model.settings
        self._levels = list(self._settings.raised_levels) if may_raise else []
        self._frontier: Frontier | None = None
        self._begun, self._spent = watch.elapsed, 0.0
        self._slice = self._settings.slice_seconds
        self.proven = incumbent.unrestricted

    @property
    def active(self) -> bool:
        """Whether there are levels left to work on."""
        return bool(self._levels)

    def bound(self, main: Frontier) -> float:
        """No tree returns more, given the frontier of an unfinished proof."""
        return max(min(main.bound + self._slack, self.proven), self._incumbent.value)

    def work(self, main: Frontier) -> None:
        """Work on the present level as long as it has time; on to the next one when it is answered."""
        while self._has_time(main):
            if self._frontier is None:
                self._frontier, self._slice = Frontier(self._root), self._settings.slice_seconds
            self._round(self._frontier)
            self._incumbent.lower(self.bound(main))
            self._incumbent.report()

    def _has_time(self, main: Frontier) -> bool:
        """Whether a raised target has a turn."""
        done = main.top <= self._incumbent.target
        if not self.active or done or self._explorers.out_of_memory or self._watch.remaining == 0:
            return False
        while self._levels and self._target() >= self.bound(main):
            self._next_level()
        share = self._settings.proof_share if main.bound < self.proven else 1.0
        seconds = self._watch.elapsed - self._begun - self._spent
        return self.active and seconds > max(self._settings.patience, share * self._spent)

    def _round(self, frontier: Frontier) -> None:
        """Explore the best cases of the present level."""
        start, target, settings = self._watch.elapsed, self._target(), self._settings
        optimum = self._explorers.knowledge.bases.losses.optimum
        budget = frontier.budget_for(budget_of(optimum, target), settings.fresh_budget)
        goal = Goal(self._incumbent.value, target, budget, raised=True, may_pin=self._may_pin)
        frontier.take(target, settings.cases_per_round)
        part = self._watch.part(self._slice)
        found = self._explorers.explore(frontier.taken, goal, settings.nodes_per_raised_case, part, idle)
        frontier.put(found, self._max_vectors)
        if any(it.late for it in found):
            self._slice *= 2
        self._spent += self._watch.elapsed - start
        self.proven = min(self.proven, frontier.bound + self._slack)
        if frontier.top <= target:
            self._next_level()

    def _next_level(self) -> None:
        del self._levels[0]
        self._frontier = None

    def _target(self) -> float:
        """What no tree is shown to reach at the present level."""
        value = self._incumbent.value
        return max(self._incumbent.target, value + self._levels[0] * (self._incumbent.unrestricted - value))
