"""Identifiers: any names become distinct words that every language accepts, and good names stay as they are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omdt.names import PRISM_WORDS, identifiers, prism_identifiers

texts = st.one_of(st.text(max_size=6), st.sampled_from(["x", "X", "x_", "x_2", "x_3", "a b", "a_b", "init", "_", "é"]))


@given(st.lists(texts, max_size=12), st.sets(st.sampled_from(["x", "x_", "x_2", "f_0", "init"])))
def test_identifiers_are_distinct_words_and_never_reserved(names, reserved):
    found = identifiers(names, "f", reserved=reserved)
    assert len(found) == len(names) == len(set(found))
    assert not reserved & set(found)
    assert all(re.fullmatch("(?!__)[A-Za-z_][A-Za-z0-9_]*", identifier) for identifier in found)


@given(st.lists(st.from_regex("[A-Za-z][A-Za-z0-9_]*", fullmatch=True), unique=True), st.lists(texts))
def test_good_names_stay_wherever_they_stand(good, others):
    others = [name for name in others if name not in good]
    assert identifiers(good, "f") == good
    assert identifiers(others + good, "f")[len(others) :] == good
    assert identifiers(good + others, "f")[: len(good)] == good


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["tiger x", "tiger-y"], ["tiger_x", "tiger_y"]),
        (["a b", "a_b", "a-b"], ["a_b_2", "a_b", "a_b_3"]),
        (["3d", "1"], ["_3d", "_1"]),
        (["Größe", "crème"], ["Groe", "creme"]),
        (["行く", "", "??", "_"], ["f_0", "f_1", "f_2", "f_3"]),
        (["x", "x"], ["x", "x_2"]),
        (["__x", "_x"], ["_x_2", "_x"]),
        (["init", "init_"], ["init_2", "init_"]),
    ],
)
def test_how_names_are_written(names, expected):
    assert identifiers(names, "f", reserved={"init"}) == expected


def test_prism_names_differ_among_themselves_and_are_no_keywords():
    features, actions = prism_identifiers(["X", "go", "module"], ["go", "X", "X_", "stay"])
    assert features == ["X_", "go", "module_"]
    assert actions == ["go", "X_2", "X_", "stay"]
    assert not PRISM_WORDS & {*features, *actions}


def test_names_that_a_prism_model_may_have_are_kept():
    names = ["round", "log", "pow", "mod", "exp", "player", "turns", "policy", "_x", "x_2"]
    assert prism_identifiers(names, names) == (names, names)
