"""The best tree so far of a robust search, what it is sure of, and the bound for all trees."""

import math

from omdt.mdp import Floats
from omdt.robust.values import WorstCase
from omdt.solution import relative_gap
from omdt.tree import TreePolicy
from omdt.watch import Watch


class Incumbent:
    """The best tree so far.

    Args:
        worst: computes values in the worst case.
        tree: a first tree.
        observations: [S, F] what a tree reads in each state.
        gap: the relative distance of value and bound that counts as a proof.
        scale: the scale of the returns, against which a gap is measured where the value is nearly 0.
        watch: is told of every improvement.
    """

    def __init__(
        self, worst: WorstCase, tree: TreePolicy, observations: Floats, gap: float, scale: float, watch: Watch
    ) -> None:
        self.worst, self.observations, self.watch = worst, observations, watch
        self._gap, self._scale = gap, scale
        self.bound = math.inf
        actions = tree.actions(observations)
        self._known = {actions.tobytes()}
        # Not limited by time, so that there is a tree with a value in any case.
        self.tree, self.found = tree, worst.of_policy(actions)

    @property
    def value(self) -> float:
        """What the best tree returns at least, whatever nature does."""
        return self.found.lower

    @property
    def rounding(self) -> float:
        """By how much value and bound may differ for no other reason than rounding."""
        return 4 * (self.found.above + self.found.below)

    @property
    def proven(self) -> bool:
        """Whether the bound is as close to the value as was asked for."""
        return (
            self.bound <= self.value + self.rounding or relative_gap(self.value, self.bound, self._scale) <= self._gap
        )

    def consider(self, tree: TreePolicy) -> bool:
        """Take a tree if it is sure of more than the best one so far; says whether it is."""
        actions = tree.actions(self.observations)
        if actions.tobytes() in self._known:
            return False
        self._known.add(actions.tobytes())
        found = self.worst.of_policy(actions, self.found.values, self.watch)
        if found.lower <= self.value:
            return False
        self.tree, self.found = tree, found
        self.watch.report(self.value, max(self.bound, self.value))
        return True

    def lower_bound_to(self, bound: float) -> None:
        """Note that no tree is sure of more than this."""
        if bound < self.bound:
            self.bound = bound
            self.watch.report(self.value, max(self.bound, self.value))
