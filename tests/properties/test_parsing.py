"""Properties in PRISM's syntax: what is read, what is printed, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omdt import InputError, Objective
from omdt.properties import Kind, parsed
from omdt.properties.conditions import COMPARISONS, Both, Comparison, Condition, Label, Name, Not, Truth
from strategies import refusal

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True).filter(lambda name: name not in ("true", "false"))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


def conditions() -> st.SearchStrategy[Condition]:
    signs = st.sampled_from(list(COMPARISONS))
    simple = st.one_of(
        st.builds(Truth, st.booleans()),
        st.builds(Label, TEXTS),
        st.builds(Name, NAMES),
        st.builds(Comparison, NAMES, signs, st.one_of(NUMBERS, NAMES)),
        st.builds(Comparison, NUMBERS, signs, NAMES),
    )
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.builds(Not, inner), st.builds(Both, inner, st.sampled_from(["&", "|", "=>"]), inner)
        ),
        max_leaves=6,
    )


def objectives() -> st.SearchStrategy[Objective]:
    maximise = st.booleans()
    rewards = st.one_of(st.none(), TEXTS)
    return st.one_of(
        st.builds(Objective, st.just(Kind.REACH), maximise, target=conditions(), staying=conditions() | st.none()),
        st.builds(Objective, st.just(Kind.STAY), maximise, target=conditions()),
        st.builds(Objective, st.just(Kind.TOTAL), maximise, rewards, conditions() | st.none()),
        st.builds(
            Objective,
            st.just(Kind.DISCOUNTED),
            maximise,
            rewards,
            discount=st.one_of(st.none(), st.floats(0, 1, exclude_min=True, exclude_max=True)),
        ),
    )


@given(conditions())
def test_a_printed_condition_is_read_as_the_same(states: Condition) -> None:
    assert parsed(str(states)) == states


@given(objectives())
def test_a_printed_property_is_read_as_the_same(objective: Objective) -> None:
    assert Objective.parse(objective.property) == objective
    assert Objective.parse(f'"a name": {objective.property} ;') == objective


@pytest.mark.parametrize(
    ("text", "printed", "words"),
    [
        ('Pmax=? [F "goal"]', 'Pmax=? [F "goal"]', "probability to reach goal"),
        ('P max =?[ F"goal" ]', 'Pmax=? [F "goal"]', "probability to reach goal"),
        ('Pmin=? [(F ("goal"))]', 'Pmin=? [F "goal"]', "probability to reach goal"),
        ('Pmin=? [true U "bad"]', 'Pmin=? [F "bad"]', "probability to reach bad"),
        ('Pmin=? ["safe" U x=3]', 'Pmin=? ["safe" U x=3]', "probability to reach x=3 without leaving safe"),
        ("Pmax=? [a|b U c&d]", "Pmax=? [(a | b) U (c & d)]", "probability to reach c & d without leaving a | b"),
        ('Pmax=? [G !"bad"]', 'Pmax=? [G !"bad"]', "probability to never reach bad"),
        ('R{"time"}min=? [F "done"]', 'R{"time"}min=? [F "done"]', "expected time until done"),
        ('Rmin{"time"}=? [ F "done" ]', 'R{"time"}min=? [F "done"]', "expected time until done"),
        ('R min {"time"} =? [F "done"]', 'R{"time"}min=? [F "done"]', "expected time until done"),
        ("Rmax=? [F (x = 5)]", "Rmax=? [F x=5]", "expected total reward until x=5"),
        ('Rmin=? [F "done"]', 'Rmin=? [F "done"]', "expected total cost until done"),
        ('R{"profit"}max=? [C]', 'R{"profit"}max=? [C]', "expected total profit"),
        ("Rmin=? [C]", "Rmin=? [C]", "expected total cost"),
        ('R{"x"}max=? [Cdiscount=99/100]', 'R{"x"}max=? [Cdiscount=0.99]', "expected discounted x"),
        ("Rmin=? [Cdiscount=0.5] // half", "Rmin=? [Cdiscount=0.5]", "expected discounted cost"),
    ],
)
def test_what_is_read(text: str, printed: str, words: str) -> None:
    objective = Objective.parse(text)
    assert (objective.property, objective.words) == (printed, words)
    assert objective.minimised == ("min=?" in printed)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "neither for a probability nor for a reward"),
        ('P>=0.9 [F "a"]', 2, "ask for the best value, Pmax=? or Pmin=?"),
        ('Rmax>3 [F "a"]', 5, "ask for the best value, Rmax=?"),
        ('P=? [F "a"]', 2, "Pmax=? or Pmin=?"),
        ('Pmax=? [F<=3 "a"]', 10, "a limit on steps or rewards is not possible"),
        ('Pmax=? ["b" U[0,3] "a"]', 14, "a limit on steps or rewards is not possible"),
        ("Rmax=? [C<=4]", 10, "a limit on steps or rewards is not possible"),
        ('Pmax=? [X "a"]', 9, "the next step alone (X) cannot be asked for"),
        ('Pmax=? ["a" W "b"]', 13, "weak until (W) cannot be asked for"),
        ("Rmax=? [I=3]", 9, "the reward at one moment (I) cannot be asked for"),
        ("Rmax=? [S]", 9, "the long run (S) cannot be asked for"),
        ('multi(Pmax=? [F "a"], Pmax=? [F "b"])', 1, "neither for a probability nor for a reward"),
        ('Pmax=? [F G "a"]', 11, "nested formulas are not possible"),
        ('Pmax=? [F "a" & F "b"]', 17, "nested formulas are not possible"),
        ('Pmax=? [F (P>0.3 [F "a"])]', 18, "expected ), found ["),
        ('Pmax=? ["a"]', 12, "expected U"),
        ('Pmax=? [F "a"', 14, "expected ], found the end"),
        ('Pmax=? [F "a"] & 3', 16, "expected the end, found &"),
        ('Pmax=? [F "a]', 11, "the quotes are not closed"),
        ("Pmax=? [F $]", 11, "found '$'"),
        ("Pmax=? [F x+1=3]", 12, "there is no arithmetic"),
        ("Pmax=? [F 1<x<3]", 14, "a comparison has two sides"),
        ("Pmax=? [F 1<3]", 13, "a comparison needs the name of a feature"),
        ("Pmax=? [F 3]", 12, "expected a comparison"),
        ("Pmax=? [F ]", 11, 'expected a condition such as "goal" or x=5'),
        ("Rmax=? [Cdiscount=1]", 19, "the discount must be above 0 and below 1"),
        ("Rmax=? [Cdiscount=1/0]", 19, "the discount must be above 0 and below 1"),
        ("Rmax=? [Cdiscount=x]", 19, "expected a number"),
        ("Rmax=? [Cdiscount=1e999999999]", 19, "the discount must be above 0 and below 1"),
        ("Pmax=? [F x=1e999]", 13, "the number is too large"),
        ("R{time}max=? [C]", 3, "the name of a reward in quotes"),
        ('Rmax=? [G "a"]', 9, 'expected F "goal", C or Cdiscount=0.99'),
    ],
)
def test_what_is_refused(text: str, column: int, message: str) -> None:
    with pytest.raises(InputError) as found:
        Objective.parse(text)
    assert f"column {column}: " in str(found.value)
    assert message in str(found.value)


@pytest.mark.parametrize("sign", ["(", "!", "x=1 => "])
def test_what_is_nested_too_deeply_is_refused(sign: str) -> None:
    with pytest.raises(InputError, match="nested too deeply"):
        Objective.parse(f"Pmax=? [F {sign * 20_000}x=1]")
    with pytest.raises(InputError, match="nested too deeply"):
        parsed(f"{sign * 20_000}x=1")


@given(st.one_of(st.text(max_size=30), st.text(alphabet='PRmaxin=?[]FGUC"a(){}&|!<>0123. =', max_size=30)))
def test_any_other_text_is_refused_and_not_worse(text: str) -> None:
    error = refusal(lambda: Objective.parse(text))
    if error is not None:
        assert "column " in str(error)
    else:
        objective = Objective.parse(text)
        assert Objective.parse(objective.property) == objective
