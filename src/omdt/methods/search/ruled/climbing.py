"""Climbing under rules: local search for good trees that keep all rules of a task.

A climb compares trees by their merit: the net return minus a penalty for broken rules (`worth`). So it may begin with a
tree that breaks rules and is led to one that keeps them. Climbs with a high penalty and climbs with a mild one, which
may pass between trees that keep the rules by way of others that do not, take turns. Every tree that is evaluated on the
way, keeps all rules and returns more than the incumbent becomes the incumbent; no other tree ever does.

Climbs begin with grown and proposed trees (`starts`), later with random changes of the best tree. First-order gains
(`moves`) choose and order the trees around a tree; a climb moves to the first better one. With few states, every second
climb moves to the best one.
"""

import math
import time
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Tree
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.ruled.facts import Facts
from omdt.methods.search.ruled.growing import Growing
from omdt.methods.search.ruled.keeping import Keeping, Questions
from omdt.methods.search.ruled.moves import Moves
from omdt.methods.search.ruled.multipliers import Multipliers
from omdt.methods.search.ruled.starts import RuledStarts
from omdt.methods.search.ruled.worth import WORTHLESS, Evaluation, Slopes, Worth
from omdt.watch import Watch

STRICT, MILD = 1e3, 3.0
"""Weights of the excess over limits in the merit, in units of the scale of returns: with the first one no gain makes up
for a visible excess, with the second one an excess of a tenth may be worth a third of the return for a while."""

CLIMBED_FROM = 3
"""Number of the first trees, the best ones, from which climbs begin before those that search without rules proposes."""

MOST_FILLED = 64
"""Maximum number of actions that are tried as the action of all open places at first."""


class RuledClimbing:
    """Hill climbing with restarts under rules, which improves an incumbent.

    Attributes:
        questions: the questions of the task, then those of the kept tree.
    """

    def __init__(self, model: Model, incumbent: Incumbent, seed: int, watch: Watch) -> None:
        self.model, self.incumbent, self.watch = model, incumbent, watch
        self.random = np.random.default_rng(seed)
        self._keeping, questions = Keeping(model), Questions(model)
        self.questions: Ranks = questions.all
        self._evaluation = Evaluation(model, questions, watch)
        self._growing = Growing(model, self._keeping, questions, watch)
        self._moves = Moves(model, self._keeping, questions, self._growing, watch)
        self._multipliers = Multipliers(self._evaluation, watch)
        self._starts: Iterator[Tree] = self._all_starts()
        self._best: tuple[float, Tree | None] = (-math.inf, None)
        self._polished: Tree | None = None
        self._climbs, self._seconds = 0, 0.0

    @property
    def single(self) -> bool:
        """Whether nothing can be grown: there are no questions, or no open places with room for one."""
        return len(self.model.task.splits) == 0 or all(place.depth == 0 for place in self._keeping.places)

    @property
    def best(self) -> Tree:
        """The incumbent, or any leaf if there is none."""
        return Leaf(0) if self.incumbent.tree is None else self.incumbent.tree

    @property
    def evaluations(self) -> int:
        """Number of trees evaluated so far."""
        return self._evaluation.count

    @property
    def _over(self) -> bool:
        """Whether time is up, or nothing better can be found."""
        return self.watch.remaining == 0 or self.incumbent.optimal_reached or not self._keeping.possible

    def start(self) -> None:
        """Evaluate the kept tree with the same action in all open places, for every action."""
        for tree in self._filled():
            if self._over:
                return
            self.consider(tree)

    def climb(self, times: int) -> None:
        """Climb from the next start, and when there are no more, from random changes of the best tree."""
        for _ in range(times):
            if self._over or not self._keeping.places:
                return
            tree = next(self._starts, None)
            self.climb_from(self._perturbed() if tree is None else tree)

    def consider(self, tree: Tree) -> None:
        """Make a tree the incumbent if it keeps all rules and is better."""
        self._evaluated(self._evaluation.facts(tree))

    def finish(self) -> None:
        """Spend the reserved time on making the incumbent locally optimal."""
        self.watch.reserve(2 * self._seconds)
        tree = self.incumbent.tree
        if not (tree is None or tree == self._polished or self._over):
            self._climb(tree, STRICT, steep=False)

    def climb_from(self, tree: Tree) -> None:
        """Climb from a tree, with the penalty whose turn it is."""
        self._climbs += 1
        totals = bool(self.model.task.ceilings) or self.model.task.least_share is not None
        few = self.model.mdp.n_states < self.model.settings.impatient_states
        self._climb(tree, MILD if totals and self._climbs % 3 == 0 else STRICT, steep=few and self._climbs % 2 == 0)

    def _climb(self, tree: Tree, weight: float, *, steep: bool) -> None:
        """Move to better trees until there are none."""
        facts = self._evaluation.facts(tree)
        worth = self._evaluated(facts)
        for _ in range(self.model.settings.max_steps):
            if self._over:
                break
            before = self._evaluation.merit(worth, weight)
            better = self._better(facts, worth, weight, steep=steep)
            if better is None or self._evaluation.merit(better[1], weight) <= before + self.incumbent.noise:
                break
            facts, worth = better
        merit = self._evaluation.merit(worth, STRICT)
        if merit > self._best[0]:
            self._best = merit, facts.tree

    def _better(self, facts: Facts, worth: Worth, weight: float, *, steep: bool) -> tuple[Facts, Worth] | None:
        """A tree of higher merit around a tree; None if none is found."""
        slopes, tree = self._slopes(facts, weight), facts.tree
        found = self._chosen(self._moves.promising(tree, slopes), facts, worth, weight, steep=steep)
        if found is None and self.watch.remaining > 0:
            found = self._chosen(self._moves.small(tree, slopes), facts, worth, weight, steep=False)
        if found is None and self.watch.remaining > 0:
            found = self._chosen(self._moves.grown_anew(tree, slopes), facts, worth, weight, steep=False)
        if found is None and tree == self.incumbent.tree and self.watch.remaining > 0:
            self._polished = tree
            self.watch.reserve(2 * self._seconds)
        return found

    def _chosen(
        self, trees: Iterable[Tree], facts: Facts, worth: Worth, weight: float, *, steep: bool
    ) -> tuple[Facts, Worth] | None:
        """The first tree of higher merit than the present one, or the best one for a steep climb."""
        least = self._evaluation.merit(worth, weight) + self.incumbent.noise
        excess, found = facts.shape_excess(self.model.task), None
        for tree in trees:
            if self._over:
                break
            other = self._evaluation.facts(tree)
            if other.shape_excess(self.model.task) > excess:
                continue
            value = self._evaluated(other)
            if (merit := self._evaluation.merit(value, weight)) > least:
                found, least = (other, value), merit
                if not steep:
                    break
        return found

    def _evaluated(self, facts: Facts) -> Worth:
        """What a tree is worth; it becomes the incumbent if it keeps all rules and is better."""
        if not self._keeping.possible:
            return WORTHLESS
        begin = time.perf_counter()
        worth = self._evaluation.worth(facts)
        self._seconds = time.perf_counter() - begin
        if worth.excess == 0 and self.incumbent.improved_by(worth.value):
            self.incumbent.improve(facts.tree, worth.value)
            share = self.model.settings.polishing_share * self.watch.time_limit
            self.watch.reserve(min(share, 2 * self._seconds * self.model.settings.evaluations_per_base))
            self.incumbent.report()
        return worth

    def _slopes(self, facts: Facts, weight: float) -> Slopes:
        return self._evaluation.slopes(facts, self._multipliers.values, weight)

    def _perturbed(self) -> Tree:
        """The best tree with random changes: the incumbent or, until there is one, the tree of highest merit."""
        tree = self.incumbent.tree if self.incumbent.tree is not None else self._best[1]
        if tree is None:
            tree = self._keeping.filled([0] * len(self._keeping.places))
        facts = self._evaluation.facts(tree)
        return self._moves.perturbed(tree, self._slopes(facts, STRICT), self.random)

    def _all_starts(self) -> Iterator[Tree]:
        """The trees from which climbs begin, before random changes of the best one.

        Grown trees are evaluated before the first climb, which begins with the best of them. With many states, there is
        time for few climbs: what search without the rules proposes is then evaluated before the first one, too.
        """
        starts = RuledStarts(self.model, self._growing, self._multipliers, self.watch)
        many = self.model.mdp.n_states >= self.model.settings.impatient_states
        proposed = starts.proposed()
        merits: dict[Tree, float] = {}
        for tree in chain(self._filled(), starts.grown(), proposed if many else ()):
            if self._over:
                break
            if tree not in merits:
                merits[tree] = self._evaluation.merit(self._evaluated(self._evaluation.facts(tree)), MILD)
        best_first = sorted(merits, key=lambda tree: -merits[tree])
        yield from best_first[:CLIMBED_FROM]
        yield from proposed
        yield from best_first[CLIMBED_FROM:]

    def _filled(self) -> Iterator[Tree]:
        """The kept tree with the same action in all open places, for every action."""
        places = len(self._keeping.places)
        for action in range(min(MOST_FILLED, self.model.mdp.n_actions) if places else 1):
            yield self._keeping.filled([action] * places)
