"""State conditions from text, by recursive descent; errors name the column."""

import math

import numpy as np
from numpy.typing import ArrayLike

from omdt.errors import InputError
from omdt.properties.conditions import (
    COMPARISONS,
    CONNECTIVES,
    Both,
    Comparison,
    Condition,
    Given,
    Label,
    Name,
    Not,
    Operand,
    Truth,
)
from omdt.properties.tokens import Token, Tokens

TEMPORAL = ("F", "G", "U", "W", "X")
"""The operators of paths; a feature of such a name is known by the comparison behind it, as in X=3."""


def condition(states: "str | ArrayLike | Condition", name: str) -> Condition:
    """A condition from its text, from an array of truth values [S], or as it is.

    Args:
        states: which states are meant.
        name: what an array is called.
    """
    if isinstance(states, str):
        return parsed(states)
    if isinstance(states, Truth | Label | Name | Comparison | Not | Both | Given):
        return states
    return Given(name, np.asarray(states))


def parsed(text: str) -> Condition:
    """The condition that a text spells.

    Raises:
        InputError: if it is no condition; the message names the column.
    """
    tokens = Tokens(text)
    with tokens.not_too_deep():
        found = parse(tokens)
    tokens.expect_end()
    return found


def parse(tokens: Tokens, least: int = 1) -> Condition:
    """The condition that begins at the next token, as far as its connectives bind at least so strongly."""
    left = _unary(tokens)
    while tokens.sees(*CONNECTIVES) and (binding := CONNECTIVES[tokens.next.text][0]) >= least:
        sign = tokens.take().text
        # Implications are read from the right, as PRISM does.
        left = Both(left, sign, parse(tokens, binding if sign == "=>" else binding + 1))
    return left


def _unary(tokens: Tokens) -> Condition:
    if tokens.taken("!"):
        return Not(_unary(tokens))
    if tokens.taken("("):
        inner = parse(tokens)
        tokens.expect(")")
        return inner
    if tokens.next.kind == "text":
        return Label(tokens.take().text)
    return _comparison(tokens)


def _comparison(tokens: Tokens) -> Condition:
    """A truth value, the name of a feature, or a comparison."""
    first = tokens.next
    left = _operand(tokens)
    if (sign := tokens.taken(*COMPARISONS)) is None:
        if first.text in ("true", "false"):
            return Truth(first.text == "true")
        if isinstance(left, str):
            return Name(left)
        raise tokens.error("expected a comparison such as = or <")
    second = tokens.next
    right = _operand(tokens)
    if tokens.sees(*COMPARISONS):
        raise tokens.error("a comparison has two sides; write a<b & b<c")
    if isinstance(left, float) and isinstance(right, float):
        raise tokens.error("a comparison needs the name of a feature", second)
    return Comparison(left, sign, right)


def _operand(tokens: Tokens) -> Operand:
    """A number or the name of a feature."""
    if tokens.taken("("):
        inner = _operand(tokens)
        tokens.expect(")")
        return inner
    negative = tokens.taken("-") is not None
    token = tokens.next
    value: Operand
    if token.kind == "number":
        number = float(tokens.take().text)
        if math.isinf(number):
            raise tokens.error("the number is too large", token)
        value = -number if negative else number
    elif token.kind == "name" and not negative and (token.text not in TEMPORAL or tokens.compares):
        tokens.take()
        value = {"true": 1.0, "false": 0.0}.get(token.text, token.text)
    else:
        raise _unexpected(tokens, token)
    if tokens.sees("+", "-", "*", "/"):
        raise tokens.error("there is no arithmetic in conditions; compare features with numbers")
    return value


def _unexpected(tokens: Tokens, token: Token) -> InputError:
    if token.text in TEMPORAL and token.kind == "name":
        return tokens.error(
            f"{token.text} may stand only once, before or between the conditions of a property; nested formulas are "
            "not possible",
            token,
        )
    return tokens.error('expected a condition such as "goal" or x=5')
