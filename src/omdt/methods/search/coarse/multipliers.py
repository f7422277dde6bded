"""Multipliers: the weighings of return and limited totals with which the coarse search begins.

The bound g(λ) = max_π [return − Σ_i λ_i (c_i·x − limit_i)] is convex and piecewise linear in every multiplier. Its
minimum along one multiplier is found by secants: of a policy that exceeds the limit and one that keeps it, each is a
line in λ; where the two cross, the best policy is a third line, or the crossing is the minimum. With several ceilings
the multipliers take turns. Every multiplier gives a valid bound, so it is enough to be near the minimum.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from omdt import planning
from omdt.errors import InputError
from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search.coarse.observing import Grounds
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.coarse.weighing import Weighing, constant_of, limit_of, payoffs_of, plain
from omdt.watch import Watch

MAX_SECANTS = 12
"""Optimisation problems per multiplier and turn: most multipliers are found after six."""

TURNS = 2
"""How often every multiplier is tuned if there are several."""


def weighings(relaxation: Relaxation, choices: Bools, watch: Watch) -> list[Weighing]:
    """The weighings of a task: near the lowest Lagrangian bound, the return alone, and every ceiling alone.

    Args:
        relaxation: of the coarse trees.
        choices: [S, A] the actions that are possible in the first coarse tree.
        watch: ends the computation early, with worse multipliers.
    """
    task = relaxation.model.task
    if not task.ceilings:
        return [plain(relaxation)]
    tuning = _Tuning(relaxation, choices, watch)
    alone = [tuning.weighing(grounds) for grounds in tuning.alone]
    together = tuning.tuned()
    return [*together, plain(relaxation), *(it for it in alone if it is not None)]


class _Line(NamedTuple):
    """A policy as a line in the multiplier: its return for the payoffs of the other multipliers, and its total."""

    earned: float
    total: float


class _Tuning:
    """Finds multipliers."""

    def __init__(self, relaxation: Relaxation, choices: Bools, watch: Watch) -> None:
        self._relaxation, self._choices, self._watch = relaxation, choices, watch
        self._task = relaxation.model.task
        n = len(self._task.ceilings)
        self.alone = [Grounds(0.0, tuple(float(i == j) for j in range(n))) for i in range(n)]
        self._start = relaxation.model.optimal.value
        self._costs = [it.counting(self._task.problem) for it in self._task.ceilings]

    def weighing(self, grounds: Grounds) -> Weighing | None:
        """The weighing on some grounds; None if payoffs of both signs have no total."""
        payoffs = payoffs_of(self._task, grounds)
        mdp = replace(self._task.problem, rewards=payoffs.rewards, endless=payoffs.endless)
        try:
            planning.check_totals(mdp)
        except InputError:
            return None
        values = planning.restricted_values(mdp, self._choices, self._start, self._watch)
        return Weighing(grounds, payoffs, values.upper, constant_of(self._task, grounds))

    def tuned(self) -> list[Weighing]:
        """The weighing with the lowest bound that is found; empty if all multipliers are 0."""
        multipliers = [0.0] * len(self._costs)
        for _ in range(TURNS if len(multipliers) > 1 else 1):
            for i in range(len(multipliers)):
                multipliers[i] = self._multiplier(i, multipliers)
        found = self.weighing(Grounds(1.0, tuple(multipliers))) if any(multipliers) else None
        return [] if found is None else [found]

    def _multiplier(self, i: int, multipliers: list[float]) -> float:
        """The best multiplier of a ceiling, given the others."""
        limit = limit_of(self._task.ceilings[i])
        free, cheapest = self._line(i, multipliers, 0.0), self._line(i, multipliers, None)
        if free is None or cheapest is None or free.total <= limit or cheapest.total >= free.total:
            return 0.0
        best = 0.0
        for _ in range(MAX_SECANTS):
            best = max(0.0, (free.earned - cheapest.earned) / (free.total - cheapest.total))
            crossing = free.earned - best * (free.total - limit)
            line = self._line(i, multipliers, best)
            if line is None or self._watch.remaining == 0:
                break
            above = line.earned - best * (line.total - limit) - crossing
            if above <= planning.ROUNDING * max(abs(crossing), self._relaxation.model.scale):
                break
            free, cheapest = (line, cheapest) if line.total > limit else (free, line)
            if free.total <= cheapest.total:
                break
        return best

    def _line(self, i: int, multipliers: list[float], multiplier: float | None) -> _Line | None:
        """The best policy for a multiplier of one ceiling, None for the total alone; None if it has no finite line."""
        others = (*multipliers[:i], 0.0, *multipliers[i + 1 :])
        if multiplier is None:
            grounds = self.alone[i]
        else:
            grounds = Grounds(1.0, (*multipliers[:i], multiplier, *multipliers[i + 1 :]))
        weighing = self.weighing(grounds)
        if weighing is None:
            return None
        policy = self._greedy(weighing.payoffs.rewards, weighing.above)
        problem = self._task.problem
        earning = replace(problem, rewards=payoffs_of(self._task, Grounds(1.0, others)).rewards)
        earned, total = (planning.policy_return(it, policy, self._watch).value for it in (earning, self._costs[i]))
        return _Line(earned, total) if np.isfinite(earned) and np.isfinite(total) else None

    def _greedy(self, rewards: Floats, values: Floats) -> Ints:
        """[S] the best actions by values [S]."""
        mdp = self._task.problem
        q = rewards + mdp.discount * (mdp.transitions @ values).reshape(rewards.shape)
        best: Ints = np.where(self._choices, q, -np.inf).argmax(axis=1)
        return best
