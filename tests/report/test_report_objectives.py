"""The report on objectives: minimised figures, infinite ones, and what is lost by going on for ever."""

import math
import re
from dataclasses import replace

import pytest

from omdt import MDP, Objective, Solution, solve
from omdt.report import report_html
from omdt.report.analysis import analyse
from omdt.report.curve import anytime_curve
from omdt.report.lists import bars
from omdt.report.words import number, verdict
from omdt.tree import TreePolicy

pytestmark = pytest.mark.needs("jinja2")


def doors() -> MDP:
    """Two rooms, of which the second is home; staying costs nothing, each of two doors another toll."""
    rows = [(0, "stay", 0, 1.0), (0, "wide", 1, 1.0), (0, "narrow", 1, 0.5), (0, "narrow", 0, 0.5)]
    rows += [(1, action, 1, 1.0) for action in ("stay", "wide", "narrow")]
    return MDP.from_transitions(
        [(*row, 0.0) for row in rows],
        initial=0,
        feature_names=["room"],
        labels={"home": [False, True]},
        reward_models={"toll": [[0.0, 3.0, 1.0], [0.0, 0.0, 0.0]]},
        name="doors",
    )


def text_of(page: str) -> str:
    body = page.partition("<body>")[2].partition('<script type="application/json"')[0]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def staying(solution: Solution, value: float) -> Solution:
    """The same solution with the tree that stays for ever."""
    tree = solution.tree
    return replace(solution, tree=TreePolicy.leaf(0, tree.feature_names, tree.action_names), value=value)


def test_what_is_minimised_is_called_so() -> None:
    mdp = doors()
    solution = solve(mdp, max_depth=1, objective='R{"toll"}min=? [F "home"]')
    assert solution.value == pytest.approx(2.0)
    text = text_of(report_html(solution, mdp))
    assert "minimising the expected toll until home" in text
    assert "needs less than this one" in text
    assert "value − bound" in text
    assert "discounted" not in text
    assert "it is as good as the optimal policy" in text
    assert bars(solution)[1].meaning == "its exact expected toll until home"


def test_what_never_comes_home_costs_for_ever() -> None:
    mdp = doors()
    solution = staying(solve(mdp, max_depth=1, objective='R{"toll"}min=? [F "home"]'), math.inf)
    analysis = analyse(solution, mdp)
    assert analysis.shortfall == math.inf
    text = text_of(report_html(solution, mdp))
    assert "∞" in text
    assert "nan" not in text
    assert not solution.proven
    assert verdict(solution).sentence.startswith("No tree of depth at most 1 needs less than 2")


def test_what_is_lost_by_going_on_for_ever_belongs_to_no_state() -> None:
    mdp = doors()
    solution = staying(solve(mdp, max_depth=1, objective=Objective.reach("home")), 0.0)
    analysis = analyse(solution, mdp)
    assert (analysis.shortfall, analysis.cost.sum()) == (1.0, 0.0)
    assert "because it may go on for ever" in text_of(report_html(solution, mdp))


def test_an_objective_of_ones_own_is_passed(tmp_path) -> None:
    class Toll:
        words = "toll in cents"
        minimised = True

        def problem(self, mdp: MDP) -> MDP:
            return replace(mdp, rewards=0.0 - mdp.reward_models["toll"])

        def offset(self, mdp: MDP) -> float:
            return 0.0

    mdp = doors()
    solution = solve(mdp, max_depth=1, objective=Toll())
    assert "minimising the toll in cents" in text_of(report_html(solution, mdp, objective=Toll()))


def test_a_curve_of_a_cost_that_was_infinite_at_first() -> None:
    solution = solve(doors(), max_depth=1, objective='R{"toll"}min=? [F "home"]')
    moved = replace(solution, trace=((0.1, math.inf, 1.0), (0.2, 5.0, 1.5), (0.3, 2.0, 2.0)), seconds=0.4)
    curve = anytime_curve(moved, 300.0)
    assert "nan" not in curve
    assert "inf" not in curve
    heights = [float(y) for y in re.findall(r" ([\d.]+)", re.findall(r'class="value" d="M([^"]*)"', curve)[0])]
    # The cost falls, so the curve goes down: y grows downwards.
    assert heights == sorted(heights)
    assert heights[0] < heights[-1]


def test_numbers() -> None:
    assert (number(math.inf), number(-math.inf), number(-1.5)) == ("∞", "−∞", "−1.5")
