"""Fresh episodes: what a tree returns in the simulator, by episodes that nothing was chosen or learned by.

The mean return of n independent episodes has the interval mean ± t · s / √n, with the standard deviation s of the
returns and the quantile t of Student's distribution with n − 1 degrees of freedom.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from omdt.learning.episodes import Player
from omdt.learning.gathering import SEEDS
from omdt.mdp import Floats
from omdt.solution import Interval
from omdt.tree import TreePolicy
from omdt.watch import OutOfTimeError

PER_SEED = 1_000_000
"""Fresh episodes of one run have this many seeds for themselves, so that no other run has the same ones."""

BATCH = 20
"""Episodes that are played between two looks at the clock; a batch that time cuts off does not count at all."""


@dataclass(frozen=True)
class Fresh:
    """What fresh episodes say of a tree.

    Attributes:
        interval: of the undiscounted return per episode.
        seeds: of the first and of the last episode.
    """

    interval: Interval
    seeds: tuple[int, int]


def interval_of(returns: Floats, confidence: float) -> Interval:
    """The mean of at least two returns [n] with its interval."""
    n = len(returns)
    mean = float(returns.mean())
    half = float(special.stdtrit(n - 1, (1 + confidence) / 2)) * float(returns.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, confidence, n)


def fresh(tree: TreePolicy, player: Player, *, seed: int, episodes: int, confidence: float) -> Fresh | None:
    """What fresh episodes say of a tree: fewer if time runs out, and None if it does so before any were played.

    Args:
        tree: the tree.
        player: plays them; its watch has the time for it.
        seed: of the run.
        episodes: how many there are, at least two.
        confidence: of the interval.
    """
    first = SEEDS + seed * PER_SEED
    returns: list[Floats] = []
    try:
        for begin in range(first, first + episodes, BATCH):
            seeds = range(begin, min(begin + BATCH, first + episodes))
            returns.append(player.play(tree, seeds).returns)
    except OutOfTimeError:
        pass
    together = np.concatenate([np.zeros(0), *returns])
    if len(together) < 2:
        return None
    return Fresh(interval_of(together, confidence), (first, first + len(together) - 1))
