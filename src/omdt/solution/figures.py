"""The figures of a solution and what follows from them: gap, proof, and the place between random and optimal.

Where a cost is minimised, all figures are costs and the bound is a lower one; what is compared is their negatives.
"""

import math
from dataclasses import dataclass

from omdt.planning import ROUNDING, is_rounding
from omdt.solution.gaps import difference, relative_gap
from omdt.watch import TracePoint

MAX, MIN = "max", "min"
"""Whether the objective is to be large or small."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of a solution.

    Attributes:
        value: the discounted return of the tree, or what else the objective says, recomputed on the MDP.
        bound: no tree within the limits returns more than this, or less where the objective is to be small.
        requested_gap: the relative gap that counts as a proof.
        optimal_return: return of the best policy of any form.
        random_return: return of the uniformly random policy.
        seconds: how long it took; None with a limit on nodes, so that every run gives the same solution.
        trace: how value and bound moved over the seconds, or over the nodes where these are limited.
        rounding: how much value and bound may differ by rounding alone.
        scale: the scale of the problem's returns, against which a gap is measured where the value is nearly 0.
        value_error: how far the true return of the tree may be from the value; more than rounding only where time ran
            out in the middle of the evaluation.
        optimal_error: the same of the optimal return.
        random_error: the same of the random return.
        sense: whether the objective is to be large ("max") or small ("min").
    """

    value: float
    bound: float
    requested_gap: float
    optimal_return: float
    random_return: float
    seconds: float | None
    trace: tuple[TracePoint, ...]
    rounding: float = 0.0
    scale: float = 0.0
    value_error: float = 0.0
    optimal_error: float = 0.0
    random_error: float = 0.0
    sense: str = MAX

    @property
    def gap(self) -> float:
        """How far the value may be from the best of any tree within the limits, relative to the value.

        Where the value is tiny at the scale of the problem, the gap is relative to a small part of the scale.

        The bound is rounded up; a finished search whose bound exceeds the value for no other reason has a gap of 0.
        """
        value, bound = self._maximised(self.value), self._maximised(self.bound)
        return 0.0 if difference(bound, value) <= self.rounding else relative_gap(value, bound, self.scale)

    @property
    def proven(self) -> bool:
        """Whether the gap is at most the requested one."""
        return self.gap <= self.requested_gap

    @property
    def excess(self) -> float:
        """How much more than this tree another one within the limits may still return."""
        excess = difference(self._maximised(self.shown_bound), self._maximised(self.value))
        return 0.0 if excess <= self.rounding else excess

    @property
    def bound_is_optimum(self) -> bool:
        """Whether the bound says no more than that no tree beats the best policy of any form."""
        return self._maximised(self.bound) >= self._maximised(self.optimal_return) - self.rounding

    @property
    def shown_bound(self) -> float:
        """The bound as it is shown to people: no tree returns more than the best policy of any form.

        The bound of a certificate may be higher; that is the one in the file.
        """
        above = 0.0 if self.optimal_error <= self.rounding else self.optimal_error
        return self._maximised(min(self._maximised(self.bound), self._maximised(self.optimal_return) + above))

    def useful(self, bound: float) -> float:
        """A bound, or the return of the best policy of any form where the bound says no more than that."""
        return self._maximised(min(self._maximised(bound), self._maximised(self.optimal_return)))

    def is_rounding(self, error: float) -> bool:
        """Whether the error of a return is too small to be shown; otherwise time ran out before it was known better."""
        return is_rounding(error, max(self._finite(self.optimal_return, self.random_return, self.value), self.scale))

    @property
    def planned(self) -> bool:
        """Whether the returns of the optimal and of the random policy are known, and not only bounded."""
        return self.is_rounding(max(self.optimal_error, self.random_error))

    @property
    def indifferent(self) -> bool:
        """Whether even the random policy is optimal."""
        largest = max(self._finite(self.optimal_return, self.random_return), self.scale)
        return self.planned and self._span <= ROUNDING * largest

    @property
    def _span(self) -> float:
        """How much better the optimal policy is than the random one."""
        return difference(self._maximised(self.optimal_return), self._maximised(self.random_return))

    @staticmethod
    def _finite(*figures: float) -> float:
        """The largest absolute value of those figures that are finite."""
        return max((abs(figure) for figure in figures if math.isfinite(figure)), default=0.0)

    def _maximised(self, figure: float) -> float:
        """A figure as one that is to be large: its negative where the objective is to be small; and back."""
        return figure if self.sense == MAX else 0.0 - figure

    def on_scale(self, amount: float) -> float | None:
        """A difference of returns as a part of that between the random and the optimal policy, if that is known."""
        span = self._span
        known = self.planned and not self.indifferent and span > 0
        return amount / span if known and math.isfinite(span) and math.isfinite(amount) else None

    @property
    def effort(self) -> tuple[float, str]:
        """How much work it was, and in what that is counted: seconds, or nodes where these are limited."""
        if self.seconds is not None:
            return self.seconds, "seconds"
        return (self.trace[-1][0] if self.trace else 0.0), "nodes"

    @property
    def normalized_return(self) -> float | None:
        """The return on a scale where the random policy has 0 and the optimal policy has 1.

        Where even the random policy is optimal (`indifferent`), there is no such scale, and the answer is 1. Where one
        of the three returns is infinite, there is none either, and the answer is None.
        """
        span = self._span
        if self.indifferent or span <= 0:
            return 1.0
        if not all(map(math.isfinite, (span, self.value, self.random_return))):
            return None
        return (self._maximised(self.value) - self._maximised(self.random_return)) / span
