"""Valuations: the values of a model's variables in every state, which become the features of its MDP."""

import json
import math
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from omdt.counting import counted
from omdt.errors import InputError, warn_input
from omdt.formats.text import fault, number_in
from omdt.mdp import Floats, Ints

TRUTH = {"true": 1.0, "false": 0.0}

BESIDE = "state-valuations.json"
"""The file beside a DRN file in which PAYNT keeps the variables of the states: [[["x", 1], ["up", true]], …]."""

WITHOUT = "no variables"
"""Name of the feature that tells states without variables from others; no variable has a blank in its name."""


class Valuations:
    """Collects the values of the variables in states 0, 1, 2, … in this order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: list[str] = []
        self._values = array("d")
        self._states = array("i")
        self._numbers: set[int] = set()

    def __len__(self) -> int:
        return len(self._states)

    def take_conjunction(self, state: int, text: str, line: int) -> None:
        """Take a state's variables in the form [x=1 & !up & fast].

        Some releases of Storm write nothing at all for a Boolean variable that is true. Its name is then that of the
        variable at the same place in other states. States in between may have no variables.
        """
        content, bracket, _ = text.strip().removeprefix("[").partition("]")
        if not bracket:
            raise fault(self.path, line, "the list of variables has no closing bracket")
        names, values = [], []
        for part in content.split("&"):
            name, equals, value = part.strip().partition("=")
            names.append(name.strip().removeprefix("!"))
            values.append(value.strip() if equals else ("false" if name.startswith("!") else "true"))
        if not self._states:
            self.names = names
        self._learn(names, line)
        expected = self._states[-1] + 1 if self._states else 0
        if state < expected:
            raise fault(self.path, line, f"found the variables of state {state}, expected those of {expected}")
        self._take(state, values, line)

    def take(self, state: int, values: Sequence[str], line: int) -> None:
        """Take the next state's values in the order of the names."""
        if state != len(self):
            raise fault(self.path, line, f"found the variables of state {state}, expected those of {len(self)}")
        self._take(state, values, line)

    def _take(self, state: int, values: Sequence[str], line: int) -> None:
        if len(values) != len(self.names):
            raise fault(self.path, line, f"expected {counted(len(self.names), 'variable')}, found {len(values)}")
        for place, (name, value) in enumerate(zip(self.names, values, strict=True)):
            truth = TRUTH.get(value)
            if truth is None:
                self._numbers.add(place)
                truth = number_in(value, self.path, line, f"variable {name!r}")
            self._values.append(truth)
        self._states.append(state)

    def _learn(self, names: list[str], line: int) -> None:
        """Fill in the names that earlier states left out, and check that the others are the same."""
        for place, (known, name) in enumerate(zip(self.names, names, strict=False)):
            if not known:
                self.names[place] = name
            elif name not in ("", known):
                raise fault(self.path, line, f"expected variable {known!r:.40}, found {name!r:.40}")

    def take_file(self, file: Path, S: int) -> None:
        """Take the variables of S states from a file like that of PAYNT."""
        self.path = file
        for state, variables in enumerate(_listed(file, S)):
            if not variables:
                continue
            if not self._states:
                self.names = list(variables)
            if variables.keys() != set(self.names):
                odd = min(variables.keys() ^ set(self.names))
                what = "has" if odd in variables else "lacks"
                raise InputError(
                    f"{file}: state {state} {what} the variable {odd!r:.40}, unlike state {self._states[0]}"
                )
            for place, name in enumerate(self.names):
                if not isinstance(variables[name], bool):
                    self._numbers.add(place)
                self._values.append(_plain(variables[name], f"{file}: state {state}: variable {name!r:.40}"))
            self._states.append(state)

    @property
    def truths(self) -> list[int]:
        """The places of the variables whose values are true or false in all states."""
        return [place for place in range(len(self.names)) if place not in self._numbers] if self._states else []

    def features(self, S: int, differ: Callable[[Ints, Ints], bool] | None = None) -> tuple[Floats, tuple[str, ...]]:
        """[S, F] the variables of S states and their names; without any, the number of the state.

        Args:
            S: the number of states.
            differ: says whether a tree gains from telling some states apart from others that look alike. If it is
                given, states may lack variables; these count as 0 there, and one more feature tells such states from
                those whose variables are all 0 if a tree gains from it.
        """
        if not self._states:
            missing = "" if self.path.exists() else "there is no such file, and "
            warn_input(
                f"{self.path}: {missing}the states have no variables, so a tree can only ask for the number of a state"
            )
            return np.arange(S, dtype=np.float64)[:, None], ("state",)
        if len(self) != S and differ is None:
            raise InputError(f"{self.path}: there are {S:,} states but only {len(self):,} of them have variables")
        names = tuple(name or f"variable_{i}" for i, name in enumerate(self.names))
        features = np.zeros((S, len(names)))
        features[np.asarray(self._states)] = np.asarray(self._values).reshape(len(self), len(names))
        if len(self) == S or differ is None:
            return features, names
        without = np.ones(S, dtype=np.bool_)
        without[np.asarray(self._states)] = False
        alike = ~without & ~features.any(axis=1)
        told_apart = differ(np.flatnonzero(without), np.flatnonzero(alike))
        warn_input(
            f"{self.path}: {counted(S - len(self), 'state has', 'states have')} no variables (state "
            f"{np.argmax(without)}{', …' if S - len(self) > 1 else ''}); all variables are taken to be 0 there"
            + (f", and the feature {WITHOUT!r} is 1 there and 0 elsewhere" if told_apart else "")
        )
        return (np.column_stack([features, without]), (*names, WITHOUT)) if told_apart else (features, names)


def _listed(file: Path, S: int) -> list[dict[str, Any]]:
    """The variables of every state in a JSON file: a list, for each state of pairs of name and value or an object."""
    try:
        states = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is no JSON file: {error}") from None
    if not isinstance(states, list) or len(states) != S:
        there_are = f"a list of {len(states):,}" if isinstance(states, list) else "no list"
        raise InputError(
            f"{file} holds {there_are}, but there are {counted(S, 'state')} to list variables of; "
            "give it another name if it belongs to another model"
        )
    return [_variables(state, f"{file}: state {s}") for s, state in enumerate(states)]


def _variables(state: Any, where: str) -> dict[str, Any]:
    if isinstance(state, dict):
        return state
    pairs: list[Any] = state if isinstance(state, list) else [None]
    if not all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        raise InputError(f'{where}: expected pairs of a variable and its value such as [["x", 1], ["up", true]]')
    variables = dict(pairs)
    if len(variables) < len(pairs):
        raise InputError(f"{where}: the same variable is listed twice")
    return variables


def _plain(value: Any, what: str) -> float:
    """The finite number that a value of JSON is; true is 1 and false is 0."""
    if isinstance(value, int | float) and abs(value) <= 1e308 and math.isfinite(value):
        return float(value)
    raise InputError(f"{what} is {value!r:.40}; expected a finite number, true or false")
