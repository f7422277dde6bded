"""PRISM's explicit files: transitions in model.tra, and beside it what the states are, are called and earn.

    model.tra   2 3 4          states, choices, transitions
                0 0 0 0.5 go   state, choice, next state, probability and, optionally, action
                …              of a Markov chain: states, transitions; then state, next state, probability
    model.sta   (x,y)          the variables, which become the features
                0:(0,1)        their values in each state
    model.lab   0="init" 1="deadlock"
                0: 0           the labels of a state; without this file, state 0 is initial
    model.srew  2 1            states, rewarded states
                0 2.5          state, reward
    model.trew  2 3 4          states, choices, rewarded transitions
                0 0 0 1.5      state, choice, next state, reward

PRISM numbers the files when there are several reward structures (model1.srew, model2.srew, …) and may begin them with
lines such as `# Reward structure "time"`, whose name counts then. A state without transitions is never left.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np

from omdt.counting import counted
from omdt.errors import InputError
from omdt.formats.choices import Choices
from omdt.formats.options import ReadOptions
from omdt.formats.rewards import chosen_reward
from omdt.formats.states import INIT, mask_of
from omdt.formats.text import (
    check_is_file,
    discount_or_default,
    fault,
    number_in,
    numbered_lines,
    probability_in,
    whole_number_in,
)
from omdt.formats.valuations import Valuations
from omdt.mdp import MDP, Bools, Floats

REWARD_TITLE = re.compile(r'#\s*Reward structure:?\s*"?([^"]*)"?\s*')
LABEL_NAME = re.compile(r'(\d+)="([^"]*)"')
STATE = re.compile(r"(\d+):\((.*)\)")


def read(path: Path, options: ReadOptions) -> MDP:
    """Read an MDP or a Markov chain from PRISM's explicit files.

    The path is that of the transitions; the files .sta, .lab, .srew and .trew of the same name are read as well.
    """
    check_is_file(path)
    structures = _reward_structures(path)
    chosen = chosen_reward(path, list(structures), options)
    model = _Transitions(path)
    S, choices = model.n_states, model.choices
    choices.models = {name: array("d", model.expected_rewards(files)) for name, files in structures.items()}
    if chosen is not None:
        choices.rewards = array("d", chosen.sign * np.asarray(choices.models[chosen.name]))
    choices.tell_of_places(str(path))
    valuations = _valuations(path)
    features, names = valuations.features(S)
    labels = _labels(path, S)
    if chosen is not None:
        chosen.tell(choices.rewards, labels)
    return choices.mdp(
        lambda line, state: f"{path}:{line}: state {state}",
        _initial(labels.pop(INIT)),
        features,
        feature_names=names,
        truths=tuple(names[place] for place in valuations.truths),
        discount=discount_or_default(path, options.discount_or(None)),
        name=str(path),
        fallback=options.fallback,
        labels=labels,
    )


class _Transitions:
    """The file of transitions; choices come sorted by state and number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.choices = Choices()
        self.state, self.choice = -1, -1
        self.n_choices = self.n_transitions = 0
        rows = _data_lines(path)
        number, first = next(rows, (0, ""))
        sizes = [whole_number_in(text, path, number, "a size in the first line") for text in first.split()]
        if len(sizes) not in (2, 3):
            raise fault(path, number, "expected the numbers of states, choices and transitions in the first line")
        self.n_states, self.chain = sizes[0], len(sizes) == 2
        # A row takes at least eight bytes and names at most two states, so a file cannot have more states than this.
        if not 0 < self.n_states <= path.stat().st_size // 4 < 2**31:
            raise fault(path, number, f"{self.n_states:,} states do not fit a file of {path.stat().st_size:,} bytes")
        for number, line in rows:
            self._take(number, line.split())
        self._check_counts(sizes[1:])
        self.choices.stay_until(self.n_states, line=number)

    def _take(self, number: int, cells: list[str]) -> None:
        """One row: state, choice (not in a chain), next state, probability and, optionally, action."""
        if self.chain:
            cells.insert(1, "0")
        if len(cells) not in (4, 5):
            columns = "state, next state, probability" if self.chain else "state, choice, next state, probability"
            raise fault(self.path, number, f"expected {columns} and, optionally, an action")
        s, c, t = (whole_number_in(cell, self.path, number, "a state or choice") for cell in cells[:3])
        if max(s, t) >= self.n_states:
            raise fault(
                self.path, number, f"found state {max(s, t)}, but the model has {counted(self.n_states, 'state')}"
            )
        name = cells[4] if len(cells) == 5 and not self.chain else None
        if (s, c) != (self.state, self.choice):
            self._begin(number, s, c, name)
        self.n_transitions += 1
        self.choices.targets.append(t)
        self.choices.probabilities.append(probability_in(cells[3], self.path, number))

    def _begin(self, number: int, s: int, c: int, name: str | None) -> None:
        expected = self.choice + 1 if s == self.state else 0
        if s < self.state or c != expected:
            message = "rows must be sorted by state and choice, and the choices of a state numbered 0, 1, 2, …"
            raise fault(self.path, number, f"found choice {c} of state {s}; {message}")
        self.choices.stay_until(s, line=number)
        self.choices.begin(s, name, line=number)
        self.state, self.choice = s, c
        self.n_choices += 1

    def _check_counts(self, declared: list[int]) -> None:
        found = {"choices": self.n_choices, "transitions": self.n_transitions}
        if self.chain:
            del found["choices"]
        for (what, there_are), expected in zip(found.items(), declared, strict=True):
            if expected != there_are:
                message = f"the first line declares {expected:,} {what}, but there are {there_are:,}; was it cut short?"
                raise InputError(f"{self.path}: {message}")

    def expected_rewards(self, files: Sequence[Path]) -> Floats:
        """[C] the reward of every choice: that of its state plus the expected reward of its transitions."""
        states = self.choices.states
        earned = np.zeros(len(states))
        for file in files:
            if file.suffix == ".srew":
                earned += _state_rewards(file, self.n_states)[states]
            else:
                earned += self._transition_rewards(file)
        return earned

    def _transition_rewards(self, path: Path) -> Floats:
        rows, columns, lines, amounts = array("q"), array("i"), array("q"), array("d")
        first = np.searchsorted(self.choices.states, np.arange(self.n_states + 1))
        for number, cells in _reward_rows(path, 3 if self.chain else 4):
            if self.chain:
                cells.insert(1, "0")
            s, c, t = (whole_number_in(cell, path, number, "a state or choice") for cell in cells[:3])
            if max(s, t) >= self.n_states or c >= first[s + 1] - first[s]:
                raise fault(path, number, f"there is no transition from state {s} by choice {c} to state {t}")
            rows.append(first[s] + c)
            columns.append(t)
            lines.append(number)
            amounts.append(number_in(cells[3], path, number, "the reward"))
        if not rows:
            return np.zeros(len(self.choices))
        P = self.choices.matrix()
        p = np.asarray(P[np.asarray(rows), np.asarray(columns)]).ravel()
        if not p.all():
            i = int(np.argmin(p))
            raise fault(path, lines[i], f"the transition to state {columns[i]} has a reward but no probability")
        totals: Floats = P.sum(axis=1)
        earned = np.bincount(np.asarray(rows), weights=p * np.asarray(amounts), minlength=len(totals))
        return np.asarray(earned / totals)


def _data_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are neither empty nor a comment."""
    return ((number, line) for number, line in numbered_lines(path) if line.strip() and not line.startswith("#"))


def _reward_structures(path: Path) -> dict[str, list[Path]]:
    """The files of every reward structure, by its name, or by its number if it has none."""
    structures: dict[str, list[Path]] = {}
    for number in count():
        place = str(number) if number else ""
        beside = (path.with_name(path.stem + place + ending) for ending in (".srew", ".trew"))
        files = [file for file in beside if file.exists()]
        if files:
            structures[_title(files[0]) or place] = files
        elif number:
            break
    return structures


def _title(path: Path) -> str:
    for _, line in numbered_lines(path):
        if line.strip() and not line.startswith("#"):
            break
        if title := REWARD_TITLE.fullmatch(line):
            return title[1].strip()
    return ""


def _reward_rows(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    """The rows below the line of sizes, each with the expected number of columns."""
    rows = _data_lines(path)
    number, first = next(rows, (0, ""))
    if not first:
        raise InputError(f"{path} is empty")
    declared = whole_number_in(first.split()[-1], path, number, "the number of rewards")
    found = 0
    for number, line in rows:
        found += 1
        cells = line.split()
        if len(cells) != columns:
            raise fault(path, number, f"expected {counted(columns, 'column')}, found {len(cells)}")
        yield number, cells
    if found != declared:
        raise InputError(f"{path}: the first line declares {declared:,} rewards but there are {found:,}")


def _state_rewards(path: Path, S: int) -> Floats:
    """[S] the reward of every state."""
    rewards = np.zeros(S)
    for number, (state, amount) in _reward_rows(path, 2):
        s = whole_number_in(state, path, number, "the state")
        if s >= S:
            raise fault(path, number, f"found state {s}, but the model has {counted(S, 'state')}")
        rewards[s] = number_in(amount, path, number, "the reward")
    return rewards


def _valuations(path: Path) -> Valuations:
    """The variables of the states, from the file .sta if there is one."""
    file = path.with_suffix(".sta")
    valuations = Valuations(file)
    for i, (number, line) in enumerate(_data_lines(file) if file.exists() else ()):
        text = line.strip()
        if i == 0:
            if not (text.startswith("(") and text.endswith(")")):
                raise fault(file, number, f"expected the names of the variables such as (x,y), found {text!r:.40}")
            valuations.names = [name.strip() for name in text[1:-1].split(",")]
        elif match := STATE.fullmatch(text):
            values = [value.strip() for value in match[2].split(",")]
            valuations.take(whole_number_in(match[1], file, number, "the state"), values, number)
        else:
            raise fault(file, number, f"expected a state such as 0:(1,2), found {text!r:.40}")
    return valuations


def _labels(path: Path, S: int) -> dict[str, Bools]:
    """The states of all labels, of which `init` is one; without a file of labels it is that of state 0."""
    file = path.with_suffix(".lab")
    if not file.exists():
        return {INIT: mask_of([0], S)}
    marked: dict[str, Bools] = {}
    places: dict[str, Bools] = {}
    for i, (number, line) in enumerate(_data_lines(file)):
        if i == 0:
            marked = {name: np.zeros(S, dtype=np.bool_) for _, name in LABEL_NAME.findall(line)}
            places = {place: marked[name] for place, name in LABEL_NAME.findall(line)}
            continue
        state, _, labels = line.partition(":")
        s = whole_number_in(state, file, number, "the state")
        if s >= S:
            raise fault(file, number, f"found state {s}, but the model has {counted(S, 'state')}")
        for place in labels.split():
            if place not in places:
                raise fault(file, number, f"found label {place!r:.40}, which the first line does not name")
            places[place][s] = True
    if INIT not in marked or not marked[INIT].any():
        raise InputError(f"{file}: no state is labelled init")
    return marked


def _initial(first: Bools) -> Floats:
    """[S] the same probability for every possible first state."""
    return np.asarray(first / first.sum())
