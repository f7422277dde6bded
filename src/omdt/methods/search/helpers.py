"""Helpers: who explores beside this process, or instead of it: other processes of this machine, or an executor."""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from typing import Protocol

from omdt.methods.search.bounds.news import News
from omdt.methods.search.nodes import Findings
from omdt.methods.search.subject import (
    Subject,
    Work,
    explore_and_tell,
    explore_anywhere,
    explore_if_known,
    prepare,
)
from omdt.processes import Pool

Answer = tuple[list[Findings], list[News]]
"""The findings of several cases, and what was computed on the way."""


class Helper(Protocol):
    """Explores cases elsewhere."""

    def tell(self, news: list[News]) -> None:
        """Let it know what others have computed."""

    def explore(self, works: list[Work]) -> Future[Answer]:
        """Let it explore cases one after another."""


class Process:
    """Another process of this machine, which hears what others have computed together with its next cases."""

    def __init__(self, subject: Subject) -> None:
        self._name = subject.name
        self._pool = Pool(1, partial(prepare, subject))
        self._untold: list[News] = []

    def start(self) -> Future[None]:
        """Start it; the future is done when it is ready."""
        return self._pool.submit(_nothing)

    def tell(self, news: list[News]) -> None:
        """As in `Helper`."""
        self._untold += news

    def explore(self, works: list[Work]) -> Future[Answer]:
        """As in `Helper`."""
        news, self._untold = self._untold, []
        return self._pool.submit(explore_and_tell, self._name, works, news)

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._pool.end()


class Given:
    """The user's executor.

    Nothing is known of its processes, so they are not told what others have computed, and the subject, which can be
    large, is only sent to those that ask for it.
    """

    def __init__(self, executor: Executor, subject: Subject) -> None:
        self._executor, self._subject = executor, subject

    def tell(self, news: list[News]) -> None:
        """As in `Helper`; it does not listen."""

    def explore(self, works: list[Work]) -> Future[Answer]:
        """As in `Helper`."""
        answer: Future[Answer] = Future()
        self._submit(partial(explore_if_known, self._subject.name, works), works, answer)
        return answer

    def _submit(self, job: Callable[[], list[Findings] | None], works: list[Work], answer: Future[Answer]) -> None:
        """Submit a job, and if its process asks for it, once more with the subject."""

        def done(future: Future[list[Findings] | None]) -> None:
            try:
                found = future.result()
            except BaseException as error:
                answer.set_exception(error)
            else:
                if found is None:
                    self._submit(partial(explore_anywhere, self._subject, works), works, answer)
                else:
                    answer.set_result((found, []))

        try:
            self._executor.submit(job).add_done_callback(done)
        except RuntimeError as error:
            # It is broken or was shut down.
            answer.set_exception(BrokenExecutor(str(error)))


def _nothing() -> None:
    """What a process does to show that it is ready."""
