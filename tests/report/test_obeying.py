"""The report says what the tree obeys, how close it is to each limit, and what each rule costs."""

import shlex
from dataclasses import replace

import pytest

import omdt
from omdt import Rules
from omdt.cli.ruling import stated
from omdt.objective import DISCOUNTED_RETURN
from omdt.report import report_html
from omdt.report.amounts import Amounts
from omdt.report.commands import rule_flags, solve_command
from omdt.report.obeying import obeyed
from strategies import environment

RULES = Rules(
    without=["X"],
    forbid=["Left: Y<=1"],
    prices={"every": 0.0001},
    prices_once={"Y": 0.001},
    min_share=0.02,
)


def lake(**rules: object) -> omdt.MDP:
    mdp = environment("frozenlake_4x4")
    return replace(mdp, reward_models={"steps": 1.0 + 0 * mdp.rewards})


def test_the_page_lists_what_the_tree_obeys() -> None:
    mdp = lake()
    solution = omdt.solve(mdp, max_depth=2, rules=RULES)
    page = report_html(solution, mdp, rule_seconds=60)
    assert "What it obeys" in page
    assert "never takes Left where Y&lt;=1" in page
    assert "After the questions are paid, " in page
    assert "under the same conditions" in page
    assert "What it obeys" not in report_html(omdt.solve(mdp, max_depth=1), mdp)


def test_each_rule_has_its_margin_and_its_cost() -> None:
    mdp = lake()
    solution = omdt.solve(mdp, max_depth=2, rules=replace(RULES, at_most=["steps <= 100"]))
    found = obeyed(solution, mdp, DISCOUNTED_RETURN, Amounts(), 60.0)
    assert [rule.words for rule in found] == [
        "does not ask about X",
        "pays 0.0001 per question about X and 0.0001 per question about Y",
        "pays 0.001 once for Y",
        "never takes Left where Y<=1",
        "gives every leaf at least 2 % of the visits",
        "has at most 100 steps",
    ]
    assert found[0].why == "Without this rule, the tree asks about X."
    assert found[2].cost == "0.001"
    assert found[4].margin.startswith("The smallest share is ")
    assert (found[4].cost, found[4].why) == ("nothing", "")
    assert found[5].margin == "It has 100."
    best = omdt.solve(mdp, max_depth=2, rules=replace(RULES, forbid=()))
    assert float(found[3].cost) == pytest.approx(best.value - solution.value, abs=1e-4)


def test_losses_add_up_with_prices() -> None:
    from omdt.report.analysis import analyse

    mdp = lake()
    solution = omdt.solve(mdp, max_depth=2, rules=RULES)
    found = analyse(solution, mdp)
    assert found.paid_once == 0.001
    assert found.cost.sum() + found.paid_once == pytest.approx(found.shortfall)


def test_the_command_states_the_rules() -> None:
    mdp = lake()
    rules = replace(RULES, max_leaves={"Left": 2}, monotone=("Y:down",), order=("Left", "Down", "Right", "Up"))
    words = shlex.split(solve_command(omdt.solve(mdp, max_depth=1, rules=RULES)))
    assert words[-2:] == ["--forbid", "Left: Y<=1"]
    flags = rule_flags(rules)
    given: dict[str, object] = {
        "without": ["X"],
        "order": ["Left,Down,Right,Up"],
        "min_share": 0.02,
        "prices": ["0.0001"],
        "prices_once": ["Y=0.001"],
        "max_leaves": ["Left=2"],
        "forbid": ["Left: Y<=1"],
        "monotone": ["Y:down"],
    }
    assert stated(given) == rules
    spelled = [text for value in given.values() for text in (value if isinstance(value, list) else [str(value)])]
    assert [word for word in flags if not word.startswith("--")] == spelled
