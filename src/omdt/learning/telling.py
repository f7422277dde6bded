"""Telling: steps that tell the best tree from its rivals, for models whose cells are exact.

The same steps suggest more than one model. Rivals of the best tree are the best trees on others of these models, which
the Bayesian bootstrap draws (`Model.drawn`). Let x(s, a) and x'(s, a) be the occupancies of the best tree and of a
rival. If the model errs by e(s, a) about what action a is worth in state s, the difference of the two returns is wrong
by Σ (x' − x)(s, a) e(s, a), to first order. The variance of e(s, a) is σ² / n(s, a) after n(s, a) steps. One more step
there lowers the variance of the difference by (x' − x)² σ² / n², and the mean of that over all rivals is what the step
is worth. Pairs on which all rivals agree are worth nothing. σ is taken as the same everywhere.

The telling policy plays for steps that are worth much, and soon. When an episode is over the next one begins, and which
one that is can be chosen (`Gathering.explore`): where two trees differ in one deal out of twenty, few episodes begin
with such a deal unless they are chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omdt import planning
from omdt.learning.estimating import Estimate
from omdt.learning.exploring import PATIENCE, ByCell
from omdt.learning.gathering import LOOKS
from omdt.learning.grid import Grid
from omdt.mdp import MDP, Floats
from omdt.tree import TreePolicy

SWEEPS = 60
"""Sweeps of value iteration for the telling policy, enough with the discount `PATIENCE` to rank its actions."""


@dataclass(frozen=True, eq=False)
class Telling:
    """The telling policy.

    Attributes:
        policy: what it plays.
        values: [S] what it collects from each state on.
    """

    policy: ByCell
    values: Floats

    def worth(self, observations: Floats) -> Floats:
        """[m] what episodes are worth that begin with observations [m, F]; most where no step has been."""
        found = self.policy.numbers(observations)
        return np.where(found >= 0, self.values[found], np.inf)


def telling(grid: Grid, estimate: Estimate, best: TreePolicy, rivals: Sequence[TreePolicy]) -> Telling | None:
    """The telling policy, or None if there is nothing to tell, because all rivals play as the best tree does.

    Args:
        grid: the cells that are the states of the model.
        estimate: the model of all steps so far, with its counts [S, A].
        best: the best tree on it.
        rivals: at least one.
    """
    mdp, S = estimate.mdp, estimate.n_states
    own = _occupancies(mdp, best)
    differences = np.mean([(_occupancies(mdp, rival) - own) ** 2 for rival in rivals], axis=0)[:S]
    worth = differences / (estimate.visits + 1) ** 2
    if not worth.any():
        return None
    q = _collected(mdp, worth / worth.max())
    return Telling(ByCell.of(grid, estimate, q.argmax(axis=1), best), q.max(axis=1))


def _occupancies(mdp: MDP, tree: TreePolicy) -> Floats:
    """[S, A] discounted number of times that a tree plays each action in each state."""
    actions = tree.actions(mdp.features)
    found = np.zeros(mdp.rewards.shape)
    found[np.arange(len(actions)), actions] = planning.occupancies(mdp, actions).value
    return found


def _collected(mdp: MDP, worth: Floats) -> Floats:
    """[S, A] the worth that can be collected from each state and action on, one episode after the other.

    Args:
        mdp: an estimated model; its last two states, END and UNKNOWN, are where the next episode begins.
        worth: [S, A] of one step.
    """
    S, A = worth.shape
    P, starts = mdp.transitions[: S * A], mdp.initial[:S]
    values, q = np.zeros(S + 2), worth
    for _ in range(SWEEPS):
        values[:S] = q.max(axis=1)
        values[S:] = _chosen_start(values[:S], starts)
        q = worth + PATIENCE * (P @ values).reshape(S, A)
    return q


def _chosen_start(values: Floats, starts: Floats) -> float:
    """The mean of values [S] over the best of the starts, one in `LOOKS`.

    Args:
        values: [S] of the states.
        starts: [S] probabilities.
    """
    order = np.argsort(-values)
    played = np.diff(np.minimum(np.cumsum(starts[order]), 1 / LOOKS), prepend=0.0)
    return float(played @ values[order]) * LOOKS
