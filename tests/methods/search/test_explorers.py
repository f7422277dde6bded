"""Explorers: whoever explores, and whatever is lost on the way, the findings are those of one process."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from omdt.errors import LostWorkerError
from omdt.methods.search import explorers
from omdt.methods.search.explorers import Explorers, Subject, explore_anywhere, explore_in_worker, prepare, unexplored
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.nodes import Case, Findings, Goal, Partial
from omdt.methods.search.partial_tree import HOLE, Split
from omdt.methods.search.symmetry import Symmetries
from omdt.processes import Pool
from omdt.watch import Watch
from search_parts import goal_of, model_of
from strategies import environment

NODES = 6


class Scripted(Executor):
    """Does jobs at once in this thread, unless its script has an exception for the job or for the executor itself."""

    def __init__(self, *script: Exception | None, broken_after: int = 1 << 40) -> None:
        self.script, self.left = list(script), broken_after

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.left -= 1
        if self.left < 0:
            raise BrokenExecutor("all workers are gone")
        future: Future[Any] = Future()
        error = self.script.pop(0) if self.script else None
        if error is None:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(error)
        return future


def subject_of(**fields: Any) -> Subject:
    model = model_of(environment("frozenlake_4x4"), **fields)
    return Subject.of(model, Symmetries.none(model), 1 << 26)


def cases_of(knowledge: Knowledge) -> list[Case]:
    """The cases of the first four questions."""
    return [Case(knowledge.model.optimal_return.upper, Partial(Split(k, HOLE, HOLE))) for k in range(4)]


def explored(
    them: Explorers, cases: list[Case], goal: Goal, meanwhile: Callable[[], None] = lambda: None
) -> list[Findings]:
    try:
        return them.explore(cases, goal, NODES, Watch(), meanwhile)
    finally:
        them.stop()


def summary(found: list[Findings]) -> list[tuple[object, ...]]:
    """What findings say, in a form that can be compared."""
    return [
        (
            [(case.bound, case.partial.tree, case.partial.choice) for case in it.open],
            *(it.closed, it.tree, it.value, it.nodes, it.late),
        )
        for it in found
    ]


@pytest.fixture
def expected() -> tuple[Goal, list[Case], list[tuple[object, ...]]]:
    """A goal, cases, and what one process finds."""
    them = Explorers(subject_of(), 1, None, Watch())
    goal, cases = goal_of(them.knowledge, 0.35), cases_of(them.knowledge)
    return goal, cases, summary(explored(them, cases, goal))


def test_every_executor_finds_what_this_process_finds(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    assert len({str(it) for it in alone}) > 1
    with ThreadPoolExecutor(4) as threads:
        for executor in (Scripted(), threads):
            done: list[int] = []
            them = Explorers(subject_of(), 1, executor, Watch())
            assert summary(explored(them, cases, goal, partial(done.append, 1))) == alone
            assert done == [1]


def test_processes_find_what_this_process_finds(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(solo_seconds=0.0), 2, None, Watch())
    try:
        for _ in range(2):
            assert summary(them.explore(cases, goal, NODES, Watch(), lambda: None)) == alone
    finally:
        them.stop()
    assert them._pool is None
    them.stop()


def test_processes_are_started_only_for_a_search_that_takes_long(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(solo_seconds=1e9), 2, None, Watch())
    assert summary(them.explore(cases, goal, NODES, Watch(), lambda: None)) == alone
    assert them._pool is None


@pytest.mark.parametrize("error", [BrokenExecutor("gone"), CancelledError(), TimeoutError(), LostWorkerError("lost")])
def test_a_case_that_is_lost_remains_as_it_was(error: Exception, expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(), 1, Scripted(None, error), Watch())
    found = explored(them, cases, goal)
    assert found[1].open == [cases[1]]
    assert (found[1].tree, found[1].nodes, found[1].closed, found[1].late) == (None, 0, -np.inf, False)
    assert [*summary(found[:1]), *summary(found[2:])] == [alone[0], *alone[2:]]


def test_an_executor_that_breaks_is_not_asked_again(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(), 1, Scripted(broken_after=2), Watch())
    assert [it.open for it in explored(them, cases, goal)] == [[case] for case in cases]
    assert summary(explored(them, cases, goal)) == alone


def test_a_lost_worker_costs_its_case_and_too_many_cost_the_pool(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(solo_seconds=0.0, max_lost_workers=1), 1 + 1, None, Watch())
    them._pool = Pool(2, partial(_die_as, them._subject))
    assert [it.open for it in them.explore(cases, goal, NODES, Watch(), lambda: None)] == [[case] for case in cases]
    assert summary(explored(them, cases, goal)) == alone
    assert them._pool is None


def _die_as(subject: Subject) -> None:
    """Get ready for a subject, but be killed instead."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_without_memory_all_cases_remain(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, _ = expected

    def no_memory() -> None:
        raise MemoryError

    them = Explorers(subject_of(), 1, None, Watch())
    assert [it.open for it in explored(them, cases, goal, no_memory)] == [[case] for case in cases]
    assert them.out_of_memory


def test_after_an_interrupt_nobody_is_waited_for(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, _ = expected
    watch = Watch()

    class Never(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            return Future()

    found = Explorers(subject_of(), 1, Never(), watch).explore(cases, goal, NODES, Watch(), watch.interrupt)
    assert [it.open for it in found] == [[case] for case in cases]


def test_a_case_that_waited_too_long_is_late() -> None:
    subject = subject_of()
    case = cases_of(subject.knowledge())[0]
    findings = explore_anywhere(subject, case, goal_of(subject.knowledge(), 0.35), NODES, deadline=0.0)
    assert (findings.late, findings.open) == (True, [case])


def test_a_worker_knows_one_subject_at_a_time_and_keeps_what_it_knows() -> None:
    first, second = subject_of(), subject_of()
    assert first.name != second.name
    goal = goal_of(first.knowledge(), 0.35)
    case = cases_of(first.knowledge())[0]
    explore_anywhere(first, case, goal, 1, deadline=np.inf)
    known = explorers._known[first.name]
    explore_anywhere(first, case, goal, 1, deadline=np.inf)
    assert explorers._known == {first.name: known}
    explore_in_worker(first.name, case, goal, 1, deadline=np.inf)
    prepare(second)
    assert set(explorers._known) == {second.name}
    assert replace(unexplored(case), late=True).open == [case]
