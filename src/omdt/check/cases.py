"""Cases: partial trees of single questions, and the regions of states that belong to their leaves."""

from functools import cache, cached_property
from typing import TypeAlias

import numpy as np

from .arithmetic import Arithmetic
from .claimed import Case, Size
from .model import Model
from .questions import Questions, division
from .reading import Bools, Ints

Label: TypeAlias = tuple[str, int]  # a way to continue at an open place: ("action", a) or ("question", k)


class Problem(Arithmetic):
    """The model with its questions, and the regions and cases that they make."""

    def __init__(self, model: Model, questions: Questions | None = None, *, exact: bool = False) -> None:
        super().__init__(model, exact=exact)
        self.questions = Questions() if questions is None else questions
        self._numbers: dict[bytes, int] = {}
        self.split, self.dividing = cache(self._split), cache(self._dividing)  # asked again for every case

    @cached_property
    def sides(self) -> Bools:
        """[S, K] whether a state goes right at a question."""
        return self.questions.sides(*self.questions.columns(self.model.features, self.model.feature_names))

    @cached_property
    def decisive(self) -> Bools:
        """[S] whether actions differ in rewards or transitions; all states, if they differ in none."""
        m = self.model
        lengths = np.diff(m.indptr).reshape(self.S, self.A)
        alike = (m.rewards == m.rewards[:, :1]).all(axis=1) & (lengths == lengths[:, :1]).all(axis=1)
        for s in np.flatnonzero(alike):
            entries = slice(m.indptr[s * self.A], m.indptr[(s + 1) * self.A])
            rows = np.stack([m.indices[entries], m.data[entries]]).reshape(2, self.A, -1)
            alike[s] = (rows == rows[:, :1]).all()
        return np.asarray(alike if alike.all() else ~alike)

    @cached_property
    def regions(self) -> list[Ints]:
        """The states of every region that has a number; region 0 has all states where actions differ."""
        return [np.flatnonzero(self.decisive)]

    def region(self, states: Ints) -> int:
        """The number of a set of sorted states."""
        number = self._numbers.setdefault(states.astype(np.int32).tobytes(), len(self.regions))
        if number == len(self.regions):
            self.regions.append(states)
        return number

    def _split(self, region: int, k: int) -> tuple[int, int]:
        """The two sides of a question within a region."""
        states = self.regions[region]
        right = self.sides[states, k]
        return self.region(states[~right]), self.region(states[right])

    def _dividing(self, region: int) -> list[int]:
        """The questions that divide a region, the first of those that do it in the same way."""
        inside = self.sides[self.regions[region]]
        first: dict[bytes, int] = {}
        for k in np.flatnonzero((inside != inside[:1]).any(axis=0)):
            first.setdefault(division(inside[:, k]), int(k))
        return sorted(first.values())

    def children(self, case: Case, i: int, size: Size) -> list[tuple[Label, Case]]:
        """What can become of an open place: a leaf with each action, or each question that divides it.

        A leaf beside a leaf with the same action is left out: both act as one leaf, a child of the case above.
        """
        path, region, _ = case[i]
        beside = [action for other, _, action in case if path and other == (*path[:-1], 1 - path[-1])]
        actions = [a for a in range(self.A) if a not in beside]
        ways: list[tuple[Label, Case]] = [(("action", a), ((path, region, a),)) for a in actions]
        if len(path) < size.depth and len(case) < size.leaves:
            for k in self.dividing(region):
                left, right = self.split(region, k)
                ways.append((("question", k), (((*path, 0), left, -1), ((*path, 1), right, -1))))
        return [(label, (*case[:i], *parts, *case[i + 1 :])) for label, parts in ways]

    def actions(self, case: Case) -> Ints:
        """[S] the action of a fixed leaf, −1 in open places, and 0 where actions do not differ."""
        actions = np.where(self.decisive, -1, 0)
        for _, region, action in case:
            actions[self.regions[region]] = action
        return actions
