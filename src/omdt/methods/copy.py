"""The tree that copies the optimal policy, of whatever size that takes.

One optimal action a state (the lowest index among equally good ones), then a tree grown from the top: every node takes
the question that lowers the entropy of the actions most, the first such question in the order of features and
thresholds, until every leaf has one action. The tree returns what the optimal policy returns; its size is what
copying costs.

States that look alike to the tree must act alike. Where an optimal policy treats them differently no tree can copy it;
such states get the action that is best for their occupancy-weighted Q-values, the claim stays honest through its bound.
"""

import numpy as np

from omdt import planning
from omdt.errors import InputError
from omdt.mdp import MDP, Floats, Ints
from omdt.solution import Claim, Limits, Stop, Watch
from omdt.splits import Splits, midpoints
from omdt.tree import Nodes, TreePolicy


def copy_optimal_policy(mdp: MDP, splits: Splits, limits: Limits, watch: Watch) -> Claim:
    """The tree of unlimited size that copies the optimal policy, over thresholds only."""
    if limits.limits_size:
        raise InputError("the method copy makes a tree of the size that copying takes; leave out the size limit")
    if splits.equality.any() or len(splits.feature_names) > mdp.n_features:
        raise InputError("the method copy asks for thresholds on features only; leave out categories and predicates")
    values = planning.optimal_values(mdp)
    q = planning.q_values(mdp, values)
    actions = planning.greedy(q)
    observations, group = np.unique(mdp.features, axis=0, return_inverse=True)
    bound = planning.expected_return(mdp, values).upper
    if len(observations) == mdp.n_states:
        tree = grow(mdp, mdp.features, actions)
        return Claim(tree, bound, Stop.COMPLETE)
    shared = _shared_actions(mdp, q.value, actions, group.ravel())
    agrees = np.array_equal(shared[group.ravel()], actions)
    return Claim(grow(mdp, observations, shared), bound, Stop.COMPLETE if agrees else Stop.HEURISTIC)


def _shared_actions(mdp: MDP, q: Floats, actions: Ints, group: Ints) -> Ints:
    """[G] one action a group of states that look alike, the best by Q-values weighted with optimal occupancies."""
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


def grow(mdp: MDP, observations: Floats, actions: Ints) -> TreePolicy:
    """The entropy tree with the given action for each of n distinct observations [n, F]."""
    nodes = Nodes()
    stack: list[tuple[Ints, tuple[int, str] | None]] = [(np.arange(len(actions)), None)]
    while stack:
        rows, attach = stack.pop()
        if np.all(actions[rows] == actions[rows[0]]):
            nodes.leaf(int(actions[rows[0]]), attach)
            continue
        feature, threshold = _best_question(observations[rows], actions[rows])
        right = observations[rows, feature] > threshold
        index = nodes.split(feature, threshold, False, attach)
        stack.append((rows[right], (index, "right")))
        stack.append((rows[~right], (index, "left")))
    return nodes.tree(TreePolicy, mdp.feature_names, mdp.action_names)


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


def _entropy(counts: Floats) -> Floats:
    """[m] entropy of each row of counts [m, A] times the row's total."""
    totals = counts.sum(axis=1)
    logs = np.log2(counts, out=np.zeros_like(counts), where=counts > 0)
    entropy: Floats = totals * np.log2(totals) - (counts * logs).sum(axis=1)
    return entropy
