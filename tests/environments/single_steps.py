"""Single steps of an environment, by the observations of its states."""

from collections.abc import Callable

import numpy as np
import pytest

from omdt.mdp import MDP

Distribution = dict[tuple[float, ...], float]
"""Probability of each observation."""


def state_of(mdp: MDP, *observation: float) -> int:
    (matches,) = np.nonzero((mdp.features == observation).all(axis=1))
    assert len(matches) == 1
    return int(matches[0])


def outcomes(mdp: MDP, state: int, action: str) -> Distribution:
    """Probability of each next observation."""
    row = mdp.transitions[[state * mdp.n_actions + mdp.action_names.index(action)]].tocoo()
    return {
        tuple(mdp.features[successor].tolist()): float(p) for successor, p in zip(row.coords[1], row.data, strict=True)
    }


def reward(mdp: MDP, state: int, action: str) -> float:
    return float(mdp.rewards[state, mdp.action_names.index(action)])


def assert_follows(mdp: MDP, step: Callable[[tuple[float, ...], str], tuple[Distribution, float]]) -> None:
    """All transitions and rewards equal those of a function from an observation and an action."""
    for state, observation in enumerate(mdp.features.tolist()):
        for action in mdp.action_names:
            expected, earned = step(tuple(observation), action)
            found = outcomes(mdp, state, action)
            assert found == pytest.approx(expected, abs=1e-12), (observation, action)
            assert reward(mdp, state, action) == pytest.approx(earned, abs=1e-12), (observation, action)


def mean_next(mdp: MDP) -> np.ndarray:
    """[S, A, F] the expected next observation."""
    return (mdp.transitions @ mdp.features).reshape(mdp.n_states, mdp.n_actions, mdp.n_features)
