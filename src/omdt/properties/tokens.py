"""Tokens of PRISM's expressions and properties, with the column at which each one begins."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from omdt.errors import InputError

TOKEN = re.compile(
    r"""\s*(?:(?P<comment>//[^\n]*)
    |"(?P<text>(?:[^"\\]|\\.)*)"
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<symbol><=>|=>|<=|>=|!=|==|=\?|[=<>!&|()\[\]{}:;,+*/?-]))""",
    re.VERBOSE,
)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)

WORDS = {"and": "&", "or": "|", "not": "!", "==": "="}
"""Other spellings of some symbols."""

END = "the end"
"""What is found behind the last token."""


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: "text" (in quotes), "number", "name", "symbol" or "end".
        text: what it says; of a text without the quotes.
        column: where it begins, counted from 1.
        end: the column behind its last character.
    """

    kind: str
    text: str
    column: int
    end: int

    @property
    def spelled(self) -> str:
        """The token as it stands in the source."""
        return quoted(self.text) if self.kind == "text" else self.text


def quoted(name: str) -> str:
    """A name in double quotes, with a backslash before quotes and backslashes."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def tokens_of(source: str) -> list[Token]:
    """All tokens of a text without its comments; the last one is the end.

    Raises:
        InputError: if a character begins no token.
    """
    found, place = [], 0
    while match := TOKEN.match(source, place):
        place = match.end()
        kind = match.lastgroup or ""
        if kind == "comment":
            continue
        text = match[kind] if kind != "text" else ESCAPED.sub(r"\1", match[kind])
        start = match.start(kind) - (kind == "text")
        if kind != "text" and text in WORDS:
            kind, text = "symbol", WORDS[text]
        found.append(Token(kind, text, start + 1, match.end() + 1))
    rest = source[place:].lstrip()
    if rest:
        column = len(source) - len(rest) + 1
        what = "the quotes are not closed" if rest[0] == '"' else f"found {rest[0]!r}"
        raise Tokens.fault(source, column, what)
    return [*found, Token("end", END, len(source.rstrip()) + 1, len(source) + 1)]


@dataclass
class Tokens:
    """A text that is read token by token.

    Attributes:
        source: the text.
        place: index of the next token.
    """

    source: str
    place: int = 0

    def __post_init__(self) -> None:
        self._tokens = tokens_of(self.source)

    @property
    def next(self) -> Token:
        """The next token, which is not taken yet."""
        return self._tokens[self.place]

    @property
    def after_next(self) -> Token:
        """The token behind the next one."""
        return self._tokens[min(self.place + 1, len(self._tokens) - 1)]

    @property
    def compares(self) -> bool:
        """Whether a comparison stands behind the next token."""
        return self.after_next.kind == "symbol" and self.after_next.text in ("=", "!=", "<", "<=", ">", ">=")

    def take(self) -> Token:
        """The next token, which is taken."""
        token = self.next
        self.place = min(self.place + 1, len(self._tokens) - 1)
        return token

    def sees(self, *words: str) -> bool:
        """Whether the next token is one of several names or symbols."""
        return self.next.kind in ("name", "symbol") and self.next.text in words

    def taken(self, *words: str) -> str | None:
        """The next token if it is one of several names or symbols, which is then taken; otherwise None."""
        return self.take().text if self.sees(*words) else None

    def expect(self, symbol: str) -> None:
        """Take a symbol or name that must come now."""
        if self.taken(symbol) is None:
            raise self.error(f"expected {symbol}")

    def expect_end(self) -> None:
        """Raise unless everything is taken."""
        if self.next.kind != "end":
            raise self.error("expected the end")

    @contextmanager
    def not_too_deep(self) -> Iterator[None]:
        """Refuse a text whose parentheses are nested too deeply to be followed."""
        try:
            yield
        except RecursionError:
            raise self.fault(self.source, self.next.column, "this is nested too deeply") from None

    def error(self, message: str, at: Token | None = None) -> InputError:
        """An error at the next token, or at another one."""
        token = self.next if at is None else at
        found = "" if at is not None else f", found {token.spelled}"
        return self.fault(self.source, token.column, f"{message}{found}")

    @staticmethod
    def fault(source: str, column: int, message: str) -> InputError:
        """The error about one column of a text."""
        shown = " ".join(source.split())
        return InputError(f"{shown!r:.200}, column {column}: {message}")
