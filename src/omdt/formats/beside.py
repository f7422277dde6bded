"""The properties that come with a model: in a file beside it, such as model.props, or in the file itself (JANI).

A file of properties has one property per line, or several with semicolons between them. A name in quotes and a colon
may stand before a property, // begins a comment, and `label "goal" = x=5;` labels states. Constants are not read.
"""

import os
import re
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

from omdt.errors import InputError
from omdt.formats.rewards import PROPERTY_FILES
from omdt.formats.text import numbered_lines
from omdt.objective import Objective
from omdt.properties import Condition, mentioned, parsed
from omdt.properties.tokens import quoted

NAMED = re.compile(r'\s*"([^"]*)"\s*:\s*(.*)', re.DOTALL)
LABEL = re.compile(r'\s*label\s+"([^"]*)"\s*=(.*)', re.DOTALL)
DECLARATION = re.compile(r"\s*(label|const|formula)\b")
OPENING, CLOSING = "([{", ")]}"


@dataclass(frozen=True)
class Listed:
    """A property that comes with a model.

    Attributes:
        name: its name, or an empty text.
        text: what it asks, in PRISM's syntax.
    """

    name: str
    text: str

    @property
    def spelled(self) -> str:
        """The property with its name before it, if it has one."""
        return f"{quoted(self.name)}: {self.text}" if self.name else self.text

    @property
    def refusal(self) -> str | None:
        """Why it cannot be asked here; None if it can."""
        try:
            Objective.parse(self.text)
        except InputError as error:
            return str(error)
        return None


@dataclass(frozen=True)
class Beside:
    """What comes with a model.

    Attributes:
        file: where the properties are; None if there are none.
        properties: in their order.
        labels: conditions for further labels of states, in PRISM's syntax.
    """

    file: Path | None = None
    properties: tuple[Listed, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)

    def labels_for(self, target: Condition | None) -> dict[str, Condition]:
        """The labels of which a condition speaks, and those of which these speak themselves, these first."""
        needed: dict[str, Condition] = {}
        for name in () if target is None else mentioned(target):
            if name in self.labels and name not in needed:
                states = parsed(self.labels[name])
                needed |= replace(self, labels={**self.labels, name: ""}).labels_for(states) | {name: states}
        return needed

    def chosen(self, which: str) -> Listed:
        """The property of a name, or of a place from 1.

        Raises:
            InputError: if there is none.
        """
        for listed in self.properties:
            if listed.name and listed.name == which:
                return listed
        if which.isdecimal() and 1 <= int(which) <= len(self.properties):
            return self.properties[int(which) - 1]
        if self.file is None:
            raise InputError(f"there are no properties beside the model, so none is called {which!r:.80}")
        raise InputError(f"{self.file} has no property {which!r:.80}; it has {self.words}")

    @property
    def words(self) -> str:
        """All properties in one line, with their places and names."""
        return ", ".join(f"{place}: {listed.spelled}" for place, listed in enumerate(self.properties, 1))


def beside(path: Path) -> Beside:
    """The properties that come with a model.

    Raises:
        InputError: if a file of properties cannot be read.
    """
    if path.suffix == ".jani" and path.is_file():
        language = import_module("omdt.formats.from_prism_language")
        return Beside(path, tuple(Listed(name, text) for name, text in language.own_properties(path)))
    for ending in PROPERTY_FILES:
        if os.path.isfile(file := path.with_suffix(ending)):
            return read_properties(file)
    return Beside()


def read_properties(file: Path) -> Beside:
    """The properties and labels of a file."""
    properties, labels = [], {}
    for text in _statements(file):
        if found := LABEL.fullmatch(text):
            labels[found[1]] = " ".join(found[2].split())
        elif not DECLARATION.match(text):
            named = NAMED.fullmatch(text)
            name, asked = named.groups() if named else ("", text)
            properties.append(Listed(name, " ".join(asked.split())))
    return Beside(file, tuple(properties), labels)


def _statements(file: Path) -> list[str]:
    """The statements of a file: up to a semicolon, or to the end of a line if all brackets are closed there."""
    found: list[str] = []
    text, depth = "", 0
    for _, line in numbered_lines(file):
        for character in _without_comment(line):
            depth += (character in OPENING) - (character in CLOSING)
            if character == ";" and depth <= 0:
                found.append(text)
                text, depth = "", 0
            else:
                text += character
        if depth <= 0 and not text.rstrip().endswith(":") and not DECLARATION.match(text):
            found.append(text)
            text, depth = "", 0
        else:
            text += "\n"
    return [statement.strip() for statement in (*found, text) if statement.strip()]


def _without_comment(line: str) -> str:
    """A line without what stands behind //, unless that is in quotes."""
    quoted = False
    for place, character in enumerate(line):
        quoted ^= character == '"'
        if not quoted and line.startswith("//", place):
            return line[:place]
    return line
