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
features. Where the file has none, a file `state-valuations.json` beside it, as PAYNT writes it, may hold them. A reward
model may have an empty name.

The format has no discount, no distribution of the first state and no names but identifiers. Comments before @model may
say these things, as those of `write_drn` do:

    // discount 0.95
    // the first state is drawn with the probabilities in the reward model initial
    // feature X_ is called "X"
    // action go_up is called "go up"
    // actions go_up stay
    // fallback stay

The comment `actions` gives the order of the actions, which is otherwise that of their first appearance; `fallback`
names the action that is played where a tree names an unavailable one.
"""

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from omdt.counting import counted
from omdt.errors import InputError, warn_input
from omdt.formats.choices import Choices
from omdt.formats.objective import chosen_reward
from omdt.formats.text import (
    discount_or_default,
    fault,
    number_in,
    numbered_lines,
    probability_in,
    whole_number_in,
)
from omdt.formats.valuations import BESIDE, Valuations
from omdt.mdp import MDP, Floats
from omdt.mdp_checks import ROW_SUM_TOLERANCE

TYPES = ("MDP", "DTMC")
VALUE_TYPES = ("double", "rational")
SECTIONS = ("@value_type", "@parameters", "@placeholders", "@reward_models", "@nr_states", "@nr_choices")
UNNAMED = "__NOLABEL__"
LABEL = re.compile(r'"([^"]*)"|(\S+)')
DISCOUNT = re.compile(r"// discount ([0-9.eE+-]+)")
START = "initial"
START_REMARK = f"// the first state is drawn with the probabilities in the reward model {START}"
ACTIONS = re.compile(r"// actions (\w+(?: \w+)*)")
FALLBACK = re.compile(r"// fallback (\w+)")
CALLED = re.compile(r'// (feature|action) (\w+) is called (".*")')

Lines = Iterator[tuple[int, str]]


def read_drn(
    path: Path,
    *,
    discount: float | None = None,
    reward: str | None = None,
    cost: str | None = None,
    fallback: str | None = None,
) -> MDP:
    """Read an MDP or a Markov chain from a DRN file.

    Args:
        path: the file.
        discount: by default that of a comment in the header, or 0.99 with a warning.
        reward: name of the reward model to maximise; needed when there are several.
        cost: name of the reward model to minimise instead.
        fallback: the action that is played where a tree names an unavailable one, see `MDP`; by default that of a
            comment in the header.
    """
    return read_drn_as(path, path, discount=discount, reward=reward, cost=cost, fallback=fallback)


@dataclass(frozen=True)
class Built:
    """What is known of a model in another language of which Storm made a DRN file.

    Attributes:
        names: of all choices in the order of the DRN file, None for one that needs no name.
        properties: how many of them are in the model's file.
    """

    names: Sequence[str | None]
    properties: int


def read_drn_as(
    file: Path,
    path: Path,
    *,
    discount: float | None,
    reward: str | None,
    cost: str | None,
    fallback: str | None,
    built: Built | None = None,
) -> MDP:
    """Read a DRN file that stands for the model in `path`, by whose name it is called."""
    lines = numbered_lines(file)
    header = _Header(path, lines)
    models = [name for name in header.rewards if name != header.start]
    chosen = chosen_reward(path, models, reward, cost)
    model = _Model(path, header, header.rewards.index(chosen.name), chosen.sign, built)
    for number, line in lines:
        model.take(number, line)
    model.finish()
    # A file with a discount asks for a discounted sum itself.
    if header.discount is None:
        chosen.tell(model.choices.rewards, model.labels, properties=0 if built is None else built.properties)
    discount = discount_or_default(path, header.discount if discount is None else discount)
    return model.mdp(discount, header.fallback if fallback is None else fallback)


class _Header:
    """What stands before @model."""

    def __init__(self, path: Path, lines: Lines) -> None:
        self.path = path
        self.kind = ""
        self.rewards: list[str] = []
        self.n_states = self.n_choices = -1
        self.placeholders: dict[str, float] = {}
        self.discount: float | None = None
        self.start: str | None = None
        self.called: dict[str, dict[str, str]] = {"feature": {}, "action": {}}
        self._actions: list[str] = []
        self._fallback: str | None = None
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
                self._remark(number, line.strip())
            elif line.strip():
                self._content(number, section, line.strip())
                section = section if section == "@placeholders" else ""
        raise InputError(f"{path} has no line @model; it is not a DRN file, or the file was cut short")

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions that come first, in their order."""
        return tuple(self.called["action"].get(name, name) for name in self._actions)

    @property
    def fallback(self) -> str | None:
        """The name of the action that is played where a tree names an unavailable one."""
        return None if self._fallback is None else self.called["action"].get(self._fallback, self._fallback)

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

    def _remark(self, number: int, text: str) -> None:
        """Take what a comment says about the MDP; one that does not speak of it is passed over."""
        if text == START_REMARK:
            self.start = START
        elif found := DISCOUNT.fullmatch(text):
            self.discount = number_in(found[1], self.path, number, "the discount")
            if not 0 < self.discount < 1:
                raise fault(self.path, number, f"the discount is {found[1]}; it must lie strictly between 0 and 1")
        elif found := ACTIONS.fullmatch(text):
            self._actions = list(dict.fromkeys(found[1].split(" ")))
        elif found := FALLBACK.fullmatch(text):
            self._fallback = found[1]
        elif found := CALLED.fullmatch(text):
            kind, identifier, name = found.groups()
            try:
                self.called[kind][identifier] = json.loads(name)
            except ValueError:
                raise fault(self.path, number, f"the name of {kind} {identifier:.40} is no JSON text") from None

    def _check_complete(self, number: int) -> None:
        if not self.kind:
            raise fault(self.path, number, "the header does not say @type")
        if self.n_states < 0:
            raise fault(self.path, number, "the header does not say @nr_states")
        if self.start is not None and self.start not in self.rewards:
            raise fault(self.path, number, f"a comment speaks of the reward model {self.start!r}, but there is none")


class _Model:
    """What stands after @model, taken line by line."""

    def __init__(self, path: Path, header: _Header, column: int, sign: float, built: Built | None) -> None:
        self.path, self.header, self.column, self.sign, self.built = path, header, column, sign, built
        self.choices = Choices(header.actions)
        self.labels: set[str] = set()
        self.valuations = Valuations(path)
        self.initial = array("i")
        self.start = None if header.start is None else header.rewards.index(header.start)
        self.start_probabilities = array("d")
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
        amounts, labels = self._amounts(number, rest)
        self.state_reward = self._reward(number, amounts)
        if self.start is not None:
            listed = amounts[self.start] if amounts else "0"
            self.start_probabilities.append(probability_in(listed, self.path, number))
        names = {quoted or plain for quoted, plain in LABEL.findall(labels)}
        self.labels |= names
        if "init" in names:
            self.initial.append(self.state)

    def _begin_choice(self, number: int, text: str) -> None:
        if self.state < 0:
            raise fault(self.path, number, "an action before the first state")
        name, bracket, rest = text.removeprefix("action ").partition("[")
        name = name.strip()
        amounts, _ = self._amounts(number, bracket + rest)
        reward = self.state_reward + self._reward(number, amounts)
        self.choices.begin(self.state, self._called(name), line=number, reward=reward)
        self.open = True

    def _called(self, name: str) -> str | None:
        """What the next choice is called whose action has this name in the file."""
        if self.header.kind == "DTMC":
            return None
        if self.built is not None:
            return self.built.names[len(self.choices)]
        return None if name in ("", UNNAMED) else self.header.called["action"].get(name, name)

    def _take_transition(self, number: int, text: str) -> None:
        target, colon, value = text.partition(":")
        if not colon or self.state < 0:
            raise fault(self.path, number, f"expected a state, an action or a transition, found {text!r:.40}")
        if not self.open:
            self._begin_choice(number, "action " + UNNAMED)
        t = whole_number_in(target, self.path, number, "the next state")
        if t >= self.header.n_states:
            raise fault(
                self.path, number, f"the next state is {t}, but the model has {counted(self.header.n_states, 'state')}"
            )
        placeholder = self.header.placeholders.get(value.strip())
        p = probability_in(value if placeholder is None else repr(placeholder), self.path, number)
        self.choices.targets.append(t)
        self.choices.probabilities.append(p)

    def _amounts(self, number: int, text: str) -> tuple[list[str], str]:
        """The rewards of a list in brackets, none if the text does not begin with one, and the rest of the text."""
        if not text.startswith("["):
            return [], text
        listed, bracket, rest = text[1:].partition("]")
        values = [value.strip() for value in listed.split(",")]
        if not bracket:
            raise fault(self.path, number, "the list of rewards has no closing bracket")
        if len(values) != len(self.header.rewards):
            models = counted(len(self.header.rewards), "reward model")
            raise fault(self.path, number, f"the model has {models}, but {counted(len(values), 'reward')} here")
        return values, rest

    def _reward(self, number: int, amounts: list[str]) -> float:
        """The chosen one of a list of rewards."""
        if not amounts:
            return 0.0
        placeholder = self.header.placeholders.get(amounts[self.column])
        if placeholder is not None:
            return self.sign * placeholder
        return self.sign * number_in(amounts[self.column], self.path, number, "the reward")

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

    def mdp(self, discount: float, fallback: str | None) -> MDP:
        """The MDP of the whole file."""
        if self.built is None:
            self.choices.tell_of_places(str(self.path))
            self._look_beside()
        features, names = self.valuations.features(self.state + 1, self.choices.differ)
        called = tuple(self.header.called["feature"].get(name, name) for name in names)
        return self.choices.mdp(
            self._where,
            self._distribution(),
            features,
            feature_names=called,
            truths=tuple(called[place] for place in self.valuations.truths),
            discount=discount,
            name=str(self.path),
            fallback=fallback,
        )

    def _look_beside(self) -> None:
        """Take the variables from the file beside this one if there are none in this one."""
        beside = self.path.with_name(BESIDE)
        if not len(self.valuations) and beside.is_file():
            self.valuations.take_file(beside, self.state + 1)
            warn_input(f"{self.path}: the states have no variables in this file; those of {beside} are taken")

    def _where(self, line: int, state: int) -> str:
        # The lines are those of the DRN file, which the user has not seen if Storm made it.
        return f"{self.path}:{line}: state {state}" if self.built is None else f"{self.path}: state {state}"

    def _distribution(self) -> Floats:
        """[S] the probability of each first state: that of its reward model, or the same for all labelled init."""
        if self.start is not None:
            probabilities = np.array(self.start_probabilities)
            total = float(probabilities.sum())
            if abs(total - 1) > ROW_SUM_TOLERANCE:
                raise InputError(
                    f"{self.path}: the rewards {START!r} are probabilities but sum to {total:.12g}, not to 1"
                )
            return probabilities
        initial = np.zeros(self.state + 1)
        initial[np.asarray(self.initial)] = 1 / len(self.initial)
        return initial
