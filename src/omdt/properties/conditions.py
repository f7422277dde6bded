"""State conditions: which states are meant, in PRISM's expression syntax, over labels and features.

    "goal"                      the states that carry a label; "init" are the possible first states
    x=5 & y<3                   comparisons of features with numbers or with one another
    open & !"bad"               a feature that is a truth value, by its name; a label too where no feature is called so
    x=0 | (x>3 => "goal")       ! binds most, then comparisons, &, | and =>

A feature whose name is no identifier is called as in the files that omdt writes for PRISM: `cart position` is
cart_position.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Floats
from omdt.names import prism_identifiers
from omdt.properties.tokens import quoted

COMPARISONS: dict[str, Callable[[Floats, Floats], Bools]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
CONNECTIVES: dict[str, tuple[int, Callable[[Bools, Bools], Bools]]] = {
    "=>": (1, lambda left, right: ~left | right),
    "|": (2, operator.or_),
    "&": (3, operator.and_),
}
"""How strongly each connective binds, and what it does."""

STRONGEST = 5
"""How strongly single labels and names bind."""

INIT = "init"
"""The label of the possible first states, which every MDP has."""

MOST_NAMES = 12
"""Maximum number of labels or features that a message lists."""


class Condition(Protocol):
    """Which states are meant."""

    @property
    def binding(self) -> int:
        """How strongly its outermost operator binds; a part that binds less than the whole needs parentheses."""

    def states(self, mdp: MDP) -> Bools:
        """[S] the states that are meant."""

    def __str__(self) -> str:
        """The condition in PRISM's syntax."""


@dataclass(frozen=True)
class Truth:
    """All states, or none."""

    value: bool
    binding = STRONGEST

    def states(self, mdp: MDP) -> Bools:
        """[S] all or none."""
        return np.full(mdp.n_states, self.value)

    def __str__(self) -> str:
        return str(self.value).lower()


@dataclass(frozen=True)
class Label:
    """The states that carry a label."""

    name: str
    binding = STRONGEST

    def states(self, mdp: MDP) -> Bools:
        """[S] the states that carry the label."""
        if self.name in mdp.labels:
            return mdp.labels[self.name]
        if self.name == INIT:
            return np.asarray(mdp.initial > 0)
        known = [quoted(name) for name in (*mdp.labels, *([] if INIT in mdp.labels else [INIT]))]
        raise InputError(
            f"{mdp.name} has no label {quoted(self.name)}; it has {_some(known)}. A condition on features such as "
            f"{_example(mdp)} can be given instead, or as a label"
        )

    def __str__(self) -> str:
        return quoted(self.name)


@dataclass(frozen=True)
class Name:
    """The states in which a feature that is a truth value is true; or those of a label, if no feature is called so."""

    name: str
    binding = STRONGEST

    def states(self, mdp: MDP) -> Bools:
        """[S] where the feature is true, or the states that carry the label."""
        if _column(mdp, self.name) is None and self.name in mdp.labels:
            return mdp.labels[self.name]
        values = _values(mdp, self.name)
        if not np.isin(values, (0.0, 1.0)).all():
            raise InputError(
                f"the feature {self.name!r} of {mdp.name} is no truth value; compare it with a number, "
                f"as in {self.name}={values[0]:g}"
            )
        return np.asarray(values == 1.0)

    def __str__(self) -> str:
        return self.name


Operand = str | float
"""The name of a feature, or a number."""


@dataclass(frozen=True)
class Comparison:
    """The states in which a comparison holds of features and numbers."""

    left: Operand
    sign: str
    right: Operand
    binding = 4

    def states(self, mdp: MDP) -> Bools:
        """[S] where the comparison holds."""
        left, right = (
            _values(mdp, it) if isinstance(it, str) else np.full(mdp.n_states, it) for it in (self.left, self.right)
        )
        return COMPARISONS[self.sign](left, right)

    def __str__(self) -> str:
        return f"{_spelled(self.left)}{self.sign}{_spelled(self.right)}"


@dataclass(frozen=True)
class Not:
    """The other states."""

    inner: Condition
    binding = STRONGEST

    def states(self, mdp: MDP) -> Bools:
        """[S] the states that are not in the inner condition."""
        return ~self.inner.states(mdp)

    def __str__(self) -> str:
        return f"!{_in_parentheses(self.inner, STRONGEST)}"


@dataclass(frozen=True)
class Both:
    """Two conditions with a connective between them: & (and), | (or), => (implies)."""

    left: Condition
    sign: str
    right: Condition

    @property
    def binding(self) -> int:
        """How strongly the connective binds."""
        return CONNECTIVES[self.sign][0]

    def states(self, mdp: MDP) -> Bools:
        """[S] what the connective makes of the two."""
        return CONNECTIVES[self.sign][1](self.left.states(mdp), self.right.states(mdp))

    def __str__(self) -> str:
        right = _in_parentheses(self.right, self.binding + 1)
        return f"{_in_parentheses(self.left, self.binding + (self.sign == '=>'))} {self.sign} {right}"


@dataclass(frozen=True, eq=False)
class Given:
    """States that were given as an array; they are called by a label that the MDP need not have.

    Attributes:
        name: the label.
        mask: [S] the states.
    """

    name: str
    mask: Bools
    binding = STRONGEST

    def states(self, mdp: MDP) -> Bools:
        """[S] the given states."""
        if self.mask.shape != (mdp.n_states,) or self.mask.dtype != np.bool_:
            raise InputError(
                f"the states of {self.name!r} must be an array of {mdp.n_states} truth values, one per state of "
                f"{mdp.name}, but have shape {self.mask.shape} and type {self.mask.dtype}"
            )
        if self.name in mdp.labels and not np.array_equal(mdp.labels[self.name], self.mask):
            raise InputError(
                f"{mdp.name} has a label {quoted(self.name)} for other states than the array; "
                "give the array a label of its own in the MDP, and name that"
            )
        return self.mask

    def __str__(self) -> str:
        return quoted(self.name)


def mentioned(states: Condition) -> list[str]:
    """The labels of which a condition speaks; a bare name may be one."""
    if isinstance(states, Label | Name):
        return [states.name]
    if isinstance(states, Not):
        return mentioned(states.inner)
    return [*mentioned(states.left), *mentioned(states.right)] if isinstance(states, Both) else []


def _in_parentheses(part: Condition, least: int) -> str:
    """A part of a condition, in parentheses if it binds less strongly than it must."""
    return f"({part})" if part.binding < least else str(part)


def _spelled(operand: Operand) -> str:
    if isinstance(operand, str):
        return operand
    return str(int(operand)) if operand == int(operand) and abs(operand) < 2**53 else repr(operand)


def _column(mdp: MDP, name: str) -> int | None:
    """The place of a feature, by its name or by its identifier in PRISM; None if there is none."""
    if name in mdp.feature_names:
        return mdp.feature_names.index(name)
    identifiers, _ = prism_identifiers(mdp.feature_names, ())
    return identifiers.index(name) if name in identifiers else None


def _values(mdp: MDP, name: str) -> Floats:
    """[S] the values of a feature."""
    column = _column(mdp, name)
    if column is None:
        identifiers, _ = prism_identifiers(mdp.feature_names, ())
        known = [
            own if own.isidentifier() else other for own, other in zip(mdp.feature_names, identifiers, strict=True)
        ]
        hint = f"; the label is written {quoted(name)}, in quotes" if name in mdp.labels else ""
        raise InputError(f"{mdp.name} has no feature {name!r}; it has {_some(known)}{hint}")
    return mdp.features[:, column]


def _example(mdp: MDP) -> str:
    identifiers, _ = prism_identifiers(mdp.feature_names, ())
    return f"{identifiers[0]}={mdp.features[0, 0]:g}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
