"""Off-policy evaluation: against sums written out by hand, exact returns of known MDPs, and simulated coverage."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_logs import evidence_of, logged

import omdt
from omdt.learning import off_policy
from omdt.learning.logs import Log, log_of
from omdt.learning.off_policy import MODEL, WEIGHTED, judged, warn_about_few
from omdt.mdp import MDP
from omdt.tree import TreePolicy


def corridor() -> MDP:
    """Five places in a row; the last one is the end. Going on may fail; staying earns a little."""
    P = np.zeros((5, 2, 5))
    r = np.zeros((5, 2))
    for x in range(4):
        P[x, 0, x], P[x, 1, x + 1], P[x, 1, max(x - 1, 0)] = 1, 0.8, 0.2
        r[x] = [0.1, -0.2]
    r[3, 1] = 3
    P[4, :, 4] = 1
    return MDP.from_dense(
        P,
        r,
        [0.5, 0.5, 0, 0, 0],
        np.arange(5.0)[:, None],
        discount=0.9,
        feature_names=("x",),
        action_names=("stay", "go"),
    )


def threshold_tree(threshold: float, below: int, above: int) -> TreePolicy:
    nested = {
        "feature": "x",
        "threshold": threshold,
        "left": {"action": ["stay", "go"][below]},
        "right": {"action": ["stay", "go"][above]},
    }
    return TreePolicy.from_dict(nested, ("x",), ("stay", "go"))


@pytest.fixture(autouse=True)
def _few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(off_policy, "SAMPLES", 80)


GOING = threshold_tree(0.5, 1, 1)


def by_hand(log: Log, tree: TreePolicy, discount: float) -> float:
    """Weighted importance sampling per decision, written out episode by episode; unseen time earns as seen time."""
    steps = log.steps
    assert log.probabilities is not None
    episodes: list[tuple[list[float], list[float], bool]] = []
    for number in np.unique(steps.episodes):
        rows = np.flatnonzero(steps.episodes == number)
        w, weights = 1.0, []
        for row in rows:
            agrees = tree.actions(steps.observations[[row]])[0] == steps.actions[row]
            w *= agrees / log.probabilities[row]
            weights.append(w)
        episodes.append((weights, steps.rewards[rows].tolist(), bool(steps.terminated[rows[-1]])))
    total = seen = 0.0
    for t in range(500):
        earned = weighed = 0.0
        for weights, rewards, terminated in episodes:
            if t < len(weights):
                earned, weighed = earned + weights[t] * rewards[t], weighed + weights[t]
            elif terminated:
                weighed += weights[-1]
        if weighed:
            total, seen = total + discount**t * earned / weighed, seen + discount**t
    return total / seen / (1 - discount)


def test_weighted_importance_sampling_agrees_with_the_sum_written_out() -> None:
    mdp = corridor()
    policy = np.tile([0.4, 0.6], (5, 1))
    for seed in range(3):
        log = logged(mdp, policy, 30, 12, seed)
        for tree in (GOING, threshold_tree(1.5, 0, 1)):
            weighted = judged(tree, evidence_of(log, 0.9), 0.9, 0)[0]
            assert weighted.estimator == WEIGHTED
            assert weighted.interval.mean == pytest.approx(by_hand(log, tree, 0.9))
            assert weighted.interval.n == 30


def test_where_the_log_plays_the_tree_every_weight_is_one() -> None:
    mdp = corridor()
    log = logged(mdp, np.tile([0.0, 1.0], (5, 1)), 50, 200, 0)
    weighted, _ = judged(GOING, evidence_of(log, 0.9), 0.9, 0)
    returns = [
        math.fsum(0.9**t * r for t, r in enumerate(log.steps.rewards[log.steps.episodes == i])) for i in range(50)
    ]
    assert weighted.interval.mean == pytest.approx(np.mean(returns))
    assert weighted.effective == pytest.approx(50)


def test_the_estimate_on_the_model_is_the_return_there_and_both_are_near_the_truth() -> None:
    mdp = corridor()
    log = logged(mdp, np.tile([0.3, 0.7], (5, 1)), 3000, 60, 1)
    evidence = evidence_of(log, 0.9)
    weighted, on_model = judged(GOING, evidence, 0.95, 0)
    truth = omdt.evaluate(mdp, GOING)
    assert on_model.estimator == MODEL
    assert on_model.interval.mean == pytest.approx(omdt.evaluate(evidence.estimate.mdp, GOING), abs=1e-12)
    assert on_model.interval.mean == pytest.approx(truth, rel=0.03)
    assert weighted.interval.mean == pytest.approx(truth, rel=0.1)


def test_where_no_episode_goes_on_like_the_tree_the_interval_allows_for_any_reward() -> None:
    staying = threshold_tree(4.5, 0, 0)
    log = logged(corridor(), np.tile([0.5, 0.5], (5, 1)), 400, 50, 0)
    weighted = judged(staying, evidence_of(log, 0.9), 0.9, 0)[0].interval
    # Staying earns 0.1 for ever, and no episode of the log stays for more than some ten steps.
    assert weighted.mean == pytest.approx(1.0)
    assert weighted.low < 0.9
    assert 1.1 < weighted.high < 30
    assert -2 < weighted.low


def test_probabilities_that_are_not_logged_are_estimated() -> None:
    mdp = corridor()
    log = logged(mdp, np.tile([0.3, 0.7], (5, 1)), 1500, 60, 2)
    known = judged(GOING, evidence_of(log, 0.9), 0.95, 0)[0]
    guessed = judged(GOING, evidence_of(replace(log, probabilities=None), 0.9), 0.95, 0)[0]
    assert guessed.interval.mean == pytest.approx(known.interval.mean, rel=0.05)
    assert guessed.interval.mean != known.interval.mean


def test_intervals_hold_the_true_return_about_as_often_as_they_say() -> None:
    mdp = corridor()
    tree = threshold_tree(0.5, 1, 1)
    truth = omdt.evaluate(mdp, tree)
    held = np.zeros((24, 2))
    for seed in range(24):
        log = logged(mdp, np.tile([0.2, 0.8], (5, 1)), 200, 80, seed)
        for j, one in enumerate(judged(tree, evidence_of(log, 0.9), 0.9, seed)):
            held[seed, j] = one.interval.low <= truth <= one.interval.high
            assert one.interval.low <= one.interval.mean <= one.interval.high
    # Of 24 intervals that hold with probability 0.9, fewer than 16 do with a probability below 0.001.
    assert (held.sum(axis=0) >= 16).all()


def test_an_unlike_log_gives_no_weight_and_says_so() -> None:
    columns = {"x": [0, 1], "next_x": [1, 0], "action": ["stay", "go"], "reward": [1, 1], "done": [0, 1]}
    evidence = evidence_of(log_of(columns), 0.9)
    found = judged(threshold_tree(0.5, 1, 0), evidence, 0.9, 0)
    assert (found[0].interval.mean, found[0].effective) == (0, 0)
    with pytest.warns(omdt.InputWarning, match=r"rests on no episodes that do what the tree does, out of 1 episode;"):
        warn_about_few("mine.csv", found)


def test_the_same_seed_gives_the_same_intervals() -> None:
    log = logged(corridor(), np.tile([0.4, 0.6], (5, 1)), 50, 20, 0)
    evidence = evidence_of(log, 0.9)
    assert judged(GOING, evidence, 0.9, 7) == judged(GOING, evidence, 0.9, 7)
    assert judged(GOING, evidence, 0.9, 7) != judged(GOING, evidence, 0.9, 8)
