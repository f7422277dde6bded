"""Conditions: which states are meant, over labels and features, and the words that a text is made of.

    "label"   x=5   x!=y   flag   true   !c   c & c   c | c   c => c   (c)

`and`, `or`, `not` and `==` may be written for `&`, `|`, `!` and `=`.
"""

import operator
import re
from collections.abc import Callable

import numpy as np

from .model import Model
from .reading import Bools, Floats, UnreadableError, readable

TOKEN = re.compile(
    r'\s*(?://[^\n]*\s*)*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)'
    r"|(?P<name>[^\W\d]\w*)|(?P<symbol>=>|<=|>=|!=|==|=\?|[=<>!&|()\[\]{};-]))"
)
SPELLED = {"and": "&", "or": "|", "not": "!", "==": "="}  # other spellings of symbols
COMPARISONS: dict[str, Callable[[Floats, Floats], Bools]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
BINDING = {"=>": 1, "|": 2, "&": 3}  # how strongly connectives bind
MAX_TEXT = 20_000  # characters of a text; more would be nested too deeply to follow


class Reader:
    """Reads one text about a model by recursive descent."""

    def __init__(self, model: Model, source: str) -> None:
        self.model, self.source, place = model, source, 0
        readable(len(source) <= MAX_TEXT, f"{source!r:.80} is too long")
        self.tokens: list[tuple[str, str]] = []  # kinds and texts, in reverse order
        while match := TOKEN.match(source, place):
            kind, place = match.lastgroup or "", match.end()
            text = re.sub(r"\\(.)", r"\1", match[kind]) if kind == "text" else match[kind]
            spelled = kind != "text" and text in SPELLED
            self.tokens.append(("symbol", SPELLED[text]) if spelled else (kind, text))
        rest = re.sub(r"//[^\n]*", "", source[place:]).strip()
        readable(not rest, f"{source!r:.80} is not understood at {rest!r:.40}")
        self.tokens.reverse()

    def states(self) -> Bools:
        """[S] the states of a text that is a condition."""
        found = self.condition()
        self.expect_end()
        return found

    def expect_end(self) -> None:
        """Raise unless everything is read."""
        readable(not self.tokens, f"{self.source!r:.80} goes on where it should end")

    def condition(self, least: int = 1) -> Bools:
        """[S] the states of a condition, as far as its connectives bind at least so strongly."""
        left = self._unary()
        while (sign := next((it for it in BINDING if self.sees(it)), None)) and (binding := BINDING[sign]) >= least:
            self.tokens.pop()
            right = self.condition(binding if sign == "=>" else binding + 1)
            meant: Bools = {"=>": ~left | right, "|": left | right, "&": left & right}[sign]
            left = meant
        return left

    def _unary(self) -> Bools:
        if self.taken("!"):
            return ~self._unary()
        if self.taken("("):
            inner = self.condition()
            self.expect(")")
            return inner
        if self.tokens and self.tokens[-1][0] == "text":
            return self._label(self.take("text"))
        return self._comparison()

    def _comparison(self) -> Bools:
        name = self.tokens[-1][1] if self.tokens and self.tokens[-1][0] == "name" else None
        if name is not None and name in self.model.labels and self._column(name) is None:
            return self._label(self.take("name"))
        left = self._operand()
        sign = next((sign for sign in COMPARISONS if self.sees(sign)), None)
        if sign is None:
            readable(bool(np.isin(left, (0.0, 1.0)).all()), f"{name!r:.40} is no truth value")
            return np.asarray(left == 1.0)
        self.tokens.pop()
        return COMPARISONS[sign](left, self._operand())

    def _operand(self) -> Floats:
        """[S] the values of a feature, or a number."""
        S = len(self.model.rewards)
        if self.taken("("):
            inner = self._operand()
            self.expect(")")
            return inner
        negative = self.taken("-")
        if negative or (self.tokens and self.tokens[-1][0] == "number"):
            value = float(self.take("number"))
            return np.full(S, -value if negative else value)
        name = self.take("name")
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

    def sees(self, text: str) -> bool:
        """Whether a word or symbol comes next."""
        return bool(self.tokens) and self.tokens[-1][0] in ("name", "symbol") and self.tokens[-1][1] == text

    def taken(self, text: str) -> bool:
        """Take a word or symbol if it comes next; whether it did."""
        seen = self.sees(text)
        if seen:
            self.tokens.pop()
        return seen

    def expect(self, text: str) -> None:
        """Take a word or symbol that must come now."""
        readable(self.taken(text), f"{self.source!r:.80} is not understood: expected {text}")

    def one_of(self, *texts: str) -> str:
        """Take one of several words, which must come now."""
        found = next((text for text in texts if self.taken(text)), None)
        readable(found is not None, f"{self.source!r:.80} says neither {' nor '.join(texts)}")
        return str(found)

    def take(self, kind: str) -> str:
        """Take the next token, which must be of this kind."""
        fits = bool(self.tokens) and self.tokens[-1][0] == kind
        readable(fits, f"{self.source!r:.80} is not understood: expected a {kind}")
        return self.tokens.pop()[1]
