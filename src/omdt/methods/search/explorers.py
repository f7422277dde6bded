"""Explorers: who explores jobs, this process together with a pool of processes, or an executor of the user's.

Whoever explores, the findings are the same, and what a process knows from other cases never shows in a result. So a job
whose worker is lost is done again, and a job that this process would wait for idly is explored here as well: whoever
comes first is believed. Other processes can therefore delay a search by next to nothing, however long they take to
start and to learn what this one knows.
"""

import threading
import time
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial

from omdt.errors import LostWorkerError
from omdt.methods.search.exploration import explore
from omdt.methods.search.jobs import Job, Queue
from omdt.methods.search.nodes import Findings
from omdt.methods.search.subject import Subject, Work, explore_anywhere, explore_if_known, explore_in_worker, prepare
from omdt.processes import POLL_SECONDS, Pool
from omdt.watch import Watch

LATE_SECONDS = 0.3
"""Seconds after the end of the search in which other processes may still hand in what they have: they look at the clock
several times per second."""

BATCH_SECONDS = 0.1
"""Seconds that jobs take which are handed to a process together. While this process explores, its other threads wait up
to some ten milliseconds until they can pass on what arrives, and the process that sent it waits for new jobs."""

ANSWER_SECONDS = 10.0
"""Seconds after which this process explores what an executor has not explored: a cluster may have no workers yet."""

LOST = (LostWorkerError, BrokenExecutor, CancelledError, TimeoutError)
"""What a future raises if its job did not fail, but did not come to an end."""


class Explorers:
    """Those who explore.

    Args:
        subject: what is explored.
        threads: how many processes may explore, this one included.
        given: the user's executor, which explores instead of this process as long as it answers, or None.
        watch: ends the search; processes are started once the search has taken long enough to make it worth while.

    Attributes:
        knowledge: that of this process.
        out_of_memory: whether there was not enough memory to go on.
    """

    def __init__(self, subject: Subject, threads: int, given: Executor | None, watch: Watch) -> None:
        self._subject, self._threads, self._given, self._watch = subject, threads, given, watch
        self._settings = subject.model.settings
        self._pool: Pool | None = None
        # Guards everything below, which the threads of the pool change as well.
        self._changed = threading.Condition()
        self._queue = Queue()
        self._away: list[list[Job]] = []
        self._pace = 1.0
        self._workers, self._lost, self._stopped = 0, 0, False
        self._awaited: tuple[Job, Watch] | None = None
        self._error: Exception | None = None
        self.knowledge = subject.knowledge()
        self.out_of_memory = False

    @property
    def others(self) -> int:
        """The number of other processes that are ready to explore; 0 with an executor, whose number is not known."""
        return self._workers

    @property
    def alone(self) -> bool:
        """Whether this process is the only one that explores."""
        return self._given is None and self._workers == 0

    def submit(self, job: Job) -> None:
        """Let a job be explored by whoever is free first."""
        with self._changed:
            self._queue.add(job)
        self._hand_out()

    def drop(self, job: Job) -> None:
        """Let nobody begin with a job any more."""
        with self._changed:
            self._queue.remove(job)

    def again(self, job: Job) -> None:
        """Begin a job again that was cut off by the clock, with twice the time."""
        with self._changed:
            job.again()
            self._queue.add_first(job)
        self._hand_out()

    def finish(self, job: Job) -> Findings:
        """What came of a job that was submitted, as far as time and memory allow.

        While others explore it, this process explores what waits; if nothing does, the same job.
        """
        give_up: float | None = None
        while job.findings is None and not (self._watch.interrupted or self.out_of_memory):
            if self._watch.remaining > 0:
                self._start_processes()
                self._help(job)
            elif self._is_away(job) and (give_up is None or time.monotonic() < give_up):
                give_up = time.monotonic() + LATE_SECONDS if give_up is None else give_up
                self._wait(job)
            else:
                break
        if self._error is not None:
            raise self._error
        return job.furthest

    def explore_spare(self) -> bool:
        """Explore one spare job that waits, in this process; return whether there was one."""
        with self._changed:
            job = self._queue.next_spare() if self._given is None else None
        if job is not None:
            self._explore_here(job)
        return job is not None

    def run_out_of_memory(self) -> None:
        """Explore no more because there is not enough memory."""
        self.out_of_memory = True

    def stop(self) -> None:
        """End the processes, whatever they are doing."""
        with self._changed:
            pool, self._pool, self._stopped, self._workers = self._pool, None, True, 0
        if pool is not None:
            pool.end()

    def _help(self, job: Job) -> None:
        """Do something useful until a job is done."""
        with self._changed:
            if self._queue.remove(job):
                chosen: Job | None = job
            else:
                chosen = self._queue.next_usual()
            if chosen is None and job.findings is None and (self._given is None or job.age > ANSWER_SECONDS):
                chosen = self._queue.next_spare() or job
        if chosen is None:
            self._wait(job)
        else:
            self._explore_here(chosen, job)

    def _wait(self, job: Job) -> None:
        with self._changed:
            self._changed.wait_for(lambda: job.findings is not None or not self._is_away(job), POLL_SECONDS)

    def _explore_here(self, job: Job, awaited: Job | None = None) -> None:
        """Explore a job in this process.

        A job that others explore as well, or a spare one, is left as soon as the awaited one is done.
        """
        part = self._watch.part(job.seconds)
        with self._changed:
            if awaited is not None and (job is awaited or job.spare):
                self._awaited = awaited, part
            if not self._is_away(job):
                job.begin()
        try:
            findings = explore(self.knowledge, job.case, job.goal, job.nodes, part)
        except MemoryError:
            self.out_of_memory = True
            return
        with self._changed:
            self._awaited = None
            if job.spare and findings.late and part.interrupted and not self._watch.interrupted:
                job.pause()
                self._queue.add_first(job)
            else:
                job.settle(findings)

    def _is_away(self, job: Job) -> bool:
        """Whether another process has a job."""
        with self._changed:
            return any(job in batch for batch in self._away)

    def _start_processes(self) -> None:
        """Start other processes if it is time for them; nobody waits until they are ready."""
        worth_while = self._threads > 1 and self._watch.elapsed > self._settings.solo_seconds
        if self._pool is None and not self._stopped and self._given is None and worth_while:
            self._pool = Pool(self._threads - 1, partial(prepare, self._subject))
            for _ in range(self._threads - 1):
                self._pool.submit(_nothing).add_done_callback(self._ready)

    def _ready(self, future: Future[None]) -> None:
        """Count a process that is ready to explore."""
        with self._changed:
            if future.exception() is None and not self._stopped:
                self._workers += 1
        self._hand_out()

    def _hand_out(self) -> None:
        """Hand jobs to all others that are free."""
        with self._changed:
            while not self._stopped and (self._given is not None or len(self._away) < self._workers):
                batch = self._next_batch()
                if not batch:
                    return
                self._away.append(batch)
                for job in batch:
                    job.begin()
                try:
                    self._submit_batch(batch)
                except RuntimeError:
                    # It is broken or was shut down.
                    self._lose(batch, self._settings.max_lost_workers)

    def _next_batch(self) -> list[Job]:
        """The jobs that are handed out together: several if they are short, but no more than a fair share."""
        share = 1 if self._given is not None else -(-self._queue.usual // (self._workers + 1))
        fitting = max(1, min(share, int(BATCH_SECONDS / self._pace)))
        batch = [job for _ in range(fitting) if (job := self._queue.next_usual()) is not None]
        spare = None if batch else self._queue.next_spare()
        return batch if spare is None else [spare]

    def _submit_batch(self, batch: list[Job], *, with_subject: bool = False) -> None:
        """Submit a batch to the executor or the pool."""
        deadline, subject = time.time() + self._watch.remaining, self._subject
        works = [Work(job.case, job.goal, job.nodes, job.seconds, deadline) for job in batch]
        future: Future[list[Findings]] | Future[list[Findings] | None]
        if self._given is not None and with_subject:
            future = self._given.submit(explore_anywhere, subject, works)
        elif self._given is not None:
            future = self._given.submit(explore_if_known, subject.name, works)
        else:
            assert self._pool is not None
            future = self._pool.submit(explore_in_worker, subject.name, works)
        future.add_done_callback(partial(self._arrived, batch))

    def _arrived(self, batch: list[Job], future: Future[list[Findings]] | Future[list[Findings] | None]) -> None:
        """Take what another process found, in a thread of the pool or of the executor."""
        with self._changed:
            try:
                found = future.result()
                if found is None:
                    self._submit_batch(batch, with_subject=True)
                    return
            except LOST:
                self._lose(batch, 1)
            except MemoryError:
                self.out_of_memory = True
            except Exception as error:
                self._error = self._error or error
                self._settle(batch, [job.furthest for job in batch])
            else:
                self._settle(batch, found)
            self._changed.notify_all()
        self._hand_out()

    def _settle(self, batch: list[Job], found: list[Findings]) -> None:
        """Take findings, and note how long jobs take."""
        self._away.remove(batch)
        for job, findings in zip(batch, found, strict=True):
            job.settle(findings)
        self._pace = 0.5 * self._pace + 0.5 * batch[0].age / len(batch)
        if self._awaited is not None and self._awaited[0].findings is not None:
            self._awaited[1].interrupt()

    def _lose(self, batch: list[Job], times: int) -> None:
        """Let jobs wait again that were lost on their way; with too many losses, this process explores alone."""
        self._away.remove(batch)
        self._lost += times
        for job in reversed(batch):
            if job.findings is None:
                self._queue.add_first(job)
        if self._lost >= self._settings.max_lost_workers:
            self._given, self._workers = None, 0


def _nothing() -> None:
    """What a process does to show that it is ready."""
