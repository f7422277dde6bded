"""Conflicts: states with actions that no policy within the budget takes all of.

What shows that a leaf exceeds the budget mostly is about a few of its states (`bounds.blame`). Every case with the same
actions in these states is closed by it as well: leaves of other regions, and below with more leaves or pins. So one
vector takes the place of many, and most cheapest policies need not be looked for.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from omdt import check
from omdt.mdp import Ints

ANY = -2
"""Stands for any action, in a state that is not visited."""


@dataclass(eq=False)
class Conflict:
    """States, and the actions that no policy within the budget takes in all of them, with the vector that shows it.

    `ground` is the number of the context; `number` is that of its record, −1 before it is written.
    """

    context: check.Context
    ground: int
    states: Ints
    actions: Ints
    vector: bytes
    number: int = -1

    def written(self, number: int) -> None:
        """Remember the number of its record; the vector is not needed any more."""
        self.number, self.vector = number, b""


class Conflicts:
    """The conflicts of a context and of those it was made within.

    Args:
        within: those of the context that this one was made within; None if there is none.
        most: maximum number that is kept; the older half is dropped when there are more.
    """

    def __init__(self, within: "Conflicts | None", most: int) -> None:
        self._within, self._most = within, most
        self._kept: list[Conflict] = []
        self._starts, self._states, self._actions = (np.zeros(n, dtype=np.int64) for n in (most + 1, 64, 64))

    def add(self, conflict: Conflict) -> None:
        """Keep a conflict."""
        if len(self._kept) == self._most:
            newer = self._kept[self._most // 2 :]
            self._kept = []
            for it in newer:
                self.add(it)
        start = self._starts[len(self._kept)]
        end = start + len(conflict.states)
        if end > len(self._states):
            self._states, self._actions = (np.resize(it, 2 * end) for it in (self._states, self._actions))
        self._states[start:end], self._actions[start:end] = conflict.states, conflict.actions
        self._kept.append(conflict)
        self._starts[len(self._kept)] = end

    def inside(self, actions: Ints) -> Conflict | None:
        """A conflict that given actions [S] contain, −1 where none is given and `ANY` where it makes no difference."""
        if self._kept:
            last: int = _last_inside(self._starts, self._states, self._actions, len(self._kept), actions)
            if last >= 0:
                return self._kept[last]
        return None if self._within is None else self._within.inside(actions)


@njit(cache=True)
def _last_inside(starts, states, actions, count, given):  # type: ignore[no-untyped-def]
    """The number of the last conflict that given actions contain; −1 if there is none."""
    for i in range(count - 1, -1, -1):
        k, end = starts[i], starts[i + 1]
        while k < end and (given[states[k]] == actions[k] or given[states[k]] == ANY):
            k += 1
        if k == end:
            return i
    return -1
