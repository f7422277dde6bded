"""Looking ahead: Q-values, and which actions are the best."""

import numpy as np

from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.norms import row_excess
from omdt.planning.certified import Certified, rounding
from omdt.systems import product

TIE = 1e-13
"""Actions whose Q-values differ by less, relative to the largest absolute Q-value, count as equally good."""


def q_values(mdp: MDP, values: Certified[Floats]) -> Certified[Floats]:
    """[S, A] value of taking each action once and earning `values` from the next state on."""
    V, finite = values.value, np.isfinite(values.value)
    ahead = product(mdp.transitions, V) if finite.all() else mdp.transitions @ V
    q = mdp.rewards + mdp.discount * ahead.reshape(mdp.rewards.shape)
    size = float(np.abs(V).max(where=finite, initial=0.0))
    rounded = rounding(float(np.abs(mdp.rewards).max()), size)
    return Certified(q, values.error * (1 + row_excess(mdp.transitions)) + rounded)


def best_actions(q: Certified[Floats]) -> Bools:
    """[S, A] whether an action is a best one in each state; equally good ones all are."""
    best = q.value.max(axis=1, keepdims=True)
    among_best: Bools = q.value >= best - tie(q)
    return among_best


def greedy(q: Certified[Floats]) -> Ints:
    """[S] the best action in each state; among equally good ones that of lowest index."""
    actions: Ints = np.argmax(best_actions(q), axis=1)
    return actions


def tie(q: Certified[Floats]) -> float:
    """The difference of Q-values up to which actions count as equally good."""
    best = q.value.max(axis=1)
    return max(TIE * float(np.abs(best).max(where=np.isfinite(best), initial=0.0)), 2 * q.error)
