"""The model of a DRN file: what stands after @model, states with their choices and transitions."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from omdt.counting import counted
from omdt.errors import InputError, warn_input
from omdt.formats.choices import Choices
from omdt.formats.drn_comments import START
from omdt.formats.drn_header import Header
from omdt.formats.rewards import ChosenReward
from omdt.formats.states import INIT, mask_of
from omdt.formats.text import fault, number_in, probability_in, whole_number_in
from omdt.formats.valuations import BESIDE, Valuations
from omdt.mdp import MDP, Floats
from omdt.mdp_checks import ROW_SUM_TOLERANCE

UNNAMED = "__NOLABEL__"
"""The name that Storm gives to a choice without one."""

LABEL = re.compile(r'"([^"]*)"|(\S+)')


@dataclass(frozen=True)
class Built:
    """What is known about a model in another language from which Storm made a DRN file.

    Attributes:
        names: those of all choices in the order of the DRN file, None for a choice that needs no name.
        properties: the number of properties in the model's own file.
        labels: those of the model, also the ones that no state has; DRN has labels only where states have them.
    """

    names: Sequence[str | None]
    properties: int
    labels: Sequence[str]


class Model:
    """What stands after @model, taken line by line."""

    def __init__(self, path: Path, header: Header, chosen: ChosenReward | None, built: Built | None) -> None:
        self.path, self.header, self.chosen, self.built = path, header, chosen, built
        self.choices = Choices(header.comments.actions)
        declared = [*header.comments.unused, *(() if built is None else built.labels)]
        self.labels: dict[str, array[int]] = {name: array("i") for name in declared}
        self.columns = [i for i, name in enumerate(header.rewards) if name != header.comments.start]
        self.earned = [array("d") for _ in self.columns]
        self.valuations = Valuations(path)
        self.initial = array("i")
        self.start = None if header.comments.start is None else header.rewards.index(header.comments.start)
        self.start_probabilities = array("d")
        self.state = -1
        self.state_line = 0
        self.state_rewards = [0.0] * len(self.columns)
        self.open = False

    def take(self, number: int, line: str) -> None:
        """Take the next line; transitions are the most frequent lines and are tried first."""
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
        self.state_rewards = self._rewards(number, amounts)
        if self.start is not None:
            listed = amounts[self.start] if amounts else "0"
            self.start_probabilities.append(probability_in(listed, self.path, number))
        for quoted, plain in LABEL.findall(labels):
            name = quoted or plain
            marked = self.initial if name == INIT else self.labels.setdefault(name, array("i"))
            if not marked or marked[-1] != self.state:
                marked.append(self.state)

    def _begin_choice(self, number: int, text: str) -> None:
        if self.state < 0:
            raise fault(self.path, number, "an action before the first state")
        name, bracket, rest = text.removeprefix("action ").partition("[")
        name = name.strip()
        amounts, _ = self._amounts(number, bracket + rest)
        own = self._rewards(number, amounts)
        rewards = [more + reward for more, reward in zip(self.state_rewards, own, strict=True)]
        self.choices.begin(self.state, self._called(name), line=number, reward=self._note(rewards))
        self.open = True

    def _called(self, name: str) -> str | None:
        """What the next choice is called whose action has this name in the file."""
        if self.header.kind == "DTMC":
            return None
        if self.built is not None:
            return self.built.names[len(self.choices)]
        return None if name in ("", UNNAMED) else self.header.comments.called["action"].get(name, name)

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

    def _rewards(self, number: int, amounts: list[str]) -> list[float]:
        """The rewards of a list, without the probability of a first state."""
        if not amounts:
            return [0.0] * len(self.columns)
        found = (amounts[column] for column in self.columns)
        known = self.header.placeholders
        return [known[it] if it in known else number_in(it, self.path, number, "the reward") for it in found]

    def _note(self, rewards: list[float]) -> float:
        """Note the rewards of the next choice; the answer is the one that counts, 0 if none does."""
        for earned, reward in zip(self.earned, rewards, strict=True):
            earned.append(reward)
        return 0.0 if self.chosen is None else self.chosen.sign * rewards[self.chosen.column]

    def _finish_state(self) -> None:
        """Let the last state return to itself for ever if it has no choices, as a deadlock does."""
        if self.choices.n_states == self.state:
            self.choices.stay(self.state, line=self.state_line, reward=self._note(self.state_rewards))

    def finish(self) -> None:
        """Compare the numbers of states and choices with those in the header."""
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
        self.choices.models = {
            name: earned
            for name, identifier, earned in zip(self.header.models, self._identifiers, self.earned, strict=True)
            if identifier != self.header.comments.nameless
        }
        features, names = self.valuations.features(self.state + 1, self.choices.differ)
        called = tuple(self.header.comments.called["feature"].get(name, name) for name in names)
        return self.choices.mdp(
            self._where,
            self._distribution(),
            features,
            feature_names=called,
            truths=tuple(called[place] for place in self.valuations.truths),
            discount=discount,
            name=str(self.path),
            fallback=fallback,
            labels={self._label(name): mask_of(states, self.state + 1) for name, states in self.labels.items()},
        )

    @property
    def _identifiers(self) -> list[str]:
        """The names of the reward models that are rewards, as the file has them."""
        return [self.header.rewards[column] for column in self.columns]

    def _label(self, identifier: str) -> str:
        """What a label is called."""
        return self.header.comments.called["label"].get(identifier, identifier)

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
