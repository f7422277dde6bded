"""The one factory of solutions that no method found, for all tests that need one."""

from dataclasses import replace
from typing import Any

from omdt import MDP, Solution, TreePolicy, planning
from omdt.solution import (
    LOG,
    SIMULATOR,
    Coverage,
    Experience,
    Guarantee,
    Interval,
    Judged,
    LeafCoverage,
    Rival,
    Round,
    Stop,
)

TREE = TreePolicy.from_dict(
    {
        "feature": "X",
        "threshold": 0.5,
        "left": {"action": "Left"},
        "right": {"feature": "ÿ", "equals": 2.0, "left": {"action": "Down"}, "right": {"action": "Left"}},
    },
    ("X", "ÿ"),
    ("Left", "Down"),
    (True, False),
)
"""Three leaves, an equality, a name beyond ASCII and a feature of whole numbers."""

SIMULATED = Experience(
    origin=SIMULATOR,
    source="gym:CartPole-v1",
    steps=20_000,
    episodes=310,
    interval=Interval(498.5, 496.0, 500.0, 0.95, 200),
    seeds=(1_000_000, 1_000_199),
    rounds=(Round(4_000, 300, 40.5, 61.25, 210.0), Round(20_000, 900, 88.0, 90.0, 498.0)),
    rivals=(Rival("teacher", Interval(500.0, 500.0, 500.0, 0.95, 200)),),
    settings=(("steps", 20_000), ("bins", 12), ("confidence", 0.95)),
)
"""What a tree that was learned from a simulator knows of it."""

LOGGED = Experience(
    origin=LOG,
    source="shop.csv",
    steps=5_000,
    episodes=50,
    guarantee=Guarantee(-3.25, float("inf"), 0.9),
    judged=(Judged("weighted importance sampling", Interval(1.5, 0.5, 2.5, 0.9, 50), 12.5),),
    coverage=Coverage(0.97, 3, (LeafCoverage("X <= 0: Left", 0.6, 120), LeafCoverage("X > 0: Down", 0.4, 0))),
)
"""What a tree that was learned from a log knows of the world."""


def made_solution(tree: TreePolicy = TREE, **fields: Any) -> Solution:
    """A proven solution of a problem that does not exist, with any of its fields changed."""
    made = Solution(
        problem="lake",
        method="search",
        max_depth=tree.depth,
        max_leaf_nodes=None,
        discount=0.99,
        tree=tree,
        value=0.365,
        bound=0.365,
        requested_gap=1e-4,
        stop=Stop.COMPLETE,
        optimal_return=0.542,
        random_return=0.012,
        seconds=0.125,
        seed=3,
        trace=((0.0, 0.1, 0.542), (0.125, 0.365, 0.365)),
    )
    return replace(made, **fields)


def solution_of(mdp: MDP, tree: TreePolicy, **fields: Any) -> Solution:
    """A tree as the unproven solution of an MDP, with its true figures unless fields say otherwise."""
    optimal = planning.expected_return(mdp, planning.optimal_values(mdp)).value
    random = planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp))).value
    value = planning.evaluate(mdp, tree)
    bound = max(optimal, value)
    figures = {
        "problem": mdp.name,
        "discount": mdp.discount,
        "value": value,
        "bound": bound,
        "stop": Stop.TIME,
        "optimal_return": optimal,
        "random_return": random,
        "seconds": 2.0,
        "seed": 0,
        "trace": ((0.01, value - 1, bound + 1), (0.5, value, bound)),
    }
    return made_solution(tree, **figures | fields)
