"""The first sentences of the report are true for every objective, and rounded so that they stay true."""

import math
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_report_objectives import doors

import omdt
from omdt import InputError, Objective, Solution, solve
from omdt.report import report_html
from omdt.report.amounts import DOWN, UP, Amounts, plain, rounded
from omdt.report.lead import REASONS, in_words, lead, trees_of_this_size
from omdt.report.lists import figures
from omdt.solution import Stop
from strategies import environment

EURO = Amounts("€")


@pytest.fixture(scope="module")
def lake() -> Solution:
    return omdt.solve(environment("frozenlake_4x4"), max_depth=2, gap=0)


def with_figures(solution: Solution, value: float, bound: float, best: float, **changes: object) -> Solution:
    figures = {"value": value, "bound": bound, "optimal_return": best, "random_return": -1e3, "scale": abs(best)}
    return replace(solution, **figures, **changes)


def told(solution: Solution, amounts: Amounts = EURO) -> list[str]:
    minimised = solution.wording.minimised
    shortfall = solution.value - solution.optimal_return if minimised else solution.optimal_return - solution.value
    return [sentence.replace("\u00a0", " ") for sentence in lead(solution, shortfall, amounts)]


def test_a_proof_is_told_in_two_sentences(lake):
    assert told(with_figures(lake, 96.74, 96.74, 100.0)) == [
        "Four rules earn 96.7 % of what the best possible policy earns.",
        "No tree with at most two questions per decision earns more.",
    ]


def test_what_is_not_proven_has_its_limit_and_the_reason(lake):
    open_ = with_figures(lake, 96.74, 96.9, 100.0, max_depth=None, max_leaf_nodes=4)
    for stop in Stop:
        first, second, *others = told(replace(open_, stop=stop))
        assert first == "Four rules earn 96.7 % of what the best possible policy earns."
        assert second == "No tree with at most four rules earns more than 0.17 % more."
        reason = f": {REASONS[stop]}" if stop in REASONS else ""
        assert others == [f"Whether there is a better tree of this size is not known{reason}."]
    assert set(Stop) - set(REASONS) == {Stop.COMPLETE}


def test_a_proof_within_a_gap_has_its_limit_and_nothing_more(lake):
    within = with_figures(lake, 100.0, 100.0085, 150.0, requested_gap=1e-3)
    assert told(within)[1:] == ["No tree with at most two questions per decision earns more than 0.0085 % more."]


@pytest.mark.parametrize(
    ("value", "bound", "best", "first", "second"),
    [
        (100.0, 100.0, 100.0, "earn as much as the best possible policy.", "No policy of any kind earns more."),
        (-110.0, -105.04, -100.0, "lose 10 % more than the best possible policy loses.", "loses less than 105 €."),
        (-110.0, -110.0, -100.0, "lose 10 % more than the best possible policy loses.", "earns more."),
        (-3.0, 2.0, 5.0, "lose 3 €, while the best possible policy earns 5 €.", "earns more than 2 €."),
        (0.0, 2.0, 5.0, "earn 0 €, while the best possible policy earns 5 €.", "earns more than 2 €."),
        (-12.0, 0.0, 0.0, "lose 12 €, while the best possible policy earns 0 €.", "earns more than 0 €."),
        (-1e6, -5.0, -4.0, "lose 1,000,000 €, while the best possible policy loses 4 €.", "loses less than 5 €."),
        (0.5, 50.0, 60.0, "earn 0.833 % of what the best possible policy earns.", "earns more than 50 €."),
    ],
)
def test_signs_decide_whether_it_is_a_share(lake, value, bound, best, first, second):
    sentences = told(with_figures(lake, value, bound, best))
    assert sentences[0] == f"Four rules {first}"
    assert sentences[1].endswith(second)


def test_estimates_are_called_so(lake):
    rough = with_figures(lake, 90.0, 95.0, 100.0, optimal_error=3.0, stop=Stop.TIME)
    assert told(rough)[0] == "Four rules earn 90 €, as far as known: time was up before it was computed exactly."
    assert [figure.amount for figure in figures(rough, Amounts())][-2:] == ["about 100", "−1,000"]


def test_nearly_all_is_not_all(lake):
    assert told(with_figures(lake, 99.99, 100.0, 100.0))[0].startswith("Four rules earn 99.9 % of what")


def test_one_rule_earns_and_any_size_is_called_so(lake):
    leaf = omdt.TreePolicy.leaf(0, lake.tree.feature_names, lake.tree.action_names)
    one = with_figures(lake, 50.0, 50.0, 100.0, tree=leaf, max_depth=None)
    assert told(one)[0] == "One rule earns 50 % of what the best possible policy earns."
    assert trees_of_this_size(one) == "tree of any size"
    both = replace(one, max_depth=1, max_leaf_nodes=20, rules=("keeps\nquiet",))
    assert trees_of_this_size(both) == (
        "tree with at most 20 rules and at most one question per decision that keeps\\nquiet"
    )
    assert in_words(1, "leaf", "leaves") == "one leaf"


def test_a_cost_is_compared_with_the_least_cost():
    solution = solve(doors(), max_depth=0, objective='R{"toll"}min=? [F "home"]')
    assert told(solution) == [
        "With one rule the expected toll until home is 2 €. The best possible policy does no better.",
        "No policy of any kind makes it lower.",
    ]
    worse = replace(solution, value=2.5, bound=2.1234567)
    assert told(worse)[:2] == [
        "With one rule the expected toll until home is 2.5 €, 25 % more than with the best possible policy.",
        "No tree without questions makes it lower than 2.123 €.",
    ]
    never = replace(solution, value=math.inf)
    assert told(never)[:2] == [
        "With one rule the expected toll until home is infinite, because home may never be reached; "
        "with the best possible policy it is 2 €.",
        "No tree without questions makes it lower than 2 €.",
    ]


def test_a_reward_until_a_target_is_a_share():
    solution = solve(doors(), max_depth=0, objective='R{"toll"}max=? [F "home"]')
    poor = replace(solution, value=1.0, bound=2.0, optimal_return=3.0)
    assert told(poor)[:2] == [
        "With one rule the expected toll until home is 1 €, 33.3 % of what the best possible policy reaches.",
        "No tree without questions makes it higher than 2 €.",
    ]
    assert told(replace(poor, bound=math.inf, optimal_return=math.inf))[1] == "Nothing is proven about better trees."


def test_a_probability_is_a_percentage_and_has_no_unit():
    mdp = doors()
    solution = solve(mdp, max_depth=0, objective=Objective.reach("home"))
    chances = Amounts(probability=True)
    half = replace(solution, value=0.5, bound=0.75001)
    assert told(half, chances)[:2] == [
        "With one rule the probability to reach home is 50 %; with the best possible policy it is 100 %.",
        "No tree without questions makes it higher than 75.01 %.",
    ]
    assert chances.difference(0.25) == "25 percentage points"
    with pytest.raises(InputError, match="probabilities, which have no unit; leave out '€'"):
        report_html(solution, mdp, unit="€")


@given(st.floats(-1e12, 1e12), st.integers(2, 9))
def test_amounts_are_rounded_to_the_side_that_is_asked_for(value, digits):
    exact = Decimal(repr(value))
    assert rounded(value, digits, DOWN) <= exact <= rounded(value, digits, UP)
    for rounding in (DOWN, UP):
        text = plain(value, digits, rounding).replace("−", "-").replace(",", "")
        assert Decimal(text) == rounded(value, digits, rounding)
        assert abs(Decimal(text) - exact) <= max(abs(exact) * Decimal(10) ** (1 - digits), 0)


@given(st.floats(-1e6, 1e6), st.floats(0, 1e3), st.floats(0, 1e3), st.booleans())
def test_a_bound_is_shown_between_the_value_and_the_best(value, room, more, minimised):
    sign = -1 if minimised else 1
    bound, best = value + sign * room, value + sign * (room + more)
    told_apart = EURO.telling_apart(value, bound, best, DOWN if minimised else UP)
    assert 4 <= told_apart.digits <= 9
    limit = rounded(bound, told_apart.digits, DOWN if minimised else UP)
    assert float(limit) <= bound if minimised else float(limit) >= bound


def test_the_figures_are_in_order(lake):
    close = with_figures(lake, 1579.1, 1579.2, 1579.37)
    assert [(figure.name, figure.amount.replace("\u00a0", " ")) for figure in figures(close, EURO)] == [
        ("these rules", "1,579.1 €"),
        ("any tree of this size, at most", "1,579.2 €"),
        ("best possible policy", "1,579.4 €"),
        ("choosing at random", "−1,000 €"),
    ]


def test_title_and_unit_are_text(lake):
    page = report_html(lake, environment("frozenlake_4x4"), title="<b>A\nB", unit="<i>")
    assert "<h1>&lt;b&gt;A\\nB</h1>" in page
    assert "<title>&lt;b&gt;A\\nB: a decision tree policy</title>" in page
    assert "0.3652\u00a0&lt;i&gt;" in page
