"""The third way to enumerate: the fine search, with the value that a tree has to reach as its target.

Partial trees are decided further until what they lose at least is too much (`methods.search.exploration`). Its bounds
are the sharpest where all trees are far from the best policy; they need a discount and few states. Complete trees that
return enough are heard of through the observer. Symmetries are not used: they would leave out trees that are listed.
"""

import numpy as np

from omdt import planning
from omdt.methods.search.bounds.bases import Basis, budget_of
from omdt.methods.search.exploration import Exploration
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.nodes import Case, Goal, Node, Partial
from omdt.methods.search.observing import Unobserved
from omdt.methods.search.partial_tree import HOLE
from omdt.methods.search.symmetry import Symmetries
from omdt.tradeoffs.alternatives_branching import Parts, Waiting

NODES_PER_STEP = 25
"""Partial trees per exploration: what remains is put back then, and other cases with higher bounds have their turn."""


class ByLosses:
    """Decides one question or leaf after another, with the bounds of the fine search."""

    def __init__(self, parts: Parts) -> None:
        model = parts.model
        self._parts = parts
        self._knowledge = Knowledge(model, Symmetries.none(model), parts.max_bytes)
        self._waiting: Waiting[Partial] = Waiting(parts.most_waiting(0))
        self._waiting.put(model.optimal_return.upper, Partial(HOLE))
        worst = planning.expected_return(model.mdp, planning.worst_values(model.mdp, parts.watch))
        self._worst = worst.lower - parts.collection.noise

    def step(self) -> bool:
        """Explore some nodes below the next case; False if none is left."""
        parts = self._parts
        taken = self._waiting.take(parts.collection.floor)
        if taken is None:
            return False
        goal = self._goal
        basis = self._knowledge.bases.general(goal, parts.watch)
        exploration = Exploration(self._knowledge, basis, goal, parts.watch, _Listener(parts))
        findings = exploration.run(Case(*taken), NODES_PER_STEP)
        parts.watch.count(max(1, findings.nodes))
        for case in findings.open:
            self._waiting.put(*case)
        if findings.late:
            parts.watch.check()
        return True

    @property
    def _goal(self) -> Goal:
        """To find all trees that return more than a target just below what is asked for."""
        target = float(np.nextafter(max(self._parts.collection.floor, self._worst), -np.inf))
        return Goal(np.inf, target, budget_of(self._knowledge.bases.losses.optimum, target))


class _Listener(Unobserved):
    """Takes the policies of complete trees."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def evaluated(self, node: Node, basis: Basis) -> None:
        """As in `Observer`."""
        plays = self._parts.domains.plays(np.maximum(node.actions, 0))
        self._parts.collection.add(plays, self._parts.watch)
