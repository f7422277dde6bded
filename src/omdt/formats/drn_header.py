"""The header of a DRN file: what stands before @model."""

import re
from collections.abc import Iterator
from pathlib import Path

from omdt.errors import InputError
from omdt.formats.drn_comments import Comments
from omdt.formats.text import fault, number_in, whole_number_in

TYPES = ("MDP", "DTMC")
VALUE_TYPES = ("double", "rational")
SECTIONS = ("@value_type", "@parameters", "@placeholders", "@reward_models", "@nr_states", "@nr_choices")


class Header:
    """What stands before @model.

    Args:
        path: the file, for messages.
        lines: its numbered lines, which are taken up to @model.

    Attributes:
        kind: one of `TYPES`.
        rewards: the names of the reward models.
        n_states: the number of states.
        n_choices: the number of choices, −1 if the header does not give it.
        placeholders: the numbers that names stand for in the model.
        comments: what the comments say about the MDP.
    """

    def __init__(self, path: Path, lines: Iterator[tuple[int, str]]) -> None:
        self.path = path
        self.kind = ""
        self.rewards: list[str] = []
        self.n_states = self.n_choices = -1
        self.placeholders: dict[str, float] = {}
        self.comments = Comments(path)
        section = ""
        for number, line in lines:
            if line.startswith("@"):
                section = line.strip()
                if section == "@model":
                    self._check_complete(number)
                    return
                self._begin_section(number, section)
            elif section == "@reward_models":
                # Blanks separate the names, and a name may be empty; a blank at the end separates nothing.
                self.rewards = re.split(r"[ \t]", line.removesuffix(" ")) if line else []
                section = ""
            elif line.startswith("//"):
                self.comments.take(number, line.strip())
            elif line.strip():
                self._content(number, section, line.strip())
                section = section if section == "@placeholders" else ""
        raise InputError(f"{path} has no line @model; it is not a DRN file, or the file was cut short")

    @property
    def models(self) -> list[str]:
        """The names of the reward models that are rewards, as users call them."""
        return [self.comments.called["reward"].get(name, name) for name in self.rewards if name != self.comments.start]

    def _begin_section(self, number: int, section: str) -> None:
        key, _, value = section.partition(":")
        value = value.strip()
        if key == "@type":
            self.kind = value.upper()
            if self.kind not in TYPES:
                raise fault(self.path, number, f"the model is of type {value!r:.40}; only MDP and DTMC can be read")
        elif key == "@value_type" and value not in VALUE_TYPES:
            raise fault(self.path, number, f"the values are of type {value!r:.40}; only numbers can be read")
        elif key not in SECTIONS:
            raise fault(self.path, number, f"{section!r:.40} is not a part of the header of a DRN file")

    def _content(self, number: int, section: str, text: str) -> None:
        if section == "@nr_states":
            self.n_states = whole_number_in(text, self.path, number, "the number of states")
            if self.n_states >= 2**31:
                raise fault(self.path, number, f"{self.n_states:,} states are more than can be read")
        elif section == "@nr_choices":
            self.n_choices = whole_number_in(text, self.path, number, "the number of choices")
        elif section == "@placeholders":
            name, _, value = text.partition(":")
            self.placeholders[name.strip()] = number_in(value, self.path, number, f"placeholder {name.strip()!r:.40}")
        elif section == "@parameters":
            raise fault(self.path, number, f"the model has the parameters {text!r:.40}; give them values first")
        else:
            raise fault(self.path, number, f"{text!r:.40} is not a part of the header of a DRN file")

    def _check_complete(self, number: int) -> None:
        if not self.kind:
            raise fault(self.path, number, "the header does not say @type")
        if self.n_states < 0:
            raise fault(self.path, number, "the header does not say @nr_states")
        start = self.comments.start
        if start is not None and start not in self.rewards:
            raise fault(self.path, number, f"a comment speaks of the reward model {start!r}, but there is none")
        counting = self.comments.counting
        if counting is not None and counting not in self.models:
            raise fault(self.path, number, f"a comment speaks of the reward model {counting!r:.40}, but there is none")
