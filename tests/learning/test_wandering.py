"""Wandering: as often and as long as asked for, and by the seed of the episode alone."""

import numpy as np
import pytest

from omdt.learning.wandering import Wanderers, Wandering, uniform_numbers
from omdt.mdp import Ints

OWN = -1


def wandered(how: Wandering, seeds: Ints, steps: int, n_actions: int) -> Ints:
    """[k, steps] what k episodes play, with OWN where they follow the policy."""
    wanderers, all_of_them = Wanderers(how, seeds, n_actions), np.arange(len(seeds))
    own = np.full(len(seeds), OWN)
    return np.stack([wanderers.actions(all_of_them, step, own) for step in range(steps)], axis=1)


def test_a_player_wanders_as_often_and_as_long_as_asked_for() -> None:
    assert (wandered(Wandering(0.0), np.arange(4), 50, 3) == OWN).all()
    always = wandered(Wandering(1.0), np.arange(4), 2000, 3)
    np.testing.assert_allclose(np.bincount(always.ravel()) / 8000, 1 / 3, atol=0.02)
    some = wandered(Wandering(0.1, 5), np.arange(40), 1000, 2)
    # Stretches of mean length 5 alternate with own decisions of mean length 1 / 0.1, minus the step that begins one.
    assert (some != OWN).mean() == pytest.approx(5 / (5 + 9), abs=0.02)


def test_a_stretch_repeats_its_action() -> None:
    played = wandered(Wandering(1.0, 50), np.arange(10), 1000, 2)
    # A new stretch begins every 50 steps and has the other action in half of the cases.
    assert (played[:, 1:] != played[:, :-1]).mean() == pytest.approx(1 / 100, abs=0.003)


def test_an_episode_wanders_by_its_own_seed() -> None:
    together = wandered(Wandering(0.3, 2), np.arange(20), 50, 3)
    alone = np.concatenate([wandered(Wandering(0.3, 2), np.array([seed]), 50, 3) for seed in range(20)])
    np.testing.assert_array_equal(together, alone)
    assert len(np.unique(together, axis=0)) == 20


@pytest.mark.parametrize("seeds", [np.arange(1000), np.random.default_rng(0).integers(10**9, size=1000)])
def test_random_numbers_are_spread_evenly_and_do_not_follow_one_another(seeds: Ints) -> None:
    drawn = np.stack([uniform_numbers(seeds.astype(np.uint64), step) for step in range(50)])
    np.testing.assert_allclose(np.histogram(drawn, 20, (0, 1))[0] / drawn.size, 1 / 20, atol=0.002)
    for other in (drawn[1:, 0].ravel(), drawn[:-1, 1].ravel(), np.roll(drawn[:-1, 0], 1, axis=1).ravel()):
        assert abs(np.corrcoef(drawn[:-1, 0].ravel(), other)[0, 1]) < 0.02
