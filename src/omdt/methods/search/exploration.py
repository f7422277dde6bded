"""Exploration: best-first branch and bound below one node.

A partial tree has fixed leaves and open regions. Bounds hold for all trees that complete it, and the lowest counts:
what its leaves and open regions lose at least (`bounds.loss_bound`), and what an agent with options could return
(`bounds.options`). Branching closes one open region, either as a leaf with each action or as a split on each question
that divides it.

As long as no leaf is fixed, options are cheap and tables are not; later it is the other way round. Options are skipped
below nodes where they told nothing, but have further `chances` where losses tell no more. A node with a single open
region is explored with its own leaves as basis.
"""

import heapq
import itertools
from dataclasses import replace

import numpy as np

from omdt.mdp import Floats
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.bounds.loss_bound import LossBound
from omdt.methods.search.bounds.protocol import Bound, Bounded, LossEvidence, VectorEvidence
from omdt.methods.search.bounds.ways import Ways
from omdt.methods.search.branching import Branching
from omdt.methods.search.chances import Chances
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.nodes import Case, Findings, Goal, Node, Partial
from omdt.methods.search.observing import Observer, Unobserved
from omdt.methods.search.partial_tree import HOLE, Tree
from omdt.methods.search.pinning import Pinning
from omdt.watch import OutOfTimeError, Watch

UNOBSERVED = Unobserved()


def explore(knowledge: Knowledge, case: Case, goal: Goal, nodes: int, watch: Watch) -> Findings:
    """Examine up to the given number of nodes below a case, best first."""
    try:
        basis = knowledge.bases.general(goal, watch)
    except OutOfTimeError:
        return Findings([case], -np.inf, None, -np.inf, late=True)
    return explore_case(knowledge, basis, case, goal, nodes, watch)


def explore_case(
    knowledge: Knowledge,
    general: Basis,
    case: Case,
    goal: Goal,
    nodes: int,
    watch: Watch,
    observer: Observer = UNOBSERVED,
) -> Findings:
    """Examine nodes below a case, given the basis of cases without pins."""
    pins, closed = case.partial.pins, Findings([], goal.target, None, -np.inf, 1)
    if not pins:
        return Exploration(knowledge, general, goal, watch, observer).run(case, nodes)
    basis = knowledge.bases.pinned(pins, general, watch)
    if basis is None:
        observer.closes(case.partial, LossEvidence(general))
        return closed
    observer.based(case.partial, basis, general)
    if basis.budget <= 0:
        observer.closes(case.partial, LossEvidence(basis))
    found = closed if basis.budget <= 0 else Exploration(knowledge, basis, goal, watch, observer).run(case, nodes)
    observer.left(basis)
    return found


class Exploration:
    """One case and what comes of it.

    Args:
        knowledge: what is known of the task.
        basis: what losses are counted from.
        goal: what is to be shown.
        watch: when its time is up, what remains is returned.
        observer: who hears of every step.
        chances: those of options, shared with the exploration that this one is a part of; by default new ones.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        basis: Basis,
        goal: Goal,
        watch: Watch,
        observer: Observer = UNOBSERVED,
        chances: Chances | None = None,
    ) -> None:
        self._knowledge, self._basis, self._goal, self._watch, self._observer = knowledge, basis, goal, watch, observer
        self._model, self._settings = knowledge.model, knowledge.model.settings
        self._chances = Chances(self._model) if chances is None else chances
        self._branching = Branching(knowledge, basis)
        self._losses = LossBound(basis)
        self._target, self._value = goal.target, goal.value
        self._pinning = Pinning(knowledge, basis, goal, self._branching, observer)
        self._best: Tree | None = None
        self._completed, self._late = False, False
        self._closed, self._nodes = -np.inf, 0
        self._counter = itertools.count()
        self._heap: list[tuple[float, int, Partial]] = []

    def run(self, case: Case, nodes: int) -> Findings:
        """Examine up to the given number of nodes."""
        self._push(*case)
        while self._heap and self._nodes < nodes and self._watch.remaining > 0:
            self._nodes += 1
            negated, _, partial = heapq.heappop(self._heap)
            try:
                if partial.choice is None:
                    self._bound(-negated, partial)
                else:
                    self._branch(-negated, partial)
            except OutOfTimeError:
                self._push(-negated, partial)
                self._late = True
        remaining = [Case(-negated, partial) for negated, _, partial in sorted(self._heap, key=lambda it: it[:2])]
        self._late |= bool(remaining) and self._nodes < nodes
        found = remaining + self._pinning.cases
        return Findings(found, self._closed, self._best, self._value, self._nodes, self._late)

    def _push(self, bound: float, partial: Partial) -> None:
        if bound <= self._target:
            self._close(bound)
        else:
            heapq.heappush(self._heap, (-bound, next(self._counter), partial))

    def _close(self, bound: float) -> None:
        self._closed = max(self._closed, bound)

    def _bound(self, of_parent: float, partial: Partial) -> None:
        """Bound a partial tree by itself and put it back, unless it is closed by that."""
        node = self._branching.node(partial)
        if not node.open:
            self._complete(of_parent, node)
        elif not partial.pins and (start := self._pinning.next_state(node)) is not None:
            self._pin(start, of_parent, node)
        elif partial.pins and partial.tree == HOLE:
            # The root is branched at once: what its tables would tell, those of its children tell sooner.
            self._push(of_parent, replace(partial, choice=()))
        elif self._prefers_options(node):
            self._bound_by_options(of_parent, node)
        else:
            self._bound_by_losses(of_parent, node)

    def _prefers_options(self, node: Node) -> bool:
        """Whether a node is bounded by options alone, for now."""
        partial = node.partial
        if partial.pins or partial.by_options or partial.blind > 0:
            return False
        if np.any(node.actions != self._knowledge.bases.undecided):
            return False
        return partial.tree == HOLE or max(o.depth for o in node.open) > 1

    def _bound_by_options(self, of_parent: float, node: Node) -> None:
        found = self._asked(self._knowledge.options, node)
        blind = 0 if self._helps(of_parent, found.value) else 1
        bound = self._further(node, min(found.value, of_parent))
        # The root is branched at once, as one with pins is.
        choice = () if node.tree == HOLE else None
        vector = self._inherited(node.partial, found)
        self._push(bound, replace(node.partial, vector=vector, choice=choice, blind=blind, by_options=True))

    def _bound_by_losses(self, of_parent: float, node: Node) -> None:
        """Bound a node by losses, then in one of the ways that make more of them, then by options."""
        partial = node.partial
        by_losses = self._asked(self._losses, node).value
        bound = min(of_parent, by_losses)
        if bound > self._target and not self._completed:
            self._evaluate(self._branching.node(replace(partial, tree=self._losses.completion(node))))
            self._completed = True
        if bound > self._target and self._knowledge.bases.pays(node, self._basis):
            self._explore_around(bound, node)
            return
        if bound > self._target and partial.pins and (state := self._pinning.next_state(node)) is not None:
            self._pin(state, bound, node)
            return
        blind, most = partial.blind, self._settings.blind_ancestors
        # Where losses cannot tell more either, options are asked again.
        again = blind >= most and not self._helps(of_parent, bound) and (self._goal.raised or self._chances.left)
        blind = most - 1 if again else blind
        partial = replace(partial, choice=None, blind=blind, by_options=True)
        # Options know nothing of pins.
        if bound > self._target and blind < most and not partial.pins:
            bound, partial = self._bound_by_both(bound, by_losses, node, partial)
            if again:
                self._chances.take(helped=partial.blind == 0)
        bound = self._further(node, bound)
        if bound > self._target and partial.choice is None:
            partial = replace(partial, choice=self._losses.costliest(node))
        self._push(bound, partial)

    def _bound_by_both(self, bound: float, by_losses: float, node: Node, partial: Partial) -> tuple[float, Partial]:
        """The better of losses and options, and the partial tree with what was learned of options."""
        found = self._asked(self._knowledge.options, node)
        told = self._basis.losses.optimum - by_losses > self._settings.telling_loss * self._basis.budget
        blind = 0 if self._helps(bound, found.value) else partial.blind + told
        choice = None if blind > 0 and self._model.swept else found.place
        vector = self._inherited(partial, found)
        return min(bound, found.value), replace(partial, vector=vector, choice=choice, blind=blind)

    def _asked(self, bound: Bound, node: Node) -> Bounded:
        """What a bound tells, unless it closes the node and the observer objects."""
        found = bound.bound(node, self._target, self._watch)
        if found.value <= self._target and not self._observer.closes(node.partial, found.evidence):
            return replace(found, value=float(np.nextafter(self._target, np.inf)))
        return found

    def _further(self, node: Node, bound: float) -> float:
        """The least of a bound and all further bounds, as far as they are needed."""
        for other in self._knowledge.further:
            if bound > self._target:
                bound = min(bound, self._asked(other, node).value)
        return bound

    def _helps(self, before: float, after: float) -> bool:
        return before - after > self._settings.helping_step * (before - self._target)

    def _inherited(self, partial: Partial, found: Bounded) -> Floats | None:
        """The vector from which the option bounds of the children start."""
        # One pass needs no start, and many vectors need much memory.
        if not isinstance(found.evidence, VectorEvidence) or self._model.acyclic:
            return partial.vector
        return found.evidence.values if self._observer.inherits_vectors else None

    def _complete(self, bound: float, node: Node) -> None:
        """Close a complete tree; what is not known of its return counts for the bound."""
        bound = min(bound, self._asked(self._losses, node).value)
        if bound > self._target:
            bound = min(bound, self._evaluate(node))
            self._observer.evaluated(node, self._basis)
        self._close(bound)

    def _evaluate(self, node: Node) -> float:
        """Evaluate a complete tree; an upper bound on its return, or the target if that is higher."""
        tree, policy = node.tree, node.actions
        if self._basis.seen is not None:
            # Nothing was decided where policies within the budget do not go: whatever is done there, a tree either
            # returns the same or does not reach the target.
            tree, policy = self._knowledge.filled_in(tree)
        value = self._knowledge.value(policy)
        if value.value > self._value and self._model.task.permits(policy):
            self._value, self._best = value.value, tree
        return value.upper if self._basis.seen is None else max(value.upper, self._target)

    def _explore_around(self, bound: float, node: Node) -> None:
        """Explore a node with its own leaves as basis."""
        basis = self._knowledge.bases.around(node.actions, self._basis, self._target, self._watch)
        self._observer.based(node.partial, basis, self._basis)
        if basis.budget <= 0:
            closed = self._observer.closes(node.partial, LossEvidence(basis))
            self._observer.left(basis)
            other = replace(node.partial, choice=node.open[0].path, by_options=True)
            self._close(self._target) if closed else self._push(bound, other)
            return
        goal = Goal(self._value, self._target, basis.budget)
        inner = Exploration(self._knowledge, basis, goal, self._watch, self._observer, self._chances)
        findings = inner.run(Case(bound, node.partial), self._settings.nodes_per_basis)
        self._observer.left(basis)
        self._nodes += findings.nodes
        self._late |= findings.late
        self._close(findings.closed)
        if findings.value > self._value:
            self._value, self._best = findings.value, findings.tree
        for case in findings.open:
            self._push(*case)

    def _pin(self, state: int, bound: float, node: Node) -> None:
        if self._pinning.at(state, bound, node):
            self._close(self._target)

    def _branch(self, bound: float, partial: Partial) -> None:
        """Replace a partial tree by those in which one more region is decided."""
        node = self._branching.node(partial)
        place = next((o for o in node.open if o.path == partial.choice), None)
        if place is None:
            # With a smaller budget, nobody goes there any more.
            self._push(bound, replace(partial, choice=None))
            return
        alike, ways = self._branching.alike(node), Ways(self._basis, node, place)
        # While no leaf is fixed, the tables of large regions take longer than they tell.
        told = bool(np.any(node.actions != self._knowledge.bases.undecided))
        # All of this comes before anything is changed, because time may be up in between.
        leaves = [(leaf, ways.loses_as_leaf(a)) for a, leaf in self._branching.leaves(node, place, alike)]
        splits = [(split, told and ways.loses_as_split(k)) for k, split in self._branching.splits(node, place, alike)]
        self._observer.branched(node, place, alike, self._basis)
        for leaf, loses in leaves:
            if loses and self._observer.closes(leaf.partial, LossEvidence(self._basis)):
                self._close(self._target)
            elif leaf.open:
                self._push(bound, leaf.partial)
            else:
                self._complete(bound, leaf)
        for split, loses in splits:
            if loses and self._observer.closes(split, LossEvidence(self._basis)):
                self._close(self._target)
            else:
                self._push(bound, split)
