"""Storm's explicit format DRN: a header, then every state with its rewards, labels, choices and transitions.

    @type: MDP
    @parameters

    @reward_models
    cost
    @nr_states
    2
    @nr_choices
    3
    @model
    state 0 [1] init
    //[x=0 & up=true]
        action go [0.5]
            0 : 1/3
            1 : 2/3
        action stay [0]
            0 : 1
    state 1 [0]
    //[x=1 & up=false]
        action stay [0]
            1 : 1

The reward of a choice is the state's plus its own. Storm writes the variables of a state as a comment; they are the
features. A reward model may have an empty name.
"""

import re
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from omdt.errors import InputError
from omdt.formats.choices import Choices
from omdt.formats.text import (
    chosen_rewards,
    discount_or_default,
    fault,
    number_in,
    numbered_lines,
    probability_in,
    whole_number_in,
)
from omdt.formats.valuations import Valuations
from omdt.mdp import MDP

TYPES = ("MDP", "DTMC")
VALUE_TYPES = ("double", "rational")
SECTIONS = ("@value_type", "@parameters", "@placeholders", "@reward_models", "@nr_states", "@nr_choices")
UNNAMED = "__NOLABEL__"
LABEL = re.compile(r'"([^"]*)"|(\S+)')

Lines = Iterator[tuple[int, str]]


def read_drn(path: Path, *, discount: float | None = None, reward: str | None = None, cost: str | None = None) -> MDP:
    """Read an MDP or a Markov chain from a DRN file.

    Args:
        path: the file.
        discount: the format has none; 0.99 is assumed, with a warning.
        reward: name of the reward model to maximise; needed when there are several.
        cost: name of the reward model to minimise instead.
    """
    return read_drn_as(path, path, discount=discount, reward=reward, cost=cost)


def read_drn_as(file: Path, path: Path, *, discount: float | None, reward: str | None, cost: str | None) -> MDP:
    """Read a DRN file that stands for the model in `path`, by whose name it is called."""
    lines = numbered_lines(file)
    header = _Header(path, lines)
    model = _Model(path, header, *chosen_rewards(path, header.rewards, reward, cost))
    for number, line in lines:
        model.take(number, line)
    model.finish()
    return model.mdp(discount_or_default(path, discount))


class _Header:
    """What stands before @model."""

    def __init__(self, path: Path, lines: Lines) -> None:
        self.path = path
        self.kind = ""
        self.rewards: list[str] = []
        self.n_states = self.n_choices = -1
        self.placeholders: dict[str, float] = {}
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
            elif line.strip() and not line.startswith("//"):
                self._content(number, section, line.strip())
                section = section if section == "@placeholders" else ""
        raise InputError(f"{path} has no line @model; it is not a DRN file, or the file was cut short")

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


class _Model:
    """What stands after @model, taken line by line."""

    def __init__(self, path: Path, header: _Header, column: int, sign: float) -> None:
        self.path, self.header, self.column, self.sign = path, header, column, sign
        self.choices = Choices()
        self.valuations = Valuations(path)
        self.initial = array("i")
        self.state = -1
        self.state_line = 0
        self.state_reward = 0.0
        self.open = False

    def take(self, number: int, line: str) -> None:
        """Take the next line, which is a transition more often than anything else."""
        target, colon, value = line.partition(":")
        if self.open and colon:
            try:
                t, p = int(target), float(value)
            except ValueError:
                t, p = -1, -1.0
            if 0 <= t < self.header.n_states and 0 <= p <= 1 and "_" not in line:
                self.choices.targets.append(t)
                self.choices.probabilities.append(p)
                return
        self._take_other(number, line.strip())

    def _take_other(self, number: int, text: str) -> None:
        if text.startswith("state "):
            self._begin_state(number, text)
        elif text.startswith("//["):
            self.valuations.take_conjunction(self.state, text[2:], number)
        elif text.startswith("action "):
            self._begin_choice(number, text)
        elif text and not text.startswith("//"):
            self._take_transition(number, text)

    def _begin_state(self, number: int, text: str) -> None:
        self._finish_state()
        self.state, self.state_line, self.open = self.state + 1, number, False
        name, _, rest = text.removeprefix("state ").partition(" ")
        given = whole_number_in(name, self.path, number, "the number of the state")
        if given != self.state or given >= self.header.n_states:
            expected = f"state {self.state}" if self.state < self.header.n_states else "the end of the file"
            raise fault(self.path, number, f"found state {given}, expected {expected}; states come in order")
        self.state_reward, labels = self._reward(number, rest)
        if any("init" in found for found in LABEL.findall(labels)):
            self.initial.append(self.state)

    def _begin_choice(self, number: int, text: str) -> None:
        if self.state < 0:
            raise fault(self.path, number, "an action before the first state")
        name, bracket, rest = text.removeprefix("action ").partition("[")
        name = name.strip()
        reward, _ = self._reward(number, bracket + rest)
        nameless = name in ("", UNNAMED) or self.header.kind == "DTMC"
        reward += self.state_reward
        self.choices.begin(self.state, None if nameless else name, line=number, reward=reward)
        self.open = True

    def _take_transition(self, number: int, text: str) -> None:
        target, colon, value = text.partition(":")
        if not colon or self.state < 0:
            raise fault(self.path, number, f"expected a state, an action or a transition, found {text!r:.40}")
        if not self.open:
            self._begin_choice(number, "action " + UNNAMED)
        t = whole_number_in(target, self.path, number, "the next state")
        if t >= self.header.n_states:
            raise fault(self.path, number, f"the next state is {t}, but there are {self.header.n_states} states")
        placeholder = self.header.placeholders.get(value.strip())
        p = probability_in(value if placeholder is None else repr(placeholder), self.path, number)
        self.choices.targets.append(t)
        self.choices.probabilities.append(p)

    def _reward(self, number: int, text: str) -> tuple[float, str]:
        """The chosen reward of a list in brackets, if the text begins with one, and the rest of the text."""
        if not text.startswith("["):
            return 0.0, text
        listed, bracket, rest = text[1:].partition("]")
        values = listed.split(",")
        if not bracket:
            raise fault(self.path, number, "the list of rewards has no closing bracket")
        if len(values) != len(self.header.rewards):
            there_are = f"{len(self.header.rewards)} reward models"
            raise fault(self.path, number, f"there are {there_are} but {len(values)} rewards")
        value = values[self.column].strip()
        placeholder = self.header.placeholders.get(value)
        amount = number_in(value, self.path, number, "the reward") if placeholder is None else placeholder
        return self.sign * amount, rest

    def _finish_state(self) -> None:
        """A state without choices is a deadlock, which is never left."""
        if self.choices.n_states == self.state:
            self.choices.stay(self.state, line=self.state_line, reward=self.state_reward)

    def finish(self) -> None:
        """Compare what was found with what the header promised."""
        self._finish_state()
        promised = {"states": (self.header.n_states, self.state + 1)}
        if self.header.n_choices >= 0 and self.header.kind == "MDP":
            promised["choices"] = (self.header.n_choices, len(self.choices))
        for what, (declared, found) in promised.items():
            if declared != found:
                message = f"the header declares {declared:,} {what} but there are {found:,}; was the file cut short?"
                raise InputError(f"{self.path}: {message}")
        if not self.initial:
            raise InputError(f"{self.path}: no state is labelled init")

    def mdp(self, discount: float) -> MDP:
        """The MDP of the whole file."""
        S = self.state + 1
        initial = np.zeros(S)
        initial[np.asarray(self.initial)] = 1 / len(self.initial)
        features, names = self.valuations.features(S)
        return self.choices.mdp(
            lambda line, state: f"{self.path}:{line}: state {state}",
            initial,
            features,
            feature_names=names,
            discount=discount,
            name=str(self.path),
        )
