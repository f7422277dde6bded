"""Explorers: whoever explores, and whatever is lost on the way, the findings are those of one process."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from omdt.errors import LostWorkerError
from omdt.methods.search import explorers, helpers
from omdt.methods.search.bounds.news import News
from omdt.methods.search.exploration import explore
from omdt.methods.search.explorers import LATE_SECONDS, Explorers
from omdt.methods.search.helpers import Answer, Given, Process
from omdt.methods.search.jobs import Job
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.nodes import Case, Findings, Goal, Partial
from omdt.methods.search.partial_tree import HOLE, Split
from omdt.methods.search.subject import Subject, Work, explore_and_tell, explore_anywhere, prepare
from omdt.methods.search.symmetry import Symmetries
from omdt.watch import Watch
from search_parts import goal_of, model_of
from strategies import environment
from worker_processes import until

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


def subject_of(*, shared: bool = False, **fields: Any) -> Subject:
    model = model_of(environment("frozenlake_4x4"), **fields)
    return Subject.of(model, Symmetries.none(model), 1 << 26, shared=shared)


def cases_of(knowledge: Knowledge) -> list[Case]:
    """The cases of the first four questions."""
    return [Case(knowledge.model.optimal_return.upper, Partial(Split(k, HOLE, HOLE))) for k in range(4)]


def jobs_of(cases: list[Case], goal: Goal, **fields: Any) -> list[Job]:
    return [Job(case, goal, NODES, **fields) for case in cases]


def explored(them: Explorers, cases: list[Case], goal: Goal) -> list[Findings]:
    """What comes of cases that are all under way at the same time."""
    jobs = jobs_of(cases, goal)
    for job in jobs:
        them.submit(job)
    try:
        return [them.finish(job) for job in jobs]
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
    goal, cases = goal_of(them.knowledge, 0.2), cases_of(them.knowledge)
    return goal, cases, summary(explored(them, cases, goal))


def test_every_executor_finds_what_this_process_finds(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    assert len({str(it) for it in alone}) > 1
    with ThreadPoolExecutor(4) as threads:
        for executor in (Scripted(), threads):
            them = Explorers(subject_of(), 1, executor, Watch())
            assert summary(explored(them, cases, goal)) == alone
            assert not them.alone


def test_processes_find_what_this_process_finds(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(solo_seconds=0.0), 3, None, Watch())
    assert them.alone
    try:
        first = jobs_of(cases, goal)[0]
        them.submit(first)
        them.finish(first)
        assert until(lambda: them.others == 2)
        jobs = jobs_of(cases, goal)
        for job in jobs:
            them.submit(job)
        assert len(them._away) == 2
        assert until(lambda: all(job.findings is not None for job in jobs))
        assert summary([them.finish(job) for job in jobs]) == alone
    finally:
        them.stop()
    assert them.alone
    them.stop()


def test_processes_are_started_only_for_a_search_that_takes_long(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(solo_seconds=1e9), 2, None, Watch())
    assert summary(explored(them, cases, goal)) == alone
    assert them._processes == []


def test_nobody_waits_for_processes_that_never_answer(expected: tuple[Goal, list[Case], Any]) -> None:
    """What another process has begun is explored here as well, if nothing else is left to do."""
    goal, cases, alone = expected
    them = Explorers(subject_of(), 1, None, Watch())
    jobs = jobs_of(cases, goal)
    them._away.append(jobs[:2])
    for job in jobs[2:]:
        them.submit(job)
    assert summary([them.finish(jobs[0])]) == alone[:1]
    assert all(job.findings is not None for job in jobs[2:])
    assert summary([them.finish(job) for job in jobs]) == alone


def test_what_arrives_ends_the_exploration_of_the_same_case_here(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, _ = expected
    subject = subject_of()
    job, future = Job(cases[0], goal, 1 << 40), Future[Any]()
    (findings,) = explore_anywhere(subject, [Work(cases[0], goal, NODES, np.inf, np.inf)])
    them = Explorers(subject, 1, None, Watch())
    them._away.append([job])

    def arrive(*arguments: Any) -> Findings:
        future.set_result(([findings], []))
        them._answered(Given(Never(), subject), [job], future)
        return explore(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorers, "explore", arrive)
        assert them.finish(job) is findings
    assert not findings.late


def test_spare_jobs_are_left_when_what_is_awaited_arrives(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(), 1, None, Watch())
    job, (spare,) = Job(cases[0], goal, NODES), jobs_of(cases[1:2], goal, spare=True)
    them._away.append([job])
    them.submit(spare)

    def arrive(*arguments: Any) -> Findings:
        findings = explore(*arguments[:-1], Watch(0.0))
        future = Future[Any]()
        future.set_result(([explore(them.knowledge, job.case, goal, NODES, Watch())], []))
        them._answered(Given(Never(), them._subject), [job], future)
        return findings

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorers, "explore", arrive)
        assert summary([them.finish(job)]) == alone[:1]
    assert spare.findings is None
    assert them.explore_spare()
    assert summary([them.finish(spare)]) == alone[1:2]
    assert not them.explore_spare()


def test_short_jobs_are_handed_out_together(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    for pace, sizes in ((1.0, [1, 1, 1, 1]), (1e-6, [2, 1, 1])):
        them, jobs = Explorers(subject_of(), 2, None, Watch()), jobs_of(cases, goal)
        helper = Recorder(them._subject)
        for job in jobs:
            them.submit(job)
        them._processes, them._ready, them._idle, them._pace = [helper], [helper], [helper], pace
        them._hand_out()
        assert summary([them.finish(job) for job in jobs]) == alone
        assert helper.sizes == sizes


class Recorder(Process):
    """A helper that explores at once in this process, and records how many cases it gets together."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.sizes: list[int] = []
        self.told: list[News] = []
        prepare(subject)

    def explore(self, works: list[Work]) -> Future[Answer]:
        self.sizes.append(len(works))
        future: Future[Answer] = Future()
        news, self._untold = self._untold, []
        self.told += news
        future.set_result(explore_and_tell(self._name, works, news))
        return future


def test_processes_tell_one_another_what_they_have_computed(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    subject = subject_of(shared=True)
    them, (first, second, third, fourth) = Explorers(subject, 3, None, Watch()), jobs_of(cases, goal)
    helpers = [Recorder(subject), Recorder(subject)]
    them._processes, them._ready = helpers, helpers[:]
    them.submit(first)
    assert summary([them.finish(first)]) == alone[:1]
    them._idle = helpers[:1]
    them.submit(second)
    them._idle = helpers[1:]
    them.submit(third)
    assert helpers[0].told
    assert len(helpers[1].told) > len(helpers[0].told)
    assert them._heard
    them._idle = []
    them.submit(fourth)
    assert summary([them.finish(job) for job in (second, third, fourth)]) == alone[1:]
    assert them._heard == []


@pytest.mark.parametrize(("spare_first", "expected_order"), [(False, [1, 2, 3, 0]), (True, [0, 1, 2, 3])])
def test_an_idle_process_takes_spare_jobs_last_unless_it_is_their_turn(
    expected: tuple[Goal, list[Case], Any], spare_first: bool, expected_order: list[int]
) -> None:
    goal, cases, alone = expected
    order: list[int] = []

    class Ordered(Scripted):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            order.extend(i for i, case in enumerate(cases) if case is fn.args[1][0].case)
            return super().submit(fn, *args, **kwargs)

    them = Explorers(subject_of(), 1, None, Watch())
    (spare,), usual = jobs_of(cases[:1], goal, spare=True), jobs_of(cases[1:], goal)
    for job in (spare, *usual):
        them.submit(job)
    them._given = Given(Ordered(), them._subject)
    them.prefer_spare(spare_first)
    assert summary([them.finish(job) for job in (spare, *usual)]) == alone
    assert list(dict.fromkeys(order)) == expected_order


def test_spare_jobs_are_left_to_other_processes(expected: tuple[Goal, list[Case], Any]) -> None:
    """This process goes on with the usual ones meanwhile."""
    goal, cases, _ = expected
    them = Explorers(subject_of(), 2, None, Watch())
    (spare,) = jobs_of(cases[:1], goal, spare=True)
    them.submit(spare)
    them._ready.append(Given(Never(), them._subject))
    assert not them.explore_spare()
    them._ready.clear()
    assert them.explore_spare()


@pytest.mark.parametrize("error", [BrokenExecutor("gone"), CancelledError(), TimeoutError(), LostWorkerError("lost")])
def test_a_job_that_is_lost_is_done_again(error: Exception, expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(), 1, Scripted(None, error), Watch())
    assert summary(explored(them, cases, goal)) == alone
    assert them._given is not None


def test_an_executor_that_breaks_is_not_asked_again(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(), 1, Scripted(broken_after=3), Watch())
    assert summary(explored(them, cases, goal)) == alone
    assert them.alone


def test_too_many_lost_workers_cost_all_of_them(
    expected: tuple[Goal, list[Case], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    goal, cases, alone = expected
    monkeypatch.setattr(helpers, "prepare", _die_as)
    them = Explorers(subject_of(max_lost_workers=1), 1 + 1, None, Watch())
    helper = Process(them._subject)
    them._processes, them._ready, them._idle = [helper], [helper], [helper]
    assert summary(explored(them, cases, goal)) == alone
    assert them.alone


def _die_as(subject: Subject) -> None:
    """Get ready for a subject, but be killed instead."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_processes_that_cannot_start_do_not_explore() -> None:
    them = Explorers(subject_of(), 2, None, Watch())
    helper = Process(them._subject)
    them._processes = [helper]
    failed, fine = Future[None](), Future[None]()
    failed.set_exception(LostWorkerError("lost"))
    fine.set_result(None)
    them._started(helper, failed)
    assert them.others == 0
    them._started(helper, fine)
    assert them.others == 1
    them.stop()
    them._started(helper, fine)
    assert them.others == 0


def test_what_a_worker_raises_is_raised_here(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, _ = expected
    with pytest.raises(ZeroDivisionError, match="as scripted"):
        explored(Explorers(subject_of(), 1, Scripted(None, ZeroDivisionError("as scripted")), Watch()), cases, goal)


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_without_memory_all_cases_remain(
    where: str, expected: tuple[Goal, list[Case], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    goal, cases, _ = expected

    def no_memory(*_: Any) -> Findings:
        raise MemoryError

    monkeypatch.setattr(explorers, "explore", no_memory)
    them = Explorers(subject_of(), 1, None if where == "here" else Scripted(*[MemoryError()] * 4), Watch())
    assert [it.open for it in explored(them, cases, goal)] == [[case] for case in cases]
    assert them.out_of_memory


def test_an_executor_that_was_shut_down_is_not_asked_again(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    assert summary(explored(Explorers(subject_of(), 1, executor, Watch()), cases, goal)) == alone


def test_an_executor_that_does_not_answer_for_long_is_not_waited_for(
    expected: tuple[Goal, list[Case], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster may have no workers yet."""
    goal, cases, alone = expected
    monkeypatch.setattr(explorers, "ANSWER_SECONDS", 0.2)
    start = time.monotonic()
    assert summary(explored(Explorers(subject_of(), 1, Never(), Watch()), cases[:1], goal)) == alone[:1]
    assert time.monotonic() - start > 0.2


class Never(Executor):
    """Never answers."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return Future()


def test_after_an_interrupt_nobody_is_waited_for(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, _ = expected
    watch = Watch()
    watch.interrupt()
    found = explored(Explorers(subject_of(), 1, Never(), watch), cases, goal)
    assert [it.open for it in found] == [[case] for case in cases]


def test_when_time_is_up_answers_are_waited_for_a_moment(
    expected: tuple[Goal, list[Case], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    goal, cases, _ = expected
    waits: list[Job] = []
    clock = SimpleNamespace(time=time.time, monotonic=lambda: LATE_SECONDS / 2 * len(waits))
    monkeypatch.setattr(explorers, "time", clock)
    monkeypatch.setattr(Explorers, "_wait", lambda _, job: waits.append(job))
    found = explored(Explorers(subject_of(), 1, Never(), Watch(0.0)), cases, goal)
    assert [it.open for it in found] == [[case] for case in cases]
    # Once for all cases together, until the moment is over.
    assert [job.case for job in waits] == 2 * cases[:1]


def test_a_job_that_was_cut_off_is_begun_again_with_twice_the_time(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, alone = expected
    them = Explorers(subject_of(), 1, None, Watch())
    (job,) = jobs_of(cases[:1], goal, seconds=0.0)
    them.submit(job)
    assert them.finish(job).late
    assert job.late
    job.seconds = 50.0
    them.again(job)
    assert job.seconds == 100.0
    assert summary([them.finish(job)]) == alone[:1]
    assert not job.late


def test_a_job_that_is_dropped_is_not_begun(expected: tuple[Goal, list[Case], Any]) -> None:
    goal, cases, _ = expected
    them = Explorers(subject_of(), 1, None, Watch())
    kept, dropped = jobs_of(cases[:2], goal)
    them.submit(dropped)
    them.submit(kept)
    them.drop(dropped)
    them.finish(kept)
    assert dropped.findings is None
    assert dropped not in them._queue
