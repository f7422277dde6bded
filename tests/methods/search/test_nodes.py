"""Nodes: what cases, goals and findings say of themselves, also after they were sent to another process."""

import pickle

import numpy as np

from omdt.methods.search.nodes import Case, Findings, Goal, Node, Partial
from omdt.methods.search.partial_tree import HOLE, Leaf, Split


def test_a_partial_tree_begins_without_knowledge() -> None:
    partial = Partial(HOLE)
    assert (partial.vector, partial.choice, partial.blind) == (None, None, 0)
    assert (partial.by_options, partial.pins) == (False, ())


def test_a_node_has_the_tree_of_its_partial_tree() -> None:
    tree = Split(3, Leaf(1), HOLE)
    assert Node(Partial(tree), np.array([1, -1]), (), 0).tree is tree


def test_cases_and_findings_are_the_same_in_another_process() -> None:
    tree = Split(3, Leaf(1), Split(0, HOLE, Leaf(2)))
    case = Case(1.5, Partial(tree, np.array([1.0, np.inf]), (True, False), 2, True, ((0, 1), (4, 0))))
    findings = Findings([case], 0.5, Leaf(0), 0.25, nodes=7, late=True)
    again = pickle.loads(pickle.dumps(findings))
    assert (again.closed, again.tree, again.value, again.nodes, again.late) == (0.5, Leaf(0), 0.25, 7, True)
    ((bound, partial),) = again.open
    assert bound == 1.5
    assert partial.tree == tree
    assert isinstance(partial.tree, Split)
    assert isinstance(partial.tree.left, Leaf)
    assert np.array_equal(partial.vector, case.partial.vector)
    assert (partial.choice, partial.blind, partial.by_options, partial.pins) == (
        *((True, False), 2, True),
        ((0, 1), (4, 0)),
    )


def test_goals_are_equal_if_they_ask_the_same() -> None:
    assert Goal(1.0, 2.0, 3.0) == Goal(1.0, 2.0, 3.0, raised=False, may_pin=False)
    assert Goal(1.0, 2.0, 3.0) != Goal(1.0, 2.0, 3.0, raised=True)
