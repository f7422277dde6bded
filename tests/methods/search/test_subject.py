"""Subjects: a process knows one subject at a time, keeps what it knows, and asks for what it does not know."""

import numpy as np

from omdt.methods.search import subject as module
from omdt.methods.search.nodes import Case, Partial
from omdt.methods.search.partial_tree import HOLE, Split
from omdt.methods.search.subject import Subject, Work, explore_anywhere, explore_if_known, explore_in_worker, prepare
from omdt.methods.search.symmetry import Symmetries
from search_parts import goal_of, model_of
from strategies import environment


def subject_of() -> Subject:
    model = model_of(environment("frozenlake_4x4"))
    return Subject.of(model, Symmetries.none(model), 1 << 26)


def work_on(subject: Subject, nodes: int = 1, seconds: float = np.inf, deadline: float = np.inf) -> Work:
    case = Case(subject.model.optimal_return.upper, Partial(Split(0, HOLE, HOLE)))
    return Work(case, goal_of(subject.knowledge(), 0.35), nodes, seconds, deadline)


def test_a_case_that_waited_or_took_too_long_is_late() -> None:
    subject = subject_of()
    for limits in ({"deadline": 0.0}, {"seconds": 0.0}):
        work = work_on(subject, 6, **limits)
        (findings,) = explore_anywhere(subject, [work])
        assert (findings.late, findings.open) == (True, [work.case])
    assert [it.late for it in explore_anywhere(subject, 2 * [work_on(subject, 6)])] == [False, False]


def test_a_process_knows_one_subject_at_a_time_and_keeps_what_it_knows() -> None:
    first, second = subject_of(), subject_of()
    assert first.name != second.name
    work = work_on(first)
    explore_anywhere(first, [work])
    known = module._known[first.name]
    explore_anywhere(first, [work])
    assert module._known == {first.name: known}
    assert explore_in_worker(first.name, [work])[0].nodes == 1
    prepare(second)
    assert set(module._known) == {second.name}


def test_a_process_says_that_it_does_not_know_a_subject() -> None:
    first, second = subject_of(), subject_of()
    prepare(first)
    assert explore_if_known(second.name, [work_on(second)]) is None
    found = explore_if_known(first.name, [work_on(first)])
    assert found is not None
    assert found[0].nodes == 1
