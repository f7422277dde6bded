"""The collection: the policies that were found so far, and what a further one must return to be taken."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from omdt import planning
from omdt.mdp import Ints
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Tree
from omdt.watch import Watch


@dataclass(frozen=True, eq=False)
class Found:
    """A policy that some tree within the limits has.

    Attributes:
        plays: [S] what it plays in the decisive states that it visits; −1 elsewhere.
        value: its return on the problem of the task, after questions are paid.
        tree: a tree that has it; None if any will do that does.
    """

    plays: Ints
    value: float
    tree: Tree | None = None


class Collection:
    """Takes all policies that return at least as much as the best one less a tolerance, and each only once.

    Args:
        model: the model of the task.
        tolerance: how much less than the best return is enough, given the best return.
        limit: maximum number of policies that are kept, the best ones.
        progress: called with the number of policies whenever one is found.

    Attributes:
        found: the policies so far.
        truncated: whether there are more than the limit allows.
        noise: a difference of returns that is no more than this counts as rounding.
    """

    def __init__(
        self, model: Model, tolerance: Callable[[float], float], limit: int, progress: Callable[[int], None]
    ) -> None:
        self._model, self._tolerance, self._limit, self._progress = model, tolerance, limit, progress
        largest = abs(model.optimal_return.value)
        self.noise = planning.ROUNDING * max(largest if np.isfinite(largest) else 0.0, model.scale)
        self.found: list[Found] = []
        self.truncated = False
        self._known: set[bytes] = set()
        self._best = -np.inf

    @property
    def least(self) -> float:
        """A policy that returns less than this is not among those that are asked for."""
        return self._best if np.isinf(self._best) else self._best - self._tolerance(self._best)

    @property
    def floor(self) -> float:
        """A policy is taken if it returns at least this: a difference of no more than rounding counts as none."""
        if self.truncated:
            return min(found.value for found in self.found) + self.noise
        return self.least - self.noise

    def add(self, plays: Ints, watch: Watch) -> None:
        """Take a policy if it is asked for and not known; keep no more than the limit allows.

        Args:
            plays: [S] what it plays in the decisive states that it visits; −1 elsewhere.
            watch: if it ends the evaluation, an `OutOfTimeError` is raised.
        """
        if plays.tobytes() in self._known:
            return
        # What is played elsewhere makes no difference.
        returned = planning.policy_return(self._model.mdp, np.maximum(plays, 0), watch)
        if not planning.is_rounding(returned.error, max(abs(returned.value), self.noise / planning.ROUNDING)):
            watch.check()
        self._take(Found(plays, returned.value))

    def add_tree(self, tree: Tree, plays: Ints, value: float) -> None:
        """Take a tree whose return is known, if it is asked for; of those that play the same, the best one is kept."""
        key = plays.tobytes()
        same = next((it for it in self.found if it.plays.tobytes() == key), None) if key in self._known else None
        if same is not None:
            if value <= same.value + self.noise:
                return
            self.found = [it for it in self.found if it is not same]
        self._take(Found(plays, value, tree))

    def _take(self, new: Found) -> None:
        """Take a policy that is not among those that were found, if it returns enough."""
        if self.found and new.value < self.floor:
            return
        self._best = max(self._best, new.value)
        self.found = [it for it in (*self.found, new) if it.value >= self.least - self.noise]
        if len(self.found) > self._limit:
            self.truncated = True
            self.found.sort(key=lambda it: -it.value)
            self.found.pop()
        self._known = {it.plays.tobytes() for it in self.found}
        self._progress(len(self.found))
