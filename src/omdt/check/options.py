"""Options: bounds of cases by an agent that keeps an action until it leaves a box."""

from functools import cache

import numpy as np

from .arithmetic import System
from .boxes import INVERSES, WIDEST, Group, Keeping, boxes_of
from .cases import Problem
from .claimed import Case, Size
from .reading import Ints, Numbers


class Options:
    """Bounds cases by vectors V, and remembers the boxes of regions and their equations."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self._keeping = problem, Keeping(problem)
        self.boxes = cache(self._boxes)
        self._systems: dict[tuple[bytes, int], System] = {}
        self._kept = 0

    def bound(self, case: Case, size: Size, V: Numbers) -> float:
        """No tree that completes a case returns more."""
        problem, actions = self.problem, self.problem.actions(case)
        Q, rounding = problem.q_values(V)
        gain = Q - V[:, None] + rounding
        fixed = np.flatnonzero(actions >= 0)
        excess: float = max([0, *gain[fixed, actions[fixed]].tolist()])
        for path, region, action in case:
            if action < 0:
                groups, single = self.boxes(region, size.below(case, path).depth)
                for group in groups:
                    excess = self._keeping.most(group, gain, excess)
                for states in single:
                    excess = self._most(states, gain, excess)
        return problem.at_start(V)[1] + problem.error_of(excess)

    def _most(self, states: Ints, gain: Numbers, excess: float) -> float:
        """As `Keeping.most`, in a single box."""
        for a in np.flatnonzero(self.problem.error_of(gain[states].max(axis=0)) > excess).tolist():
            kept, error = self._system(states, a).solve(gain[states, a])
            excess = max(excess, kept.max() + error)
        return excess

    def _system(self, states: Ints, a: int) -> System:
        """The equations of what is gained by keeping an action until a box is left."""
        key = (states.tobytes(), a)
        if key not in self._systems:
            self._kept += len(states) ** 2
            if self._kept > INVERSES:
                self._systems, self._kept = {}, len(states) ** 2
            self._systems[key] = System(self.problem, states, a)
        return self._systems[key]

    def _boxes(self, region: int, k: int) -> tuple[list[Group], list[Ints]]:
        """Boxes that are dealt with together, and those that are dealt with one by one: large ones, or all if exact."""
        boxes, widest = boxes_of(self.problem.regions, region, k), 0 if self.problem.exact else WIDEST
        together = [it for it in boxes if len(it) <= widest]
        return self._keeping.groups(together), [it for it in boxes if len(it) > widest]
