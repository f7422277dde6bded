"""The recorder: listens to an exploration and writes the certificate of what it shows."""

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from weakref import WeakKeyDictionary

import numpy as np

from omdt import check
from omdt.errors import FalseClaimError
from omdt.files import write_whole
from omdt.mdp import EPSILON, Floats, Ints
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.bounds.pins import may_pin
from omdt.methods.search.bounds.protocol import Evidence, LossEvidence, VectorEvidence
from omdt.methods.search.evidence.grounds import Ground, StoppedError
from omdt.methods.search.evidence.measures import Measures, Statement
from omdt.methods.search.evidence.records import Records
from omdt.methods.search.evidence.steps import Step
from omdt.methods.search.exploration import explore_case
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.nodes import Case, Goal, Node, OpenRegion, Partial, Pins
from omdt.methods.search.partial_tree import HOLE, Leaf, Split, Tree, replaced
from omdt.methods.search.regions import Regions
from omdt.watch import Watch

SYMMETRY_MARGIN = 2e-4
"""The part of the gap that symmetries may cost because they are not exact; where it is more they are not used."""


Key = tuple[Pins, Tree]


class RaisedError(Exception):
    """A tree returns more than the bound, for which contexts have been made that depend on it.

    Attributes:
        value: what it returns.
    """

    def __init__(self, value: float) -> None:
        super().__init__(f"a tree returns {value}, more than the bound")
        self.value = value


def prove(path: Path, knowledge: Knowledge, statement: Statement) -> float:
    """Write a certificate, and return the bound it proves.

    Args:
        path: the file.
        knowledge: of the task that was searched.
        statement: what to prove.

    Raises:
        StoppedError: if there was an interrupt; there is no file then.
    """
    bounds: list[float] = []
    try:
        write_whole(path, lambda stream: bounds.append(Recorder(stream, knowledge, statement).run()))
    except RaisedError as error:
        if error.value <= statement.target:
            raise FalseClaimError(
                f"a tree returns {error.value}, but no more than {statement.target} is shown"
            ) from None
        return prove(path, knowledge, replace(statement, target=error.value))
    return bounds[0]


class Recorder:
    """Listens to the exploration that a certificate tells of.

    It objects to every closure that the checker would not accept.
    """

    # Sweeps from a vector on which no action gains lead to one on which no option gains, as the checker wants it; from
    # the vector of a parent they need not, where a region became a leaf.
    inherits_vectors = False

    def __init__(self, stream: BinaryIO, knowledge: Knowledge, statement: Statement) -> None:
        self._statement, self._watch = statement, Watch()
        self._measures = Measures(knowledge, statement)
        self._problem, self._size = self._measures.problem, self._measures.size
        bases, model = knowledge.bases, knowledge.model
        worth = bases.worth_pinning(self._measures.budget) or (statement.raised and may_pin(model))
        self._pins = model.settings.max_pins if worth else 0
        self._records = Records(stream, self._measures, model.mdp.discount, bases.losses, self._pins)
        self._knowledge, self._slack = self._with_exact_symmetries(knowledge)
        self._options = check.Options(self._problem)
        everything = check.Open((((), 0, -1),))
        self._cases: dict[Key, tuple[int, check.Open]] = {((), HOLE): (self._records.next_number("case"), everything)}
        self._grounds: WeakKeyDictionary[Basis, Ground] = WeakKeyDictionary()

    @property
    def bound(self) -> float:
        """No case may return more; it rises when a tree is evaluated that does."""
        return self._measures.bound

    def run(self) -> float:
        """Write everything; the bound that is proven."""
        with self._watch.catching_interrupts():
            self._explore()
        if self._watch.interrupted:
            raise StoppedError
        if self._cases:
            raise FalseClaimError(f"{len(self._cases)} cases of the search were closed without evidence")
        self._records.end()
        return self.bound + self._slack + 8 * EPSILON * (abs(self.bound) + self._slack)

    def closes(self, partial: Partial, evidence: Evidence | None) -> bool:
        """Write that a node is closed, if the evidence would convince the checker."""
        key = _key(partial)
        if isinstance(evidence, LossEvidence):
            return self._closes_by_losses(key, self._grounds[evidence.basis])
        return isinstance(evidence, VectorEvidence) and self._closes_by_options(key, evidence.values)

    def evaluated(self, node: Node, basis: Basis) -> None:
        """Write that a tree returns no more than the bound, which rises if it does."""
        number, (case, _) = self._cases.pop(_key(node.partial))
        value = float(self._problem.value(np.maximum(self._problem.actions(case), 0))[1])
        if value > self.bound and self._pins > 0:
            raise RaisedError(value)
        self._measures.raise_bound(value)
        self._records.close_by_value(number, self._grounds[basis])

    def branched(self, node: Node, place: OpenRegion, alike: Ints, basis: Basis) -> None:
        """Write that a node is branched, and which ways to go on symmetries make superfluous."""
        number, (case, pins) = self._cases.pop(_key(node.partial))
        ground = self._grounds[basis]
        at = next(i for i, it in enumerate(case) if it[0] == place.path)
        questions = ground.origins.regions.dividing(ground.view(case)[at][1])
        children = self._measures.origins.children(case, at, self._size, questions)
        superfluous = self._superfluous(place, alike, basis.tables.regions)
        left_out = {label: by for label, by in superfluous.items() if label in {label for label, _ in children}}
        self._records.branch(ground, number, at, left_out)
        for label, child in children:
            if label not in left_out:
                subtree: Tree = Leaf(label[1]) if label[0] == "action" else Split(label[1], HOLE, HOLE)
                key = (pins, replaced(node.tree, place.path, subtree))
                self._cases[key] = (self._records.next_number("case"), check.Open(child, pins))

    def pinned(self, node: Node, state: int, alike: Ints, basis: Basis) -> None:
        """Write that a node is divided by the action of a state, and which actions symmetries make superfluous."""
        number, (case, pins) = self._cases.pop(_key(node.partial))
        actions = self._knowledge.symmetries.actions
        left_out = {int(a): g for g in alike.tolist() for a in np.flatnonzero(actions[g] < np.arange(self._problem.A))}
        self._records.pin(self._grounds[basis], number, state, left_out)
        for action in set(range(self._problem.A)) - left_out.keys():
            more = (*pins, (state, action))
            self._cases[more, node.tree] = (self._records.next_number("case"), check.Open(case, more))

    def based(self, partial: Partial, basis: Basis, within: Basis) -> None:
        """Write what losses are counted from below a node."""
        number, case = self._cases[_key(partial)]
        if not case.pins:
            self._ground(basis, self._problem.actions(case.case), number)
            return
        self._records.leave_all_out()
        measures, base = self._measures, self._grounds[within]
        context = measures.following.context(case, base.context, measures.without, measures.bound)
        if basis.seen is not None:
            context = measures.following.seeing(context, basis.seen | context.visited)
        ground = Ground(measures, basis, context, self._records.next_number("context"), self._watch, base)
        self._records.follow(ground, number, base)
        self._grounds[basis] = ground

    def left(self, basis: Basis) -> None:
        """Write that a context is of no use any more."""
        ground = self._grounds[basis]
        if ground.context.seen is not None:
            self._records.leave(ground)
            del self._grounds[basis]

    def _explore(self) -> None:
        """Explore everything once more."""
        bases, measures, statement = self._knowledge.bases, self._measures, self._statement
        nothing = np.full(self._problem.S, -1)
        tables = bases.tables(bases.losses, measures.budget, self._watch)
        free = self._ground(Basis(bases.undecided, bases.losses, tables), nothing, None)
        if measures.budget <= 0:
            measures.raise_bound(measures.bound + max(0.0, float(free.context.budget)) * (1 + 8 * EPSILON))
            self._records.close(self._cases.pop(((), HOLE))[0], free, Step("s", claims=(None,)))
            return
        losses = bases.losses.within(measures.budget, self._watch)
        measures.leave_out(np.isinf(losses.delta))
        basis = Basis(bases.undecided, losses, bases.tables(losses, measures.budget, self._watch))
        context = measures.context(losses.values, nothing)
        self._grounds[basis] = Ground(measures, basis, context, free.number, self._watch)
        model, above = self._knowledge.model, float(np.nextafter(statement.target, np.inf))
        bound = max(float(model.mdp.initial @ model.optimal.upper), above)
        goal = Goal(statement.value, statement.target, measures.budget, statement.raised, self._pins > 0)
        cases = [Case(bound, Partial(HOLE))]
        while cases and self._watch.remaining > 0:
            cases += explore_case(self._knowledge, basis, cases.pop(), goal, 1 << 62, self._watch, self).open

    def _ground(self, basis: Basis, fixed: Ints, case: int | None) -> Ground:
        """A new ground, whose context is written at once."""
        context = self._measures.context(basis.losses.values, fixed)
        ground = Ground(self._measures, basis, context, self._records.next_number("context"), self._watch)
        self._records.context(ground, basis.losses.values, case)
        self._grounds[basis] = ground
        return ground

    def _with_exact_symmetries(self, knowledge: Knowledge) -> tuple[Knowledge, float]:
        """Write the symmetries, unless they cost too much; what a tree may return more than those that are explored."""
        found = knowledge.symmetries
        renamings = [check.Renaming(*it) for it in zip(found.states, found.actions, strict=True)]
        slacks = (check.slack_of(self._problem, self._size, it, self._pins) for it in renamings)
        slack = max(map(float, slacks), default=0.0)
        if slack > SYMMETRY_MARGIN * self._statement.room:
            return knowledge.without_symmetries(), 0.0
        for it in renamings:
            self._records.symmetry(it)
        return knowledge, slack

    def _closes_by_losses(self, key: Key, ground: Ground) -> bool:
        number, (case, pins) = self._cases[key]
        value, step = ground.lost(ground.view(case), self._size, ground.budget, pins=pins)
        if not value >= self._measures.enough(ground.context):
            return False
        self._records.close(number, ground, step)
        del self._cases[key]
        return True

    def _closes_by_options(self, key: Key, vector: Floats) -> bool:
        number, (case, _) = self._cases[key]
        problem = self._problem
        largest = float(np.abs(vector).max() + np.abs(problem.rewards).max())
        rounding = 64 * problem.terms * EPSILON * largest / float(problem.contraction) ** 2
        returned = float(self._knowledge.model.mdp.initial @ vector) + rounding
        if returned > self.bound and not (
            self._options.bound(case, self._size, problem.numbers(vector)) + rounding / 64 <= self.bound
        ):
            return False
        self._records.close_by_options(number, vector)
        del self._cases[key]
        return True

    def _superfluous(self, place: OpenRegion, alike: Ints, regions: Regions) -> dict[tuple[str, int], int]:
        """The actions and questions at a place that symmetries turn into earlier ones, and by which symmetry."""
        found = self._knowledge.symmetries
        superfluous: dict[tuple[str, int], int] = {}
        if len(alike) == 0:
            return superfluous
        representatives, questions = regions.representatives(place.region), regions.questions(place.region)
        for g in alike.tolist():
            actions = np.flatnonzero(found.actions[g] < np.arange(found.actions.shape[1]))
            turned = representatives[found.questions[g, questions]]
            superfluous |= {("action", int(a)): g for a in actions}
            superfluous |= {("question", int(k)): g for k in questions[turned < questions]}
        return superfluous


def _key(partial: Partial) -> Key:
    return partial.pins, partial.tree
