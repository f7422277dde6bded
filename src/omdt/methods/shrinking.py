"""Shrinking, the last step of every method but copy: of equally good trees the one with fewer leaves.

Two things make a tree larger than its return needs. Questions that only tell states apart to which the tree never
comes: without them the tree does the same wherever it goes. And questions both of whose sides return as much as one
side would: with either side, or with a single action, in place of the question the tree is evaluated anew, and what
returns as much up to rounding is taken. Where one action is played in all visited states of a leaf because the one that
it names is not available, the leaf names what is played.

Under rules, a smaller tree is taken only if it keeps all of them; a tree that breaks one is returned as it is.
"""

from collections.abc import Callable, Iterator

import numpy as np

from omdt import planning
from omdt.judging import net_return, violations
from omdt.mdp import MDP, Ints
from omdt.task import Task
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


def shrunk(tree: TreePolicy, task: Task, watch: Watch) -> TreePolicy:
    """The smallest tree that is found by taking questions out of a tree, keeps the rules and returns as much.

    Args:
        tree: the tree.
        task: what is asked, with the rules to keep.
        watch: when its time is up, the tree is returned as far as it is shrunk.
    """
    if not task.only_leaf_rules and not _keeps(task, tree, watch):
        return tree
    tree = _without_unvisited(tree, task, watch)
    if tree.n_leaves == 1:
        return tree
    value = _returned(task, tree, watch)
    scale = max(planning.scale(task.problem, watch), abs(value))
    least = value - planning.ROUNDING * scale if np.isfinite(value) else value
    estimate = _estimator(task.problem)
    evaluations = 0
    smaller: TreePolicy | None = tree
    while smaller is not None:
        tree = _without_unvisited(smaller, task, watch)
        smaller = None
        for candidate in _with_less(tree):
            evaluations += 1
            if watch.remaining == 0 or evaluations > MAX_EVALUATIONS:
                return tree
            # The estimate is before questions are paid, so that it is not below what is left after that.
            if estimate is not None and estimate(candidate.actions(task.observations)) < least - CLEARLY * scale:
                continue
            if _returned(task, candidate, watch) >= least and watch.remaining > 0:
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


def _keeps(task: Task, tree: TreePolicy, watch: Watch) -> bool:
    """Whether a tree keeps all rules; not if time runs out before that is known."""
    return next(violations(task, tree, watch), None) is None and watch.remaining > 0


def _returned(task: Task, tree: TreePolicy, watch: Watch) -> float:
    """What a tree returns after its questions are paid; −∞ if it breaks a rule."""
    if not task.only_leaf_rules:
        return net_return(task, tree, watch).value if _keeps(task, tree, watch) else -np.inf
    policy = tree.actions(task.observations)
    return planning.policy_return(task.problem, policy, watch).value if task.permits(policy) else -np.inf


def _without_unvisited(tree: TreePolicy, task: Task, watch: Watch) -> TreePolicy:
    """The tree without the questions that matter only where it never comes and may do anything.

    Leaves name what is played in them first: two that have the same played then are one.
    """
    mdp, observations = task.problem, task.observations
    renamed = with_available_names(mdp, tree, observations)
    # A rule may allow an action that is not available and forbid the one that is played instead.
    renamed = renamed if task.permits(renamed.actions(observations)) else tree
    needed = planning.visited(mdp, renamed.actions(observations))
    if task.allowed is not None:
        needed = needed | ~task.allowed.all(axis=1)
    reduced = renamed.reduced(observations[needed])
    if task.only_leaf_rules:
        return reduced
    # A cheap question may save an expensive one, even if its answer changes no action.
    cheaper = task.prices is None or _returned(task, reduced, watch) >= _returned(task, tree, watch)
    return reduced if cheaper and _keeps(task, reduced, watch) else tree


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
