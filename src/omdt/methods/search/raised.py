"""Raised targets: easier questions whose answers are bounds while the proof is far away.

To show that no tree reaches a *raised* target somewhere between the incumbent and the unrestricted optimum takes less
than the proof: the budget is smaller, so bounds close cases much sooner. Every answer is a bound on all trees. The
target is then lowered, level by level. Nothing of this shows in the proof itself, nor in the tree.
"""

from omdt.methods.search.bounds.bases import budget_of
from omdt.methods.search.explorers import Explorers
from omdt.methods.search.frontier import Frontier
from omdt.methods.search.incumbent import Best
from omdt.methods.search.jobs import Job
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
        incumbent: Best,
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
        self._jobs: list[Job] = []
        self._begun, self._spent = watch.worked, 0.0
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
        """Work on the present level as long as it has time; on to the next one when it is answered.

        Where other processes explore as well, they work on it, when it has time or they would otherwise be idle, and
        this one goes on with the proof.
        """
        self._collect()
        while self._may_work(main):
            has_time = self._has_time(main)
            if not self._jobs and (has_time or self._explorers.others):
                self._take()
            # The first cases take seconds, in which nobody would put together the proof.
            self._explorers.prefer_spare(has_time)
            if not has_time or not self._explorers.explore_spare():
                return
            self._collect()
            self._incumbent.lower(self.bound(main))
            self._incumbent.report()

    def _may_work(self, main: Frontier) -> bool:
        """Whether it is time for raised targets; levels that would tell nothing are skipped."""
        done = main.top <= self._incumbent.target
        if not self.active or done or self._explorers.out_of_memory or self._watch.remaining == 0:
            return False
        while self._levels and self._target() >= self.bound(main):
            self._next_level()
        patience = self._settings.patience * (self._settings.telling_patience if self._tells(main) else 1.0)
        return self.active and self._watch.worked - self._begun > patience

    def _tells(self, main: Frontier) -> bool:
        """Whether the bound of the proof itself is below that of all policies."""
        return main.bound < self._incumbent.unrestricted

    def _has_time(self, main: Frontier) -> bool:
        """Whether the proof has had its share of the time of all processes."""
        settings = self._settings
        spent = self._spent + sum(job.taken for job in self._jobs)
        leads = main.bound < self.proven or (self._tells(main) and spent > settings.raised_seconds)
        share = settings.leading_proof_share if leads else settings.proof_share
        seconds = (1 + self._explorers.others) * (self._watch.worked - self._begun) - spent
        return seconds > share * spent

    def _take(self) -> None:
        """Let the best cases of the present level be explored."""
        settings, target = self._settings, self._target()
        if self._frontier is None:
            self._frontier = Frontier(self._root, self._explorers.knowledge.signature)
            self._slice = settings.slice_seconds
        optimum = self._explorers.knowledge.bases.losses.optimum
        budget = self._frontier.budget_for(budget_of(optimum, target), settings.fresh_budget)
        goal = Goal(self._incumbent.value, target, budget, raised=True, may_pin=self._may_pin)
        for case in self._frontier.take(target, settings.cases_per_round):
            self._jobs.append(Job(case, goal, settings.nodes_per_raised_case, self._slice, spare=True))
            self._explorers.submit(self._jobs[-1])

    def _collect(self) -> None:
        """Put together what came of the cases of the present level, if all of them are done."""
        if self._frontier is None or not all(job.findings for job in self._jobs):
            return
        for job in self._jobs:
            self._frontier.put(job.furthest, self._max_vectors)
            self._spent += job.taken
        if any(job.late for job in self._jobs):
            self._slice *= 2
        self._jobs = []
        self.proven = min(self.proven, self._frontier.bound + self._slack)
        if self._frontier.top <= self._target():
            self._next_level()

    def _next_level(self) -> None:
        for job in self._jobs:
            self._explorers.drop(job)
            self._spent += job.taken
        self._jobs = []
        del self._levels[0]
        self._frontier = None

    def _target(self) -> float:
        """What no tree is shown to reach at the present level."""
        value = self._incumbent.value
        return max(self._incumbent.target, value + self._levels[0] * (self._incumbent.unrestricted - value))
