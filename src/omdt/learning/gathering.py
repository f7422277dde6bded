"""Gathering: episodes played under a limit on steps, of which the model is learned.

Episodes of the same seed share their luck. In a contest, where rival trees play the same seeds, only the steps of one
rival are kept: the same luck counted several times would look like a law.

To look at the beginning of an episode takes no step. Where it is known which beginnings are worth most, an episode that
begins elsewhere is not played; it counts among the starts all the same, so that the model begins as the world does.
"""

from collections.abc import Callable, Sequence

import numpy as np

from omdt.errors import InputError
from omdt.learning.episodes import Played, Player, Policy
from omdt.learning.steps import Steps
from omdt.learning.wandering import Wandering
from omdt.mdp import Floats, Ints
from omdt.tree import TreePolicy

SEEDS = 1_000_000_000
"""Episodes that something is learned from have seeds below this number; fresh ones have seeds from here on."""

BATCH = 64
"""Most episodes that are begun together while exploring, so that an allowance is not exceeded by far."""

LOOKS = 6
"""Episodes that are begun for each that is played, where beginnings are chosen."""

Worth = Callable[[Floats], Floats]
"""[m] how much episodes are worth by what is observed when they begin [m, F]."""


class Gathering:
    """Plays episodes, keeps steps, and begins no episode that might exceed the limit.

    Args:
        player: plays them.
        limit: number of steps that may be taken altogether.
        seed: by which the seeds of the episodes are drawn.

    Attributes:
        player: plays them.
        horizon: most steps of an episode.
    """

    def __init__(self, player: Player, limit: int, seed: int) -> None:
        self.player, self._limit = player, limit
        self.horizon = player.simulator.horizon
        if limit < 2 * self.horizon:
            raise InputError(f"steps is {limit}, but one episode may take {self.horizon}; allow at least two episodes")
        self._rng = np.random.default_rng([seed, 0])
        self._parts: list[Steps] = []
        self._starts: list[Floats] = []

    @property
    def steps(self) -> Steps:
        """All steps that were kept so far."""
        self._parts = [Steps.joined(self._parts)]
        return self._parts[0]

    @property
    def starts(self) -> Floats:
        """[m, F] what was observed when episodes began: those whose steps were kept, and those that were looked at."""
        self._starts = [np.concatenate(self._starts)]
        return self._starts[0]

    @property
    def left(self) -> int:
        """Number of steps that may still be taken."""
        return max(0, self._limit - self.player.steps)

    def affords(self, episodes: int) -> bool:
        """Whether this number of further episodes is sure to stay within the limit."""
        return episodes * self.horizon <= self.left

    def seeds(self, count: int) -> Ints:
        """[count] seeds for new episodes."""
        return self._rng.integers(SEEDS, size=count)

    def play(self, tree: TreePolicy, seeds: Sequence[int] | Ints, *, keep: bool) -> Played:
        """Let a tree play one episode per seed, and keep the steps if no other tree has played these seeds."""
        assert self.affords(len(seeds)), "the limit on steps might be exceeded"
        played = self.player.play(tree, seeds, record=keep)
        if played.steps is not None:
            self._parts.append(played.steps)
            self._starts.append(played.steps.observations[played.steps.first])
        return played

    def returns(self, tree: TreePolicy, allowance: int) -> Floats:
        """[k] returns of the episodes that a tree plays with an allowance of steps, which are not kept; at least one.

        Args:
            tree: the tree.
            allowance: number of steps; the last episodes may exceed it, but not the limit, which must afford one.
        """
        end = self.player.steps + allowance
        found = [self.play(tree, self.seeds(1), keep=False).returns]
        while self.player.steps < end and self.affords(1):
            count = min(BATCH, self.left // self.horizon)
            found.append(self.play(tree, self.seeds(count), keep=False).returns)
        return np.concatenate(found)

    def look(self, count: int) -> None:
        """Look at the beginnings of a number of episodes, which are not played."""
        self._starts.append(self.player.starts(self.seeds(count)))

    def explore(
        self,
        policy: TreePolicy | Policy,
        allowance: int,
        wandering: Wandering | None = None,
        *,
        worth: Worth | None = None,
    ) -> None:
        """Play episodes until an allowance of steps is used; what is left then is enough for one more episode.

        Args:
            policy: as in `Player.play`.
            allowance: number of steps; the last episodes may exceed it, but not the limit.
            wandering: how to leave the policy now and then.
            worth: how much an episode is worth by what is observed when it begins; one in `LOOKS` is played then.
        """
        end = self.player.steps + allowance
        count = 1
        while self.player.steps < end and self.affords(2):
            seeds = self._chosen(min(count, self.left // self.horizon - 1), worth)
            played = self.player.play(policy, seeds, record=True, wandering=wandering)
            assert played.steps is not None
            self._parts.append(played.steps)
            if worth is None:
                self._starts.append(played.steps.observations[played.steps.first])
            count = max(1, min(BATCH, int((end - self.player.steps) / played.lengths.mean())))

    def _chosen(self, count: int, worth: Worth | None) -> Ints:
        """[count] seeds for new episodes: those that are worth most among `LOOKS` times as many, if that is known."""
        if worth is None:
            return self.seeds(count)
        seeds = self.seeds(LOOKS * count)
        self._starts.append(self.player.starts(seeds))
        return seeds[np.argsort(-worth(self._starts[-1]), kind="stable")[:count]]
