"""The noun fits the number."""

import re

import numpy as np
import pytest

import omdt
from omdt import check
from omdt.counting import counted
from omdt.report.page import report_html
from omdt.report.words import size_limit


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        (1, ("leaf", "leaves"), "1 leaf"),
        (0, ("leaf", "leaves"), "0 leaves"),
        (2, ("leaf", "leaves"), "2 leaves"),
        (1, ("state",), "1 state"),
        (12345, ("state",), "12,345 states"),
    ],
)
def test_the_noun_fits_the_number(number, nouns, text):
    assert counted(number, *nouns) == text


def one_of_everything() -> omdt.MDP:
    """One state, one action, one feature, one transition."""
    return omdt.MDP.from_dense(np.ones((1, 1, 1)), np.ones((1, 1)), np.ones(1), np.zeros((1, 1)), discount=0.5)


def test_one_of_everything_is_spoken_of_as_one():
    mdp = one_of_everything()
    assert "1 state, 1 action, 1 feature, 1 transition, " in repr(mdp)
    solution = omdt.solve(mdp, max_leaf_nodes=1)
    assert "0 decision nodes" in repr(solution.tree)
    assert "at most 1 leaf " in size_limit(solution) + " "
    assert "(1 case, 1 claim, 1 loss)" in check.words(check.Verdict(1.0, 2.0, cases=1, claims=1, losses=1))
    assert "(2 cases, 0 claims, 2 losses)" in check.words(check.Verdict(1.0, 2.0, cases=2, claims=0, losses=2))


@pytest.mark.needs("jinja2")
def test_a_report_speaks_of_one_as_one():
    mdp = one_of_everything()
    page = report_html(omdt.solve(mdp, max_leaf_nodes=1), mdp)
    assert "with 0 questions and\n1 leaf, depth 0, for a problem with\n1 state and 1 action, discount" in page
    assert not re.findall(r"\b1 (?:leaves|states|actions|questions|rules)\b", page)
