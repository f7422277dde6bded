"""What each rule costs: the tree without it is better by that much, and breaks it where it binds."""

import pytest

import omdt
from omdt import Rules
from omdt.objective import DISCOUNTED_RETURN
from omdt.rules.parts import parts
from omdt.tradeoffs.rule_costs import rule_costs
from strategies import environment


def test_every_rule_is_left_out_once() -> None:
    stated = Rules(
        features=["X"], forbid=["Left: X>1", "Up: Y>1"], monotone=["X"], order=["Up", "Left"], prices=0.5, root="X"
    )
    found = list(parts(stated))
    assert [part.alone.to_dict() for part in found] == [
        {"features": ["X"]},
        {"prices": {"every": 0.5}},
        {"forbid": ["Left: X>1"]},
        {"forbid": ["Up: Y>1"]},
        {"root": "X"},
        {"monotone": ["X"], "order": ["Up", "Left"]},
    ]
    assert found[2].others.forbid == ("Up: Y>1",)
    assert found[0].others.features is None
    assert list(parts(Rules())) == []


def test_the_cost_of_a_rule_is_what_the_tree_without_it_earns_more() -> None:
    mdp = environment("frozenlake_4x4")
    solution = omdt.solve(mdp, max_depth=2, rules=Rules(without=["X"], forbid=["Left: Y<=1", "Up: X>2"]))
    asking, left, up = rule_costs(mdp, solution, DISCOUNTED_RETURN, seconds=60)
    assert (asking.words, asking.breach) == ("does not ask about X", "asks about X")
    assert left.breach == "takes Left in state 0 (X = 0, Y = 0)"
    assert (up.words, up.breach, up.cost) == ("never takes Up where X>2", None, 0.0)
    for cost, rules in (
        (asking, Rules(forbid=["Left: Y<=1", "Up: X>2"])),
        (left, Rules(without=["X"], forbid=["Up: X>2"])),
    ):
        best = omdt.solve(mdp, max_depth=2, rules=rules)
        assert cost.without.proven
        assert cost.cost == pytest.approx(best.value - solution.value, abs=1e-4)
        assert cost.cost > 0


def test_without_rules_nothing_costs_anything() -> None:
    mdp = environment("frozenlake_4x4")
    assert rule_costs(mdp, omdt.solve(mdp, max_depth=1), DISCOUNTED_RETURN) == []
