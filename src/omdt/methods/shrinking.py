"""Shrinking, the last step of every method but copy: of equally good trees the one with fewer leaves.

Two things make a tree larger than its return needs. Questions that only tell states apart to which the tree never
comes: without them the tree does the same wherever it goes. And questions both of whose sides return as much as one
side would: with either side, or with a single action, in place of the question the tree is evaluated anew, and what
returns as much up to rounding is taken. Where one action is played in all visited states of a leaf because the one that
it names is not available, the leaf names what is played.
"""

from collections.abc import Callable, Iterator

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Bools, Ints
from omdt.rules import names_only
from omdt.splits import Splits
from omdt.tree import LEAF, TreePolicy
from omdt.unavailable import with_available_names
from omdt.watch import Watch

MAX_EVALUATIONS = 2000
"""Trees evaluated at most, which trees with hundreds of nodes would exceed."""

ESTIMATED_STATES = 200
"""Maximum number of states with which returns are first estimated by a dense linear system, which then takes less time
than their evaluation."""

CLEARLY = 1e-6
"""Part of the scale by which an estimated return must fall short to be believed; the error of estimates is far less."""


def shrunk(tree: TreePolicy, mdp: MDP, splits: Splits, watch: Watch, allowed: Bools | None = None) -> TreePolicy:
    """The smallest tree that is found by taking questions out of a tree and returns as much up to rounding.

    Args:
        tree: the tree.
        mdp: the problem.
        splits: the questions of the tree.
        watch: when its time is up, the tree is returned as far as it is shrunk.
        allowed: [S, A] the actions that a leaf with each state may name; by default all.
    """
    allowed = np.ones(mdp.rewards.shape, dtype=np.bool_) if allowed is None else allowed
    tree = _without_unvisited(tree, mdp, splits, allowed)
    if tree.n_leaves == 1:
        return tree

    def returned(candidate: TreePolicy) -> float:
        policy = candidate.actions(splits.observations)
        if not names_only(allowed, policy):
            return -np.inf
        return planning.policy_return(mdp, policy, watch).value

    value = returned(tree)
    scale = max(planning.scale(mdp, watch), abs(value))
    least = value - planning.ROUNDING * scale if np.isfinite(value) else value
    estimate = _estimator(mdp)
    evaluations = 0
    smaller: TreePolicy | None = tree
    while smaller is not None:
        tree = _without_unvisited(smaller, mdp, splits, allowed)
        smaller = None
        for candidate in _with_less(tree):
            evaluations += 1
            if watch.remaining == 0 or evaluations > MAX_EVALUATIONS:
                return tree
            if estimate is not None and estimate(candidate.actions(splits.observations)) < least - CLEARLY * scale:
                continue
            if returned(candidate) >= least and watch.remaining > 0:
                smaller = candidate
                break
    return tree


def _estimator(mdp: MDP) -> Callable[[Ints], float] | None:
    """A function from policies to their returns up to rounding; None if evaluating them is about as fast.

    Without a discount the linear system of a policy may have no solution.
    """
    S, A = mdp.rewards.shape
    if S > ESTIMATED_STATES or mdp.discount == 1:
        return None
    P, states = mdp.discount * mdp.transitions.toarray().reshape(S, A, S), np.arange(S)

    def estimate(policy: Ints) -> float:
        values = np.linalg.solve(np.eye(S) - P[states, policy], mdp.rewards[states, policy])
        return float(mdp.initial @ values)

    return estimate


def _without_unvisited(tree: TreePolicy, mdp: MDP, splits: Splits, allowed: Bools) -> TreePolicy:
    """The tree without the questions that matter only where it never comes and may do anything.

    Leaves name what is played in them first: two that have the same played then are one.
    """
    renamed = with_available_names(mdp, tree, splits.observations)
    # A rule may allow an action that is not available and forbid the one that is played instead.
    tree = renamed if names_only(allowed, renamed.actions(splits.observations)) else tree
    visited = planning.visited(mdp, tree.actions(splits.observations))
    return tree.reduced(splits.observations[visited | ~allowed.all(axis=1)])


def _with_less(tree: TreePolicy) -> Iterator[TreePolicy]:
    """The trees in which an action or one of its sides replaces a question, those with fewest leaves first."""
    leaves = np.ones(tree.n_nodes, dtype=np.int64)
    for node in reversed(np.flatnonzero(tree.feature != LEAF)):
        leaves[node] = leaves[tree.left[node]] + leaves[tree.right[node]]
    changes: list[tuple[int, int, int, int]] = []
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        changes += [(1 - leaves[node], node, LEAF, action) for action in range(len(tree.action_names))]
        sides = (int(tree.left[node]), int(tree.right[node]))
        changes += [(leaves[side] - leaves[node], node, side, LEAF) for side in sides]
    for _, node, child, action in sorted(changes):
        yield tree.with_leaf(node, action) if child == LEAF else tree.with_child(node, child)
