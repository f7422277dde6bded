"""The search for the best tree of one size of a front, which can be left and taken up again."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from omdt.limits import Limits
from omdt.methods.options import SearchOptions
from omdt.methods.search.climbing import climber
from omdt.methods.search.enumeration import can_enumerate, enumerate_trees
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.model import Model
from omdt.methods.search.outcome import why_stopped
from omdt.methods.search.partial_tree import Leaf, Split, Tree, asked_questions, count_leaves, to_policy
from omdt.methods.search.proofs import begin_proof
from omdt.methods.search.rounds import Rounds
from omdt.methods.search.turns import USUAL, CoarseFirst, Proof, Waiting, rounds
from omdt.methods.shrinking import shrunk
from omdt.solution import Stop
from omdt.tree import LEAF, TreePolicy
from omdt.watch import Watch

CLIMBS_AT_ONCE = 3
"""Climbs before a proof whose fine search does not wait, since its tables are made for the incumbent: while it waits in
a single solve, the local search has its turns."""


class Found(NamedTuple):
    """A tree and its return."""

    tree: TreePolicy
    value: float


@dataclass(frozen=True)
class Shared:
    """What the searches of all sizes share beside their model.

    Attributes:
        shrunk_trees: the trees that were shrunk so far, with what remained of them.
        fine_searches: the first fine search that began, if any; later ones share what it knows.
    """

    shrunk_trees: dict[Tree, TreePolicy] = field(default_factory=dict)
    fine_searches: list[Rounds] = field(default_factory=list)


class SizeSearch:
    """The search for the best tree of one size.

    Args:
        model: the model of the task with this size.
        limits: how much work may go into it.
        watch: the clock, which counts the nodes of this size alone.
        shared: what was found for other sizes.

    Attributes:
        incumbent: the best tree of this size.
        begun: whether it had its first turn.
        over: whether it needs no more turns, because it is complete or because there is no time or memory for more.
        complete: whether no tree of this size is better than the incumbent.
    """

    def __init__(self, model: Model, limits: Limits, watch: Watch, shared: Shared) -> None:
        self.model, self._limits, self.watch, self._shared = model, limits, watch, shared
        self.incumbent = Incumbent(model, limits.gap, watch)
        self._local = climber(model, self.incumbent, limits.seed, watch)
        self._proof: Proof | None = None
        self._known = self.incumbent.unrestricted
        self.begun = self.over = self.complete = False
        self._waiting, self._left = USUAL, watch.elapsed
        self._steps = self._searched()

    @property
    def bound(self) -> float:
        """No tree of this size returns more."""
        return self._known if self._proof is None else min(self._known, self._proof.bound)

    @property
    def steady_bound(self) -> float:
        """The same without what depends on seconds."""
        return self._known if self._proof is None else min(self._known, self._proof.steady_bound)

    @property
    def room(self) -> float:
        """How much better than the incumbent a tree of this size may be."""
        return math.inf if self.incumbent.tree is None else max(0.0, self.steady_bound - self.incumbent.value)

    @property
    def lesson(self) -> Waiting | None:
        """How long the fine search had better wait for other sizes; None if nothing was learned about that."""
        return self._proof.lesson if isinstance(self._proof, CoarseFirst) else None

    def advance(self, waiting: Waiting) -> None:
        """Do the next piece of work.

        Args:
            waiting: how long the fine search waits for the coarse one in a proof that begins now.
        """
        self._waiting, self.begun = waiting, True
        # Raised targets have a share of the time of their proof, which is not that of other sizes.
        self.watch.away += self.watch.elapsed - self._left
        if next(self._steps, self) is self:
            self._end()
        self._left = self.watch.elapsed

    def rest(self) -> None:
        """Leave the cores to other sizes."""
        if self._proof is not None:
            self._proof.rest()

    def offer(self, tree: Tree, value: float) -> None:
        """Take a tree of another size, with its return, if it fits and is better."""
        size = self.model.size
        if count_leaves(tree) > size.leaves or _depth(tree) > size.depth or not self.incumbent.improved_by(value):
            return
        if self.begun and not self.over:
            self._local.consider(tree)
        else:
            self.incumbent.improve(tree, value)
        if self.incumbent.optimal_reached:
            self._settle()

    def lower(self, bound: float) -> None:
        """Take a bound that was found for larger trees."""
        self._known = min(self._known, bound)
        if not self.over and self.incumbent.tree is not None and self._known <= self.incumbent.target:
            self._settle()

    def finish(self) -> None:
        """Spend the reserved time on making an incumbent without proof locally optimal, and end all threads."""
        if self.begun and not self.complete:
            self._local.finish()
        self._end()

    def smaller(self) -> Tree | None:
        """The incumbent without questions that it does not need; None if it needs all, or evaluations take long.

        Rules beyond those about leaves may need questions that the return does not.
        """
        tree, found, quick = self.incumbent.tree, None, self.model.mdp.n_states < self.model.settings.impatient_states
        if tree is not None and quick and self.model.task.only_leaf_rules:
            found = self.found(self.watch)
        if tree is None or found is None or found.tree.n_leaves == count_leaves(tree):
            return None
        splits = self.model.task.splits
        numbers = {(int(splits.feature[k]), float(splits.threshold[k])): k for k in asked_questions(tree)}
        return _as_tree(found.tree, 0, numbers)

    def found(self, watch: Watch) -> Found | None:
        """The incumbent without questions that it does not need; None if there is no tree that the rules allow."""
        tree = self.incumbent.tree
        return None if tree is None else Found(self._shrunk(tree, watch), self.incumbent.value)

    def _shrunk(self, tree: Tree, watch: Watch) -> TreePolicy:
        """A tree without questions that it does not need; it is shrunk once, however many sizes have it."""
        if tree in self._shared.shrunk_trees:
            return self._shared.shrunk_trees[tree]
        policy = shrunk(to_policy(tree, self.model.splits, self.model.mdp), self.model.task, watch)
        if watch.remaining > 0:
            self._shared.shrunk_trees[tree] = policy
        return policy

    @property
    def stop(self) -> Stop:
        """Why there were no more turns."""
        return Stop.COMPLETE if self.complete else why_stopped(self._proof, self.watch)

    def _searched(self) -> Iterator[None]:
        """The pieces of the work."""
        incumbent, local, model = self.incumbent, self._local, self.model
        smaller = incumbent.tree
        local.start()
        if smaller is not None and isinstance(local, LocalSearch) and not local.single:
            local.climb_from(smaller)
        local.climb(model.settings.first_climbs)
        if not local.single:
            yield
        if incumbent.optimal_reached:
            self._settle()
            return
        if can_enumerate(model):
            bound = enumerate_trees(model, local.questions, incumbent, local.consider, self.watch)
            if bound is not None:
                self._known = min(self._known, bound)
                self._settle()
                return
        if self._waiting.effort is not None:
            local.climb(CLIMBS_AT_ONCE)
        options = SearchOptions(settings=model.settings)
        kin = self._shared.fine_searches
        self._proof = begin_proof(local, self._limits, self.watch, options, waiting=self._waiting, kin=kin)
        yield from rounds(self._proof, local, self.watch)

    def _settle(self) -> None:
        """Note and report that no tree of this size is better than the incumbent."""
        self.complete = True
        self._end()
        self.incumbent.lower(self.bound)
        self.incumbent.report()

    def _end(self) -> None:
        """Note that no more turns are needed; of the proof, its bound is kept."""
        self.over = True
        if self._proof is not None:
            self.complete |= self._proof.done
            self._proof.stop()


def _as_tree(policy: TreePolicy, node: int, numbers: dict[tuple[int, float], int]) -> Tree:
    """A tree policy below a node, with the numbers of the questions about features and thresholds."""
    if policy.feature[node] == LEAF:
        return Leaf(int(policy.action[node]))
    question = numbers[int(policy.feature[node]), float(policy.threshold[node])]
    left, right = (_as_tree(policy, int(child), numbers) for child in (policy.left[node], policy.right[node]))
    return Split(question, left, right)


def _depth(tree: Tree) -> int:
    """Maximum number of questions on any path."""
    return 1 + max(_depth(tree.left), _depth(tree.right)) if isinstance(tree, Split) else 0
