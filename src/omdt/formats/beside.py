"""The properties that come with a model: in a file beside it, such as model.props, or in the file itself (JANI).

A file of properties has one property per line, or several with semicolons between them. A name in quotes and a colon
may stand before each, // begins a comment, and `label "goal" = x=5;` gives a label to states. Constants are not read.
"""

import re
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from omdt.errors import InputError
from omdt.formats.rewards import PROPERTY_FILES
from omdt.formats.text import numbered_lines
from omdt.objective import Objective
from omdt.properties import Condition, parsed

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
        labels: further labels of states.
    """

    file: Path | None = None
    properties: tuple[Listed, ...] = ()
    labels: dict[str, Condition] = field(default_factory=dict)

    def chosen(self, which: str) -> Listed:
        """The property of a name, or of a place from 1.

        Raises:
            InputError: if there is none.
        """
        for listed in self.properties:
            if listed.name == which:
                return listed
        if which.isdecimal() and 1 <= int(which) <= len(self.properties):
            return self.properties[int(which) - 1]
        if self.file is None:
            raise InputError(f"there are no properties beside the model, so none is called {which!r:.80}")
        raise InputError(f"{self.file} has no property {which!r:.80}; it has {self.words}")

    @property
    def words(self) -> str:
        """All properties in one line, with their places and names."""
        return ", ".join(
            f"{place}{f' ({listed.name})' if listed.name else ''}: {listed.text}"
            for place, listed in enumerate(self.properties, 1)
        )


def beside(path: Path) -> Beside:
    """The properties that come with a model.

    Raises:
        InputError: if a file of properties cannot be read.
    """
    if path.suffix == ".jani" and path.is_file():
        language = import_module("omdt.formats.from_prism_language")
        return Beside(path, tuple(Listed(name, text) for name, text in language.own_properties(path)))
    for ending in PROPERTY_FILES:
        if (file := path.with_suffix(ending)).is_file():
            return read_properties(file)
    return Beside()


def read_properties(file: Path) -> Beside:
    """The properties and labels of a file."""
    properties, labels = [], {}
    for number, text in _statements(file):
        if found := LABEL.fullmatch(text):
            try:
                labels[found[1]] = parsed(found[2].strip())
            except InputError as error:
                raise InputError(f"{file}:{number}: {error}") from None
        elif not DECLARATION.match(text):
            named = NAMED.fullmatch(text)
            name, asked = named.groups() if named else ("", text)
            properties.append(Listed(name, " ".join(asked.split())))
    return Beside(file, tuple(properties), labels)


def _statements(file: Path) -> list[tuple[int, str]]:
    """The statements of a file with the number of their last line: up to a semicolon, or to the end of a whole line."""
    found: list[tuple[int, str]] = []
    text, depth, number = "", 0, 0
    for number, line in numbered_lines(file):
        for character in _without_comment(line):
            depth += (character in OPENING) - (character in CLOSING)
            if character == ";" and depth <= 0:
                found.append((number, text))
                text, depth = "", 0
            else:
                text += character
        if depth <= 0 and not text.rstrip().endswith(":") and not DECLARATION.match(text):
            found.append((number, text))
            text, depth = "", 0
        else:
            text += "\n"
    found.append((number, text))
    return [(line, statement.strip()) for line, statement in found if statement.strip()]


def _without_comment(line: str) -> str:
    """A line without what stands behind //, unless that is in quotes."""
    quoted = False
    for place, character in enumerate(line):
        quoted ^= character == '"'
        if not quoted and line.startswith("//", place):
            return line[:place]
    return line
