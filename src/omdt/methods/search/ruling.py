"""Ruling: what a complete tree of the search is worth under the rules of the task, and whether it keeps them all.

It agrees with `omdt.judging`, which it asks wherever that takes no longer than it must.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from omdt import planning
from omdt.judging import SHARE_TOLERANCE, leaf_shares, net_return
from omdt.mdp import MDP
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Path, Tree, to_policy
from omdt.rules import Ceiling, outline_of
from omdt.tree import LEAF, TreePolicy
from omdt.watch import Watch


class Broken(NamedTuple):
    """How a tree does not keep the rules.

    Attributes:
        ceiling: the number of the ceiling that its totals are above, if that is why.
        leaf: the way to the leaf with too few visits, if that is why.
    """

    ceiling: int | None = None
    leaf: Path | None = None


class Verdict(NamedTuple):
    """What a tree returns after its questions are paid, and how it breaks the rules; None if it keeps them."""

    value: planning.Certified[float]
    broken: Broken | None


NOTHING = planning.Certified(-np.inf, 0.0)
"""What a tree that does not keep the rules is worth."""


class Ruling:
    """Judges complete trees of a task."""

    def __init__(self, model: Model) -> None:
        self._model, self._task = model, model.task

    @cached_property
    def _costs(self) -> list[tuple[Ceiling, MDP]]:
        """The problem with the costs of every ceiling as rewards."""
        problem = self._task.problem
        return [(it, it.counting(problem)) for it in self._task.ceilings]

    def verdict(self, tree: Tree, watch: Watch) -> Verdict:
        """What a tree is worth.

        Raises:
            OutOfTimeError: if that is not known in time.
        """
        policy = to_policy(tree, self._model.splits, self._model.mdp)
        broken = self._broken(policy, watch)
        value = NOTHING if broken is not None else net_return(self._task, policy, watch)
        if self._task.rules:
            watch.check()
        return Verdict(value, broken)

    def _broken(self, tree: TreePolicy, watch: Watch) -> Broken | None:
        task = self._task
        actions = tree.actions(task.observations)
        if not task.permits(actions):
            return Broken()
        if task.shapes:
            outline = outline_of(tree, task.observations)
            if any(rule.broken_by(outline) is not None for rule in task.shapes):
                return Broken()
        if task.kept is not None and task.kept.difference(tree) is not None:
            return Broken()
        for i, (ceiling, mdp) in enumerate(self._costs):
            total = planning.policy_return(mdp, actions, watch).value
            if total > ceiling.limit + ceiling.tolerance:
                return Broken(ceiling=i)
        if task.least_share is None:
            return None
        shares = leaf_shares(task, tree, actions, watch)
        if shares.min() >= task.least_share.least * (1 - SHARE_TOLERANCE):
            return None
        return Broken(leaf=_ways(tree)[int(np.flatnonzero(tree.feature == LEAF)[shares.argmin()])])


def _ways(tree: TreePolicy) -> dict[int, Path]:
    """The way to every node of a tree."""
    ways: dict[int, Path] = {0: ()}
    for node in range(tree.n_nodes):
        if tree.feature[node] != LEAF:
            ways[int(tree.left[node])] = (*ways[node], False)
            ways[int(tree.right[node])] = (*ways[node], True)
    return ways
