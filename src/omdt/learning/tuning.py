"""Tuning: thresholds, actions and questions of a tree are changed in the simulator itself, and what pays is kept.

A model of cells knows thresholds at its cuts only, and only what its cells can tell. Here rival trees, random
neighbours of the champion (`moves`), play episodes of the simulator instead. All trees of a contest meet the same seeds
(common random numbers).

The champion plays some episodes first, `FEWEST` or twice as many where these are short. A contest is a successive
halving: `RIVALS` trees play the `FIRST` episodes in which the champion returned least, since a tree that is no better
there is hardly better elsewhere. Those that are not better than the champion in the same episodes leave, and at most
half of them stay. The others play as many episodes again, and so on. Whoever is better in all of the champion's
episodes together takes its place. The next contests use the same seeds; after `KEPT` contests they are drawn anew, so
that no tree stays champion because it suits some seeds.

The last contest, for which a part of the steps is reserved, has new seeds and is between the tree at the beginning and
the last champion. The latter is returned if it is better by more than `FINALLY` standard errors, so the returned tree
is never worse than the first one on these seeds. The contest ends early where there is no doubt, which leaves steps to
begin anew.
"""

from dataclasses import dataclass

import numpy as np

from omdt.learning.contest import higher
from omdt.learning.episodes import Player
from omdt.learning.gathering import SEEDS
from omdt.learning.moves import Mover
from omdt.mdp import Floats, Ints
from omdt.task import Size
from omdt.tree import TreePolicy
from omdt.watch import OutOfTimeError

RIVALS, FIRST, FEWEST = 12, 1, 8
"""Rivals of the champion in a contest, the number of episodes after which rivals leave for the first time, and the
least number after which the champion is replaced."""

SHORT = 0.02
"""Twice as many episodes decide where they take at most this part of the steps."""

KEPT = 5
"""Contests after which seeds are drawn anew."""

RESERVED = 0.4
"""Part of the steps for the last contest."""

FINALLY = 1.0
"""Standard errors by which the last champion must be better than the first tree."""

DOUBTLESS, LEAST_FINAL = 4.0, 16
"""Standard errors that end the last contest early, and the least number of episodes of a tree before that."""

MOST_FINAL = 256
"""Most episodes of a tree in the last contest."""

OBSERVED = 4096
"""Observations that new thresholds are drawn from."""


@dataclass(eq=False)
class _Rival:
    """A tree and the returns of the episodes that it has played in the present contest."""

    tree: TreePolicy
    returns: Floats

    @property
    def rank(self) -> tuple[float, int]:
        """Larger is better: the mean return, and smaller trees among equally good ones."""
        return float(self.returns.mean()), -self.tree.n_nodes

    def beats(self, other: "_Rival", errors: float) -> bool:
        """Whether the mean is higher than that of another tree in the same episodes, by so many standard errors."""
        return higher(self.returns, other.returns, errors)


def tuned(tree: TreePolicy, player: Player, budget: int, *, size: Size, seed: int) -> TreePolicy:
    """The tree after tuning; when the player runs out of time, the champion so far.

    Args:
        tree: where tuning begins.
        player: plays the episodes.
        budget: number of steps that may be taken; without enough steps for a contest, the tree is returned as it is.
        size: how large a tree may be.
        seed: the same seed gives the same tree.
    """
    tuning = _Tuning(tree, player, player.steps + budget, size, seed)
    try:
        tuning.improve(player.steps + int((1 - RESERVED) * budget))
        return tuning.winner()
    except OutOfTimeError:
        return tuning.champions[-1]


class _Tuning:
    """One run of tuning; `champions` are the trees that were the best ones, the first tree first."""

    def __init__(self, tree: TreePolicy, player: Player, end: int, size: Size, seed: int) -> None:
        self.player, self.size, self.end = player, size, end
        self.rng = np.random.default_rng([seed, 2])
        self.champions = [tree]
        self.last, self._affordable = FEWEST, SHORT * (end - player.steps)

    def affords(self, episodes: int, end: int) -> bool:
        """Whether so many episodes cannot take more steps than there are until `end`."""
        return self.player.steps + episodes * self.player.simulator.horizon <= end

    def seeds(self, count: int) -> Ints:
        """[count] new seeds."""
        return self.rng.integers(SEEDS, size=count)

    def improve(self, end: int) -> None:
        """Hold contests until the steps are used."""
        while self.affords(self.last + RIVALS * FIRST, end):
            seeds = self.seeds(self.last)
            champion, mover = self._measured(self.champions[-1], seeds)
            for _ in range(KEPT):
                order = np.argsort(champion.returns, kind="stable")
                seeds, champion.returns = seeds[order], champion.returns[order]
                rivals = [_Rival(mover.neighbour(champion.tree), np.zeros(0)) for _ in range(RIVALS)]
                winner = self._contest(champion, rivals, seeds, end)
                if winner is not champion:
                    champion = winner
                    self.champions.append(champion.tree)

    def _measured(self, tree: TreePolicy, seeds: Ints) -> tuple[_Rival, Mover]:
        """A champion with its returns, and the moves that suit what it observes."""
        played = self.player.play(tree, seeds, record=True)
        assert played.steps is not None
        self.last = 2 * FEWEST if 2 * FEWEST * played.lengths.mean() <= self._affordable else FEWEST
        rows = self.rng.choice(len(played.steps), min(OBSERVED, len(played.steps)), replace=False)
        observations, integer = played.steps.observations[rows], self.player.simulator.integer
        return _Rival(tree, played.returns), Mover(self.rng, self.size, observations, integer)

    def _contest(self, champion: _Rival, rivals: list[_Rival], seeds: Ints, end: int) -> _Rival:
        """The rival that replaces the champion, or the champion."""
        played, count = 0, FIRST
        while self.affords(len(rivals) * (count - played), end):
            self._play(rivals, seeds[:count])
            level = _Rival(champion.tree, champion.returns[:count]).rank
            better = sorted((it for it in rivals if it.rank > level), key=lambda it: it.rank, reverse=True)
            rivals = better[: max(1, len(rivals) // 2)]
            if not rivals or count == len(seeds):
                return rivals[0] if rivals else champion
            played, count = count, 2 * count
        return champion

    def _play(self, rivals: list[_Rival], seeds: Ints) -> None:
        """Let all play the episodes of the seeds that they have not played yet."""
        for rival in rivals:
            missing = seeds[len(rival.returns) :]
            if len(missing):
                rival.returns = np.append(rival.returns, self.player.play(rival.tree, missing).returns)

    def winner(self) -> TreePolicy:
        """The winner of the last contest, between the first tree and the last champion."""
        first, last = (_Rival(tree, np.zeros(0)) for tree in (self.champions[0], self.champions[-1]))
        if last.tree is first.tree:
            return first.tree
        seeds, count = self.seeds(MOST_FINAL), 2
        while len(first.returns) < count and self.affords(2 * (count - len(first.returns)), self.end):
            self._play([first, last], seeds[:count])
            if count >= LEAST_FINAL and (last.beats(first, DOUBTLESS) or first.beats(last, DOUBTLESS)):
                break
            room = (self.end - self.player.steps) // (2 * self.player.simulator.horizon)
            count = min(MOST_FINAL, count + min(count, room))
        return last.tree if len(first.returns) and last.beats(first, FINALLY) else first.tree
