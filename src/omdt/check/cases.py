"""Cases: the model with its questions, and the cases that a proof distinguishes."""

from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from .arithmetic import Arithmetic
from .claimed import Case
from .model import Model
from .questions import Questions
from .reading import Bools, Ints
from .regions import Regions

Pins: TypeAlias = tuple[tuple[int, int], ...]  # states and their actions, whatever leaves they belong to


class Open(NamedTuple):
    """A case that is not closed: a partial tree, and what is decided about single states."""

    case: Case
    pins: Pins = ()


class Problem(Arithmetic):
    """The model with its questions, and the regions that they make."""

    def __init__(self, model: Model, questions: Questions | None = None, *, exact: bool = False) -> None:
        super().__init__(model, exact=exact)
        self.questions = Questions() if questions is None else questions

    @cached_property
    def sides(self) -> Bools:
        """[S, K] whether a question sends a state to the right."""
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
    def regions(self) -> Regions:
        """The regions of all states where actions differ."""
        return Regions(self.sides, np.flatnonzero(self.decisive), self.A)

    def actions(self, case: Case, pins: Pins = ()) -> Ints:
        """[S] the action of a fixed leaf or a pin, −1 in open places, and 0 where actions do not differ."""
        actions = np.where(self.decisive, -1, 0)
        for _, region, action in case:
            actions[self.regions.states[region]] = action
        for state, action in pins:
            actions[state] = action
        return actions
