"""Durations: the expected number of steps by which the roundings of a vector add up."""

from dataclasses import replace

import numpy as np

from omdt import planning
from omdt.mdp import Bools, Floats
from omdt.methods.search.model import Model


class Durations:
    """Expected numbers of steps of policies that are greedy for a vector; with a discount, of discounted steps."""

    def __init__(self, model: Model) -> None:
        self._model = model
        mdp = model.mdp
        ones = np.where(mdp.terminal[:, None], 0.0, np.ones_like(mdp.rewards))
        self._steps = replace(mdp, rewards=ones, endless=None) if mdp.discount == 1 else None

    def of(self, values: Floats, choices: Bools, rewards: Floats) -> Floats:
        """[S] steps of the policy that makes the best of the choices [S, A]; 0 where it never ends.

        Args:
            values: [S] finite values that tell which choice is best.
            choices: the actions that may be chosen.
            rewards: [S, A] what is earned per step.
        """
        if self._steps is None:
            return np.full(len(values), self._model.norms.horizon)
        ahead = (self._model.mdp.transitions @ values).reshape(rewards.shape)
        policy = np.where(choices, rewards + ahead, -np.inf).argmax(axis=1)
        steps = planning.policy_values(self._steps, policy).value
        return np.where(np.isfinite(steps), steps, 0.0)
