"""Induction: a vector V that no choice raises bounds everything that can be earned by these choices.

Let C(s) be the actions that may be chosen in s, and let V be at least the final reward in every end, and elsewhere

    V(s) ≥ r(s, a) + γ Σ P(s, a, s') V(s')     for every a in C(s).

By induction, V(s0) is at least what a policy earns in n steps plus the expectation of V afterwards, for every n. What
remains to be shown is that this expectation is at least that of the final reward in the limit. With γ < 1 it vanishes.
With γ = 1, one of these suffices:

- an endless policy is worth −∞, and rewards are at most 0: other policies come to an end, where V is large enough;
- a policy is worth what it earns, rewards and final rewards have one sign, and V is at least 0 outside of ends;
- a policy is worth what it earns, rewards and final rewards are at most 0, and the inequality is strict wherever V is
  below 0 outside of ends. The sum of the differences, hence the number of visits to these states, is then finite
  unless the policy earns −∞;
- every policy that makes these choices comes to an end, which the graph shows.

Rows are divided by their sums: with σ = Σ P, the inequality reads r σ + Σ P (V(s') − V(s) − (1 − γ) V(s')) ≤ 0. Where
all values are the same and nothing is earned, this is exact in floating-point numbers, too.
"""

import math
from fractions import Fraction
from typing import cast

import numpy as np

from .asked import Asked
from .model import EPSILON, Model
from .reading import Bools, Floats, Ints, Numbers, readable, require

SMALLEST = 1e-150  # absolute value of a number of the model that is not 0, so that no product underflows


class Induction:
    """Verifies vectors for one model and what is asked of it."""

    def __init__(self, model: Model, asked: Asked, *, exact: bool = False) -> None:
        self.model, self.asked, self.exact = model, asked, exact
        self.S, self.A = model.rewards.shape
        for name, numbers in (("probability", model.data), ("reward", asked.rewards)):
            used = numbers[numbers != 0]
            readable(len(used) == 0 or abs(used).min() >= SMALLEST, f"a {name} is too small to compute with")
        self.terms = int(np.diff(model.indptr).max()) + 16  # operations per sum over a row of transitions, at most
        self.unit = 0.0 if exact else EPSILON
        self.data, self.rewards = self.numbers(model.data), self.numbers(asked.rewards).ravel()
        self.final, self.initial = self.numbers(asked.final), self.numbers(model.initial)
        self.starts, self.origin = model.indptr[:-1], np.repeat(np.arange(self.S), np.diff(model.indptr[:: self.A]))
        self.mass = self._summed(self.data)
        self.shrinkage = self.number(1.0) - self.number(asked.discount)

    def number(self, x: float) -> float:
        """A floating-point number in the arithmetic that is used."""
        return cast(float, Fraction(x)) if self.exact else float(x)

    def numbers(self, array: Floats) -> Numbers:
        """An array of floating-point numbers in the arithmetic that is used."""
        if not self.exact:
            return np.asarray(array, dtype=np.float64)
        exact = np.empty(array.shape, dtype=object)
        exact.ravel()[:] = [Fraction(x) for x in array.ravel().tolist()]
        return cast(Numbers, exact)

    def gains(self, V: Numbers) -> tuple[Numbers, Numbers]:
        """[S, A] r σ + Σ P (V(s') − V(s) − (1 − γ) V(s')), and a bound on its rounding error."""
        drift, rounding = self.drift(V)
        earned = self.rewards * self.mass
        gain, error = earned + drift, rounding + self.terms * self.unit * (abs(earned) + abs(drift))
        return gain.reshape(self.S, self.A), error.reshape(self.S, self.A)

    def drift(self, V: Numbers) -> tuple[Numbers, Numbers]:
        """[S·A] Σ P (V(s') − V(s) − (1 − γ) V(s')), and a bound on its rounding error."""
        ahead = V[self.model.indices]
        change, lost = ahead - V[self.origin], self.shrinkage * ahead
        size = self._summed(self.data * (abs(change) + abs(lost)))
        return self._summed(self.data * (change - lost)), self.terms * self.unit * size

    def at_start(self, V: Numbers) -> float:
        """p0·V from above."""
        total, size = (self.initial * V).sum(), (self.initial * abs(V)).sum()
        return cast(float, total + (self.S + 8) * self.unit * size)

    def bound(self, V: Numbers, choices: Bools, *, narrow: bool) -> float:
        """No policy that makes the choices [S, A] earns more; raises if V does not show that.

        With `narrow`, only states count that such policies come to; where an endless policy is worth −∞, only states
        from which a policy can be sure of coming to an end, without leaving them.
        """
        counts, choices = np.ones(self.S, dtype=np.bool_), choices & ~self.asked.ends[:, None]
        if narrow:
            sure = self.sure(choices) if self.asked.endless == -math.inf else counts
            if (self.model.initial[~sure] > 0).any():
                return -math.inf
            choices = choices & self._all_within(sure)
            counts = self.model.reached(choices)
        inner = counts & ~self.asked.ends
        gain, error = self.gains(V)
        over = choices & inner[:, None] & ~(gain + error <= 0)
        require(not over.any(), f"the vector is raised in state {_first(over)[0]} by action {_first(over)[1]}")
        low = counts & self.asked.ends & ~(V >= self.final)
        require(not low.any(), f"the vector is below the final reward in state {_first(low)[0]}")
        if self.asked.discount == 1:
            self._check_limit(V, choices & inner[:, None], inner, gain + error)
        return self.at_start(np.where(counts, V, 0))

    def _check_limit(self, V: Numbers, choices: Bools, inner: Bools, gain: Numbers) -> None:
        """Raise unless the expectation of V in the limit is known to be at least the final reward."""
        asked = self.asked
        at_most, at_least = ((asked.rewards <= 0).all(), (asked.rewards >= 0).all())
        if asked.endless == -math.inf and at_most:
            return
        if asked.endless is None:
            at_most, at_least = at_most and (asked.final <= 0).all(), at_least and (asked.final >= 0).all()
            below = inner & (V < 0)
            if (at_most or at_least) and not below.any():
                return
            if at_most and not (choices & below[:, None] & ~(gain < 0)).any():
                return
        trapped = self.trapped(choices) & inner
        what = "the vector does not show what is earned in the limit, and a policy need not come to an end from"
        require(not trapped.any(), f"{what} state {_first(trapped)[0]}")

    def trapped(self, choices: Bools) -> Bools:
        """[S] the states from which some policy that makes the choices [S, A] never comes to an end for certain."""
        inside = ~self.asked.ends
        while True:
            kept = inside & (choices & self._all_within(inside)).any(axis=1)
            if np.array_equal(kept, inside):
                return kept
            inside = kept

    def sure(self, choices: Bools) -> Bools:
        """[S] the states from which some policy that makes the choices [S, A] comes to an end for certain."""
        inside = np.ones(self.S, dtype=np.bool_)
        while True:
            within, found = choices & self._all_within(inside), self.asked.ends
            while True:
                entering = self._counted(found) > 0
                more = found | (within & entering).any(axis=1)
                if np.array_equal(more, found):
                    break
                found = more
            if np.array_equal(found, inside):
                return found
            inside = found

    def _all_within(self, states: Bools) -> Bools:
        """[S, A] whether every successor lies in a set of states."""
        return np.asarray(self._counted(~states) == 0)

    def _counted(self, states: Bools) -> Ints:
        """[S, A] how many successors lie in a set of states."""
        inside = states[self.model.indices] & (self.model.data > 0)
        counts: Ints = np.add.reduceat(inside, self.starts, dtype=np.int64)
        return counts.reshape(self.S, self.A)

    def _summed(self, entries: Numbers) -> Numbers:
        """[S·A] sums over rows."""
        return cast(Numbers, np.add.reduceat(entries, self.starts))


def _first(found: Bools) -> tuple[int, ...]:
    """The place of the first true entry; zeros if there is none."""
    return tuple(int(i) for i in np.unravel_index(int(found.argmax()), found.shape))
