"""Contest: rival trees play the same episodes of a simulator, and the champion keeps its place unless clearly beaten.

All trees meet the same seeds, so their returns are compared pair by pair. A challenger beats the champion if its mean
return is higher by more than `CLEARLY` standard errors of the differences, or `BEYOND_DOUBT` where the champion has
better reasons than its episodes: it is the best tree on a model whose cells are exact. In a game of cards, say, a few
episodes tell much less than the model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omdt.learning.gathering import Gathering
from omdt.mdp import Floats
from omdt.tree import TreePolicy

CLEARLY, BEYOND_DOUBT = 2.0, 5.0
"""Standard errors by which a challenger must be better."""

KEPT = 3
"""One in three challengers goes on to the next rung of a contest, which has three times the episodes."""


@dataclass(frozen=True, eq=False)
class Standing:
    """A tree and what it returned.

    Attributes:
        tree: the tree.
        returns: [k] undiscounted return of each episode.
    """

    tree: TreePolicy
    returns: Floats

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(self.returns.mean())

    def after(self, returns: Floats) -> "Standing":
        """The standing after more episodes."""
        return Standing(self.tree, np.append(self.returns, returns))

    def beats(self, other: "Standing", margin: float) -> bool:
        """Whether its mean is higher than that of another tree in the same episodes, as `higher` defines it."""
        return higher(self.returns, other.returns, margin)


def higher(returns: Floats, others: Floats, margin: float) -> bool:
    """Whether the mean of one tree's returns [k] exceeds another's in the same episodes by more than the margin.

    Args:
        returns: [k] of the first tree, at least two.
        others: [k] of the second tree, in episodes with the same seeds.
        margin: number of standard errors of the differences.
    """
    differences = returns - others
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return float(differences.mean()) > margin * error


def contest(
    gathering: Gathering,
    champion: TreePolicy | None,
    challengers: Sequence[TreePolicy],
    *,
    first: int,
    allowance: int,
    margin: float = CLEARLY,
) -> Standing:
    """The winner.

    On the first rung all trees play. The best third of the challengers goes on to the next rung, with the champion.

    Args:
        gathering: where the episodes are played; it must afford those of the first rung.
        champion: keeps its place unless beaten by the margin; None if the best challenger is to win in any case.
        challengers: at least one tree.
        first: number of episodes of every tree on the first rung, at least 2 if there is a champion.
        allowance: number of steps; after the first rung, none begins that is expected to exceed it.
        margin: standard errors by which a challenger must be better than the champion.
    """
    player = gathering.player
    steps, episodes = player.steps, player.episodes
    held = [] if champion is None else [Standing(champion, np.zeros(0))]
    rivals = [*held, *(Standing(tree, np.zeros(0)) for tree in challengers)]
    count = first
    while True:
        seeds = gathering.seeds(count)
        rivals = [rival.after(gathering.play(rival.tree, seeds, keep=rival is rivals[0]).returns) for rival in rivals]
        held, others = rivals[: len(held)], sorted(rivals[len(held) :], key=lambda rival: -rival.mean)
        rivals = [*held, *others[: max(1, len(others) // KEPT)]]
        count = (KEPT - 1) * len(rivals[0].returns)
        used = player.steps - steps
        expected = len(rivals) * count * used / (player.episodes - episodes)
        settled = len(rivals) == 1 or used + expected > allowance
        if settled or not gathering.affords(len(rivals) * count):
            return others[0] if not held or others[0].beats(held[0], margin) else held[0]
