"""The small language of rules: `ACTION: condition`, `NAME <= NUMBER` and `FEATURE:down`.

Conditions are those of properties (`omdt.properties`), in which `and`, `or`, `not` may be written for `&`, `|`, `!`.
"""

from typing import NamedTuple

from omdt.errors import InputError
from omdt.properties import Condition, parsed
from omdt.properties.tokens import Tokens


class OnAction(NamedTuple):
    """An action and the states that a rule about it means."""

    action: str
    states: Condition


class Comparison(NamedTuple):
    """A limit on the total of some rewards."""

    name: str
    at_least: bool
    limit: float


def on_action(text: str, action_names: tuple[str, ...]) -> OnAction:
    """An action and a condition from `ACTION: condition`; an action may contain colons, and may stand in quotes.

    Raises:
        InputError: if no action is named so, or the condition cannot be read.
    """
    for name in sorted(action_names, key=len, reverse=True):
        for spelled in (name, f'"{name}"', f"'{name}'"):
            rest = text.strip().removeprefix(spelled).lstrip()
            if text.strip().startswith(spelled) and rest.startswith(":"):
                return OnAction(name, parsed(rest[1:]))
    named = text.partition(":")[0].strip()
    if ":" not in text:
        raise InputError(f"the rule {text!r:.80} has no condition; write it as in 'ACTION: load > 3'")
    raise InputError(
        f"the rule {text!r:.80} names the action {named!r:.40}, which is not one of {', '.join(action_names)}"
    )


def comparison(text: str) -> Comparison:
    """A limit from `NAME <= NUMBER` or `NAME >= NUMBER`; the name may stand in quotes.

    Raises:
        InputError: if the text is nothing of the kind.
    """
    tokens = Tokens(text)
    name = tokens.take()
    sign = tokens.taken("<=", ">=", "<", ">", "=")
    negative = tokens.taken("-") is not None
    number = tokens.take()
    if name.kind not in ("name", "text") or sign not in ("<=", ">=") or number.kind != "number":
        raise InputError(f"the limit {text!r:.80} is none; write it as in 'energy <= 3.5', with <= or >=")
    tokens.expect_end()
    limit = float(number.text)
    return Comparison(name.text, sign == ">=", -limit if negative else limit)
