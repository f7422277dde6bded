"""The MDP of a table of transitions, with probabilities or, logged step by step, without.

Rows with the same state, action and next state add up. A state without rows of its own is final: it is never left and
earns nothing. In a state with rows for some actions only, the others are not available. Without a column for the
initial probability, the state of the first row is the initial one.

In a log every row is one step, in the order of time. Probabilities and rewards are estimated by their averages, and an
episode begins with the first row and with every row whose state is not the next state of the row before.
"""

from array import array

import numpy as np

from omdt.counting import counted
from omdt.errors import InputError, warn_input
from omdt.formats.choices import DECIMAL_TOLERANCE, WORTH_TELLING, Choices
from omdt.formats.table import Row, Table
from omdt.formats.table_columns import Columns
from omdt.formats.table_numbers import TableNumbers
from omdt.formats.table_states import State, TableStates
from omdt.mdp import MDP, Floats, Ints

FEW_SAMPLES = 10
"""Minimum number of steps per state and action from which a log estimates probabilities without a warning."""


def mdp_of(table: Table, *, discount: float, fallback: str | None, name: str) -> MDP:
    """The MDP of a table; actions that a state has no rows for are not available in it.

    Args:
        table: the table, whose rows are read.
        discount: γ.
        fallback: the action that is played where a tree names an unavailable one; see `MDP`.
        name: of the MDP.
    """
    collected = _Collected(table)
    for row in table.rows:
        collected.take(row)
    if not collected.rows:
        raise InputError(f"{table.name} has no rows below the names of its columns")
    return _Steps(collected).mdp(discount, fallback, name)


class _Collected:
    """The rows of a table as numbers, in a few bytes per row."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.columns = Columns.of(table)
        self.actions: dict[str, int] = {}
        self.rows, self.taken, self.spelled, self.spelled_next = array("q"), array("i"), array("i"), array("i")
        self.weights, self.earned, self.starts = array("d"), array("d"), array("d")
        self.further = {name: array("d") for name in self.columns.further}
        self._numbers = TableNumbers(table)
        self.states = TableStates(table, self.columns, self._numbers)

    def take(self, row: Row) -> None:
        """Take the next row."""
        number, cells = row
        columns, roles, numbers = self.columns, self.columns.roles, self._numbers
        if len(cells) != len(columns.names):
            raise self.table.fault(number, f"expected {len(columns.names)} columns, found {len(cells)}")
        action = cells[roles["action"]].strip()
        if not action:
            raise self.table.fault(number, "the action has no name")
        self.spelled.append(self.states.spelled(number, tuple(cells[pair.now] for pair in columns.pairs)))
        self.spelled_next.append(self.states.spelled(number, tuple(cells[pair.after] for pair in columns.pairs)))
        p, r, start = 1.0, 0.0, 0.0
        if "probability" in roles:
            p = numbers.probability(number, cells[roles["probability"]], self._what("probability"))
        if "reward" in roles:
            r = numbers.finite(number, cells[roles["reward"]], self._what("reward"))
        for name, column in columns.further.items():
            what = f"the reward {name!r:.40}"
            self.further[name].append(numbers.finite(number, cells[column], what))
        if "initial" in roles:
            start = numbers.probability(number, cells[roles["initial"]], self._what("initial"))
        self.taken.append(self.actions.setdefault(action, len(self.actions)))
        self.rows.append(number)
        self.weights.append(p)
        self.earned.append(r)
        self.starts.append(start)

    def _what(self, role: str) -> str:
        """What a message calls a column that does not belong to the state."""
        name = self.columns.names[self.columns.roles[role]]
        called = "" if name == role else f" (column {name!r:.40})"
        return f"the {'initial probability' if role == 'initial' else role}{called}"


class _Steps:
    """The rows of a table with states and actions numbered in the order in which they appear."""

    def __init__(self, collected: _Collected) -> None:
        self._from = collected
        numbers, self._states = collected.states.numbered()
        self._s, self._t = numbers[np.asarray(collected.spelled)], numbers[np.asarray(collected.spelled_next)]
        self._logged = collected.columns.logged

    def mdp(self, discount: float, fallback: str | None, name: str) -> MDP:
        """The MDP of the whole table."""
        it, names, choices = self._from, list(self._from.actions), Choices()
        weights, earned = np.asarray(it.weights), np.asarray(it.earned)
        further = {name: np.asarray(amounts) for name, amounts in it.further.items()}
        models = {name: array("d") for name in further}
        pairs = self._pairs()
        if self._logged:
            self._warn_about_few(pairs)
        for rows in pairs:
            s, row = int(self._s[rows[0]]), it.rows[rows[0]]
            p = weights[rows] / (len(rows) if self._logged else 1)
            choices.stay_until(s, line=row)
            for called, amounts in further.items():
                # States without rows earn nothing.
                models[called].extend([0.0] * (len(choices) - len(models[called])))
                models[called].append(float(p @ amounts[rows]))
            choices.begin(s, names[it.taken[rows[0]]], line=row, reward=float(p @ earned[rows]))
            choices.targets.extend(self._t[rows].tolist())
            choices.probabilities.extend(p.tolist())
        choices.stay_until(len(self._states), line=0)
        for model in models.values():
            model.extend([0.0] * (len(choices) - len(model)))
        choices.models = models
        features, feature_names, truths = it.states.features(self._states)
        return choices.mdp(
            lambda row, state: f"{it.table.place(row)}: {self._spell(self._states[state])}",
            self._initial(),
            features,
            feature_names=feature_names,
            truths=truths,
            discount=discount,
            name=name,
            fallback=fallback,
        )

    def _pairs(self) -> list[Ints]:
        """The rows of every state and action, sorted by both."""
        taken = np.asarray(self._from.taken)
        order = np.lexsort((taken, self._s))
        changes = np.diff(self._s[order]).astype(np.bool_) | np.diff(taken[order]).astype(np.bool_)
        return np.split(order, np.flatnonzero(changes) + 1)

    def _initial(self) -> Floats:
        """[S] the distribution of the first state."""
        if "initial" in self._from.columns.roles:
            return self._given_initial()
        begins = np.zeros(len(self._s), dtype=np.bool_)
        begins[0] = True
        if self._logged:
            begins[1:] = self._s[1:] != self._t[:-1]
        counts = np.bincount(self._s[begins], minlength=len(self._states))
        return np.asarray(counts / counts.sum())

    def _given_initial(self) -> Floats:
        """[S] the initial probabilities that the rows give."""
        table, given = self._from.table, np.asarray(self._from.starts)
        initial = np.zeros(len(self._states))
        initial[self._s[::-1]] = given[::-1]
        other = np.flatnonzero(initial[self._s] != given)
        if len(other):
            raise table.fault(self._from.rows[other[0]], "the same state was given another initial probability before")
        total = initial.sum()
        if abs(total - 1) > DECIMAL_TOLERANCE:
            raise InputError(f"{table.name}: the initial probabilities of its states sum to {total:.12g}, not to 1")
        if abs(total - 1) > WORTH_TELLING:
            warn_input(
                f"{table.name}: the sum of the initial probabilities misses 1 by {abs(total - 1):.1e}; they are "
                "divided by it"
            )
        return np.asarray(initial / total)

    def _spell(self, state: State) -> str:
        return self._from.states.spell(state)

    def _warn_about_few(self, pairs: list[Ints]) -> None:
        few = [rows for rows in pairs if len(rows) < FEW_SAMPLES]
        if not few:
            return
        rarest = min(few, key=len)
        state = self._spell(self._states[self._s[rarest[0]]])
        action = list(self._from.actions)[self._from.taken[rarest[0]]]
        warn_input(
            f"{self._from.table.name}: {len(few):,} of {len(pairs):,} observed pairs of state and action were seen "
            f"fewer than {FEW_SAMPLES} times, the rarest {counted(len(rarest), 'time')} ({state}, action {action!r}); "
            "the model is an estimate"
        )
