"""Coverage: the share of a tree's time that a log knows, leaf by leaf, and the warning where it knows too little."""

import warnings

import numpy as np
import pytest
from made_logs import evidence_of, logged

import omdt
from omdt.learning.coverage import coverage, warn_about_gaps
from omdt.learning.logs import log_of
from omdt.mdp import MDP
from omdt.tree import TreePolicy

NESTED = {
    "feature": "x",
    "threshold": 1.5,
    "left": {"action": "go"},
    "right": {"feature": "load", "threshold": 0.25, "left": {"action": "go"}, "right": {"action": "stay"}},
}


def test_time_is_covered_until_the_tree_does_what_was_never_done() -> None:
    log = log_of(
        {
            "x": [0, 1, 0],
            "load": [0, 0, 0.5],
            "action": ["go", "stay", "go"],
            "reward": [1, 1, 1],
            "next_x": [1, 0, 1],
            "next_load": [0, 0.5, 0],
            "done": [0, 0, 0],
        }
    )
    evidence = evidence_of(log, 0.5)
    tree = TreePolicy.from_dict(NESTED, ("x", "load"), ("go", "stay"))
    found = coverage(tree, log.steps, evidence.estimate)
    # From x = 0 the tree goes on to x = 1, where going on was never tried: of the time 1 + γ + γ² + … it is known once.
    assert found.share == pytest.approx(0.5)
    assert found.least == 0
    assert [leaf.leaf for leaf in found.leaves] == [
        "x ≤ 1.5: go",
        "x > 1.5 and load ≤ 0.25: go",
        "x > 1.5 and load > 0.25: stay",
    ]
    assert [leaf.steps for leaf in found.leaves] == [2, 0, 0]
    assert [leaf.share for leaf in found.leaves] == pytest.approx([0.75, 0, 0])


def test_the_shares_agree_with_simulated_episodes() -> None:
    P = np.zeros((4, 2, 4))
    P[0, 0, [0, 1]], P[0, 1, 2] = 0.5, 1
    P[1, 0, 2], P[1, 1, [0, 3]] = 1, 0.5
    P[2, :, 3] = P[3, :, 3] = 1
    r = np.array([[1.0, 2], [0, 1], [3, 0], [0, 0]])
    mdp = MDP.from_dense(
        P,
        r,
        [1, 0, 0, 0],
        np.array([[0.0], [1], [2], [3]]),
        discount=0.9,
        feature_names=("x",),
        action_names=("a", "b"),
    )
    log = logged(mdp, np.full((4, 2), 0.5), 3000, 50, 0)
    evidence = evidence_of(log, 0.9)
    nested = {"feature": "x", "threshold": 0.5, "left": {"action": "a"}, "right": {"action": "b"}}
    tree = TreePolicy.from_dict(nested, ("x",), ("a", "b"))
    found = coverage(tree, log.steps, evidence.estimate)
    assert found.share == pytest.approx(1)
    played = omdt.simulate(mdp, tree.actions(mdp.features), episodes=3000, seed=1)
    time = np.zeros(4)
    for i in range(3000):
        states = played.episode(i)[:-1]
        np.add.at(time, states, 0.9 ** np.arange(len(states)))
    assert found.leaves[0].share == pytest.approx(time[0] / time.sum(), abs=0.03)
    visits = evidence.estimate.visits
    assert found.leaves[0].steps == visits[0, 0]
    assert found.leaves[1].steps == visits[1:, 1].sum()
    assert found.least == min(visits[0, 0], visits[1, 1])


def test_a_warning_names_the_leaves_that_the_log_knows_nothing_of() -> None:
    columns = {"x": [0, 1], "next_x": [1, 0], "action": ["go", "go"], "reward": [1, 1], "done": [0, 0]}
    log = log_of({**columns, "action": ["go", "stay"]})
    nested = {"feature": "x", "threshold": 0.5, "left": {"action": "go"}, "right": {"action": "go"}}
    tree = TreePolicy.from_dict(nested, ("x",), log.steps.action_names)
    found = coverage(tree, log.steps, evidence_of(log, 0.9).estimate)
    with pytest.warns(omdt.InputWarning, match=r"mine\.csv: the log covers 10% .* has no step like 'x > 0\.5: go';"):
        warn_about_gaps("mine.csv", found)
    whole = log_of(columns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_gaps(
            "mine.csv", coverage(TreePolicy.leaf(0, ("x",), ("go",)), whole.steps, evidence_of(whole, 0.9).estimate)
        )
