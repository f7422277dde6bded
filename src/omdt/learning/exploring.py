"""Exploring: policies that find out, before and beside the trees that are good already.

Random small trees are the first candidates. Actions at random undo one another, while a tree acts consistently: of some
hundred random trees a few swing a pendulum up or drive out of a valley. Later, what is unsure in the learned model is
visited on purpose: the curious policy is optimal for the question how soon it can play an action in a state in which it
was played fewer than `KNOWN` times.
"""

from dataclasses import dataclass, replace

import numpy as np

from omdt import planning
from omdt.learning.estimating import Estimate
from omdt.learning.grid import Grid
from omdt.mdp import Floats, Ints
from omdt.task import Size
from omdt.tree import Nodes, TreePolicy
from omdt.tree.nodes import Attach

KNOWN = 5
"""Steps after which the model is sure enough about a state and an action."""

PATIENCE = 0.95
"""Discount of the curious policy: what can be found out soon comes first."""

INNER = 0.1
"""Thresholds of random trees lie between this quantile of the observations and the opposite one."""


def random_tree(
    rng: np.random.Generator,
    observations: Floats,
    size: Size,
    feature_names: tuple[str, ...],
    action_names: tuple[str, ...],
) -> TreePolicy:
    """A random tree with thresholds at random quantiles, small ones as likely as large ones.

    Args:
        rng: draws it.
        observations: [n, F] what has been observed.
        size: how large it may be.
        feature_names: F names.
        action_names: A names.
    """
    leaves = 2 ** min(6, size.max_depth) if size.max_depth is not None else 64
    leaves = min(leaves, leaves if size.max_leaf_nodes is None else size.max_leaf_nodes)
    depth = leaves if size.max_depth is None else size.max_depth
    nodes = Nodes()
    stack: list[tuple[Attach | None, int, int, int]] = []
    stack.append((None, depth, int(rng.integers(min(2, leaves), leaves + 1)), int(rng.integers(len(action_names)))))
    while stack:
        attach, below, share, action = stack.pop()
        if share == 1 or below == 0:
            nodes.leaf(action, attach)
            continue
        j = int(rng.integers(observations.shape[1]))
        threshold = float(np.quantile(observations[:, j], rng.uniform(INNER, 1 - INNER)))
        node = nodes.split(j, threshold, False, attach)
        left = int(rng.integers(1, share))
        # Two leaves of one question differ, otherwise the question would be in vain.
        other = int((action + rng.integers(1, max(2, len(action_names)))) % len(action_names))
        stack += [((node, "left"), below - 1, left, action), ((node, "right"), below - 1, share - left, other)]
    return nodes.tree(TreePolicy, feature_names, action_names)


@dataclass(frozen=True, eq=False)
class ByCell:
    """A policy with one action per visited cell, and a tree for all other cells.

    Attributes:
        grid: the cells.
        states: number of each visited cell, by the bytes of its bins.
        actions: [S] the action in each of them.
        elsewhere: what decides in all other cells.
    """

    grid: Grid
    states: dict[bytes, int]
    actions: Ints
    elsewhere: TreePolicy

    @classmethod
    def of(cls, grid: Grid, estimate: Estimate, actions: Ints, elsewhere: TreePolicy) -> "ByCell":
        """The policy with actions [S] in the states of an estimated model over a grid."""
        bins = grid.bins(estimate.mdp.features[: estimate.n_states])
        return cls(grid, {row.tobytes(): i for i, row in enumerate(bins)}, actions, elsewhere)

    def numbers(self, observations: Floats) -> Ints:
        """[n] the state of each observation [n, F], −1 where no step has been."""
        return np.array([self.states.get(row.tobytes(), -1) for row in self.grid.bins(observations)])

    def __call__(self, observations: Floats) -> Ints:
        """[n] actions for observations [n, F]."""
        found = self.numbers(observations)
        known: Ints = np.where(found >= 0, self.actions[found], self.elsewhere.actions(observations))
        return known


def curious(grid: Grid, estimate: Estimate, elsewhere: TreePolicy) -> ByCell:
    """The policy that goes where the model is unsure.

    Args:
        grid: the cells that are the states of the model.
        estimate: the model with its counts [S, A].
        elsewhere: the tree that decides where no step has been.
    """
    mdp, S = estimate.mdp, estimate.n_states
    unsure = np.zeros(mdp.rewards.shape)
    unsure[:S] = estimate.visits < KNOWN
    asked = replace(mdp, rewards=unsure, discount=PATIENCE)
    q = planning.q_values(asked, planning.optimal_values(asked)).value[:S]
    # Among equally good actions the least tried one comes first.
    actions = np.lexsort((estimate.visits, -q.round(9)), axis=1)[:, 0]
    return ByCell.of(grid, estimate, actions, elsewhere)
