"""The frontier: the cases that remain, worked in rounds by this process or by any executor.

A round explores the best few cases apart from one another, each for a fixed number of nodes and all with the same
incumbent, and then puts together what came of them in the order in which they were handed out. So the same tree and
bound come out whoever explores, and however many do. Cases that are handed out remain in the frontier until their
findings arrive: a lost worker or an interrupt costs no more than the round.

Where the proof takes long, a part of the time goes into easier questions: that no tree reaches a *raised* target
somewhere between the incumbent and the unrestricted optimum. Its budget is smaller, so the bounds close cases much
sooner, and every answer is a bound on all trees. The raised target is then lowered, level by level. Nothing of this
shows in the proof itself, nor in the tree.
"""

import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from omdt.errors import LostWorkerError
from omdt.mdp import MDP, Bools, Floats
from omdt.methods.search.boxes import decisive
from omdt.methods.search.exact import MAX_PINS, Case, Explorer, Findings, Incumbent, Partial, budget_of
from omdt.methods.search.local import LocalSearch, Size
from omdt.methods.search.symmetry import Symmetries, find, nothing
from omdt.planning import Certified
from omdt.processes import POLL_SECONDS, Pool
from omdt.solution import Limits
from omdt.watch import Watch, one_thread

CASES_A_ROUND = 8
NODES_A_CASE = 128

LEVELS = (0.999, 0.98, 0.95, 0.9, 0.8, 0.6, 0.5, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1)
"""Raised targets, as parts of the way from the incumbent to the unrestricted optimum."""

PATIENCE = 10.0
"""Seconds that go into the proof before a target is raised."""

SLICE = 10.0
"""Seconds after which a round is cut off for others to have their turn."""

SHARE = 3.0
"""So many seconds go into the proof for every one that goes into raised targets, unless these tell more than it."""

NODES_RAISED = 16
"""Nodes of a case in a round with a raised target."""

FRESH = 0.9
"""Tables are made anew when the budget has shrunk to this part of theirs."""

MAX_LOST = 5
"""Number of lost processes after which this one explores alone: what killed them will kill others."""

SOLO_SECONDS = 1.0
"""Seconds of search after which other processes are started: they take as long to start."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What an explorer is made from; `name` tells the problems of one process apart."""

    name: str
    mdp: MDP
    sides: Bools
    size: Size
    optimal: Certified[Floats]
    symmetries: Symmetries
    allowed: Bools | None
    max_bytes: int

    def explorer(self) -> Explorer:
        """A new explorer."""
        known = (self.optimal, self.symmetries, self.allowed)
        return Explorer(self.mdp, self.sides, self.size, *known, self.max_bytes)


_names = itertools.count()

_explorers: dict[str, Explorer] = {}
"""The explorer of the problem this process works on, by the problem's name."""


_exploring = threading.Lock()
"""An explorer works on one case at a time, also where an executor has many threads."""


def _prepare(problem: Problem) -> None:
    """Make the explorer of a process that was started for a problem."""
    _explorers[problem.name] = problem.explorer()


def explore(problem: Problem | str, case: Case, incumbent: Incumbent, nodes: int, deadline: float) -> Findings:
    """Explore one case in any process; what that knows of the problem from other cases is used again.

    Args:
        problem: its name is enough for a process that was started for it.
        case: what to explore.
        incumbent: what is known.
        nodes: how many partial trees to look at.
        deadline: when to stop, as `time.time` has it: a case may wait for others before its turn comes.
    """
    watch = Watch(max(0.0, deadline - time.time()))
    if isinstance(problem, str):
        return _explorers[problem].explore(case, incumbent, nodes, watch)
    with _exploring, one_thread():
        if problem.name not in _explorers:
            _explorers.clear()
            _explorers[problem.name] = problem.explorer()
        return _explorers[problem.name].explore(case, incumbent, nodes, watch)


class Workers:
    """Those who explore: the given executor, or processes of our own, or nobody but this process.

    Processes are started once the search has taken long enough to make it worth while.
    """

    def __init__(self, problem: Problem, threads: int, given: Executor | None, watch: Watch) -> None:
        self.problem, self.threads, self.given, self.watch = problem, threads, given, watch
        self._pool: Pool | None = None
        self._lost = 0

    @property
    def executor(self) -> Executor | Pool | None:
        """Who explores; None for this process alone."""
        if self.given is not None:
            return self.given
        worth = self.threads > 1 and self._lost < MAX_LOST and self.watch.elapsed > SOLO_SECONDS
        if self._pool is None and worth:
            self._pool = Pool(self.threads, prepare=partial(_prepare, self.problem))
        return self._pool

    @property
    def known(self) -> Problem | str:
        """What has to be sent for whoever explores to know the problem."""
        return self.problem if self.given is not None else self.problem.name

    def give_up(self) -> None:
        """Do without the given executor, which takes no more cases."""
        self.given = None

    def count_lost(self, futures: list[Future[Findings]]) -> None:
        """Count the processes that were lost; after too many, this process explores alone."""
        self._lost += sum(_is_lost(future) for future in futures)
        if self._lost >= MAX_LOST:
            self.stop()

    def stop(self) -> None:
        """End the processes, whatever they are doing."""
        if self._pool is not None:
            self._pool.end()
            self._pool = None


class Front:
    """The cases that remain to show that no tree reaches a target.

    Attributes:
        closed: the highest bound of all that was closed.
        budget: the one that tables are made for.
        taken: the cases that are being explored, open until something has come of them.
        seconds: after which a round is cut off.
    """

    def __init__(self, root: Case) -> None:
        self.closed, self.budget, self.seconds = -np.inf, np.inf, SLICE
        self.taken: list[Case] = []
        self._counter = itertools.count()
        self._heap: list[tuple[float, int, Partial]] = []
        self.push(root)

    @property
    def top(self) -> float:
        """The highest bound of all that is open."""
        return max([-self._heap[0][0] if self._heap else -np.inf, *(bound for bound, _ in self.taken)])

    @property
    def bound(self) -> float:
        """No tree that is looked at returns more."""
        return max(self.top, self.closed)

    def push(self, case: Case) -> None:
        """Add an open case."""
        heapq.heappush(self._heap, (-case[0], next(self._counter), case[1]))

    def take(self, target: float) -> None:
        """Take the best cases, as far as their bounds are above the target."""
        while len(self.taken) < CASES_A_ROUND and self._heap and -self._heap[0][0] > target:
            negated, _, partial = heapq.heappop(self._heap)
            self.taken.append((-negated, partial))

    def put(self, found: list[Findings]) -> None:
        """Add what came of the cases that were taken."""
        self.taken = []
        for findings in found:
            self.closed = max(self.closed, findings.closed)
            for case in findings.open:
                self.push(case)

    def thin(self, max_vectors: int) -> None:
        """Let the cases of low bound start from the optimal values, when there are more than so many others."""
        own = [it for it in self._heap if it[2].vector is not None]
        if len(own) > max_vectors:
            own.sort(key=lambda it: it[:2])
            rest = [(*it[:2], replace(it[2], vector=None)) for it in own[max_vectors // 2 :]]
            shared = [it for it in self._heap if it[2].vector is None]
            self._heap = own[: max_vectors // 2] + rest + shared
            heapq.heapify(self._heap)


class Frontier:
    """The cases that remain and the global bound; the incumbent is that of the local search.

    Attributes:
        rounds: how many there were.
        main: the cases of the proof.
        raised: those of the question with a raised target; None while none is asked.
        proven: no tree returns more, as the answers to raised targets show.
        slack: what a tree may return more than the trees that symmetries turn it into.
        unrestricted: a bound on every policy.
        may_pin: whether single states may be pinned for raised targets.
        out_of_memory: whether there was not enough to go on.
    """

    def __init__(
        self,
        mdp: MDP,
        limits: Limits,
        watch: Watch,
        local: LocalSearch,
        executor: Executor | None = None,
        *,
        may_pin: bool = True,
    ) -> None:
        self.limits, self.watch, self.local = limits, watch, local
        name = f"{os.getpid()}-{next(_names)}"
        # A third is for the frontier, however many explore, because what it forgets can show in a bound; this process
        # and every worker share the rest.
        memory = limits.memory_limit * 2**20
        max_bytes = 2 * memory // 3 // (limits.threads + 1)
        self.sides = local.splits.sides()
        symmetries, self.slack = self._symmetries(mdp)
        self.problem = Problem(name, mdp, self.sides, local.size, local.optimal, symmetries, local.allowed, max_bytes)
        self.workers = Workers(self.problem, limits.threads, executor, watch)
        self.max_vectors = memory // 6 // (8 * mdp.n_states)
        self.explorer = self.problem.explorer()
        # What is not decided where pinned policies never go may be filled in with actions that are not allowed.
        self.may_pin = may_pin and self.explorer.acyclic and local.allowed is None
        self.rounds, self.out_of_memory = 0, False
        self.unrestricted = self.proven = local.unrestricted
        self.root = (local.unrestricted, Partial(None, None))
        self.main = Front(self.root)
        self.raised: Front | None = None
        self._levels = list(LEVELS)
        self._start, self._seconds_raised = watch.elapsed, 0.0

    @property
    def done(self) -> bool:
        """Whether nothing remains that could be better than the incumbent by more than the gap."""
        return self.main.top <= self.local.target

    @property
    def bound(self) -> float:
        """No tree within the limits returns more."""
        bound = self.main.bound + self.slack
        return max(min(bound, self.unrestricted) if self.done else min(bound, self.proven), self.local.value)

    def round(self, meanwhile: Callable[[], None]) -> None:
        """Explore the best cases, all with the same incumbent.

        Args:
            meanwhile: what this process does before it looks at the findings.
        """
        self.rounds += 1
        nodes = min(NODES_A_CASE, 2**self.rounds)
        for findings in self._worked(nodes, meanwhile):
            self.watch.nodes += findings.nodes
            if findings.value > self.local.value:
                self.local.value, self.local.best = findings.value, findings.tree
        self._report()
        self._ask_raised()

    def _worked(self, nodes: int, meanwhile: Callable[[], None]) -> list[Findings]:
        """What comes of the best cases of the proof.

        A round that takes long is cut off for raised targets to have their turn, and cases that were not finished are
        then begun again with the same incumbent: tables remember, so they come to the same end.
        """
        incumbent = self._incumbent(self.main, self.local.target)
        self.main.take(incumbent.target)
        found = [replace(_unexplored(case), late=True) for case in self.main.taken]
        seconds = SLICE
        while any(it.late for it in found) and self.watch.remaining > 0 and not self.out_of_memory:
            part = self.watch.part(seconds if self._raises else np.inf)
            rest = [i for i, it in enumerate(found) if it.late]
            cases = [self.main.taken[i] for i in rest]
            for i, it in zip(rest, self._explored(cases, incumbent, nodes, part, meanwhile), strict=True):
                found[i] = found[i] if it.late and it.nodes < found[i].nodes else it
            if any(it.late for it in found):
                self._ask_raised()
            seconds, meanwhile = 2 * seconds, _nothing
        self._put(self.main, found)
        return found

    def _put(self, front: Front, found: list[Findings]) -> None:
        """Add what came of the cases of a front."""
        front.put(found)
        front.thin(self.max_vectors)

    @property
    def _raises(self) -> bool:
        """Whether targets may be raised: a limit on nodes promises the same bound in every run."""
        return self.limits.node_limit is None and bool(self._levels)

    def _has_time_for_raised(self) -> bool:
        """Whether a raised target has a turn."""
        if not self._raises or self.done or self.out_of_memory or self.watch.remaining == 0:
            return False
        while self._levels and self._raised_target() >= self.bound:
            del self._levels[0]
            self.raised = None
        share = SHARE if self.main.bound < self.proven else 1.0
        seconds = self.watch.elapsed - self._start - self._seconds_raised
        return self._raises and seconds > max(PATIENCE, share * self._seconds_raised)

    def _ask_raised(self) -> None:
        """Work on the present level as long as it has time; on to the next one when it is answered."""
        while self._has_time_for_raised():
            if self.raised is None:
                self.raised = Front(self.root)
            target, start = self._raised_target(), self.watch.elapsed
            incumbent = self._incumbent(self.raised, target)
            self.raised.take(target)
            part = self.watch.part(self.raised.seconds)
            found = self._explored(self.raised.taken, incumbent, NODES_RAISED, part, _nothing)
            self._put(self.raised, found)
            if any(it.late for it in found):
                self.raised.seconds *= 2
            self._seconds_raised += self.watch.elapsed - start
            self.proven = min(self.proven, self.raised.bound + self.slack)
            if self.raised.top <= target:
                self.raised = None
                del self._levels[0]
            self._report()

    def _report(self) -> None:
        self.local.bound = self.bound
        if self.local.best is not None:
            self.watch.report(self.local.value, self.local.bound)

    def _explored(
        self, cases: list[Case], incumbent: Incumbent, nodes: int, watch: Watch, meanwhile: Callable[[], None]
    ) -> list[Findings]:
        """What comes of each case, by this process or by others."""
        try:
            if self.workers.executor is None:
                found = [self.explorer.explore(case, incumbent, nodes, watch) for case in cases]
                meanwhile()
                return found
            futures = self._submit(self.workers.executor, cases, incumbent, nodes, watch)
            meanwhile()
            return self._collect(cases, futures)
        except MemoryError:
            self.out_of_memory = True
            return [_unexplored(case) for case in cases]

    def _submit(
        self, executor: Executor | Pool, cases: list[Case], incumbent: Incumbent, nodes: int, watch: Watch
    ) -> list[Future[Findings]]:
        """Hand out cases; none when the executor takes no more."""
        deadline = time.time() + watch.remaining
        try:
            return [executor.submit(explore, self.workers.known, case, incumbent, nodes, deadline) for case in cases]
        except BrokenExecutor:
            self.workers.give_up()
            return []

    def _collect(self, cases: list[Case], futures: list[Future[Findings]]) -> list[Findings]:
        """What was found; a case that was lost on the way remains as it was."""
        while not self.watch.interrupted and wait(futures, POLL_SECONDS).not_done:
            pass
        self.workers.count_lost(futures)
        found = [_result(future) for future in futures] or [None] * len(cases)
        return [it or _unexplored(case) for it, case in zip(found, cases, strict=True)]

    def _symmetries(self, mdp: MDP) -> tuple[Symmetries, float]:
        """The symmetries of the problem, and what a tree may lose when they turn it into one that is looked at."""
        sides = self.sides
        if self.local.allowed is not None:
            # A renaming need not turn what is allowed into what is allowed.
            return nothing(mdp, sides.shape[1]), 0.0
        symmetries = find(mdp, sides, decisive(mdp))
        # Every decision of a tree may be turned into the first of those that are alike, in so many steps at most; where
        # leaves turn out to be one, all begins anew.
        leaves = self.local.size.leaves
        steps = leaves * (2 * leaves * (mdp.n_actions + sides.shape[1]) + MAX_PINS * mdp.n_actions)
        slack = symmetries.error * steps
        if slack > 1e-4 * (self.local.target - self.local.value):
            return nothing(mdp, sides.shape[1]), 0.0
        return symmetries, slack

    def _raised_target(self) -> float:
        """What no tree is shown to reach at the present level."""
        return max(self.local.target, self.local.value + self._levels[0] * (self.unrestricted - self.local.value))

    def _incumbent(self, front: Front, target: float) -> Incumbent:
        budget = budget_of(self.explorer.losses.optimum, target)
        # A budget grows when the value is negative and the gap larger than it.
        if not FRESH * front.budget <= budget <= front.budget:
            front.budget = budget
        raised = front is not self.main
        return Incumbent(self.local.value, target, front.budget, raised, may_pin=raised and self.may_pin)


def _nothing() -> None:
    """What this process does while others explore, if there is nothing to do."""


def _unexplored(case: Case) -> Findings:
    """A case that remains as it was."""
    return Findings([case], -np.inf, None, -np.inf)


def _result(future: Future[Findings]) -> Findings | None:
    """What was found; None when it did not arrive."""
    try:
        return future.result(timeout=0)
    except (BrokenExecutor, LostWorkerError, CancelledError, TimeoutError):
        return None


def _is_lost(future: Future[Findings]) -> bool:
    """Whether a process of the pool was lost before it found anything."""
    return future.done() and not future.cancelled() and isinstance(future.exception(), LostWorkerError)
