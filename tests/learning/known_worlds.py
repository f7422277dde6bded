"""Small worlds to learn in, whose best trees are known."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec


class Matching(gymnasium.Env[Any, Any]):
    """Ten steps; action 1 earns 1 where x > 0.3, action 0 elsewhere. x is new in every step."""

    spec = EnvSpec("Matching-v0", max_episode_steps=10)
    observation_space = spaces.Box(-1.0, 1.0, (2,))
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._seen, self._time = self._draw(), 0
        return self._seen, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = float(action == (self._seen[0] > 0.3))
        self._seen, self._time = self._draw(), self._time + 1
        return self._seen, reward, False, self._time == 10, {}

    def _draw(self) -> Any:
        return self.np_random.uniform(-1, 1, 2)


class Cards(Matching):
    """The same with a card from 0 to 5 in place of x; action 1 is right from 3 on. Every episode really ends."""

    spec = None
    observation_space = spaces.Discrete(6)  # type: ignore[assignment]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = float(action == (self._seen > 2))
        self._seen, self._time = self._draw(), self._time + 1
        return self._seen, reward, bool(self.np_random.random() < 0.1), self._time == 1000, {}

    def _draw(self) -> Any:
        return int(self.np_random.integers(6))


class Corridor(gymnasium.Env[Any, Any]):
    """Places 0 to 20, at first 0; action 1 leads right, action 0 back to the beginning. The end earns 1."""

    spec = EnvSpec("Corridor-v0", max_episode_steps=40)
    observation_space = spaces.MultiDiscrete([21])
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._place, self._time = 0, 0
        return np.array([0]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._place, self._time = (self._place + 1 if action else 0), self._time + 1
        over = self._place == 20
        return np.array([self._place]), float(over), over, self._time == 40, {}
