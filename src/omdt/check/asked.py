"""What is asked: an objective in PRISM's property syntax as rewards and ends on the states of a model.

The grammar, with conditions over labels and features:

    Pmax=? [F c]   Pmin=? [c U c]   Pmax=? [G c]   R{"time"}min=? [F c]   Rmax=? [C]   Rmax=? [Cdiscount=0.99]
    c: "label"   x=5   x!=y   flag   true   !c   c & c   c | c   c => c   (c)

Everything is maximised: a figure that is to be small is maximised with the other sign. A policy earns rewards until it
comes to a state that is an *end*, and earns the *final* reward of that state there:

    F b           b is an end whose final reward is 1, or −1 where the probability is minimised
    a U b         and so, with the final reward 0, is every other state outside of a
    G a           1 minus the probability to reach the complement of a
    R [F b]       b is an end; a policy that may never come there is worth ∞ or −∞, whichever is the infinite total
    R [C]         a state that is never left is an end if nothing is earned there
"""

import math
from dataclasses import dataclass

import numpy as np

from .conditions import Reader
from .model import Model
from .reading import Bools, Floats, Json, readable


@dataclass(frozen=True, eq=False)
class Asked:
    """What is maximised."""

    rewards: Floats  # [S, A]; 0 in ends
    ends: Bools  # [S] the states in which everything is over
    final: Floats  # [S] what is earned in ends; 0 elsewhere
    discount: float
    endless: float | None = None  # what a policy is worth that may never come to an end: ±∞, or what it earns (None)
    sign: int = 1  # −1 where the figure that users see is to be small
    offset: float = 0.0  # the figure is sign · (what is earned + offset)
    words: str = ""  # the property; empty for the discounted return

    def shown(self, earned: float) -> float:
        """The figure that users see."""
        return self.sign * (earned + self.offset)

    def earned(self, shown: float) -> float:
        """What is earned where users see a figure, up to rounding."""
        return self.sign * shown - self.offset


def read_asked(model: Model, stated: Json, discount: Json) -> Asked:
    """What a solution states; nothing, or the discount alone, is the discounted return of the model."""
    S = len(model.rewards)
    if stated in (None, f"Rmax=? [Cdiscount={discount!r}]"):
        same = discount == model.discount and model.discount < 1
        readable(same, f"the solution is of another problem: discount is {discount!r:.80}, not {model.discount!r}")
        return Asked(model.rewards, np.zeros(S, dtype=np.bool_), np.zeros(S), model.discount)
    readable(isinstance(stated, str), f"{stated!r:.80} is no property")
    asked = _Property(model, str(stated)).read()
    fits = discount == asked.discount
    readable(fits, f"the solution is of another problem: discount is {discount!r:.80}, not {asked.discount!r}")
    return asked


class _Property(Reader):
    """Reads one property."""

    def read(self) -> Asked:
        """What is asked; anything else than the grammar above is unreadable."""
        kind, sense = self._operator()
        reward = self._reward() if kind == "R" else self.model.rewards
        sense = sense or self.one_of("max", "min")
        reward = self._reward() if kind == "R" and self.sees("{") else reward
        self.expect("=?")
        self.expect("[")
        asked = self._probability(sense) if kind == "P" else self._total(sense, reward)
        self.expect("]")
        self.expect_end()
        return asked

    def _operator(self) -> tuple[str, str]:
        """P or R, and the sense if it is part of the same word."""
        word = self.take("name")
        readable(word[:1] in ("P", "R") and word[1:] in ("", "max", "min"), f"{word!r:.40} is neither P nor R")
        return word[:1], word[1:]

    def _probability(self, sense: str) -> Asked:
        S, sign = len(self.model.rewards), 1 if sense == "max" else -1
        if self.taken("G"):
            target = ~self.condition()
            ends, final, offset = target, -sign * target.astype(np.float64), float(sign)
        else:
            staying = np.ones(S, dtype=np.bool_)
            if not self.taken("F"):
                staying = self.condition()
                self.expect("U")
            target = self.condition()
            ends, final, offset = target | ~staying, sign * target.astype(np.float64), 0.0
        nothing = np.zeros_like(self.model.rewards)
        return Asked(nothing, ends, final + 0.0, 1.0, None, sign, offset, self.source)

    def _total(self, sense: str, reward: Floats) -> Asked:
        S, sign = len(reward), 1 if sense == "max" else -1
        rewards, ends, discount, endless = sign * reward + 0.0, np.zeros(S, dtype=np.bool_), 1.0, None
        if self.taken("F"):
            ends, endless = self.condition(), sign * math.inf
            rewards = np.where(ends[:, None], 0.0, rewards)
        elif self.taken("Cdiscount"):
            discount = float(self.take("number")) if self.taken("=") else self.model.discount
            readable(0 < discount < 1, f"the discount is {discount}, not between 0 and 1")
        else:
            self.expect("C")
            ends = self.model.absorbing & (rewards == 0).all(axis=1)
            endless = None if self.model.endless is None else sign * self.model.endless
        return Asked(rewards, ends, np.zeros(S), discount, endless, sign, 0.0, self.source)

    def _reward(self) -> Floats:
        """[S, A] the rewards of a name in braces; without one those of the model."""
        if not self.taken("{"):
            return self.model.rewards
        name = self.take("text")
        self.expect("}")
        readable(name in self.model.reward_models, f"the model has no reward {name!r:.80}")
        return self.model.reward_models[name]
