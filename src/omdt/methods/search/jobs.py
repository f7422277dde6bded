"""Jobs: cases on their way through an exploration, and those that wait for one."""

import time
from collections import deque

import numpy as np

from omdt.methods.search.nodes import Case, Findings, Goal


class Job:
    """A case that is to be explored for a fixed number of nodes with a fixed goal.

    The findings depend on case, goal and nodes alone. Only findings that came too late depend on the clock; the job is
    then begun again with twice the time.

    Attributes:
        case: what to explore.
        goal: what to show.
        nodes: maximum number of partial trees to examine.
        seconds: maximum number of seconds for the next attempt.
        spare: whether it is only done by a process that would otherwise be idle, or when its turn has come.
        findings: what came of it; None until it is done.
        taken: seconds that all attempts took.
    """

    def __init__(self, case: Case, goal: Goal, nodes: int, seconds: float = np.inf, *, spare: bool = False) -> None:
        self.case, self.goal, self.nodes, self.seconds, self.spare = case, goal, nodes, seconds, spare
        self.findings: Findings | None = None
        self.taken = 0.0
        self._furthest, self._began = unexplored(case), 0.0

    @property
    def late(self) -> bool:
        """Whether it was cut off by the clock."""
        return self.findings is not None and self.findings.late

    @property
    def furthest(self) -> Findings:
        """The findings, or what came of the attempt that went furthest before it was cut off."""
        return self._furthest if self.findings is None else self.findings

    def begin(self) -> None:
        """Begin an attempt."""
        self._began = time.monotonic()

    @property
    def age(self) -> float:
        """Seconds since the last attempt began."""
        return time.monotonic() - self._began

    def pause(self) -> None:
        """End an attempt without findings."""
        self.taken += self.age

    def settle(self, findings: Findings) -> None:
        """Take findings, unless there are some already: those of two processes are the same."""
        if self.findings is None:
            self.pause()
            if findings.late and findings.nodes < self._furthest.nodes:
                findings = self._furthest
            self.findings = self._furthest = findings

    def again(self) -> None:
        """Forget that the last attempt was cut off, and allow the next one twice the time."""
        self.findings, self.seconds = None, 2 * self.seconds


class Queue:
    """Jobs that wait for an explorer, first come, first served; spare ones come last unless they are asked for."""

    def __init__(self) -> None:
        self._usual: deque[Job] = deque()
        self._spare: deque[Job] = deque()

    def __contains__(self, job: Job) -> bool:
        return job in self._of(job)

    @property
    def usual(self) -> int:
        """How many jobs wait that are not spare ones."""
        return len(self._usual)

    def add(self, job: Job) -> None:
        """Let a job wait."""
        self._of(job).append(job)

    def add_first(self, job: Job) -> None:
        """Let a job wait that is to be done before all others of its kind."""
        self._of(job).appendleft(job)

    def remove(self, job: Job) -> bool:
        """Let a job wait no longer; return whether it did."""
        if job not in self:
            return False
        self._of(job).remove(job)
        return True

    def next_usual(self) -> Job | None:
        """The next job that is not a spare one."""
        return _first(self._usual)

    def next_spare(self) -> Job | None:
        """The next spare job."""
        return _first(self._spare)

    def batch(self, most: int, *, spare_first: bool = False) -> list[Job]:
        """The next jobs for one explorer: a spare one, or up to `most` usual ones."""
        spare = self.next_spare() if spare_first else None
        if spare is None:
            usual = [job for _ in range(most) if (job := self.next_usual()) is not None]
            spare = None if usual else self.next_spare()
        return usual if spare is None else [spare]

    def _of(self, job: Job) -> deque[Job]:
        return self._spare if job.spare else self._usual


def _first(jobs: deque[Job]) -> Job | None:
    """The first job that nobody has done in the meantime."""
    while jobs:
        job = jobs.popleft()
        if job.findings is None:
            return job
    return None


def unexplored(case: Case) -> Findings:
    """A case that remains as it was."""
    return Findings([case], -np.inf, None, -np.inf)
