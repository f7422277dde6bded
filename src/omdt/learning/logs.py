"""Logs: steps that were recorded while some other policy acted, from a CSV file or a data frame.

One row is one step: the state, the `action`, the `reward`, the state after the step (`next x` for every part x) and
whether the process ended with it (`terminated` or `done`). Further columns are `truncated` (the episode was cut off,
but the process did not end), `episode` (any name of the episode of each row) and `probability` (that of the logged
action in that state, under whoever chose it).

    wear,action,reward,next wear,done,episode
    0,run,4,1,false,monday
    1,repair,-2,0,false,monday

`log_columns` says what else columns may be called, and `log_cells` what their cells may hold.

**Next states.** Without columns `next x` the state of the next row of the same episode is what followed. What followed
the last step of an episode is then known only if the process ended with it; otherwise that step is left out.

**Episodes.** With a column `episode` the rows of one episode may stand anywhere, in the order of time. Without one an
episode begins with the first row, after every row that ended one, and where the state is not what followed the row
before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from omdt.errors import InputError
from omdt.formats.from_csv import table_in
from omdt.formats.from_dataframe import table_of
from omdt.formats.table import Table
from omdt.formats.text import check_is_file
from omdt.learning.log_cells import Cells, RowNumbers, StateColumn, Texts
from omdt.learning.log_columns import LogColumns
from omdt.learning.steps import Steps
from omdt.mdp import Bools, Floats, Ints
from omdt.mdp_checks import ROW_SUM_TOLERANCE

BLOCK = 10_000
"""Number of rows whose cells are in memory as texts at any time."""

FRAME = "data frame"
"""What a data frame is called in messages."""


@dataclass(frozen=True, eq=False)
class Log:
    """A log.

    Attributes:
        name: what the user calls it.
        steps: its steps.
        probabilities: [n] how probable the action of each step was where it was chosen; None if that is not known.
        truths: names of the features that are truth values.
    """

    name: str
    steps: Steps
    probabilities: Floats | None = None
    truths: tuple[str, ...] = ()


def log_of(source: Any) -> Log:
    """The log that a CSV file, a data frame, a dictionary of columns or recorded steps hold.

    Raises:
        InputError: if it cannot be read; the message names row and column.
    """
    if isinstance(source, Log):
        return source
    if isinstance(source, Steps):
        return Log("steps", source)
    if isinstance(source, str | Path):
        check_is_file(Path(source))
        return _read(table_in(Path(source)))
    return _read(table_of(source, FRAME))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some rows of a log as numbers.

    Attributes:
        states: [n, F'] the parts of the state before each step.
        following: [n, F'] those after it; those before it again where the next row has what followed.
        actions: [n] number of the name of the action.
        rewards: [n]
        terminated: [n] whether the process ended.
        ended: [n] whether the episode ended, for whatever reason.
        episodes: [n] number of the name of the episode; 0 without such a column.
        probabilities: [n] of the actions; 1 without such a column.
    """

    states: Floats
    following: Floats
    actions: Ints
    rewards: Floats
    terminated: Bools
    ended: Bools
    episodes: Ints
    probabilities: Floats

    @classmethod
    def joined(cls, parts: "Sequence[_Rows]") -> "_Rows":
        """All rows of several parts."""
        columns: Any = {one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)}
        return cls(**columns)

    def chosen(self, which: Ints | Bools) -> "_Rows":
        """Some rows, by their indices or by a mask."""
        columns: Any = {one.name: getattr(self, one.name)[which] for one in fields(self)}
        return _Rows(**columns)


class _Reader:
    """Reads a log block by block.

    Args:
        table: the log.
    """

    def __init__(self, table: Table) -> None:
        self.columns = LogColumns.of(table)
        self._table, self._cells = table, Cells(table)
        self.parts = [StateColumn(feature.name, self._cells) for feature in self.columns.features]
        self.actions, self._episodes = Texts(), Texts()

    def blocks(self) -> Iterator[_Rows]:
        """All rows, block by block."""
        while rows := list(islice(self._table.rows, BLOCK)):
            for row, cells in rows:
                if len(cells) != len(self.columns.names):
                    raise self._table.fault(row, f"expected {len(self.columns.names)} columns, found {len(cells)}")
            yield self._block([row for row, _ in rows], list(zip(*(cells for _, cells in rows), strict=True)))

    def _block(self, rows: RowNumbers, cells: list[tuple[str, ...]]) -> _Rows:
        names, roles = self.columns.names, self.columns.roles
        terminated, ended = self._endings(rows, cells)
        states, following = [], []
        for feature, part in zip(self.columns.features, self.parts, strict=True):
            states.append(part.taken(rows, cells[feature.now], column=names[feature.now]))
            after = states[-1]
            if feature.after is not None:
                after = part.taken(rows, cells[feature.after], column=names[feature.after], optional=terminated)
            following.append(np.where(np.isnan(after), states[-1], after))
        probabilities, episodes = np.ones(len(rows)), np.zeros(len(rows), dtype=np.int64)
        if "probability" in roles:
            i = roles["probability"]
            probabilities = self._cells.probabilities(rows, names[i], cells[i])
        if "episode" in roles:
            episodes = self._named(self._episodes, rows, cells, "episode")
        return _Rows(
            np.stack(states, axis=1),
            np.stack(following, axis=1),
            self._named(self.actions, rows, cells, "action"),
            self._cells.finite(rows, names[roles["reward"]], cells[roles["reward"]]),
            terminated,
            ended,
            episodes,
            probabilities,
        )

    def features(self, values: Floats) -> Floats:
        """[n, F] the features of parts of the state [n, F']."""
        return np.stack([column for j, part in enumerate(self.parts) for column in part.columns(values[:, j])], axis=1)

    def _named(self, texts: Texts, rows: RowNumbers, cells: list[tuple[str, ...]], role: str) -> Ints:
        """[n] the numbers of the names of actions or episodes."""
        i = self.columns.roles[role]
        for row, text in zip(rows, cells[i], strict=True):
            if not text.strip():
                raise self._cells.fault(row, self.columns.names[i], text, f"the name of the {role}")
        return texts.taken(cells[i])

    def _endings(self, rows: RowNumbers, cells: list[tuple[str, ...]]) -> tuple[Bools, Bools]:
        """[n] whether the process ended with each step, and whether its episode did."""
        said = {role: np.zeros(len(rows), dtype=np.bool_) for role in ("terminated", "done", "truncated")}
        for role in said.keys() & self.columns.roles.keys():
            i = self.columns.roles[role]
            said[role] = self._cells.truths(rows, self.columns.names[i], cells[i])
        ended: Bools = said["terminated"] | said["done"] | said["truncated"]
        if "terminated" in self.columns.roles:
            return said["terminated"], ended
        return said["done"] & ~said["truncated"], ended


def _read(table: Table) -> Log:
    """The log of a table."""
    reader = _Reader(table)
    blocks = list(reader.blocks())
    if not blocks:
        raise InputError(f"{table.name} has no rows below the names of its columns")
    flat, roles = reader.columns.flat, reader.columns.roles
    rows = _Rows.joined(blocks)
    if "probability" in roles and not flat:
        _check_is_no_table(table, rows)
    rows = rows.chosen(np.argsort(rows.episodes, kind="stable"))
    first = _first(rows, by_state=not flat and "episode" not in roles)
    episodes: Ints = np.cumsum(first) - 1
    observations, following = reader.features(rows.states), reader.features(rows.following)
    known = np.ones(len(first), dtype=np.bool_)
    if flat:
        following, known = _next_rows(observations, first, rows.terminated)
    if not known.any():
        raise InputError(
            f"{table.name}: no row is followed by another one of its episode, and there are no columns of the next "
            "state (as 'next x'), so that nothing is known of what steps lead to"
        )
    named = [part.features() for part in reader.parts]
    action_names, numbers = _ordered(list(reader.actions.numbers))
    rows = rows.chosen(known)
    steps = Steps(
        observations[known],
        numbers[rows.actions],
        rows.rewards,
        following[known],
        rows.terminated,
        np.unique(episodes[known], return_inverse=True)[1],
        tuple(name for names, _ in named for name in names),
        action_names,
    )
    truths = tuple(name for names, truth in named if truth for name in names)
    return Log(table.name, steps, rows.probabilities if "probability" in roles else None, truths)


def _check_is_no_table(table: Table, rows: _Rows) -> None:
    """Raise for a table of transitions: there the probabilities of every state and action sum to 1."""
    keys = np.column_stack([rows.states, rows.actions])
    _, pairs, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    sums = np.bincount(pairs.ravel(), rows.probabilities)
    if counts.max() > 1 and np.abs(sums - 1).max() < ROW_SUM_TOLERANCE:
        raise InputError(
            f"{table.name} is a table of transitions and no log: the probabilities of every state and action sum to 1. "
            "Nothing has to be learned then; omdt solve (in Python omdt.read and omdt.solve) finds the best tree"
        )


def _first(rows: _Rows, *, by_state: bool) -> Bools:
    """[n] whether each step is the first of its episode.

    Args:
        rows: all rows, those of an episode together.
        by_state: whether an episode also begins where the state is not what followed the row before.
    """
    first: Bools = np.ones(len(rows.actions), dtype=np.bool_)
    first[1:] = rows.ended[:-1] | (np.diff(rows.episodes) != 0)
    if by_state:
        first[1:] |= (rows.states[1:] != rows.following[:-1]).any(axis=1)
    return first


def _next_rows(observations: Floats, first: Bools, terminated: Bools) -> tuple[Floats, Bools]:
    """[n, F] what the next row of the same episode observes, and [n] whether it is known what followed each step."""
    last = np.append(first[1:], True)
    following = observations.copy()
    following[:-1][~last[:-1]] = observations[1:][~last[:-1]]
    return following, ~last | terminated


def _ordered(names: list[str]) -> tuple[tuple[str, ...], Ints]:
    """The names of the actions, whole numbers by size and others as they appear; and the new number of each."""
    order = list(range(len(names)))
    if all(name.isascii() and name.isdigit() for name in names):
        order.sort(key=lambda i: int(names[i]))
    numbers = np.empty(len(names), dtype=np.int64)
    numbers[order] = np.arange(len(names))
    return tuple(names[i] for i in order), numbers
