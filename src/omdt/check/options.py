"""Options: bounds of cases by an agent that keeps an action until it leaves a box."""

import math
from functools import cache
from itertools import combinations

import numpy as np

from .arithmetic import System
from .cases import Problem
from .claimed import Case, Size
from .reading import Bools, Ints, Numbers, require

MAX_BOXES = 200_000  # boxes per region; more would take hours
INVERSES = 1 << 24  # numbers in inverses that are kept for other cases, 128 MB


class Options:
    """Bounds cases by vectors V, and remembers the boxes of regions and the equations of boxes."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
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
        opens = [(region, size.below(case, path).depth) for path, region, action in case if action < 0]
        for box in dict.fromkeys(box for region, k in opens for box in self.boxes(region, k)):
            states = np.frombuffer(box, dtype=np.int64)
            # By being kept until the box is left, an action gains no more than its largest gain there in every step.
            for a in np.flatnonzero(problem.error_of(gain[states].max(axis=0)) > excess).tolist():
                kept, error = self._system(box, states, a).solve(gain[states, a])
                excess = max(excess, kept.max() + error)
        return problem.at_start(V)[1] + problem.error_of(excess)

    def _system(self, box: bytes, states: Ints, a: int) -> System:
        """The equations of what is gained by keeping an action until a box is left."""
        if (box, a) not in self._systems:
            self._kept += len(states) ** 2
            if self._kept > INVERSES:
                self._systems, self._kept = {}, len(states) ** 2
            self._systems[box, a] = System(self.problem, states, a)
        return self._systems[box, a]

    def _boxes(self, region: int, k: int) -> list[bytes]:
        """Sets of states, of which every leaf with at most k questions contains one around each of its states.

        An answer is tight at a state if no other answer that holds there leaves strictly fewer states of the region.
        A leaf around a state is cut out by at most k answers, and each can be replaced by a tight one.
        """
        regions = self.problem.regions
        states = regions.states[region]
        right = regions.sides[states][:, regions.dividing(region)]
        answers = np.hstack([~right, right]).T
        patterns = [np.flatnonzero(tight).tolist() for tight in np.unique(_tight(answers), axis=0)]
        number = sum(math.comb(len(conditions), min(k, len(conditions))) for conditions in patterns)
        require(number <= MAX_BOXES, f"a region has more than {MAX_BOXES:,} boxes")
        found: dict[bytes, None] = {}
        for conditions in patterns:
            for chosen in combinations(conditions, min(k, len(conditions))):
                found[states[answers[list(chosen)].all(axis=0)].tobytes()] = None
        return list(found)


def _tight(answers: Bools) -> Bools:
    """[n, C] whether each of C answers [C, n] is tight at each of n states."""
    numbers = answers.astype(np.float64)
    sizes = numbers.sum(axis=1)
    smaller = (numbers @ numbers.T == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    return np.asarray(answers.T & ~(numbers.T @ smaller.astype(np.float64) > 0))
