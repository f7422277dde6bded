"""Explorers: who explores the cases of a round, this process, a pool of processes, or an executor of the user's.

Whoever explores, the findings are the same: a case is explored for a fixed number of nodes with a fixed goal, and what
a process knows from other cases never shows in a result. A case whose worker is lost remains as it was.
"""

import itertools
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from functools import partial

import numpy as np

from omdt.errors import LostWorkerError
from omdt.methods.search.exploration import explore
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Case, Findings, Goal
from omdt.methods.search.symmetry import Symmetries
from omdt.processes import POLL_SECONDS, Pool
from omdt.watch import Watch, one_thread


@dataclass(frozen=True, eq=False)
class Subject:
    """What knowledge is made from; `name` tells the subjects of one process apart."""

    name: str
    model: Model
    symmetries: Symmetries
    max_bytes: int

    @classmethod
    def of(cls, model: Model, symmetries: Symmetries, max_bytes: int) -> "Subject":
        """A subject with a name of its own."""
        return cls(f"{os.getpid()}-{next(_names)}", model, symmetries, max_bytes)

    def knowledge(self) -> Knowledge:
        """Knowledge to begin with."""
        return Knowledge(self.model, self.symmetries, self.max_bytes)


_names = itertools.count()

_known: dict[str, Knowledge] = {}
"""What this process knows of the subject it works on, by the subject's name."""

_exploring = threading.Lock()
"""Knowledge serves one case at a time, also where an executor has many threads."""


def prepare(subject: Subject) -> None:
    """Get a worker ready for a subject."""
    _known.clear()
    _known[subject.name] = subject.knowledge()


def explore_in_worker(name: str, case: Case, goal: Goal, nodes: int, deadline: float) -> Findings:
    """Explore a case in a process that was prepared for its subject.

    Args:
        name: of the subject.
        case: what to explore.
        goal: what to show.
        nodes: how many partial trees to examine.
        deadline: when to stop, as `time.time` has it: a case may wait for others before its turn comes.
    """
    return explore(_known[name], case, goal, nodes, Watch(max(0.0, deadline - time.time())))


def explore_anywhere(subject: Subject, case: Case, goal: Goal, nodes: int, deadline: float) -> Findings:
    """Explore a case in a process of which nothing is known; arguments as in `explore_in_worker`."""
    with _exploring, one_thread():
        if subject.name not in _known:
            prepare(subject)
        return explore_in_worker(subject.name, case, goal, nodes, deadline)


class Explorers:
    """Those who explore.

    Args:
        subject: what is explored.
        threads: how many processes may explore.
        given: the user's executor, or None.
        watch: processes are started once the search has taken long enough to make it worth while.

    Attributes:
        knowledge: that of this process.
        out_of_memory: whether there was not enough memory to go on.
    """

    def __init__(self, subject: Subject, threads: int, given: Executor | None, watch: Watch) -> None:
        self._subject, self._threads, self._given, self._watch = subject, threads, given, watch
        self._settings = subject.model.settings
        self._pool: Pool | None = None
        self._lost = 0
        self.knowledge = subject.knowledge()
        self.out_of_memory = False

    def explore(
        self, cases: list[Case], goal: Goal, nodes: int, watch: Watch, meanwhile: Callable[[], None]
    ) -> list[Findings]:
        """What comes of each case; `meanwhile` is what this process does before it collects the findings."""
        try:
            futures = self._submit(cases, goal, nodes, watch)
            if futures is None:
                found = [explore(self.knowledge, case, goal, nodes, watch) for case in cases]
                meanwhile()
                return found
            meanwhile()
            return self._collect(cases, futures)
        except MemoryError:
            self.out_of_memory = True
            return [unexplored(case) for case in cases]

    def stop(self) -> None:
        """End the processes, whatever they are doing."""
        if self._pool is not None:
            self._pool.end()
            self._pool = None

    def _submit(self, cases: list[Case], goal: Goal, nodes: int, watch: Watch) -> list[Future[Findings]] | None:
        """Hand out cases; none if the executor takes no more, None if this process has to explore them."""
        deadline = time.time() + watch.remaining
        if self._given is not None:
            try:
                return [
                    self._given.submit(explore_anywhere, self._subject, case, goal, nodes, deadline) for case in cases
                ]
            except BrokenExecutor:
                self._given = None
                return []
        if not self._has_pool():
            return None
        assert self._pool is not None
        name = self._subject.name
        return [self._pool.submit(explore_in_worker, name, case, goal, nodes, deadline) for case in cases]

    def _has_pool(self) -> bool:
        """Whether there are other processes, which are started if it is time for them."""
        if self._lost >= self._settings.max_lost_workers:
            self.stop()
        elif self._pool is None and self._threads > 1 and self._watch.elapsed > self._settings.solo_seconds:
            self._pool = Pool(self._threads, partial(prepare, self._subject))
        return self._pool is not None

    def _collect(self, cases: list[Case], futures: list[Future[Findings]]) -> list[Findings]:
        """What was found; a case that was lost on the way remains as it was."""
        while not self._watch.interrupted and wait(futures, POLL_SECONDS).not_done:
            pass
        found = [self._result(future) for future in futures] or [None] * len(cases)
        return [it or unexplored(case) for it, case in zip(found, cases, strict=True)]

    def _result(self, future: Future[Findings]) -> Findings | None:
        """What was found; None if it did not arrive."""
        try:
            return future.result(timeout=0)
        except LostWorkerError:
            self._lost += 1
        except (BrokenExecutor, CancelledError, TimeoutError):
            pass
        return None


def unexplored(case: Case) -> Findings:
    """A case that remains as it was."""
    return Findings([case], -np.inf, None, -np.inf)


def idle() -> None:
    """What this process does while others explore, if there is nothing else to do."""
