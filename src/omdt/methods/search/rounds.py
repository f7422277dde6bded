"""Rounds: the proof, as cases that are explored apart from one another and put together again.

A fixed number of cases is under way at any time, each for a fixed number of nodes. What comes of them is put together
in the order in which they were taken, and each time the best case of the frontier is taken next, with the incumbent as
it is then. Nobody waits for a slow case but those that are taken many cases later. Which cases are taken depends on
findings alone, so the same tree and bound come out whoever explores, and however many do. Where the proof takes long, a
part of the time goes into raised targets (`raised`).
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np

from omdt.limits import Limits
from omdt.methods.search.bounds.bases import budget_of
from omdt.methods.search.bounds.pins import may_pin
from omdt.methods.search.explorers import Explorers
from omdt.methods.search.frontier import Frontier
from omdt.methods.search.incumbent import Best
from omdt.methods.search.jobs import Job
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Case, Findings, Goal, Partial
from omdt.methods.search.partial_tree import HOLE
from omdt.methods.search.raised import RaisedTargets
from omdt.methods.search.subject import Subject
from omdt.methods.search.symmetry import Symmetries, find
from omdt.watch import Watch

NEGLIGIBLE_SLACK = 1e-4
"""Symmetries are used if what they may cost, because they are not exact, is less than this part of the gap."""


class Rounds:
    """The exact search.

    Args:
        incumbent: the best tree.
        limits: threads, memory, and whether nodes are limited.
        watch: the clock.
        executor: explores cases elsewhere; by default as many processes as the limits have threads.
        kin: the search of the same task with another size, which has found the symmetries and knows much else.

    Attributes:
        symmetries: the symmetries of the task, whether they are used or not.
        count: how many rounds there were.
        main: the cases of the proof.
        raised: the raised targets.
        explorers: who explores.
        slow: a node takes far less than the evaluation of a tree.
    """

    slow = False

    def __init__(
        self,
        incumbent: Best,
        limits: Limits,
        watch: Watch,
        executor: Executor | None = None,
        *,
        kin: "Rounds | None" = None,
    ) -> None:
        model = incumbent.model
        self._model, self._incumbent, self._watch = model, incumbent, watch
        # A third is for the frontiers, however many explore, because what they forget can show in a bound. All who
        # explore share another third for what they keep. The rest is for what they are just computing.
        memory = limits.memory_limit * 2**20
        self._max_vectors = memory // 6 // (8 * model.mdp.n_states)
        self.symmetries: Symmetries = _found(model) if kin is None else kin.symmetries
        symmetries, self._slack = _used(self.symmetries, incumbent)
        subject = Subject.of(model, symmetries, memory // 3 // limits.threads, shared=limits.threads > 1)
        known = None if kin is None else kin.explorers.knowledge
        self.explorers: Explorers = Explorers(subject, limits.threads, executor, watch, known)
        self._may_pin = may_pin(model)
        self._pinned: tuple[float, bool] = (np.inf, False)
        self.count = 0
        self._jobs: deque[Job] = deque()
        root = Case(incumbent.unrestricted, Partial(HOLE))
        self.main = Frontier(root, self.explorers.knowledge.signature)
        self.raised = RaisedTargets(
            root,
            incumbent,
            self.explorers,
            watch,
            slack=self._slack,
            max_vectors=self._max_vectors,
            # A limit on nodes promises the same bound in every run.
            may_raise=limits.node_limit is None,
            may_pin=self._may_pin,
        )

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to explore."""
        return self.main.top <= self._incumbent.target

    @property
    def done(self) -> bool:
        """Whether nothing remains that could be better than the incumbent by more than the gap.

        On a majorant, trees that it credits with too much may be in the way when everything is explored.
        """
        return self.exhausted and self._incumbent.is_enough(self.main.bound)

    @property
    def bound(self) -> float:
        """No tree within the limits returns more."""
        return self._incumbent.on_task(self._bound)

    @property
    def steady_bound(self) -> float:
        """The same without raised targets."""
        best = min(self.main.bound + self._slack, self._incumbent.unrestricted)
        return self._incumbent.on_task(max(best, self._incumbent.value))

    @property
    def _bound(self) -> float:
        """The bound in terms of the model."""
        if not self.exhausted:
            return self.raised.bound(self.main)
        return max(min(self.main.bound + self._slack, self._incumbent.unrestricted), self._incumbent.value)

    @property
    def out_of_memory(self) -> bool:
        """Whether there was not enough memory to go on."""
        return self.explorers.out_of_memory

    def goal(self) -> Goal:
        """The goal of the proof, with the incumbent as it is now."""
        target = self._incumbent.target
        needed = budget_of(self.explorers.knowledge.bases.losses.optimum, target)
        budget = self.main.budget_for(needed, self._model.settings.fresh_budget)
        return Goal(self._incumbent.value, target, budget, may_pin=self._pins(budget))

    def _pins(self, budget: float) -> bool:
        """Whether the proof pins single states with this budget."""
        if self._pinned[0] != budget:
            self._pinned = budget, self.explorers.knowledge.bases.worth_pinning(budget)
        return self._pinned[1]

    def rest(self) -> None:
        """End all processes that explore until others have had their turn."""
        self.explorers.rest()

    def stop(self) -> None:
        """End all processes that explore."""
        self.explorers.stop()

    def round(self, meanwhile: Callable[[], None]) -> None:
        """Put together what comes of the next cases that are under way, and let as many others follow.

        Args:
            meanwhile: what this process does while others explore the cases of the next round.
        """
        self.count += 1
        self._take()
        for _ in range(min(len(self._jobs), self._model.settings.cases_per_round)):
            if self.exhausted or self.explorers.out_of_memory:
                break
            self._put(self._jobs.popleft())
            self._take()
            self.raised.work(self.main)
        self._incumbent.lower(self._bound)
        self._incumbent.report()
        if not self.exhausted:
            self._do(meanwhile)

    def _take(self) -> None:
        """Let the best cases be explored, with the incumbent as it is now, until as many as possible are under way."""
        settings, goal = self._model.settings, self.goal()
        nodes = min(settings.nodes_per_case, 2**self.count)
        # A case that takes long is cut off for raised targets to have their turn.
        seconds = settings.slice_seconds if self.raised.active else np.inf
        for case in self.main.take(goal.target, settings.cases_under_way):
            self._jobs.append(Job(case, goal, nodes, seconds))
            self.explorers.submit(self._jobs[-1])

    def _put(self, job: Job) -> None:
        """Add what comes of a case."""
        findings = self._findings(job)
        self._watch.count(findings.nodes)
        if findings.tree is not None and findings.value > self._incumbent.value:
            self._incumbent.improve(findings.tree, findings.value)
        self.main.put(findings, self._max_vectors)
        self._incumbent.lower(self._bound)

    def _findings(self, job: Job) -> Findings:
        """What comes of a case.

        A case that was cut off is begun again with the same incumbent: tables remember, so it comes to the same end.
        """
        if job.case.bound <= self._incumbent.target:
            self.explorers.drop(job)
            return Findings([], job.case.bound, None, -np.inf)
        findings = self.explorers.finish(job)
        while job.late and self._watch.remaining > 0 and not self.explorers.out_of_memory:
            self.raised.work(self.main)
            self.explorers.again(job)
            findings = self.explorers.finish(job)
        return findings

    def _do(self, meanwhile: Callable[[], None]) -> None:
        try:
            meanwhile()
        except MemoryError:
            self.explorers.run_out_of_memory()


def _found(model: Model) -> Symmetries:
    """The symmetries of a task."""
    # A renaming need not turn what is allowed into what is allowed.
    return find(model) if model.task.allowed is None else Symmetries.none(model)


def _used(symmetries: Symmetries, incumbent: Best) -> tuple[Symmetries, float]:
    """The symmetries if they are exact enough, and what a tree may lose when they turn it into one that is examined."""
    model = incumbent.model
    # Every decision of a tree may be turned into the first of those that are alike, in this many steps at most; where
    # leaves turn out to be one, all begins anew.
    leaves, A = model.size.leaves, model.mdp.n_actions
    steps = leaves * (2 * leaves * (A + len(model.task.splits)) + model.settings.max_pins * A)
    slack = symmetries.error * steps
    if slack > NEGLIGIBLE_SLACK * (incumbent.target - incumbent.value):
        return Symmetries.none(model), 0.0
    return symmetries, slack
