"""Small environments for tests: a walk on a line with luck, and one with every kind of observation."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec


class Walk(gymnasium.Env):
    """A walk on 0 … 9 that starts anywhere from 2 to 6; a step slips with probability 0.2; 9 ends it and earns 10.

    Actions are numbered 1 (left) and 2 (right), and every step costs 1.
    """

    action_space = spaces.Discrete(2, start=1)
    observation_space = spaces.Box(0.0, 9.0, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(2, 7))
        return np.array([self.at], dtype=np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        move = 2 * int(action) - 3
        slips = self.np_random.random() < 0.2
        self.at = max(0, self.at + (-move if slips else move))
        done = self.at == 9
        return np.array([self.at], dtype=np.float32), 9.0 if done else -1.0, done, False, {}


class ShortWalk(Walk):
    """A walk of at most 60 steps."""

    spec = EnvSpec("ShortWalk-v0", max_episode_steps=60)


class Uncopied(Walk):
    """A walk that cannot be copied."""

    def __deepcopy__(self, memo: Any) -> "Uncopied":
        raise TypeError("holds a socket")


class Motley(gymnasium.Env):
    """Observations of all kinds that never change."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Dict(
        {
            "place": spaces.Box(-1.0, 1.0, (2,)),
            "level": spaces.Discrete(4, start=1),
            "dials": spaces.MultiDiscrete([3, 4]),
            "lamps": spaces.MultiBinary(2),
            "pair": spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 9, (1, 1), dtype=np.int64))),
        }
    )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._shown(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._shown(), 1.0, False, False, {}

    def _shown(self) -> dict[str, Any]:
        return {
            "place": np.array([0.25, -0.5], dtype=np.float32),
            "level": 4,
            "dials": np.array([2, 3]),
            "lamps": np.array([0, 1], dtype=np.int8),
            "pair": (1, np.array([[7]])),
        }


def make_walk(cost: float = 1.0) -> gymnasium.Env:
    """A walk, as a factory that a name can refer to."""
    assert cost == 1.0
    return Walk()
