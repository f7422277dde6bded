"""Questions: what the trees may ask that a bound is about, as a solution states it."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .reading import Bools, Floats, Json, counted, finite, readable, typed

Group: TypeAlias = tuple[str, bool, tuple[float, ...] | None]  # column, equality?, numbers to compare with or all


def division(side: Bools) -> bytes:
    """The same for questions that divide states in the same way, even if left and right are swapped."""
    return np.packbits(side ^ side[:1]).tobytes()


def answers(column: Floats, equality: bool, number: float) -> Bools:
    """[S] whether a state goes right: above a threshold, or different in an equality."""
    return column != number if equality else column > number


@dataclass(frozen=True)
class Questions:
    """What the trees may ask; by default one threshold between every two neighbouring values of every feature."""

    groups: tuple[Group, ...] | None = None  # the questions in their order; None for thresholds on every column
    predicates: tuple[tuple[str, bytes], ...] = ()  # columns of 0 and 1 behind the features: names, and bits per state
    states: int = 0  # the number of states that the predicates are about

    @classmethod
    def read(cls, statement: Json) -> "Questions":
        """The questions that a solution, or the head of a certificate, states; None states the default."""
        if statement is None:
            return cls()
        stated = typed(statement, dict, "the statement of the questions")
        readable(stated.keys() <= {"asked", "predicates"}, "the statement of the questions is not understood")
        asked = stated.get("asked")
        groups = None if asked is None else tuple(_group(entry) for entry in typed(asked, list, "asked"))
        predicates = typed(stated.get("predicates", {"states": 0, "holds": {}}), dict, "predicates")
        states = typed(predicates.get("states"), int, "the number of states of the predicates")
        holds = typed(predicates.get("holds"), dict, "where the predicates hold")
        return cls(groups, tuple((name, _bits(text, name, states)) for name, text in holds.items()), states)

    def columns(self, features: Floats, names: tuple[str, ...]) -> tuple[Floats, tuple[str, ...]]:
        """What a tree can ask about in each state: the features, then the predicates [S, F'], and their names."""
        if not self.predicates:
            return features, names
        S, names = len(features), (*names, *(name for name, _ in self.predicates))
        readable(self.states == S, f"the predicates are about {self.states} states, the model has {S}")
        readable(len(set(names)) == len(names), "a predicate has the name of a feature")
        packed = np.array([np.frombuffer(bits, dtype=np.uint8) for _, bits in self.predicates])
        return np.hstack([features, np.unpackbits(packed, axis=1, count=S).T.astype(np.float64)]), names

    def distinct(
        self, columns: Floats, names: tuple[str, ...], per_column: bool = False
    ) -> Iterator[tuple[int, bool, float]]:
        """The questions: a column, whether it is an equality, and the number to compare with.

        Of questions that divide the states in the same way the first counts, or the first about each column where rules
        tell columns apart. A number that is stated must divide them: otherwise a statement would seem to be about trees
        that ask more than they can.
        """
        seen: set[tuple[int, bytes]] = set()
        for name, equality, numbers in self._groups(names):
            readable(name in names, f"there are questions about the unknown feature {name!r:.80}")
            j = names.index(name)
            values = np.unique(columns[:, j])[: None if equality else -1]
            for number in values.tolist() if numbers is None else numbers:
                side = answers(columns[:, j], equality, number)
                divides = side.any() and not side.all()
                readable(divides or numbers is None, f"to compare {name!r:.80} with {number!r} divides no states")
                digest = (j if per_column else 0, hashlib.sha256(division(side)).digest())
                if divides and digest not in seen:
                    seen.add(digest)
                    yield j, equality, number

    def sides(self, columns: Floats, names: tuple[str, ...]) -> Bools:
        """[S, K] whether a question sends a state to the right: above a threshold, or different in an equality."""
        sides = [answers(columns[:, j], equality, number) for j, equality, number in self.distinct(columns, names)]
        return np.array(sides, dtype=np.bool_).reshape(len(sides), len(columns)).T

    def words(self) -> str:
        """The questions in words; empty for the default."""
        predicates = [name for name, _ in self.predicates]
        parts = ["thresholds on every feature"] if self.groups is None and predicates else []
        for name, equality, numbers in self._groups(predicates):
            # A predicate is asked about where some number tells 0 from 1.
            tells = numbers is None or any(x in (0, 1) if equality else 0 <= x < 1 for x in numbers)
            one, many = ("value of", "values of") if equality else ("threshold on", "thresholds on")
            listed = f"{many if numbers is None else counted(len(numbers), one, many)} {name!r}"
            parts.append(f"the predicate {name!r}" if tells and name in predicates else listed)
        return ", ".join(parts) or ("" if self.groups is None else "nothing")

    def _groups(self, names: Sequence[str]) -> Sequence[Group]:
        return [(name, False, None) for name in names] if self.groups is None else self.groups


def _group(entry: Json) -> Group:
    """The questions about one column, as a statement has them."""
    stated, kind = (entry, "equals" if "equals" in entry else "threshold") if isinstance(entry, dict) else ({}, "")
    readable(stated.keys() == {"feature", kind}, f"{entry!r:.80} does not state the questions about a feature")
    name, numbers = typed(stated["feature"], str, "the feature of a question"), stated[kind]
    if numbers == "all":
        return name, kind == "equals", None
    what = f"what {name!r:.80} is compared with"
    return name, kind == "equals", tuple(finite(number, what) for number in typed(numbers, list, what))


def _bits(text: Json, name: str, states: int) -> bytes:
    try:
        bits = base64.b64decode(typed(text, str, name), validate=True)
    except ValueError:
        bits = b""
    fit = len(bits) == (states + 7) // 8
    readable(fit, f"the predicate {name!r:.80} does not have one bit for each of {states} states")
    return bits
