"""A table of transitions in a CSV file, with probabilities or, logged one by one, without.

The first line names the columns. A column `next x` makes `x` a column of the state; those hold numbers and become the
features. The others are `action` (any text), `reward` (0 if it is missing) and, unless the rows are a log,
`probability`; `initial` may give the probability of starting in the state of a row.

    x,y,action,next x,next y,probability,reward
    0,0,right,1,0,0.9,-1
    0,0,right,0,0,0.1,-1

Rows with the same state, action and next state add up. A state without rows of its own is final: it is never left and
earns nothing. In a state with rows for some actions only, the others are not available. Without the column `initial`,
the first row's state is the initial one.

In a log every row is one step, in the order of time. Probabilities and rewards are estimated by their averages, and an
episode begins with the first row and with every row whose state is not the next state of the row before.
"""

import csv
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from omdt.counting import counted
from omdt.errors import InputError, warn_input
from omdt.formats.choices import DECIMAL_TOLERANCE, WORTH_TELLING, Choices
from omdt.formats.options import ReadOptions
from omdt.formats.text import discount_or_default, fault, number_in, numbered_lines, probability_in
from omdt.mdp import MDP, Floats, Ints

NEXT = "next "
"""What the name of a column begins with that holds a part of the next state."""

FEW_SAMPLES = 10
"""Minimum number of steps per state and action from which a log estimates probabilities without a warning."""

State = tuple[float, ...]


def read(path: Path, options: ReadOptions) -> MDP:
    """Read an MDP from a table of transitions; actions that a state has no rows for are not available in it."""
    table = _Table(path)
    return table.mdp(discount_or_default(path, options.discount_or(None)), options.fallback)


class _Columns:
    """Where the columns of a table stand."""

    def __init__(self, path: Path, line: int, header: list[str]) -> None:
        names = [name.strip() for name in header]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise fault(path, line, f"two columns are called {repeated!r:.40}")
        self.features = [name for name in names if NEXT + name in names]
        if not self.features:
            raise fault(path, line, f"no column belongs to the state; a state column x needs a column '{NEXT}x'")
        if "action" not in names:
            raise fault(path, line, "there is no column 'action'")
        known = {"action", "probability", "reward", "initial", *self.features}
        known |= {NEXT + name for name in self.features}
        for name in names:
            if name not in known:
                hint = f"if it belongs to the state, there must be a column '{NEXT}{name:.40}'"
                raise fault(path, line, f"column {name!r:.40} is unknown; {hint}")
        self.state = [names.index(name) for name in self.features]
        self.successor = [names.index(NEXT + name) for name in self.features]
        self.action = names.index("action")
        self.probability, self.reward, self.initial = (
            names.index(name) if name in names else None for name in ("probability", "reward", "initial")
        )
        self.count = len(names)


class _Table:
    """The rows of a table, with states and actions numbered in the order in which they appear."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.index: dict[State, int] = {}
        self.spellings: dict[tuple[str, ...], int] = {}
        self.actions: dict[str, int] = {}
        self.states, self.taken, self.successors, self.lines = array("i"), array("i"), array("i"), array("q")
        self.weights, self.earned = array("d"), array("d")
        self.starts: dict[int, float] = {}
        rows = _rows(path)
        line, header = next(rows, (0, []))
        if not header:
            raise InputError(f"{path} is empty; its first line must name the columns")
        self.columns = _Columns(path, line, header)
        for number, cells in rows:
            self._take(number, cells)
        if not self.states:
            raise InputError(f"{path} has no rows below the names of its columns")

    def _take(self, number: int, cells: list[str]) -> None:
        columns = self.columns
        if len(cells) != columns.count:
            raise fault(self.path, number, f"expected {columns.count} columns, found {len(cells)}")
        action = cells[columns.action].strip()
        if not action:
            raise fault(self.path, number, "the action has no name")
        s, t = (self._state(number, cells, places) for places in (columns.state, columns.successor))
        p, r, start = 1.0, 0.0, None
        if columns.probability is not None:
            p = probability_in(cells[columns.probability], self.path, number)
        if columns.reward is not None:
            r = number_in(cells[columns.reward], self.path, number, "the reward")
        if columns.initial is not None:
            start = probability_in(cells[columns.initial], self.path, number)
        self._note_start(number, s, start)
        self.states.append(s)
        self.taken.append(self.actions.setdefault(action, len(self.actions)))
        self.successors.append(t)
        self.weights.append(p)
        self.earned.append(r)
        self.lines.append(number)

    def _state(self, number: int, cells: list[str], places: list[int]) -> int:
        """The number of the state in some columns; each spelling is parsed once."""
        spelled = tuple(cells[place] for place in places)
        if spelled not in self.spellings:
            names = self.columns.features
            state = tuple(
                number_in(text, self.path, number, f"state column {name!r:.40}")
                for text, name in zip(spelled, names, strict=True)
            )
            self.spellings[spelled] = self.index.setdefault(state, len(self.index))
        return self.spellings[spelled]

    def _note_start(self, number: int, s: int, given: float | None) -> None:
        """Note that an episode may begin in a state: with the given probability, or once more in a log."""
        if given is not None:
            if self.starts.setdefault(s, given) != given:
                raise fault(self.path, number, "the same state was given another initial probability before")
        elif not self.states:
            self.starts[s] = 1.0
        elif self.columns.probability is None and s != self.successors[-1]:
            self.starts[s] = self.starts.get(s, 0.0) + 1.0

    def mdp(self, discount: float, fallback: str | None) -> MDP:
        """The MDP of the whole table."""
        names, states, choices = list(self.actions), list(self.index), Choices()
        successors, weights, earned = np.asarray(self.successors), np.asarray(self.weights), np.asarray(self.earned)
        pairs = self._pairs()
        if self.logged:
            self._warn_about_few(pairs)
        for rows in pairs:
            s, line = self.states[rows[0]], self.lines[rows[0]]
            p = weights[rows] / (len(rows) if self.logged else 1)
            choices.stay_until(s, line=line)
            choices.begin(s, names[self.taken[rows[0]]], line=line, reward=float(p @ earned[rows]))
            choices.targets.extend(successors[rows].tolist())
            choices.probabilities.extend(p.tolist())
        choices.stay_until(len(states), line=0)
        return choices.mdp(
            lambda line, state: f"{self.path}:{line}: {self._spell(states[state])}",
            self._initial(len(states)),
            np.array(states),
            feature_names=tuple(self.columns.features),
            discount=discount,
            name=str(self.path),
            fallback=fallback,
        )

    @property
    def logged(self) -> bool:
        """Whether the rows are steps that were taken, not probabilities."""
        return self.columns.probability is None

    def _pairs(self) -> list[Ints]:
        """The rows of every state and action, sorted by both."""
        states, taken = np.asarray(self.states), np.asarray(self.taken)
        order = np.lexsort((taken, states))
        changes = np.diff(states[order]).astype(np.bool_) | np.diff(taken[order]).astype(np.bool_)
        return np.split(order, np.flatnonzero(changes) + 1)

    def _initial(self, S: int) -> Floats:
        initial = np.zeros(S)
        initial[list(self.starts)] = list(self.starts.values())
        total = initial.sum()
        if self.columns.initial is not None and abs(total - 1) > DECIMAL_TOLERANCE:
            raise InputError(f"{self.path}: the initial probabilities of its states sum to {total:.12g}, not to 1")
        if self.columns.initial is not None and abs(total - 1) > WORTH_TELLING:
            warn_input(
                f"{self.path}: the sum of the initial probabilities misses 1 by {abs(total - 1):.1e}; they are divided "
                "by it"
            )
        return np.asarray(initial / total)

    def _spell(self, state: State) -> str:
        return "state " + ", ".join(f"{name}={x:g}" for name, x in zip(self.columns.features, state, strict=True))

    def _warn_about_few(self, pairs: list[Ints]) -> None:
        few = [rows for rows in pairs if len(rows) < FEW_SAMPLES]
        if not few:
            return
        rarest = min(few, key=len)
        state = list(self.index)[self.states[rarest[0]]]
        action = list(self.actions)[self.taken[rarest[0]]]
        warn_input(
            f"{self.path}: {len(few):,} of {len(pairs):,} observed pairs of state and action were seen fewer than "
            f"{FEW_SAMPLES} times, the rarest {counted(len(rarest), 'time')} ({self._spell(state)}, action {action!r})"
            "; the model is an estimate"
        )


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file that are not empty, with the number of their last line."""
    reader = csv.reader((line + "\n" for _, line in numbered_lines(path)), strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise fault(path, reader.line_num, str(error)) from None
