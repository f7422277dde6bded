"""The tree that copies the optimal policy, of whatever size that takes.

One optimal action per state (among equally good ones the available one of lowest index), then a tree grown from the
top: every node takes the question that lowers the entropy of the actions most, the first such question in the order of
features and thresholds, until every leaf has one action. The tree returns what the optimal policy returns; its size is
what copying costs.

Where several actions of a state are optimal the tree may take any of them (`ties="any"`) and needs fewer leaves: a
node is a leaf as soon as one action is optimal in all its states. For the entropy each node settles its own ties: the
action that is optimal in most of its states is taken in all of these, then the one that is in most of the rest, and so
on. This is greedy, as the growing is; should it give the larger tree, the tree of the lowest indices is returned.

States that look alike to the tree must act alike. Where an optimal policy treats them differently no tree can copy it;
such states get the action that is best for their occupancy-weighted Q-values, the claim stays honest through its bound.

Without a discount, the optimal policies of several discounted guides (`Task.guided`) are copied. What the copies are
worth on the problem itself decides.
"""

import math

import numpy as np

from omdt import planning
from omdt.limits import Limits
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.methods.options import CopyOptions
from omdt.rules import FORBID
from omdt.solution import Claim, Stop
from omdt.splits import midpoints
from omdt.task import Task
from omdt.tree import Nodes, TreePolicy
from omdt.watch import Watch

GUIDES = (0.9999, 0.999999, 0.99999999, 0.99)
"""Discounts of the guides, tried until a copy is worth as much as the optimal policy. The first one nearly always
serves; higher ones are for policies that take longer, the lowest is for problems where rounding hides the cost of a
step."""


def copy_optimal_policy(task: Task, limits: Limits, watch: Watch, options: CopyOptions) -> Claim:
    """The tree of unlimited size that copies the optimal policy, over thresholds only."""
    mdp = task.problem
    optimal = planning.expected_return(mdp, planning.optimal_values(mdp))
    if mdp.discount < 1:
        tree, copied = _copy(mdp, task, options)
    else:
        tree, copied = _best_copy(task, optimal, options)
    return Claim(tree, optimal.upper, Stop.COMPLETE if copied else Stop.HEURISTIC)


def _best_copy(task: Task, optimal: planning.Certified[float], options: CopyOptions) -> tuple[TreePolicy, bool]:
    """The best copy of the optimal policies of several guides, and whether it is worth as much as an optimal one."""
    best, value = None, -math.inf
    for discount in GUIDES:
        tree, _ = _copy(task.guided(discount), task, options)
        returned = planning.tree_return(task.problem, tree)
        if best is None or returned.value > value:
            best, value = tree, returned.value
        if returned.upper >= optimal.lower:
            return tree, True
    assert best is not None
    return best, False


def _copy(mdp: MDP, task: Task, options: CopyOptions) -> tuple[TreePolicy, bool]:
    """The tree that copies the optimal policy of an MDP, and whether it does in every state."""
    q = planning.q_values(mdp, planning.optimal_values(mdp))
    observations, group = np.unique(mdp.features, axis=0, return_inverse=True)
    if len(observations) == mdp.n_states:
        observations, group = mdp.features, np.arange(mdp.n_states)
    optimal = planning.best_actions(q)
    # An unavailable action is as good as the available one that is played instead, so one of those is left.
    offered = optimal & mdp.available
    actions: Ints = offered.argmax(axis=1)
    shared = _shared_actions(mdp, q.value, actions, group.ravel())
    tree = grow(mdp, observations, _only(shared, mdp.n_actions))
    if options.ties == "any":
        allowed = _allowed_in_all(offered if task.unavailable == FORBID else optimal, group.ravel())
        allowed = np.where(allowed.any(axis=1, keepdims=True), allowed, _only(shared, mdp.n_actions))
        tree = min(tree, grow(mdp, observations, allowed), key=lambda tree: tree.n_nodes)
    return tree, bool(optimal[np.arange(mdp.n_states), tree.actions(mdp.features)].all())


def _only(actions: Ints, n_actions: int) -> Bools:
    """[n, A] the set that holds the given action alone, for each of n."""
    only: Bools = actions[:, None] == np.arange(n_actions)
    return only


def _allowed_in_all(optimal: Bools, group: Ints) -> Bools:
    """[G, A] whether an action is optimal in every state of a group."""
    allowed = np.ones((int(group.max()) + 1, optimal.shape[1]), dtype=np.bool_)
    np.logical_and.at(allowed, group, optimal)
    return allowed


def _shared_actions(mdp: MDP, q: Floats, actions: Ints, group: Ints) -> Ints:
    """[G] one action a group of states that look alike, the best by Q-values weighted with optimal occupancies."""
    if int(group.max()) + 1 == mdp.n_states:
        return actions
    weights = planning.occupancies(mdp, actions).value
    totals = np.zeros((group.max() + 1, mdp.n_actions))
    np.add.at(totals, group, weights[:, None] * (q - q.max(axis=1, keepdims=True)))
    chosen: Ints = totals.argmax(axis=1)
    # A group whose states already agree keeps their action, whatever rounding says about its ties.
    first = np.zeros(len(totals), dtype=np.int64)
    first[group[::-1]] = actions[::-1]
    disagrees = np.zeros(len(totals), dtype=np.bool_)
    disagrees[group[actions != first[group]]] = True
    return np.where(disagrees, chosen, first)


def grow(mdp: MDP, observations: Floats, allowed: Bools) -> TreePolicy:
    """The entropy tree that takes one of the allowed actions [n, A] on each of n distinct observations [n, F]."""
    nodes = Nodes()
    stack: list[tuple[Ints, tuple[int, str] | None]] = [(np.arange(len(allowed)), None)]
    while stack:
        rows, attach = stack.pop()
        common = allowed[rows].all(axis=0)
        if common.any():
            nodes.leaf(int(common.argmax()), attach)
            continue
        feature, threshold = _best_question(observations[rows], settled(allowed[rows]))
        right = observations[rows, feature] > threshold
        index = nodes.split(feature, threshold, False, attach)
        stack.append((rows[right], (index, "right")))
        stack.append((rows[~right], (index, "left")))
    return nodes.tree(TreePolicy, mdp.feature_names, mdp.action_names)


def settled(allowed: Bools) -> Ints:
    """[n] one allowed action each, as few different ones as a greedy choice finds; every row must allow one."""
    actions = np.zeros(len(allowed), dtype=np.int64)
    open_rows = np.arange(len(allowed))
    while len(open_rows):
        action = int(allowed[open_rows].sum(axis=0).argmax())
        takes = allowed[open_rows, action]
        actions[open_rows[takes]] = action
        open_rows = open_rows[~takes]
    return actions


def _best_question(X: Floats, actions: Ints) -> tuple[int, float]:
    """The feature and threshold that leave the least entropy of the actions on both sides."""
    present, coded = np.unique(actions, return_inverse=True)
    one_hot = np.eye(len(present))[coded]
    least, best = np.inf, (-1, 0.0)
    for feature in range(X.shape[1]):
        order = np.argsort(X[:, feature], kind="stable")
        column = X[order, feature]
        cuts = np.flatnonzero(column[:-1] < column[1:])
        if len(cuts) == 0:
            continue
        left = np.cumsum(one_hot[order], axis=0)[cuts]
        entropy = _entropy(left) + _entropy(one_hot.sum(axis=0) - left)
        # Rounding must not decide between questions that are equally good.
        k = int(np.argmax(entropy <= entropy.min() + 1e-9))
        if entropy[k] < least - 1e-9:
            least, best = entropy[k], (feature, float(midpoints(column[cuts[k] : cuts[k] + 2])[0]))
    return best


def least_entropy(left: Floats, right: Floats) -> int | None:
    """The question that leaves the least entropy of the actions, given their counts [K, A] on both sides.

    None if no question divides anything.
    """
    divides = np.flatnonzero((left.sum(axis=1) > 0) & (right.sum(axis=1) > 0))
    if len(divides) == 0:
        return None
    entropy = _entropy(left[divides]) + _entropy(right[divides])
    # Rounding must not decide between questions that are equally good.
    return int(divides[np.argmax(entropy <= entropy.min() + 1e-9)])


def _entropy(counts: Floats) -> Floats:
    """[m] entropy of each row of counts [m, A] times the row's total."""
    totals = counts.sum(axis=1)
    logs = np.log2(counts, out=np.zeros_like(counts), where=counts > 0)
    entropy: Floats = totals * np.log2(totals) - (counts * logs).sum(axis=1)
    return entropy
