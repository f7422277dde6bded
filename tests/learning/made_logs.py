"""Logs of known MDPs: what a behaviour policy did there, so that what is said from the log can be compared."""

import numpy as np

from omdt.learning.estimating import Estimate, Grouping, estimate
from omdt.learning.logs import Log
from omdt.learning.off_policy import Evidence
from omdt.learning.steps import Steps
from omdt.mdp import MDP


def logged(mdp: MDP, policy: np.ndarray, episodes: int, length: int, seed: int) -> Log:
    """A log of episodes that end in a terminal state or are cut off after some steps, with the probabilities.

    Args:
        mdp: the world; observations are its features.
        policy: [S, A] probabilities of the actions.
        episodes: how many.
        length: maximum number of steps of each.
        seed: of the random numbers.
    """
    rng = np.random.default_rng(seed)
    A = mdp.n_actions
    P, choice = np.cumsum(mdp.transitions.toarray(), axis=1), np.cumsum(policy, axis=1)
    state = np.searchsorted(np.cumsum(mdp.initial), rng.random(episodes) * (1 - 1e-12), side="right")
    rows: list[np.ndarray] = []
    alive = np.arange(episodes)
    for _ in range(length):
        alive = alive[~mdp.terminal[state[alive]]]
        s = state[alive]
        a = np.minimum((rng.random(len(s))[:, None] >= choice[s]).sum(axis=1), A - 1)
        t = np.minimum((rng.random(len(s))[:, None] >= P[s * A + a]).sum(axis=1), mdp.n_states - 1)
        rows.append(np.stack([alive, s, a, t]))
        state[alive] = t
    table = np.concatenate(rows, axis=1)
    table = table[:, np.argsort(table[0], kind="stable")]
    number, s, a, t = table
    steps = Steps(
        mdp.features[s],
        a,
        mdp.rewards[s, a],
        mdp.features[t],
        mdp.terminal[t],
        np.unique(number, return_inverse=True)[1],
        mdp.feature_names,
        mdp.action_names,
    )
    return Log("a log", steps, policy[s, a])


def grouped(steps: Steps) -> Grouping:
    """The distinct observations as states."""
    both = np.concatenate([steps.observations, steps.next_observations])
    features, states = np.unique(both, axis=0, return_inverse=True)
    return Grouping(features, states[: len(steps)], states[len(steps) :])


def evidence_of(log: Log, discount: float) -> Evidence:
    """The log with its model over distinct observations."""
    grouping = grouped(log.steps)
    return Evidence(log, grouping, estimated(log.steps, grouping, discount))


def estimated(steps: Steps, grouping: Grouping, discount: float) -> Estimate:
    return estimate(steps, grouping, discount, "a log")
