"""The frontier: cases come back best first, nothing that is open is forgotten, and budgets change rarely."""

import numpy as np

from omdt.methods.search.frontier import Frontier
from omdt.methods.search.nodes import Case, Findings, Partial
from omdt.methods.search.partial_tree import HOLE, Leaf


def cases(*bounds: float) -> list[Case]:
    return [Case(bound, Partial(Leaf(i), vector=np.zeros(2))) for i, bound in enumerate(bounds)]


def findings(*bounds: float, closed: float = -np.inf) -> Findings:
    return Findings(cases(*bounds), closed, None, -np.inf)


def taken(frontier: Frontier, target: float, count: int) -> list[float]:
    before = len(frontier.taken)
    new = frontier.take(target, count)
    assert list(frontier.taken)[before:] == new
    return [case.bound for case in frontier.taken]


def test_the_root_is_the_first_case_and_remains_open_while_it_is_explored() -> None:
    frontier = Frontier(Case(7.0, Partial(HOLE)))
    assert (frontier.top, frontier.bound) == (7.0, 7.0)
    assert taken(frontier, 6.0, 3) == [7.0]
    assert (frontier.top, frontier.bound) == (7.0, 7.0)
    frontier.put(findings(closed=5.0), 10)
    assert (frontier.top, frontier.bound) == (-np.inf, 5.0)


def test_the_best_cases_above_the_target_are_taken_first() -> None:
    frontier = Frontier(Case(9.0, Partial(HOLE)))
    frontier.take(0.0, 1)
    frontier.put(findings(3.0, 8.0, 5.0, 6.0, closed=2.0), 10)
    assert (frontier.top, frontier.closed) == (8.0, 2.0)
    assert taken(frontier, 4.0, 2) == [8.0, 6.0]
    frontier.put(findings(), 10)
    assert [case.bound for case in frontier.taken] == [6.0]
    assert taken(frontier, 4.0, 9) == [6.0, 5.0]
    assert frontier.top == 6.0
    frontier.put(findings(), 10)
    frontier.put(findings(), 10)
    assert taken(frontier, 4.0, 9) == []
    assert frontier.bound == 3.0


def test_of_cases_with_the_same_bound_the_first_comes_first() -> None:
    frontier = Frontier(Case(1.0, Partial(HOLE)))
    frontier.take(0.0, 1)
    frontier.put(findings(1.0, 1.0, 1.0), 10)
    frontier.take(0.0, 3)
    assert [case.partial.tree for case in frontier.taken] == [Leaf(0), Leaf(1), Leaf(2)]


def test_with_too_many_vectors_those_of_the_lowest_bounds_are_dropped() -> None:
    frontier = Frontier(Case(9.0, Partial(HOLE)))
    frontier.take(0.0, 1)
    frontier.put(findings(*range(1, 8)), 4)
    frontier.take(0.0, 9)
    assert [case.bound for case in frontier.taken] == [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    assert [case.partial.vector is not None for case in frontier.taken] == [True, True, *[False] * 5]
    assert [case.partial.tree for case in frontier.taken] == [Leaf(i) for i in (6, 5, 4, 3, 2, 1, 0)]


def test_a_budget_is_kept_until_it_is_much_too_large_or_too_small() -> None:
    frontier = Frontier(Case(9.0, Partial(HOLE)))
    assert frontier.budget_for(10.0, 0.9) == 10.0
    assert frontier.budget_for(9.5, 0.9) == 10.0
    assert frontier.budget_for(8.9, 0.9) == 8.9
    assert frontier.budget_for(8.91, 0.9) == 8.91
    assert frontier.budget_for(8.9, 1.0) == 8.9


def test_of_cases_with_the_same_signature_only_the_first_is_handed_out_but_that_again_and_again() -> None:
    frontier = Frontier(Case(9.0, Partial(HOLE)), lambda partial: str(hash(partial.tree) == hash(HOLE)).encode())
    frontier.take(0.0, 1)
    frontier.put(findings(3.0, 8.0, 5.0), 10)
    assert taken(frontier, 0.0, 9) == [8.0]
    assert frontier.bound == 8.0
    frontier.put(Findings([Case(4.0, Partial(Leaf(1)))], 2.0, None, -np.inf), 10)
    assert taken(frontier, 0.0, 9) == [4.0]
    frontier.put(findings(closed=1.0), 10)
    assert (frontier.top, frontier.bound) == (-np.inf, 2.0)
