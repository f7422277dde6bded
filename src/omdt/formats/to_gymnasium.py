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
    without such states go on for ever; wrap the environment in `gymnasium.wrappers.TimeLimit` to end them.

    Where an action is not available, the MDP's fallback is played instead (see `MDP`). `info` holds the index of the
    state, in `action_mask` a 1 for each action that is available in it, as Gymnasium's Taxi has it, and after a step in
    `played` the action that was really played.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, mdp: MDP) -> None:
        self.mdp = mdp
        self.state = -1
        self.action_space = spaces.Discrete(mdp.n_actions)
        low, high = mdp.features.min(axis=0), mdp.features.max(axis=0)
        self.observation_space = spaces.Box(low, high, dtype=np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Draw a start state; `info` holds its index and its available actions."""
        super().reset(seed=seed)
        self.state = self._draw(np.arange(self.mdp.n_states), self.mdp.initial)
        return self._observation(), self._info()

    def step(self, action: np.int64) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Take an action: observation, reward, terminated, truncated (never), and `info`."""
        if self.state < 0:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(f"{action!r} is not one of the {self.mdp.n_actions} actions")
        played = int(self.mdp.played[self.state, int(action)])
        row = self.state * self.mdp.n_actions + played
        reward = float(self.mdp.rewards[self.state, played])
        P = self.mdp.transitions
        entries = slice(P.indptr[row], P.indptr[row + 1])
        self.state = self._draw(P.indices[entries], P.data[entries])
        terminated = bool(self.mdp.terminal[self.state])
        return self._observation(), reward, terminated, False, {**self._info(), "played": played}

    def _draw(self, states: Any, probabilities: Floats) -> int:
        cumulative = np.cumsum(probabilities)
        position = np.searchsorted(cumulative, self.np_random.random() * cumulative[-1], side="right")
        return int(states[position])

    def _info(self) -> dict[str, Any]:
        return {"state": self.state, "action_mask": self.mdp.available[self.state].astype(np.int8)}

    def _observation(self) -> Floats:
        observation: Floats = self.mdp.features[self.state].copy()
        return observation
