"""Helpers: an executor is asked for the subject only once per process, and says when it is broken."""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from omdt.methods.search import subject as module
from omdt.methods.search.bounds.news import News
from omdt.methods.search.helpers import Given, Process
from omdt.methods.search.nodes import Case, Partial
from omdt.methods.search.partial_tree import HOLE, Split
from omdt.methods.search.subject import Subject, Work, explore_anywhere
from omdt.methods.search.symmetry import Symmetries
from search_parts import goal_of, model_of
from strategies import environment
from worker_processes import PATIENCE


def subject_of(*, shared: bool = False) -> Subject:
    model = model_of(environment("frozenlake_4x4"))
    return Subject.of(model, Symmetries.none(model), 1 << 26, shared=shared)


def works_of(subject: Subject) -> list[Work]:
    case = Case(subject.model.optimal_return.upper, Partial(Split(0, HOLE, HOLE)))
    return [Work(case, goal_of(subject.knowledge(), 0.35), 2, np.inf, np.inf)]


def test_an_executor_gets_the_subject_when_it_asks_for_it() -> None:
    subject, sent = subject_of(), []

    class Here(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            sent.append(fn.func is explore_anywhere)
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    module._known.clear()
    given = Given(Here(), subject)
    given.tell([News((False, 1.0))])
    for _ in range(2):
        (findings,), news = given.explore(works_of(subject)).result()
        assert findings.nodes == 2
        assert news == []
    assert sent == [False, True, False]


@pytest.mark.parametrize("after", [0, 1])
def test_an_executor_that_breaks_says_so(after: int) -> None:
    class Breaking(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = super().submit(fn, *args, **kwargs)
            if after == 1:
                future.result()
                self.shutdown()
            return future

    module._known.clear()
    with Breaking(1) as executor:
        if after == 0:
            executor.shutdown()
        answer = Given(executor, subject_of()).explore(works_of(subject_of()))
        with pytest.raises(BrokenExecutor, match="after shutdown"):
            answer.result(PATIENCE)


def test_a_process_hears_and_tells() -> None:
    subject = subject_of(shared=True)
    process = Process(subject)
    try:
        assert process.start().result(PATIENCE) is None
        (findings,), news = process.explore(works_of(subject)).result(PATIENCE)
        assert findings.nodes == 2
        assert any(it.leaves for it in news)
        process.tell([News((False, 1.0))])
        assert process._untold
        process.explore(works_of(subject)).result(PATIENCE)
        assert process._untold == []
    finally:
        process.end()
