"""Jobs: findings count once, late ones are improved upon, and those that wait keep their order."""

import numpy as np
import pytest

from omdt.methods.search.jobs import Job, Queue, unexplored
from omdt.methods.search.nodes import Case, Findings, Goal, Partial
from omdt.methods.search.partial_tree import HOLE

CASE, GOAL = Case(1.0, Partial(HOLE)), Goal(0.0, 0.5, 0.5)


def job(*, spare: bool = False) -> Job:
    return Job(CASE, GOAL, 4, 10.0, spare=spare)


def findings(nodes: int, *, late: bool = False) -> Findings:
    return Findings([CASE], -np.inf, None, -np.inf, nodes, late)


def test_the_first_findings_count() -> None:
    it, first = job(), findings(4)
    assert it.furthest.open == unexplored(CASE).open == [CASE]
    assert (it.furthest.nodes, it.late) == (0, False)
    it.settle(first)
    it.settle(findings(4))
    assert it.findings is it.furthest is first
    assert not it.late


def test_the_attempt_that_went_furthest_counts_until_one_is_in_time() -> None:
    it, further = job(), findings(3, late=True)
    it.settle(further)
    assert it.late
    it.again()
    assert (it.findings, it.furthest, it.seconds) == (None, further, 20.0)
    it.settle(findings(1, late=True))
    assert it.findings is further
    it.again()
    last = findings(2)
    it.settle(last)
    assert it.findings is last


def test_seconds_of_all_attempts_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 10.0, 13.0])
    monkeypatch.setattr("omdt.methods.search.jobs.time.monotonic", lambda: next(clock))
    it = job()
    it.begin()
    it.pause()
    it.begin()
    it.settle(findings(1))
    it.settle(findings(1))
    assert it.taken == 4.0


def test_jobs_wait_in_order_and_spare_ones_apart() -> None:
    queue = Queue()
    first, second, third, spare = job(), job(), job(), job(spare=True)
    for it in (second, spare, third):
        queue.add(it)
    queue.add_first(first)
    assert second in queue
    assert queue.usual == 3
    assert queue.remove(second)
    assert not queue.remove(second)
    assert [queue.next_usual() for _ in range(3)] == [first, third, None]
    assert [queue.next_spare() for _ in range(2)] == [spare, None]


def test_spare_jobs_come_last_in_batches_unless_it_is_their_turn() -> None:
    queue = Queue()
    first, second, spare, another = job(), job(), job(spare=True), job(spare=True)
    for it in (spare, first, second, another):
        queue.add(it)
    assert queue.batch(2, spare_first=True) == [spare]
    assert [queue.batch(2) for _ in range(3)] == [[first, second], [another], []]


def test_what_is_done_waits_no_longer() -> None:
    queue, done, other = Queue(), job(), job()
    queue.add(done)
    queue.add(other)
    done.settle(findings(4))
    assert queue.next_usual() is other
