"""Valuations: the values of a model's variables in every state, which become the features of its MDP."""

from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from omdt.errors import InputError, warn_input
from omdt.formats.text import fault, number_in
from omdt.mdp import Floats

TRUTH = {"true": 1.0, "false": 0.0}


class Valuations:
    """Collects the values of the variables in states 0, 1, 2, … in this order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: list[str] = []
        self._values = array("d")
        self._states = 0

    def take_conjunction(self, state: int, text: str, line: int) -> None:
        """Take a state's variables in the form [x=1 & !up & fast].

        Some releases of Storm write nothing at all for a Boolean variable that is true. Its name is then that of the
        variable at the same place in other states.
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
        self.take(state, values, line)

    def take(self, state: int, values: Sequence[str], line: int) -> None:
        """Take a state's values in the order of the names."""
        if state != self._states:
            raise fault(self.path, line, f"found the variables of state {state}, expected those of {self._states}")
        if len(values) != len(self.names):
            raise fault(self.path, line, f"expected {len(self.names)} variables, found {len(values)}")
        for name, value in zip(self.names, values, strict=True):
            truth = TRUTH.get(value)
            self._values.append(number_in(value, self.path, line, f"variable {name!r}") if truth is None else truth)
        self._states += 1

    def features(self, S: int) -> tuple[Floats, tuple[str, ...]]:
        """[S, F] the variables of S states and their names; without any, the number of the state."""
        if not self._states:
            warn_input(f"{self.path}: the states have no variables, so a tree can only ask for the number of a state")
            return np.arange(S, dtype=np.float64)[:, None], ("state",)
        if self._states != S:
            raise InputError(f"{self.path}: there are {S:,} states but only {self._states:,} of them have variables")
        names = tuple(name or f"variable_{i}" for i, name in enumerate(self.names))
        return np.asarray(self._values).reshape(S, len(names)), names

    def _learn(self, names: list[str], line: int) -> None:
        for place, (known, name) in enumerate(zip(self.names, names, strict=False)):
            if not known:
                self.names[place] = name
            elif name not in ("", known):
                raise fault(self.path, line, f"expected variable {known!r:.40}, found {name!r:.40}")
