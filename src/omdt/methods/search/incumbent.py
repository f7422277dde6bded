"""The incumbent: the best tree so far, its return, and the bound so far; everyone who finds something tells it."""

import math
from typing import Protocol

import numpy as np

from omdt import planning
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Tree
from omdt.solution import tolerated_excess
from omdt.watch import Watch

GAP_USED = 0.999
"""The part of the tolerated gap that the search leaves open; the rest is for rounding where the gap is computed."""


class Best(Protocol):
    """What a proof reads of the best tree, and tells it."""

    @property
    def model(self) -> Model:
        """What the search knows of its task."""

    @property
    def unrestricted(self) -> float:
        """No policy of any form returns more."""

    @property
    def value(self) -> float:
        """What the best tree returns."""

    @property
    def target(self) -> float:
        """A tree that returns no more than this is no better than the best one."""

    def improve(self, tree: Tree, value: float) -> None:
        """Take a better tree."""

    def lower(self, bound: float) -> None:
        """Take a new bound."""

    def report(self) -> None:
        """Tell the watch."""

    def on_task(self, bound: float) -> float:
        """The bound of the task that follows from a bound of the proof."""

    def is_enough(self, bound: float) -> bool:
        """Whether the bound that remains when everything is explored shows that no tree is better."""


class Incumbent:
    """The best tree so far, and what is known about better ones.

    Attributes:
        tree: the best tree; None until the first one that the rules allow.
        value: its return; until there is a tree, a number below every return.
        bound: no tree returns more.
    """

    def __init__(self, model: Model, gap: float, watch: Watch) -> None:
        self.model, self.gap, self.watch = model, gap, watch
        self.tree: Tree | None = None
        # Where not every tree is allowed, the first one may be hard to find; until then every return is an improvement.
        task = model.task
        self.value = _least_return(model) if task.allowed is not None and task.only_leaf_rules else -np.inf
        self.unrestricted = self.bound = model.optimal_return.upper
        # Differences in return below this are rounding, not worth following.
        optimum = abs(model.optimal_return.value)
        self.noise = planning.ROUNDING * max(optimum if math.isfinite(optimum) else 0.0, model.scale)

    @property
    def target(self) -> float:
        """A tree that returns no more than this is no better than the best one, as far as gap and rounding tell."""
        if self.tree is None or not math.isfinite(self.value):
            return self.value
        return self.value + GAP_USED * tolerated_excess(self.value, self.gap, self.model.scale)

    @property
    def optimal_reached(self) -> bool:
        """Whether the best tree is as good as the best policy of any form."""
        return self.tree is not None and self.unrestricted <= self.target

    def improved_by(self, value: float) -> bool:
        """Whether a tree that returns this much takes the place of the best one."""
        return self.tree is None or value > self.value + self.noise

    def improve(self, tree: Tree, value: float) -> None:
        """Take a better tree."""
        self.tree, self.value = tree, value

    def lower(self, bound: float) -> None:
        """Take a new bound, unless another search has shown a lower one."""
        self.bound = min(self.bound, bound)

    def on_task(self, bound: float) -> float:
        """The bound itself."""
        return bound

    def is_enough(self, bound: float) -> bool:
        """Always: every tree was evaluated on the task itself, or is below the target."""
        return True

    def report(self) -> None:
        """Tell the watch, if there is a tree."""
        if self.tree is not None:
            self.watch.report(self.value, max(self.bound, self.value))


def _least_return(model: Model) -> float:
    """A number that is clearly below the return of every tree; −∞ if some may return that."""
    worst = planning.expected_return(model.mdp, planning.worst_values(model.mdp)).lower
    if math.isinf(worst):
        return -math.inf
    best = abs(model.optimal_return.upper)
    size = max(model.scale, abs(worst), best if math.isfinite(best) else 0.0)
    return worst - (size if size > 1e-280 else 1.0)
