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
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .model import Model
from .reading import Bools, Floats, Json, UnreadableError, readable

TOKEN = re.compile(
    r'\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)'
    r"|(?P<symbol>=>|<=|>=|!=|=\?|[=<>!&|()\[\]{};-]))"
)
COMPARISONS: dict[str, Callable[[Floats, Floats], Bools]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
BINDING = {"=>": 1, "|": 2, "&": 3}  # how strongly connectives bind
MAX_PROPERTY = 20_000  # characters of a property; more would be nested too deeply to follow


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
    readable(isinstance(stated, str) and len(stated) <= MAX_PROPERTY, f"{stated!r:.80} is no property")
    asked = _Property(model, str(stated)).read()
    fits = discount == asked.discount
    readable(fits, f"the solution is of another problem: discount is {discount!r:.80}, not {asked.discount!r}")
    return asked


@dataclass
class _Property:
    """Reads one property by recursive descent."""

    model: Model
    source: str
    tokens: list[tuple[str, str]] = field(default_factory=list)  # kinds and texts, in reverse order

    def read(self) -> Asked:
        """What is asked; anything else than the grammar above is unreadable."""
        place = 0
        while match := TOKEN.match(self.source, place):
            kind, place = match.lastgroup or "", match.end()
            self.tokens.insert(0, (kind, re.sub(r"\\(.)", r"\1", match[kind]) if kind == "text" else match[kind]))
        known = not self.source[place:].strip()
        readable(known, f"the property {self.source!r:.80} is not understood at {self.source[place:]!r:.40}")
        kind, sense = self._operator()
        reward = self._reward() if kind == "R" else self.model.rewards
        sense = sense or self._one_of("max", "min")
        reward = self._reward() if kind == "R" and self._sees("{") else reward
        self._expect("=?")
        self._expect("[")
        asked = self._probability(sense) if kind == "P" else self._total(sense, reward)
        self._expect("]")
        readable(not self.tokens, f"the property {self.source!r:.80} goes on where it should end")
        return asked

    def _operator(self) -> tuple[str, str]:
        """P or R, and the sense if it is part of the same word."""
        word = self._take("name")
        readable(word[:1] in ("P", "R") and word[1:] in ("", "max", "min"), f"{word!r:.40} is neither P nor R")
        return word[:1], word[1:]

    def _probability(self, sense: str) -> Asked:
        S, sign = len(self.model.rewards), 1 if sense == "max" else -1
        if self._taken("G"):
            target = ~self._condition()
            ends, final, offset = target, -sign * target.astype(np.float64), float(sign)
        else:
            staying = np.ones(S, dtype=np.bool_)
            if not self._taken("F"):
                staying = self._condition()
                self._expect("U")
            target = self._condition()
            ends, final, offset = target | ~staying, sign * target.astype(np.float64), 0.0
        nothing = np.zeros_like(self.model.rewards)
        return Asked(nothing, ends, final + 0.0, 1.0, None, sign, offset, self.source)

    def _total(self, sense: str, reward: Floats) -> Asked:
        S, sign = len(reward), 1 if sense == "max" else -1
        rewards, ends, discount, endless = sign * reward + 0.0, np.zeros(S, dtype=np.bool_), 1.0, None
        if self._taken("F"):
            ends, endless = self._condition(), sign * math.inf
            rewards = np.where(ends[:, None], 0.0, rewards)
        elif self._taken("Cdiscount"):
            discount = float(self._take("number")) if self._taken("=") else self.model.discount
            readable(0 < discount < 1, f"the discount is {discount}, not between 0 and 1")
        else:
            self._expect("C")
            ends = self.model.absorbing & (rewards == 0).all(axis=1)
            endless = None if self.model.endless is None else sign * self.model.endless
        return Asked(rewards, ends, np.zeros(S), discount, endless, sign, 0.0, self.source)

    def _reward(self) -> Floats:
        """[S, A] the rewards of a name in braces; without one those of the model."""
        if not self._taken("{"):
            return self.model.rewards
        name = self._take("text")
        self._expect("}")
        readable(name in self.model.reward_models, f"the model has no reward {name!r:.80}")
        return self.model.reward_models[name]

    def _condition(self, least: int = 1) -> Bools:
        """[S] the states of a condition, as far as its connectives bind at least so strongly."""
        left = self._unary()
        while self.tokens and (binding := BINDING.get(self.tokens[-1][1], 0)) >= least:
            _, sign = self.tokens.pop()
            right = self._condition(binding if sign == "=>" else binding + 1)
            meant: Bools = {"=>": ~left | right, "|": left | right, "&": left & right}[sign]
            left = meant
        return left

    def _unary(self) -> Bools:
        if self._taken("!"):
            return ~self._unary()
        if self._taken("("):
            inner = self._condition()
            self._expect(")")
            return inner
        if self.tokens and self.tokens[-1][0] == "text":
            return self._label(self._take("text"))
        return self._comparison()

    def _comparison(self) -> Bools:
        name = self.tokens[-1][1] if self.tokens and self.tokens[-1][0] == "name" else None
        if name is not None and name in self.model.labels and self._column(name) is None:
            return self._label(self._take("name"))
        left = self._operand()
        sign = next((sign for sign in COMPARISONS if self._sees(sign)), None)
        if sign is None:
            readable(bool(np.isin(left, (0.0, 1.0)).all()), f"{name!r:.40} is no truth value")
            return np.asarray(left == 1.0)
        self.tokens.pop()
        return COMPARISONS[sign](left, self._operand())

    def _operand(self) -> Floats:
        """[S] the values of a feature, or a number."""
        S = len(self.model.rewards)
        if self._taken("("):
            inner = self._operand()
            self._expect(")")
            return inner
        negative = self._taken("-")
        if negative or (self.tokens and self.tokens[-1][0] == "number"):
            value = float(self._take("number"))
            return np.full(S, -value if negative else value)
        name = self._take("name")
        if name in ("true", "false"):
            return np.full(S, float(name == "true"))
        column = self._column(name)
        if column is None:
            raise UnreadableError(f"the model has no feature {name!r:.80}")
        return self.model.features[:, column]

    def _column(self, name: str) -> int | None:
        """The feature of a name, in which underscores may stand for what no identifier has; None without one."""
        names = self.model.feature_names
        if name in names:
            return names.index(name)
        alike = [i for i, its in enumerate(names) if re.sub(r"[^A-Za-z0-9_]+", "_", its).strip("_") == name]
        return alike[0] if len(alike) == 1 else None

    def _label(self, name: str) -> Bools:
        if name == "init" and name not in self.model.labels:
            return self.model.initial > 0
        readable(name in self.model.labels, f"the model has no label {name!r:.80}")
        return self.model.labels[name]

    def _sees(self, text: str) -> bool:
        return bool(self.tokens) and self.tokens[-1][0] in ("name", "symbol") and self.tokens[-1][1] == text

    def _taken(self, text: str) -> bool:
        """Take a word or symbol if it comes next; whether it did."""
        seen = self._sees(text)
        if seen:
            self.tokens.pop()
        return seen

    def _expect(self, text: str) -> None:
        readable(self._taken(text), f"the property {self.source!r:.80} is not understood: expected {text}")

    def _one_of(self, *texts: str) -> str:
        found = next((text for text in texts if self._taken(text)), None)
        readable(found is not None, f"the property {self.source!r:.80} says neither {' nor '.join(texts)}")
        return str(found)

    def _take(self, kind: str) -> str:
        fits = bool(self.tokens) and self.tokens[-1][0] == kind
        readable(fits, f"the property {self.source!r:.80} is not understood: expected a {kind}")
        return self.tokens.pop()[1]
