"""Induction: a vector V that no choice raises bounds everything that can be earned by these choices.

Let C(s) be the actions that may be chosen in s, and let V be at least the final reward in every end, and elsewhere

    V(s) ≥ r(s, a) + γ Σ P(s, a, s') V(s')     for every a in C(s).

By induction, V(s0) is at least what a policy earns in n steps plus the expectation of V afterwards, for every n. What
remains to be shown is that this expectation is at least that of the final reward in the limit. With γ < 1 it vanishes.
With γ = 1, one of these suffices:

- an endless policy is worth −∞, and rewards are at most 0: other policies come to an end, where V is large enough;
- a policy is worth what it earns, and V is at least 0 outside of ends;
- a policy is worth what it earns, rewards are at most 0, and the inequality is strict wherever V is below 0 outside of
  ends. The sum of the differences, hence the number of visits to these states, is then finite unless the policy earns
  −∞;
- every policy that makes these choices comes to an end, which the graph shows.

Rows and the distribution of the first state are divided by their sums: with σ = Σ P, the inequality reads
r σ + Σ P (V(s') − V(s) − (1 − γ) V(s')) ≤ 0. Where all values are the same and nothing is earned, this is exact in
floating-point numbers, too.
"""

import math
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import cast

import numpy as np

from .asked import Asked
from .model import EPSILON, Model, entries_of
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
        self.started = self.initial.sum()
        self.starts = model.indptr[:-1]
        self.mass = cast(Numbers, np.add.reduceat(self.data, self.starts))
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

    def about(self, rewards: Numbers, *, keeps_ends: bool) -> "Induction":
        """The same for other rewards [S, A]; without final rewards, an endless policy is worth what it earns."""
        other = copy(self)
        other.rewards, other.asked = rewards.ravel(), replace(self.asked, rewards=rewards)
        if not keeps_ends:
            other.final = 0 * self.final
            other.asked = replace(other.asked, final=np.zeros(self.S), endless=None)
        return other

    def gains(self, V: Numbers, rows: Ints) -> tuple[Numbers, Numbers]:
        """What rows s·A + a gain, r σ + Σ P (V(s') − V(s) − (1 − γ) V(s')), and a bound on the rounding errors."""
        drift, rounding = self.drift(V, rows)
        earned = self.rewards[rows] * self.mass[rows]
        return earned + drift, rounding + self.terms * self.unit * (abs(earned) + abs(drift))

    def drift(self, V: Numbers, rows: Ints) -> tuple[Numbers, Numbers]:
        """Σ P (V(s') − V(s) − (1 − γ) V(s')) for some rows, and a bound on the rounding errors."""
        if len(rows) == 0:
            return self.rewards[rows], self.rewards[rows]
        lengths = self.model.indptr[rows + 1] - self.model.indptr[rows]
        entries, starts = entries_of(self.model.indptr, rows), np.cumsum(lengths) - lengths
        ahead, p = V[self.model.indices[entries]], self.data[entries]
        change, lost = ahead - np.repeat(V[rows // self.A], lengths), self.shrinkage * ahead
        size = np.add.reduceat(p * (abs(change) + abs(lost)), starts)
        return np.add.reduceat(p * (change - lost), starts), self.terms * self.unit * size

    def at_start(self, V: Numbers) -> float:
        """p0·V from above."""
        total, size = (self.initial * V).sum() / self.started, (self.initial * abs(V)).sum()
        # p0 is divided by its sum, so the largest value is not exceeded.
        return cast(float, min(total + 4 * (self.S + 8) * self.unit * size, V[self.model.initial > 0].max()))

    def bound(self, V: Numbers, choices: Bools, *, narrow: bool) -> float:
        """No policy that makes the choices [S, A] earns more; raises if V does not show that.

        With `narrow`, only states count to which policies come that are not worth −∞ (`narrowed`).
        """
        counts, choices = np.ones(self.S, dtype=np.bool_), choices & ~self.asked.ends[:, None]
        if narrow:
            narrowed = self.narrowed(choices)
            if narrowed is None:
                return -math.inf
            choices, counts = narrowed
        inner = counts & ~self.asked.ends
        rows = np.flatnonzero(choices & inner[:, None])
        gain, error = self.gains(V, rows)
        over = rows[~(gain + error <= 0)]
        require(len(over) == 0, f"the vector is raised in state {over[:1] // self.A} by action {over[:1] % self.A}")
        low = counts & self.asked.ends & ~(V >= self.final)
        require(not low.any(), f"the vector is below the final reward in state {low.argmax()}")
        if self.asked.discount == 1:
            strict = inner.copy()
            strict[rows[~(gain + error < 0)] // self.A] = False
            self._check_limit(V, choices & inner[:, None], inner, strict)
        return self.at_start(np.where(counts, V, 0))

    def narrowed(self, choices: Bools) -> tuple[Bools, Bools] | None:
        """[S, A] the choices that a policy can make which is not worth −∞, and [S] the states that they come to.

        Where an endless policy is worth −∞, it must be able to come to an end for certain; where only costs are earned,
        to come for certain to an end or to states where it can go on for ever without any. None if every policy that
        makes the choices [S, A] is worth −∞.
        """
        choices, asked = choices & ~self.asked.ends[:, None], self.asked
        costs = asked.discount == 1 and asked.endless is None and (asked.rewards <= 0).all()
        if asked.endless == -math.inf or costs:
            free = self.trapped(choices & (asked.rewards == 0)) if costs else np.zeros(self.S, dtype=np.bool_)
            sure = self.sure(choices, asked.ends | free)
            if (self.model.initial[~sure] > 0).any():
                return None
            choices = choices & self._all_within(sure)
        return choices, self.model.reached(choices)

    def _check_limit(self, V: Numbers, choices: Bools, inner: Bools, strict: Bools) -> None:
        """Raise unless the expectation of V in the limit is known to be at least the final reward.

        `strict` [S] are the states in which every choice lowers V.
        """
        asked = self.asked
        at_most = (asked.rewards <= 0).all()
        if asked.endless == -math.inf and at_most:
            return
        below = inner & (V < 0)
        if asked.endless is None and (not below.any() or (at_most and strict[below].all())):
            return
        trapped = self.trapped(choices) & inner
        what = "the vector does not show what is earned in the limit, and a policy need not come to an end from"
        require(not trapped.any(), f"{what} state {trapped.argmax()}")

    def trapped(self, choices: Bools, among: Bools | None = None) -> Bools:
        """[S] the states from which some policy that makes the choices [S, A] stays among some states for certain.

        Unless these states are given, they are all that are no ends.
        """
        inside = ~self.asked.ends if among is None else among
        while True:
            kept = inside & (choices & self._all_within(inside)).any(axis=1)
            if np.array_equal(kept, inside):
                return kept
            inside = kept

    def sure(self, choices: Bools, goal: Bools) -> Bools:
        """[S] the states from which some policy that makes the choices [S, A] comes to a goal for certain."""
        inside = np.ones(self.S, dtype=np.bool_)
        while True:
            within, found = choices & self._all_within(inside), goal
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
