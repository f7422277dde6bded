"""Properties from PRISM's syntax, by recursive descent; errors name the column.

    Pmax=? [F "goal"]                     the largest probability to reach states
    Pmin=? ["safe" U "bad"]               the smallest probability to reach states without leaving others before
    Pmax=? [G "safe"]                     the largest probability to stay in states for ever
    R{"time"}min=? [F "done"]             the smallest expected total of a reward until states are reached
    Rmax=? [C]                            the largest expected total of the only reward
    R{"x"}max=? [Cdiscount=0.99]          the largest expected discounted total

A name may stand before it, as in "fast": Rmin=? [F "done"], and a semicolon behind it. Everything else that PRISM and
Storm can ask is refused, with what is possible instead.
"""

import math

from omdt.properties.conditions import Condition
from omdt.properties.expressions import parse
from omdt.properties.property import Kind, Property
from omdt.properties.tokens import Token, Tokens

POSSIBLE = 'Pmax=? [F "goal"], Pmin=? ["safe" U "bad"], Pmax=? [G "safe"], R{"time"}min=? [F "done"], Rmax=? [C]'
"""What can be asked, by examples, for the end of a refusal."""

REFUSED = {
    "X": "the next step alone",
    "W": "weak until",
    "R": "release",
    "I": "the reward at one moment",
    "S": "the long run",
    "LRA": "the long run",
    "MP": "the long run",
}
"""What path formulas cannot say here, by their first name."""


def parsed_property(text: str) -> Property:
    """The property that a text spells; a name before it is skipped.

    Raises:
        InputError: if it is no property or one that cannot be asked here; the message names the column.
    """
    tokens = Tokens(text)
    if tokens.next.kind == "text" and tokens.after_next.text == ":":
        tokens.take()
        tokens.take()
    with tokens.not_too_deep():
        found = _property(tokens)
    tokens.taken(";")
    tokens.expect_end()
    return found


def _property(tokens: Tokens) -> Property:
    first = tokens.take()
    letter = first.text.removesuffix("max").removesuffix("min")
    best = first.text.removeprefix(letter)
    if first.kind != "name" or letter not in ("P", "R"):
        raise tokens.error(f"this asks neither for a probability nor for a reward; possible are {POSSIBLE}", first)
    reward = _reward(tokens) if letter == "R" else None
    if not best:
        best = tokens.taken("max", "min") or _no_sense(tokens, letter)
        if letter == "R" and reward is None:
            reward = _reward(tokens)
    if tokens.taken("=?") is None:
        raise tokens.error(f"a limit is not possible; ask for the best value, {letter}{best}=?")
    tokens.expect("[")
    found = _probability(tokens, best) if letter == "P" else _expectation(tokens, best, reward)
    tokens.expect("]")
    return found


def _no_sense(tokens: Tokens, letter: str) -> str:
    if tokens.sees("=?"):
        raise tokens.error(f"say whether it is to be large or small: {letter}max=? or {letter}min=?")
    raise tokens.error(f"a limit is not possible; ask for the best value, {letter}max=? or {letter}min=?")


def _reward(tokens: Tokens) -> str | None:
    """The name of a reward in braces, if it comes now."""
    if tokens.taken("{") is None:
        return None
    token = tokens.take()
    if token.kind != "text":
        raise tokens.error('expected the name of a reward in quotes, as in R{"time"}', token)
    tokens.expect("}")
    return token.text


def _probability(tokens: Tokens, best: str) -> Property:
    """What stands in the brackets of P."""
    maximise = best == "max"
    if not tokens.compares:
        _refuse(tokens)
    if tokens.taken("F"):
        _refuse_bound(tokens)
        return Property(Kind.REACH, maximise, target=parse(tokens))
    if tokens.taken("G"):
        _refuse_bound(tokens)
        return Property(Kind.STAY, maximise, target=parse(tokens))
    if tokens.sees("(") and tokens.after_next.text in ("F", "G"):
        tokens.take()
        inner = _probability(tokens, best)
        tokens.expect(")")
        return inner
    return _until(tokens, maximise)


def _until(tokens: Tokens, maximise: bool) -> Property:
    staying = parse(tokens)
    _refuse(tokens)
    if tokens.taken("U") is None:
        raise tokens.error('expected U; the probability to reach states is asked by F, as in [F "goal"]')
    _refuse_bound(tokens)
    target: Condition = parse(tokens)
    return Property(Kind.REACH, maximise, target=target, staying=staying)


def _expectation(tokens: Tokens, best: str, reward: str | None) -> Property:
    """What stands in the brackets of R."""
    maximise = best == "max"
    _refuse(tokens)
    if tokens.taken("F"):
        _refuse_bound(tokens)
        return Property(Kind.TOTAL, maximise, reward, parse(tokens))
    if tokens.taken("C"):
        _refuse_bound(tokens)
        return Property(Kind.TOTAL, maximise, reward)
    if tokens.taken("Cdiscount"):
        return Property(Kind.DISCOUNTED, maximise, reward, discount=_discount(tokens))
    raise tokens.error('expected F "goal", C or Cdiscount=0.99')


def _discount(tokens: Tokens) -> float | None:
    """The discount; None, for that of the MDP, if none is given."""
    if tokens.taken("=") is None:
        return None
    first = tokens.next
    value = _number(tokens)
    if tokens.taken("/"):
        divisor = _number(tokens)
        value = value / divisor if divisor else math.inf
    if not 0 < value < 1:
        raise tokens.error("the discount must be above 0 and below 1; without a discount, write [C]", first)
    return value


def _number(tokens: Tokens) -> float:
    token = tokens.take()
    if token.kind != "number":
        raise tokens.error("expected a number", token)
    return float(token.text)


def _refuse(tokens: Tokens) -> None:
    """Raise if the next token begins what cannot be asked."""
    token: Token = tokens.next
    if token.kind == "name" and token.text in REFUSED:
        raise tokens.error(f"{REFUSED[token.text]} ({token.text}) cannot be asked for; possible are {POSSIBLE}", token)


def _refuse_bound(tokens: Tokens) -> None:
    """Raise if an operator has a limit on the number of steps, or on a reward."""
    if tokens.sees("<=", "<", "=", ">", ">=", "{", "["):
        raise tokens.error(f"a limit on steps or rewards is not possible; possible are {POSSIBLE}", tokens.next)
