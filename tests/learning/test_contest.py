"""Contests in the simulator, and what fresh episodes say of a tree."""

import numpy as np
import pytest
from known_worlds import Cards, Matching
from scipy import stats

from omdt.learning.contest import BEYOND_DOUBT, CLEARLY, Standing, contest
from omdt.learning.episodes import Player
from omdt.learning.fresh import PER_SEED, fresh, interval_of
from omdt.learning.gathering import SEEDS, Gathering
from omdt.learning.simulators import Simulator
from omdt.tree import TreePolicy
from omdt.watch import Watch

MATCHING, CARDS = Simulator("matching", Matching), Simulator("cards", Cards)
NAMES, ACTIONS = ("x0", "x1"), ("action_0", "action_1")


def stump(threshold: float) -> TreePolicy:
    nested = {"feature": "x0", "threshold": threshold, "left": {"action": "action_0"}, "right": {"action": "action_1"}}
    return TreePolicy.from_dict(nested, NAMES, ACTIONS)


def test_the_best_of_many_challengers_wins() -> None:
    trees = [stump(threshold) for threshold in (-0.9, -0.5, 0.9, 0.31, -0.2, 0.6)]
    with Player(MATCHING) as player:
        won = contest(Gathering(player, 10_000, 0), None, trees, first=3, allowance=5000)
    assert won.tree is trees[3]
    assert won.mean > 9.5


def test_a_champion_falls_only_if_it_is_clearly_beaten() -> None:
    champion, better, hardly = stump(-0.5), stump(0.3), stump(-0.5001)
    with Player(MATCHING) as player:
        gathering = Gathering(player, 10_000, 0)
        assert contest(gathering, champion, [better], first=6, allowance=500).tree is better
        assert contest(gathering, better, [champion], first=6, allowance=500).tree is better
        assert contest(gathering, champion, [hardly], first=6, allowance=500).tree is champion


def test_a_contest_ends_when_its_allowance_is_used_or_the_next_rung_might_exceed_the_limit() -> None:
    with Player(MATCHING) as player:
        gathering = Gathering(player, 10_000, 0)
        won = contest(gathering, stump(0.0), [stump(0.1)], first=6, allowance=359)
        assert (player.steps, len(won.returns)) == (2 * 6 * 10, 6)
        won = contest(gathering, stump(0.0), [stump(0.1)], first=6, allowance=360)
        assert (player.steps, len(won.returns)) == (120 + 2 * 18 * 10, 18)
        # The rivals had the same luck, so the steps of one of them are all that a model may count.
        assert (len(gathering.steps), player.episodes) == (player.steps / 2, player.steps / 10)
    with Player(MATCHING) as player:
        contest(Gathering(player, 359, 0), stump(0.0), [stump(0.1)], first=6, allowance=10_000)
        assert player.steps == 120


def test_clearly_is_two_standard_errors_of_the_differences() -> None:
    one, other = np.array([1.0, 2, 3, 5]), np.array([0.0, 2, 2, 4])
    assert Standing(stump(0), one).beats(Standing(stump(0), other), CLEARLY)
    assert not Standing(stump(0), other).beats(Standing(stump(0), one), CLEARLY)
    assert not Standing(stump(0), one).beats(Standing(stump(0), np.array([0.0, 3, 2, 4])), CLEARLY)
    assert not Standing(stump(0), one).beats(Standing(stump(0), one), CLEARLY)
    assert not Standing(stump(0), one).beats(Standing(stump(0), other), BEYOND_DOUBT)


def test_the_interval_is_that_of_student_and_holds_the_mean_as_often_as_promised() -> None:
    returns = np.random.default_rng(0).normal(3, 2, 12)
    found = interval_of(returns, 0.9)
    low, high = stats.t.interval(0.9, 11, loc=returns.mean(), scale=stats.sem(returns))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.mean, found.confidence, found.n) == (pytest.approx(returns.mean()), 0.9, 12)
    samples = np.random.default_rng(1).normal(3, 2, (2000, 12))
    holds = [interval.low <= 3 <= interval.high for interval in (interval_of(sample, 0.9) for sample in samples)]
    assert np.mean(holds) == pytest.approx(0.9, abs=0.02)


def test_fresh_episodes_have_seeds_of_their_own_and_the_true_mean() -> None:
    with Player(MATCHING) as player:
        found = fresh(stump(-0.2), player, seed=5, episodes=50, confidence=0.9999)
        again = player.play(stump(-0.2), range(SEEDS + 5 * PER_SEED, SEEDS + 5 * PER_SEED + 50))
    assert found is not None
    assert found.seeds == (SEEDS + 5 * PER_SEED, SEEDS + 5 * PER_SEED + 49)
    assert found.interval.mean == again.returns.mean()
    # The wrong action is played where −0.2 < x ≤ 0.3, a quarter of all steps.
    assert found.interval.low < 7.5 < found.interval.high


def test_without_time_there_are_no_fresh_episodes() -> None:
    watch = Watch()
    watch.interrupt()
    with Player(CARDS, watch=watch) as player:
        assert fresh(TreePolicy.leaf(0, ("x",), ACTIONS), player, seed=0, episodes=50, confidence=0.9) is None
