"""Evaluation: totals of what the policy of a tree earns or costs, each from below and from above."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .asked import Asked
from .cases import Problem
from .chain import Chain
from .induction import Induction
from .model import EPSILON, Model
from .reading import Bools, Floats, Ints


class Total(NamedTuple):
    """An expected total."""

    low: float
    high: float
    largest: float  # absolute value of a state's total, or a bound on it

    @property
    def rounding(self) -> float:
        """By how much the total of a solver that rounds a few times may be off."""
        return (self.high - self.low) + 16 * EPSILON * self.largest if math.isfinite(self.low) else 0.0


class Evaluation:
    """Evaluates a policy [S] on a model, with or without a discount."""

    def __init__(self, model: Model, asked: Asked, policy: Ints, *, exact: bool) -> None:
        self.model, self.asked, self.policy, self.exact = model, asked, policy, exact
        self.problem = Problem(model, exact=exact) if asked.discount < 1 else None
        self.induction = Induction(model, asked, exact=exact) if asked.discount == 1 else None

    def returned(self, rewards: Floats) -> Total:
        """What is earned with these rewards [S, A], and with the final rewards of what is asked."""
        return self._total(rewards, keeps_ends=True)

    def cost(self, costs: Floats) -> Total:
        """The total of some costs [S, A]; without a discount, nothing counts in ends."""
        return self._total(costs, keeps_ends=False)

    def visits(self, weights: Floats, over: Bools) -> Total:
        """The total of weights [S] over all visits, which are 0 in states that are over [S].

        Without a discount, a state of a class that is never left counts as often as the class is entered there.
        """
        rewards = np.broadcast_to(weights[:, None], self.model.rewards.shape)
        if self.induction is None:
            return self.cost(rewards)
        closed = Chain(self.induction, self.policy).closed_classes(over)
        asked = replace(
            self.asked,
            rewards=np.where((over | closed)[:, None], 0.0, rewards),
            ends=over | closed,
            final=np.where(closed, weights, 0.0),
            endless=None,
        )
        return _of(Chain(Induction(self.model, asked, exact=self.exact), self.policy))

    def _total(self, rewards: Floats, *, keeps_ends: bool) -> Total:
        if self.problem is not None:
            return Total(*self.problem.value(self.policy, rewards), self.problem.largest_of(rewards))
        assert self.induction is not None
        numbers = self.induction.numbers(np.where(self.asked.ends[:, None], 0.0, rewards))
        return _of(Chain(self.induction.about(numbers, keeps_ends=keeps_ends), self.policy))


def _of(chain: Chain) -> Total:
    low, high = chain.value()
    return Total(low, high, chain.largest)
