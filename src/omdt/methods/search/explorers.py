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
from omdt.methods.search.bounds.news import News
from omdt.methods.search.exploration import explore
from omdt.methods.search.helpers import Answer, Given, Helper, Process
from omdt.methods.search.jobs import Job, Queue
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.nodes import Findings
from omdt.methods.search.subject import Subject, Work
from omdt.processes import POLL_SECONDS
from omdt.watch import Watch

LATE_SECONDS = 0.3
"""Seconds after the end of the search in which other processes may still hand in what they have: they look at the clock
several times per second."""

BATCH_SECONDS = 0.2
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
        watch: ends the search; processes are started once exploring has taken long enough to make it worth while.
        kin: what this process knows of the same task with another size, if anything.

    Attributes:
        knowledge: that of this process.
        out_of_memory: whether there was not enough memory to go on.
    """

    def __init__(
        self, subject: Subject, threads: int, given: Executor | None, watch: Watch, kin: Knowledge | None = None
    ) -> None:
        self._subject, self._threads, self._watch = subject, threads, watch
        self._given = None if given is None else Given(given, subject)
        self._settings, self._began = subject.model.settings, watch.worked
        # Guards everything below, which the threads that wait for other processes change as well.
        self._changed = threading.Condition()
        self._queue = Queue()
        self._processes: list[Process] = []
        self._ready: list[Helper] = []
        self._idle: list[Helper] = []
        self._away: list[list[Job]] = []
        self._heard: list[News] = []
        self._pace = 1.0
        self._lost, self._stopped, self._spare_first = 0, False, False
        self._awaited: tuple[Job, Watch] | None = None
        self._error: Exception | None = None
        self._ended: float | None = None
        self.knowledge = subject.knowledge(kin)
        self.out_of_memory = False

    @property
    def others(self) -> int:
        """The number of other processes that are ready to explore; 0 with an executor, whose number is not known."""
        return len(self._ready)

    @property
    def alone(self) -> bool:
        """Whether this process is the only one that explores."""
        return self._given is None and not self._ready

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
        while job.findings is None and not (self._watch.interrupted or self.out_of_memory):
            if self._watch.remaining > 0:
                if self._watch.worked - self._began > self._settings.solo_seconds:
                    self.start_processes()
                self._help(job)
            elif self._is_away(job) and self._late_seconds < LATE_SECONDS:
                self._wait(job)
            else:
                break
        if self._error is not None:
            raise self._error
        return job.furthest

    def prefer_spare(self, spare_first: bool) -> None:
        """Let others take spare jobs before usual ones, or only if nothing else waits."""
        with self._changed:
            self._spare_first = spare_first
        self._hand_out()

    def explore_spare(self) -> bool:
        """Explore one spare job that waits, unless others do; return whether there was one."""
        with self._changed:
            job = self._queue.next_spare() if self.alone else None
        if job is not None:
            self._explore_here(job)
        return job is not None

    def run_out_of_memory(self) -> None:
        """Explore no more because there is not enough memory."""
        self.out_of_memory = True

    def start_processes(self) -> None:
        """Start other processes where they are wanted; nobody waits until they are ready."""
        if self._given is None and not (self._processes or self._stopped):
            self._processes = [Process(self._subject) for _ in range(self._threads - 1)]
            for process in self._processes:
                process.start().add_done_callback(partial(self._started, process))

    def rest(self) -> None:
        """End the processes, whatever they are doing, until exploring has taken long enough again."""
        with self._changed:
            processes, self._processes, self._ready, self._idle = self._processes, [], [], []
        for process in processes:
            process.end()
        self._began = self._watch.worked

    def stop(self) -> None:
        """End the processes for good."""
        self._stopped = True
        self.rest()

    @property
    def _late_seconds(self) -> float:
        """Seconds since this was first asked for: since the end of the search."""
        if self._ended is None:
            self._ended = time.monotonic()
        return time.monotonic() - self._ended

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
            self._hear()
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
            if self.knowledge.exchanges is not None:
                self._tell(self.knowledge.exchanges.news())

    def _hear(self) -> None:
        """Take what other processes have computed, between two explorations."""
        if self.knowledge.exchanges is not None:
            self.knowledge.exchanges.hear(self._heard)
            self._heard = []

    def _tell(self, news: list[News], teller: Helper | None = None) -> None:
        """Let all other processes know what one has computed."""
        for helper in self._processes:
            if helper is not teller:
                helper.tell(news)

    def _is_away(self, job: Job) -> bool:
        """Whether another process has a job."""
        with self._changed:
            return any(job in batch for batch in self._away)

    def _started(self, helper: Helper, future: Future[None]) -> None:
        """Let a process explore that is ready."""
        with self._changed:
            if future.exception() is None and helper in self._processes:
                self._ready.append(helper)
                self._idle.append(helper)
        self._hand_out()

    def _hand_out(self) -> None:
        """Hand jobs to all others that are free."""
        with self._changed:
            while not self._stopped and (self._given is not None or self._idle):
                batch = self._next_batch()
                if not batch:
                    return
                self._away.append(batch)
                for job in batch:
                    job.begin()
                helper = self._given or self._idle.pop()
                helper.explore(self._works(batch)).add_done_callback(partial(self._answered, helper, batch))

    def _next_batch(self) -> list[Job]:
        """The jobs that are handed out together: several if they are short, but no more than a fair share."""
        share = 1 if self._given is not None else -(-self._queue.usual // (len(self._ready) + 1))
        return self._queue.batch(max(1, min(share, int(BATCH_SECONDS / self._pace))), spare_first=self._spare_first)

    def _works(self, batch: list[Job]) -> list[Work]:
        deadline = time.time() + self._watch.remaining
        return [Work(job.case, job.goal, job.nodes, job.seconds, deadline) for job in batch]

    def _answered(self, helper: Helper, batch: list[Job], future: Future[Answer]) -> None:
        """Take what others found, in the thread that waited for it."""
        with self._changed:
            try:
                found, news = future.result()
            except LOST:
                self._lose(batch, helper)
            except MemoryError:
                self._away.remove(batch)
                self.out_of_memory = True
            except Exception as error:
                self._error = self._error or error
                self._settle(batch, [job.furthest for job in batch])
            else:
                self._settle(batch, found)
                self._heard += news
                self._tell(news, helper)
            if helper in self._ready:
                self._idle.append(helper)
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

    def _lose(self, batch: list[Job], helper: Helper) -> None:
        """Let jobs wait again that were lost on their way; with too many losses, this process explores alone."""
        self._away.remove(batch)
        # A process that was ended is no loss.
        self._lost += helper is self._given or helper in self._ready
        for job in reversed(batch):
            if job.findings is None:
                self._queue.add_first(job)
        if self._lost >= self._settings.max_lost_workers:
            self._given, self._ready, self._idle = None, [], []
