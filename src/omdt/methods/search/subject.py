"""Subject: what other processes need to know to explore cases of a search, and what they do with a case."""

import itertools
import os
import platform
import threading
import time
from dataclasses import dataclass

from omdt.methods.search.bounds.news import Exchanges, News
from omdt.methods.search.exploration import explore
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.model import Model
from omdt.methods.search.nodes import Case, Findings, Goal
from omdt.methods.search.symmetry import Symmetries
from omdt.watch import Watch, one_thread


@dataclass(frozen=True, eq=False)
class Subject:
    """What knowledge is made from; `name` tells the subjects of one process apart.

    Attributes:
        name: no other subject has it.
        model: the task.
        symmetries: the renamings that leave it as it is.
        max_bytes: memory for what a process keeps.
        shared: whether processes tell one another what they have computed.
    """

    name: str
    model: Model
    symmetries: Symmetries
    max_bytes: int
    shared: bool = False

    @classmethod
    def of(cls, model: Model, symmetries: Symmetries, max_bytes: int, *, shared: bool = False) -> "Subject":
        """A subject with a name of its own."""
        return cls(f"{platform.node()}-{os.getpid()}-{next(_names)}", model, symmetries, max_bytes, shared)

    def knowledge(self, kin: Knowledge | None = None) -> Knowledge:
        """Knowledge to begin with, given that of the same task with another size, if there is any."""
        return Knowledge(self.model, self.symmetries, self.max_bytes, Exchanges() if self.shared else None, kin)


@dataclass(frozen=True)
class Work:
    """What to do with a case.

    Attributes:
        case: the case to explore.
        goal: what to show.
        nodes: maximum number of partial trees to examine.
        seconds: maximum number of seconds for this case.
        deadline: when the search has to end, as `time.time` has it: a case may wait for others before its turn comes.
    """

    case: Case
    goal: Goal
    nodes: int
    seconds: float
    deadline: float


_names = itertools.count()

_known: dict[str, Knowledge] = {}
"""What this process knows of the subject it works on, by the subject's name."""

_exploring = threading.Lock()
"""Knowledge serves one case at a time, also where an executor has many threads."""


def prepare(subject: Subject) -> None:
    """Get a worker ready for a subject."""
    _known.clear()
    _known[subject.name] = subject.knowledge()


def explore_in_worker(name: str, works: list[Work]) -> list[Findings]:
    """Explore cases one after another in a process that was prepared for the subject of this name."""
    return [_explored(_known[name], work) for work in works]


def explore_and_tell(name: str, works: list[Work], news: list[News]) -> tuple[list[Findings], list[News]]:
    """Explore cases with what others have computed; return also what this process has computed."""
    exchanges = _known[name].exchanges
    if exchanges is None:
        return explore_in_worker(name, works), []
    exchanges.hear(news)
    return explore_in_worker(name, works), exchanges.news()


def explore_if_known(name: str, works: list[Work]) -> list[Findings] | None:
    """Explore cases in a process that may know the subject of this name; None if it does not.

    The subject itself, which can be large, is sent only to processes that ask for it in this way.
    """
    with _exploring, one_thread():
        return explore_in_worker(name, works) if name in _known else None


def explore_anywhere(subject: Subject, works: list[Work]) -> list[Findings]:
    """Explore cases in a process of which nothing is known."""
    with _exploring, one_thread():
        if subject.name not in _known:
            prepare(subject)
        return explore_in_worker(subject.name, works)


def _explored(knowledge: Knowledge, work: Work) -> Findings:
    seconds = min(work.seconds, max(0.0, work.deadline - time.time()))
    return explore(knowledge, work.case, work.goal, work.nodes, Watch(seconds))
