"""Comparisons under rules: search keeps them, and the rows of other methods say what they break."""

import csv
import io
import json

import numpy as np
import pytest

import omdt
from omdt import Rules
from omdt.tree import TreePolicy
from strategies import environment

pytestmark = pytest.mark.needs("sklearn")


def test_rows_say_which_rule_they_break() -> None:
    mdp = environment("frozenlake_4x4")
    leaf = TreePolicy.leaf(1, mdp.feature_names, mdp.action_names)
    own = {"down": leaf, "table": np.ones(mdp.n_states, dtype=int)}
    found = omdt.compare(mdp, max_depth=2, rules=Rules(max_leaves={"Left": 0}), extra=own, seeds=1, time_limit=20)
    solved = omdt.solve(mdp, max_depth=2, rules=Rules(max_leaves={"Left": 0}))
    assert found["search"].value == pytest.approx(solved.value)
    assert (found["search"].breaks, found["search"].proven) == (None, True)
    assert found["copy"].breaks is not None
    assert "for Left" in found["copy"].breaks
    assert found["copy"].proven is None
    assert (found["down"].breaks, found["table"].breaks) == (None, "is not a tree")
    assert f"breaks a rule: {found['copy'].breaks}" in str(found)
    rows = {row["method"]: row["breaks"] for row in json.loads(found.to_json())["rows"]}
    assert rows["copy"] == found["copy"].breaks
    assert {row["breaks"] for row in csv.DictReader(io.StringIO(found.to_csv()))} >= {"", found["copy"].breaks}


def test_figures_are_net_of_prices_and_questions_are_looked_at() -> None:
    mdp = environment("frozenlake_4x4")
    rules = Rules(prices={"every": 0.001}, without=["X"])
    tree = omdt.solve(mdp, max_depth=1, rules=Rules(without=["X"])).tree
    both = omdt.solve(mdp, max_depth=2).tree
    found = omdt.compare(mdp, max_depth=1, rules=rules, extra={"one": tree, "both": both}, seeds=1, time_limit=20)
    assert found["one"].breaks is None
    assert found["one"].value < omdt.evaluate(mdp, tree)
    assert found["both"].breaks == "asks about X what the rules do not allow"
    assert found["search"].value >= found["one"].value
