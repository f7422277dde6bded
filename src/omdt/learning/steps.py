"""Steps: what was observed, done and earned, one row per step, whether a simulator took them or a log tells of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omdt.mdp import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of one or more episodes, in the order in which they happened.

    Attributes:
        observations: [n, F] what was observed before each step.
        actions: [n] the action.
        rewards: [n] what it earned.
        next_observations: [n, F] what was observed afterwards.
        terminated: [n] whether the process ended with this step, so that nothing can be earned any more. An episode
            that was merely cut off did not end: its last step leads to an ordinary state.
        episodes: [n] number of the episode of each step; the steps of one episode stand together.
        feature_names: F names.
        action_names: A names, also of actions that were never played.
    """

    observations: Floats
    actions: Ints
    rewards: Floats
    next_observations: Floats
    terminated: Bools
    episodes: Ints
    feature_names: tuple[str, ...]
    action_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def n_actions(self) -> int:
        """A"""
        return len(self.action_names)

    @property
    def n_features(self) -> int:
        """F"""
        return len(self.feature_names)

    @property
    def first(self) -> Bools:
        """[n] whether each step is the first one of its episode."""
        first: Bools = np.ones(len(self), dtype=bool)
        first[1:] = self.episodes[1:] != self.episodes[:-1]
        return first

    @property
    def n_episodes(self) -> int:
        """How many episodes there are."""
        return int(self.first.sum())

    @classmethod
    def joined(cls, parts: Sequence["Steps"]) -> "Steps":
        """The steps of several runs with the same names as one; episodes are numbered anew."""
        return cls(
            np.concatenate([part.observations for part in parts]),
            np.concatenate([part.actions for part in parts]),
            np.concatenate([part.rewards for part in parts]),
            np.concatenate([part.next_observations for part in parts]),
            np.concatenate([part.terminated for part in parts]),
            np.cumsum(np.concatenate([part.first for part in parts])) - 1,
            parts[0].feature_names,
            parts[0].action_names,
        )
