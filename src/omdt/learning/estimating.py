"""The estimated model: the MDP of the relative frequencies with which steps led from states to states.

Observations are grouped into finitely many states first (a grid of cells for a simulator, the distinct observations of
a log). The model has two states more than these: the END, to which steps lead that terminated their episode and which
earns nothing; and the UNKNOWN, to which every pair of state and action leads that was never tried. Being in the
UNKNOWN earns in every step the least reward that was ever seen, or nothing if that is worse. A tree that is good in the
model is therefore good because of what was seen, and never because of what was not.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from omdt.learning.steps import Steps
from omdt.mdp import MDP, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which state each step of some `Steps` starts in and leads to.

    Attributes:
        features: [S, F] an observation that stands for each state.
        states: [n] state before each step.
        next_states: [n] state after each step, also where the episode terminated.
        starts: [m] states in which episodes began; by default those of the first steps. There are others where episodes
            were chosen by their starts, or began and were not played.
    """

    features: Floats
    states: Ints
    next_states: Ints
    starts: Ints | None = None

    @property
    def n_states(self) -> int:
        """S"""
        return len(self.features)


@dataclass(frozen=True, eq=False)
class Estimate:
    """The estimated model and the counts that it rests on.

    Attributes:
        mdp: S + 2 states: those of the grouping, then the END, then the UNKNOWN.
        visits: [S, A] how often each action was played in each state.
    """

    mdp: MDP
    visits: Floats

    @property
    def n_states(self) -> int:
        """S, the states that were seen."""
        return len(self.visits)

    @property
    def seen(self) -> Bools:
        """[S, A] whether each action was ever played in each state."""
        seen: Bools = self.visits > 0
        return seen


def least_reward(rewards: Floats) -> float:
    """What a step in the UNKNOWN earns: the least reward that was seen, or nothing if that is worse."""
    return min(0.0, float(rewards.min()))


def estimate(
    steps: Steps, grouping: Grouping, discount: float, name: str, *, weights: Floats | None = None
) -> Estimate:
    """The estimated model of some steps.

    Args:
        steps: at least one.
        grouping: of these steps.
        discount: γ, below 1.
        name: of the MDP.
        weights: [n] how much each step counts, more than 0; by default 1. The visits are sums of these.
    """
    counts = np.ones(len(steps)) if weights is None else weights
    S, A = grouping.n_states, steps.n_actions
    end, unknown = S, S + 1
    pairs = grouping.states * A + steps.actions
    targets = np.where(steps.terminated, end, grouping.next_states)
    visits: Floats = np.bincount(pairs, counts, minlength=S * A).astype(np.float64)
    sums = np.bincount(pairs, counts * steps.rewards, minlength=S * A)
    untried = np.flatnonzero(visits == 0)
    lost = least_reward(steps.rewards)
    rewards = np.full((S + 2) * A, lost)
    rewards[: S * A][visits > 0] = sums[visits > 0] / visits[visits > 0]
    rewards[S * A : (S + 1) * A] = 0.0
    staying = np.arange(S * A, (S + 2) * A)
    rows = np.concatenate([pairs, untried, staying])
    columns = np.concatenate([targets, np.full(len(untried), unknown), np.repeat([end, unknown], A)])
    weights = np.concatenate([counts / visits[pairs], np.ones(len(untried) + 2 * A)])
    transitions = sparse.csr_array((weights, (rows, columns)), shape=((S + 2) * A, S + 2))
    starts = grouping.states[steps.first] if grouping.starts is None else grouping.starts
    first = np.bincount(starts, minlength=S + 2).astype(np.float64)
    mdp = MDP(
        transitions,
        rewards.reshape(S + 2, A),
        first / first.sum(),
        # The added states have the features of a seen one, so that they add no question.
        grouping.features[np.append(np.arange(S), [0, 0])],
        discount,
        steps.feature_names,
        steps.action_names,
        name,
    )
    return Estimate(mdp, visits.reshape(S, A))
