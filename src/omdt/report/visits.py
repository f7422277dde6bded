"""How often the policy of a tree visits each state and passes each node.

Shares are of the visits to states in which there is something to decide. In a terminal state every action is the same,
so an episode that has ended would otherwise count as the most visited place of the tree.
"""

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.tree import LEAF, TreePolicy


def deciding(mdp: MDP) -> Bools:
    """[S] whether each state is not terminal; true everywhere if all states are terminal."""
    return mdp.terminal if mdp.terminal.all() else ~mdp.terminal


def discounted_visits(mdp: MDP, action: Ints) -> Floats:
    """[S] the occupancies of a policy: never negative, and exactly 0 in states that it never visits."""
    return np.where(planning.visited(mdp, action), np.maximum(planning.occupancies(mdp, action).value, 0.0), 0.0)


def visit_shares(mdp: MDP, visits: Floats) -> Floats:
    """[S] the share of each state in all visits to states in which there is something to decide; 0 in the others."""
    counted = np.where(deciding(mdp), visits, 0.0)
    total = counted.sum()
    return counted / total if total > 0 else counted


def through_nodes(tree: TreePolicy, leaf: Ints, weight: Floats) -> Floats:
    """[N] the total weight of the items that pass each node.

    Args:
        tree: the tree.
        leaf: [n] the leaf that each item reaches.
        weight: [n] the weight of each item.
    """
    through = np.zeros(tree.n_nodes)
    np.add.at(through, leaf, weight)
    # Children come after their parents, so both are complete when they are added.
    for i in reversed(np.flatnonzero(tree.feature != LEAF)):
        through[i] = through[tree.left[i]] + through[tree.right[i]]
    return through


def most_asked(tree: TreePolicy, node_share: Floats) -> list[int]:
    """At most two features for the axes of a map: those that are asked about most often, or else the first ones.

    Args:
        tree: the tree.
        node_share: [N] share of the visits that pass each node.
    """
    inner = tree.feature != LEAF
    asked = np.bincount(tree.feature[inner], weights=node_share[inner], minlength=len(tree.feature_names))
    return sorted(np.argsort(-asked, kind="stable")[:2].tolist())
