"""Pinning: which single state is decided next, before the leaf it belongs to, and the cases that come of it.

Pins help where no state is visited twice (`bounds.pins`). The state in which everything begins is pinned first, then
states that are visited for certain and have few actions within the budget. Cases with more pins than an exploration has
are explored apart, with a basis of their own.
"""

from dataclasses import replace

import numpy as np

from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.bounds.pins import first_state, state_to_pin
from omdt.methods.search.bounds.protocol import LossEvidence
from omdt.methods.search.branching import Branching
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.nodes import Case, Goal, Node
from omdt.methods.search.observing import Observer


class Pinning:
    """Pins states in the nodes of one exploration.

    Args:
        knowledge: what is known of the task.
        basis: that of the exploration.
        goal: whether states may be pinned.
        branching: that of the exploration.
        observer: who hears of every pin.

    Attributes:
        cases: those with more pins than the exploration has.
    """

    def __init__(
        self, knowledge: Knowledge, basis: Basis, goal: Goal, branching: Branching, observer: Observer
    ) -> None:
        self._settings, self._may_pin = knowledge.model.settings, goal.may_pin
        self._basis, self._branching, self._observer = basis, branching, observer
        self._start = first_state(knowledge.model, knowledge.bases.undecided) if goal.may_pin else None
        self.cases: list[Case] = []

    def next_state(self, node: Node) -> int | None:
        """The next state to pin: the first one, then one that is visited for certain, with few actions within β."""
        pins, entered, certain = node.partial.pins, self._basis.entered, self._basis.tables.certain
        if not pins:
            return self._start
        if not self._may_pin or entered is None or certain is None or len(pins) >= self._settings.max_pins:
            return None
        return state_to_pin(entered, node.actions, certain < self._basis.budget, self._settings.surviving_actions)

    def at(self, state: int, bound: float, node: Node) -> bool:
        """Replace a node by cases in which a state has an action within the budget; whether others are left out."""
        certain, losses = self._basis.tables.certain, self._basis.losses
        within = np.isfinite(losses.delta[state]) if certain is None else certain[state] < self._basis.budget
        partial, decided, left_out = node.partial, node.actions[state], False
        alike = self._branching.fixing(node, state)
        self._observer.pinned(node, state, alike, self._basis)
        for action in self._branching.different_actions(alike):
            pinned = replace(partial, pins=(*partial.pins, (state, action)))
            possible = within[action] and decided in (-1, action)
            if possible or not self._observer.closes(pinned, LossEvidence(self._basis)):
                self.cases.append(Case(bound, pinned))
            else:
                left_out = True
        return left_out
