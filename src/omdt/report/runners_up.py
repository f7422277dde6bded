"""The runner-up of each leaf: the best other action, and how much less the whole tree would return with it.

The candidates are the actions that all relevant states of the leaf offer: the states that the tree visits or, if no
tree may name an unavailable action, the states that any policy can reach. Each candidate is put into the leaf and the
tree is evaluated again. So the loss is exact, not a first-order estimate, and it is never negative at a proven optimum.
"""

from dataclasses import dataclass

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.report.visits import deciding
from omdt.tree import TreePolicy

MOST_EVALUATIONS = 1000
"""Maximum number of trees that are evaluated to find runners-up; on the paper's environments each evaluation takes at
most some hundredths of a second, so that a report takes seconds."""


@dataclass(frozen=True)
class RunnerUp:
    """The best other action of a leaf and how much less the whole tree would return with it."""

    action: int
    loss: float


def runners_up(
    tree: TreePolicy, mdp: MDP, leaf: Ints, share: Floats, returned: planning.Certified[float], allowed: Bools | None
) -> dict[int, RunnerUp]:
    """The runners-up of the most visited leaves, as many as `MOST_EVALUATIONS` allows.

    Args:
        tree: the tree.
        mdp: the problem.
        leaf: [S] the leaf of each state.
        share: [S] the share of each state in all visits.
        returned: the return of the tree.
        allowed: [S, A] what a leaf that contains a state may name by the rules; None without rules.
    """
    others = mdp.n_actions - 1
    if others == 0:
        return {}
    visited = np.bincount(leaf, weights=share, minlength=tree.n_nodes)
    leaves = [int(i) for i in np.argsort(-visited, kind="stable") if visited[i] > 0]
    possible = _possible(tree, mdp, leaf, allowed)
    found = {
        i: _runner_up(tree, mdp, leaf, i, possible[i], returned) for i in leaves[: max(1, MOST_EVALUATIONS // others)]
    }
    return {i: runner_up for i, runner_up in found.items() if runner_up is not None}


def _possible(tree: TreePolicy, mdp: MDP, leaf: Ints, allowed: Bools | None) -> Bools:
    """[N, A] whether each leaf could name each action: what the rules allow or, without rules, what is available."""
    possible = np.ones((tree.n_nodes, mdp.n_actions), dtype=np.bool_)
    if allowed is not None:
        np.logical_and.at(possible, leaf, allowed)
    elif not mdp.all_available:
        counts = planning.visited(mdp, tree.action[leaf]) & deciding(mdp)
        np.logical_and.at(possible, leaf[counts], mdp.available[counts])
    return possible


def _runner_up(
    tree: TreePolicy, mdp: MDP, leaf: Ints, node: int, possible: Bools, returned: planning.Certified[float]
) -> RunnerUp | None:
    """The best other one of the possible actions [A] in a leaf; None if there is no other."""
    best: RunnerUp | None = None
    action: Ints = tree.action[leaf]
    inside: Bools = leaf == node
    for other in np.flatnonzero(possible).tolist():
        if other == tree.action[node]:
            continue
        changed = planning.policy_return(mdp, np.where(inside, other, action))
        loss = 0.0 if returned.value == changed.value else returned.value - changed.value
        if abs(loss) <= returned.error + changed.error:
            loss = 0.0
        if best is None or loss < best.loss:
            best = RunnerUp(other, loss)
    return best
