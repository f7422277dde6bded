"""The single rules of a statement: each one alone, and the statement without it."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

from omdt.mdp import MDP
from omdt.rules.statement import Rules

TOGETHER = ("features", "without", "categorical", "order")
"""Lists that are one rule as a whole."""


class Part(NamedTuple):
    """One rule of a statement.

    Attributes:
        alone: the statement that has this rule only.
        others: the statement without it.
    """

    alone: Rules
    others: Rules

    def words(self, mdp: MDP) -> str:
        """What a tree does that keeps the rule, to be read after `a tree that …`."""
        alone = self.alone
        if alone.features is not None:
            return f"asks only about {', '.join(alone.features)}"
        if alone.without:
            return f"does not ask about {', '.join(alone.without)}"
        if alone.categorical:
            return f"asks about {', '.join(alone.categorical)} by equality"
        return " and ".join(rule.words for rule in alone.on(mdp, alone.splits(mdp)))


def parts(rules: Rules) -> Iterator[Part]:
    """The single rules of a statement, in the order of its entries."""
    for it in fields(Rules):
        given, nothing = getattr(rules, it.name), getattr(NO_RULES, it.name)
        if given == nothing or it.name == "order":
            continue
        if isinstance(given, tuple) and it.name not in TOGETHER:
            for i, one in enumerate(given):
                yield _part(rules, it.name, (one,), given[:i] + given[i + 1 :])
        else:
            yield _part(rules, it.name, given, nothing)


NO_RULES = Rules()


def _part(rules: Rules, name: str, one: Any, rest: Any) -> Part:
    alone = replace(NO_RULES, **{name: one})
    if name == "monotone":
        alone = replace(alone, order=rules.order)
    return Part(alone, replace(rules, **{name: rest}))
