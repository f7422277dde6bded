"""What the report says in words is true: rules hold where they should, verdicts say what was proven."""

import operator
import re
import shlex
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_cases import tree_for

import omdt
from omdt import TreePolicy, check, cli
from omdt.report import words
from omdt.report.commands import solve_command
from omdt.report.curve import Scale, anytime_curve
from omdt.report.grid import MOST_STEPS, axis
from omdt.solution import Stop
from omdt.source import Source
from omdt.tree import Nodes, Range
from solutions import solution_of
from strategies import environment, mdps

PHRASES = {
    r"impossible()": lambda value, _: False,
    r"at least (\S+)": operator.ge,
    r"at most (\S+)": operator.le,
    r"more than (\S+)": operator.gt,
    r"not (\S+(?: or \S+)*)": None,
    r"(\S+)": operator.eq,
}


def holds(condition: str, row: dict[str, float]) -> bool:
    """Whether a sentence such as `x0 is at least 2 and not 3 or 4` is true of an observation."""
    name, _, rest = condition.partition(" is ")
    return all(phrase_holds(phrase, row[name]) for phrase in rest.split(" and "))


def phrase_holds(phrase: str, value: float) -> bool:
    for pattern, compare in PHRASES.items():
        if match := re.fullmatch(pattern, phrase):
            if compare is None:
                return value not in [float(number) for number in match[1].split(" or ")]
            return bool(compare(value, float(match[1] or "nan")))
    raise AssertionError(phrase)


@given(mdps(observations=("distinct", "repeated", "constant")), st.integers(0, 10_000))
def test_exactly_the_rule_of_its_leaf_holds_in_every_state(mdp, seed):
    tree = tree_for(mdp, seed, max_depth=4)
    conditions = words.conditions(tree, mdp.features)
    rules = {i: conditions[i] for i in np.flatnonzero(tree.feature == -1)}
    for observation, leaf in zip(mdp.features, tree.leaves(mdp.features), strict=True):
        row = dict(zip(tree.feature_names, observation, strict=True))
        assert [i for i, rule in rules.items() if all(holds(condition, row) for condition in rule)] == [leaf]


@pytest.mark.parametrize(
    ("values", "integer", "text"),
    [
        (Range(upper=0.5), True, "0"),
        (Range(lower=0.5), True, "at least 1"),
        (Range(lower=6.5), True, "7"),
        (Range(lower=1.5, upper=4.5), True, "at least 2 and at most 4"),
        (Range(lower=1.5, upper=2.5), True, "2"),
        (Range(upper=2.25), False, "at most 2.25"),
        (Range(lower=-0.5, upper=2.25), False, "more than -0.5 and at most 2.25"),
        (Range(only=3.0), True, "3"),
        (Range(lower=1.5, excluded=frozenset({3.0, 2.0})), True, "at least 2 and not 2 or 3"),
        (Range(excluded=frozenset({0.5})), False, "not 0.5"),
        (Range(upper=0.5, excluded=frozenset({0.0})), True, "at most 0 and not 0"),
        (Range(lower=3.5, only=3.0), True, "impossible"),
    ],
)
def test_phrases(values, integer, text):
    assert words.phrase(values, integer, 0.0, 7.0) == text


def test_questions_about_one_feature_become_one_phrase():
    grown = Nodes()
    root = grown.split(0, 4.5, False)
    inner = grown.split(0, 1.5, False, (root, "left"))
    for side in ("left", "right"):
        grown.leaf(0, (inner, side))
    grown.leaf(1, (root, "right"))
    tree = grown.tree(TreePolicy, ("x",), ("a", "b"), (True,))
    texts = words.conditions(tree, np.arange(8.0)[:, None])
    assert texts == [[], ["x is at most 4"], ["x is at most 1"], ["x is at least 2 and at most 4"], ["x is at least 5"]]


def test_states_with_many_features_show_what_is_not_zero():
    names = [f"f{j}" for j in range(9)]
    row = np.eye(9)[[2, 5]].sum(axis=0)
    assert words.states(names[:3], row[None, :3], marks=True) == ["f0 = 0, f1 = 0, f2 = 1"]
    assert words.states(names, row[None, :], marks=True) == ["f2, f5"]
    assert words.states(names, 3 * row[None, :], marks=False) == ["f2 = 3, f5 = 3"]
    assert words.states(names, np.zeros((1, 9)), marks=True) == ["every feature is 0"]


def test_numbers_and_shares():
    assert [words.number(x) for x in (0.0, -1234.5678, 1e-9, 0.25)] == ["0", "−1234.57", "1e-09", "0.25"]
    assert [words.percent(x) for x in (0, 1e-7, 0.1234567, 0.9999, 1.5, 12.34, 1e12)] == [
        *("0 %", "< 0.001 %", "12.3 %", "100 %", "150 %", "1,234 %", "1e+14 %")
    ]


@pytest.fixture(scope="module")
def solution():
    return omdt.solve(environment("frozenlake_4x4"), max_depth=2, gap=0)


def test_a_verdict_says_proven_only_of_what_is(solution):
    proven = words.verdict(solution)
    assert solution.gap == 0
    assert proven == words.Verdict("Proven optimal", "No tree of depth at most 2 returns more than this one.")
    within = words.verdict(replace(solution, bound=solution.value * (1 + 5e-5), requested_gap=1e-4, max_leaf_nodes=3))
    assert within.headline == "Proven optimal within the gap"
    assert "depth at most 2 and at most 3 leaves" in within.sentence
    for stop, text in words.STOPPED.items():
        loose = replace(solution, bound=2 * solution.value, stop=stop, max_depth=None)
        verdict = words.verdict(loose)
        assert verdict.headline == "Not proven"
        assert "No tree of any size" in verdict.sentence
        share = (loose.optimal_return - loose.value) / (loose.optimal_return - loose.random_return)
        assert f"above this one ({words.percent(share)} of the way from random to optimal)." in verdict.sentence
        assert "The bound is what the best policy of any form returns." in verdict.sentence
        assert verdict.sentence.endswith(text)


def test_every_way_to_stop_has_its_words():
    assert set(words.STOPPED) == set(Stop)


def test_the_command_makes_the_same_solution_again(tmp_path, monkeypatch, capsys):
    mdp = replace(omdt.make("frozenlake", size=4, seed=3), discount=0.9)
    solution = omdt.solve(mdp, max_depth=1, max_leaf_nodes=2, gap=0.01, seed=4)
    command = solve_command(solution)
    assert "--set size=4 --set seed=3" in command
    again = tmp_path / "again.json"
    monkeypatch.setattr(sys, "argv", [*shlex.split(command), "--output", str(again)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    capsys.readouterr()
    same = omdt.load(again)
    assert same.tree == solution.tree
    assert replace(same, tree=solution.tree, seconds=0, trace=()) == replace(solution, seconds=0, trace=())


def test_the_command_quotes_what_needs_it(solution):
    odd = replace(solution, source=Source("my model; rm -rf $HOME\n"), stop=Stop.TIME, seconds=12.3456)
    command = solve_command(odd)
    assert "'my model; rm -rf $HOME\\n'" in command
    assert "--time-limit 12.35" in command
    assert solve_command(replace(odd, source=None, problem="old")).startswith("omdt solve old --depth")


def test_words_and_command_say_which_questions_were_asked(solution):
    asked = replace(solution, questions=check.Questions((("a <b>\n", False, None), ("c", True, (1.0, 2.0)))))
    for text in (words.verdict(asked).sentence, solve_command(asked)):
        assert "only for thresholds on 'a <b>\\n', 2 values of 'c'" in text
    assert "asks only" not in words.verdict(solution).sentence + solve_command(solution)


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-6, 1e6),
    st.booleans(),
)
def test_ticks_are_few_and_on_the_axis(low, length, logarithmic):
    low = abs(low) + 1e-3 if logarithmic else low
    scale = Scale(low, low + length, 10.0, 110.0, logarithmic)
    for tick in scale.ticks():
        assert 10 - 1e-6 <= scale(tick) <= 110 + 1e-6
    if not logarithmic:
        assert 2 <= len(scale.ticks()) <= 7
    assert scale(low - 5) == pytest.approx(10)
    assert scale(low + 2 * length) == pytest.approx(110)


@given(mdps(), st.integers(0, 100), st.lists(st.tuples(*[st.floats(-1e9, 1e9)] * 3), max_size=5))
def test_any_trace_is_drawn_within_the_picture(mdp, seed, trace):
    tree = tree_for(mdp, seed)
    svg = anytime_curve(solution_of(mdp, tree, trace=tuple(trace)), 500)
    assert "nan" not in svg
    for path in re.findall(r'd="M([^"]*)"', svg):
        for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path):
            assert 0 <= float(x) <= 500
            assert 0 <= float(y) <= 260


@given(
    st.lists(st.one_of(st.integers(-300, 300), st.floats(-1e300, 1e300), st.floats(-1, 1)), min_size=1, max_size=200)
)
def test_every_value_falls_into_the_step_that_is_called_after_it(values):
    column = np.array(values, dtype=float)
    steps = axis(column)
    assert len(steps.labels) <= MOST_STEPS
    assert ((steps.step >= 0) & (steps.step < len(steps.labels))).all()
    for value, step in zip(column, steps.step, strict=True):
        low, _, high = steps.labels[step].partition(" to ")
        near = 1e-3 * max(abs(float(low)), abs(float(high or low)), 1e-300)
        assert float(low) - near <= value <= float(high or low) + near
