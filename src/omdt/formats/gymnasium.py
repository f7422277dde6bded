"""An MDP as a Gymnasium environment (needs the extra `gymnasium`)."""

from typing import Any

from omdt.errors import require

require("gymnasium", "gymnasium", "an MDP as a Gymnasium environment")

import gymnasium  # noqa: E402
import numpy as np  # noqa: E402
from gymnasium import spaces  # noqa: E402

from omdt.mdp import MDP, Floats  # noqa: E402


class MDPEnv(gymnasium.Env[Floats, np.int64]):
    """Steps through an MDP: observations are its features, rewards are expected rewards r(s, a).

    An episode ends in a terminal state, one that returns to itself under every action with reward 0. Episodes of MDPs
    without such states go on for ever; wrap the environment in `gymnasium.wrappers.TimeLimit` to cut them.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, mdp: MDP) -> None:
        self.mdp = mdp
        self.state = -1
        self.action_space = spaces.Discrete(mdp.n_actions)
        low, high = mdp.features.min(axis=0), mdp.features.max(axis=0)
        self.observation_space = spaces.Box(low, high, dtype=np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Draw a start state; `info` holds its index."""
        super().reset(seed=seed)
        self.state = self._draw(np.arange(self.mdp.n_states), self.mdp.initial)
        return self._observation(), {"state": self.state}

    def step(self, action: np.int64) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Take an action: observation, reward, terminated, truncated (never), and the state's index in `info`."""
        if self.state < 0:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(f"{action!r} is not one of the {self.mdp.n_actions} actions")
        row = self.state * self.mdp.n_actions + int(action)
        reward = float(self.mdp.rewards[self.state, int(action)])
        P = self.mdp.transitions
        entries = slice(P.indptr[row], P.indptr[row + 1])
        self.state = self._draw(P.indices[entries], P.data[entries])
        return self._observation(), reward, bool(self.mdp.terminal[self.state]), False, {"state": self.state}

    def _draw(self, states: Any, probabilities: Floats) -> int:
        cumulative = np.cumsum(probabilities)
        position = np.searchsorted(cumulative, self.np_random.random() * cumulative[-1], side="right")
        return int(states[position])

    def _observation(self) -> Floats:
        observation: Floats = self.mdp.features[self.state].copy()
        return observation
