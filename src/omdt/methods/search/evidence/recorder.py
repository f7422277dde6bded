"""The recorder: listens to an exploration and writes the certificate of what it shows."""

from pathlib import Path
from typing import BinaryIO
from weakref import WeakKeyDictionary

import numpy as np

from omdt import check
from omdt.errors import FalseClaimError
from omdt.files import write_whole
from omdt.mdp import EPSILON, Floats, Ints
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.bounds.protocol import Evidence, LossEvidence, VectorEvidence
from omdt.methods.search.evidence.grounds import Ground, Step, StoppedError
from omdt.methods.search.evidence.measures import Measures, Statement
from omdt.methods.search.evidence.records import Records
from omdt.methods.search.exploration import Exploration
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.nodes import Case, Goal, Node, OpenRegion, Partial
from omdt.methods.search.partial_tree import HOLE, Leaf, Split, Tree, replaced
from omdt.watch import Watch

SYMMETRY_MARGIN = 2e-4
"""The part of the gap that symmetries may cost because they are not exact; where it is more they are not used."""


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
    write_whole(path, lambda stream: bounds.append(Recorder(stream, knowledge, statement).run()))
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
        losses = knowledge.bases.losses
        self._records = Records(stream, self._measures, knowledge.model.mdp.discount, losses)
        self._knowledge, self._slack = self._with_exact_symmetries(knowledge)
        self._options = check.Options(self._problem)
        self._cases: dict[Tree, tuple[int, check.Case]] = {HOLE: (self._records.next_number("case"), (((), 0, -1),))}
        self._grounds: WeakKeyDictionary[Basis, Ground] = WeakKeyDictionary()

    def run(self) -> float:
        """Write everything; the bound that is proven."""
        with self._watch.catching_interrupts():
            self._explore()
        if self._watch.interrupted:
            raise StoppedError
        if self._cases:
            raise FalseClaimError(f"{len(self._cases)} cases of the search were closed without evidence")
        self._records.end()
        bound = self._measures.bound
        return bound + self._slack + 8 * EPSILON * (abs(bound) + self._slack)

    def closes(self, tree: Tree, evidence: Evidence | None) -> bool:
        """Write that a node is closed, if the evidence would convince the checker."""
        if isinstance(evidence, LossEvidence):
            return self._closes_by_losses(tree, self._grounds[evidence.basis])
        return isinstance(evidence, VectorEvidence) and self._closes_by_options(tree, evidence.values)

    def evaluated(self, node: Node) -> None:
        """Write that a tree returns no more than the bound, which rises if it does."""
        number, case = self._cases.pop(node.tree)
        self._measures.raise_bound(float(self._problem.value(self._problem.actions(case))[1]))
        self._records.close_by_value(number)

    def branched(self, node: Node, place: OpenRegion, alike: Ints) -> None:
        """Write that a node is branched, and which ways to go on symmetries make superfluous."""
        number, case = self._cases.pop(node.tree)
        at = next(i for i, it in enumerate(case) if it[0] == place.path)
        children = self._measures.children(case, at, self._size)
        superfluous = self._superfluous(place, alike)
        left_out = {label: by for label, by in superfluous.items() if label in {label for label, _ in children}}
        self._records.branch(number, at, left_out)
        for label, child in children:
            if label not in left_out:
                subtree: Tree = Leaf(label[1]) if label[0] == "action" else Split(label[1], HOLE, HOLE)
                tree = replaced(node.tree, place.path, subtree)
                self._cases[tree] = (self._records.next_number("case"), child)

    def based(self, node: Node, basis: Basis) -> None:
        """Write what losses are counted from below a node."""
        number, case = self._cases[node.tree]
        self._ground(basis, self._problem.actions(case), number)

    def _explore(self) -> None:
        """Explore everything once more."""
        bases, measures, statement = self._knowledge.bases, self._measures, self._statement
        nothing = np.full(self._problem.S, -1)
        tables = bases.tables(bases.losses, measures.budget, self._watch)
        free = self._ground(Basis(bases.undecided, bases.losses, tables), nothing, None)
        if measures.budget <= 0:
            measures.raise_bound(measures.bound + max(0.0, float(free.context.budget)) * (1 + 8 * EPSILON))
            self._records.close(self._cases.pop(HOLE)[0], free, Step("s", claims=(None,)))
            return
        losses = bases.losses.within(measures.budget, self._watch)
        measures.leave_out(np.isinf(losses.delta))
        basis = Basis(bases.undecided, losses, bases.tables(losses, measures.budget, self._watch))
        self._grounds[basis] = Ground(measures, basis, nothing, free.number, self._watch)
        model, above = self._knowledge.model, float(np.nextafter(statement.target, np.inf))
        bound = max(float(model.mdp.initial @ model.optimal.upper), above)
        goal = Goal(statement.value, statement.target, measures.budget, statement.raised)
        Exploration(self._knowledge, basis, goal, self._watch, self).run(Case(bound, Partial(HOLE)), 1 << 62)

    def _ground(self, basis: Basis, fixed: Ints, case: int | None) -> Ground:
        """A new ground, whose context is written at once."""
        ground = Ground(self._measures, basis, fixed, self._records.next_number("context"), self._watch)
        self._records.context(ground, basis.losses.values, case)
        self._grounds[basis] = ground
        return ground

    def _with_exact_symmetries(self, knowledge: Knowledge) -> tuple[Knowledge, float]:
        """Write the symmetries, unless they cost too much; what a tree may return more than those that are explored."""
        found = knowledge.symmetries
        renamings = [check.Renaming(*it) for it in zip(found.states, found.actions, strict=True)]
        slack = max((float(check.slack_of(self._problem, self._size, it)) for it in renamings), default=0.0)
        if slack > SYMMETRY_MARGIN * self._statement.room:
            return knowledge.without_symmetries(), 0.0
        for it in renamings:
            self._records.symmetry(it)
        return knowledge, slack

    def _closes_by_losses(self, tree: Tree, ground: Ground) -> bool:
        number, case = self._cases[tree]
        value, step = ground.lost(case, self._size, ground.budget)
        if not value >= self._measures.enough(ground.context):
            return False
        self._records.close(number, ground, step)
        del self._cases[tree]
        return True

    def _closes_by_options(self, tree: Tree, vector: Floats) -> bool:
        number, case = self._cases[tree]
        bound, problem = self._measures.bound, self._problem
        largest = float(np.abs(vector).max() + np.abs(problem.rewards).max())
        rounding = 64 * problem.terms * EPSILON * largest / float(problem.contraction) ** 2
        returned = float(self._knowledge.model.mdp.initial @ vector) + rounding
        if returned > bound and not (
            self._options.bound(case, self._size, problem.numbers(vector)) + rounding / 64 <= bound
        ):
            return False
        self._records.close_by_options(number, vector)
        del self._cases[tree]
        return True

    def _superfluous(self, place: OpenRegion, alike: Ints) -> dict[tuple[str, int], int]:
        """The actions and questions at a place that symmetries turn into earlier ones, and by which symmetry."""
        found, regions = self._knowledge.symmetries, self._measures.regions
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
