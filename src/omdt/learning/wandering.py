"""Wandering: how a player leaves its policy for stretches of random actions, so that it sees more than the policy does.

At random moments a stretch begins, in which one random action is repeated. Stretches get further than single random
actions, which undo one another. All chance comes from the seed of the episode and the number of the step, so that an
episode is the same whatever is played beside it; it is drawn for many episodes at once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omdt.mdp import Floats, Ints

DRAWS = 3
"""Random numbers per step: whether a stretch begins, how long it is, and its action."""


@dataclass(frozen=True)
class Wandering:
    """How a player leaves its policy.

    Attributes:
        rate: probability that a step which follows the policy is replaced by the begin of a stretch; 1 is never to
            follow it.
        stretch: mean number of steps for which the random action is repeated, at least 1.
    """

    rate: float
    stretch: float = 1.0

    def lengths(self, uniform: Floats) -> Ints:
        """[n] lengths of stretches, of geometric distribution, made of numbers [n] between 0 and 1."""
        if self.stretch == 1:
            return np.ones(len(uniform), dtype=np.int64)
        drawn: Ints = 1 + np.floor(np.log1p(-uniform) / np.log1p(-1 / self.stretch)).astype(np.int64)
        return drawn


class Wanderers:
    """Episodes that wander, each by itself.

    Args:
        wandering: how.
        seeds: [k] of the episodes.
        n_actions: A
    """

    def __init__(self, wandering: Wandering, seeds: Ints, n_actions: int) -> None:
        self._how, self._n_actions = wandering, n_actions
        self._seeds = np.asarray(seeds, dtype=np.uint64)
        self._end: Ints = np.zeros(len(seeds), dtype=np.int64)
        self._action: Ints = np.zeros(len(seeds), dtype=np.int64)

    def actions(self, episodes: Ints, step: int, own: Ints) -> Ints:
        """[n] what is played: the policy's own action, or that of a stretch.

        Args:
            episodes: [n] the episodes that go on.
            step: their number of steps so far.
            own: [n] what the policy would play.
        """
        begins, length, action = uniform_numbers(self._seeds[episodes], step)
        new = (self._end[episodes] <= step) & (begins < self._how.rate)
        begun = episodes[new]
        self._end[begun] = step + self._how.lengths(length[new])
        self._action[begun] = (action[new] * self._n_actions).astype(np.int64)
        return np.where(self._end[episodes] > step, self._action[episodes], own)


def uniform_numbers(seeds: NDArray[np.uint64], step: int) -> Floats:
    """[DRAWS, n] numbers at random between 0 and 1 that depend on the seeds [n] and the step only.

    Seed and step become one 64-bit number, whose bits are then mixed by shifts and multiplications, three times.
    """
    which = np.arange(DRAWS, dtype=np.uint64)[:, None] + np.uint64(DRAWS * step + 1)
    mixed = seeds[None, :] * np.uint64(0xD1342543DE82EF95) + which * np.uint64(0x9E3779B97F4A7C15)
    for shift in (32, 29, 32):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(0xD6E8FEB86659FD93)
    uniform: Floats = (mixed >> np.uint64(11)) / 2.0**53
    return uniform
