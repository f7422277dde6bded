"""The coarse search: best-first branch and bound over coarse trees, at any number of states.

A round decides something about each of the best few coarse trees and bounds what comes of it. Bounds of one round do
not depend on one another, so several threads may compute them, and the result is the same however many do.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from omdt import planning
from omdt.limits import Limits
from omdt.methods.search.coarse.bounding import Bounding, CoarseNode
from omdt.methods.search.coarse.coarse_tree import complete
from omdt.methods.search.coarse.decisions import Decision, Decisions
from omdt.methods.search.coarse.first_tree import First
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.coarse.observing import CoarseObserver, Grounds, Unobserved
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.partial_tree import Tree
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.ruling import Broken, Ruling
from omdt.watch import OutOfTimeError, Watch


@dataclass(frozen=True, eq=False)
class Explored:
    """What a round has made of a node: a decision about it, unless time ran out, and the nodes in its place."""

    node: CoarseNode
    decision: Decision | None
    nodes: list[CoarseNode]


class CoarseSearch:
    """Proves that no tree is better than the incumbent, or how much better one might be.

    Args:
        incumbent: the best tree.
        questions: the questions of the task.
        consider: called with every tree that may be better than the incumbent, to improve it.
        limits: threads and memory.
        watch: the clock; every bound counts as a node.
        observer: hears what is decided and closed.

    Attributes:
        model: the model of the task.
        observer: as above.
        count: how many rounds there were.
        out_of_memory: never; what does not fit is forgotten.
        slow: a node takes about as long as the evaluation of a tree.
    """

    out_of_memory, slow = False, True

    def __init__(
        self,
        incumbent: Incumbent,
        questions: Ranks,
        consider: Callable[[Tree], None],
        limits: Limits,
        watch: Watch,
        observer: CoarseObserver | None = None,
    ) -> None:
        model = incumbent.model
        self.model, self._incumbent, self._questions, self._consider = model, incumbent, questions, consider
        self._watch, self.observer = watch, Unobserved() if observer is None else observer
        self._ladders = Ladders(questions, len(model.task.splits))
        relaxation, first = Relaxation(model, self._ladders), First.of(model, self._ladders)
        self._decisions = Decisions(relaxation, questions, first)
        self._bounding = Bounding.of(incumbent, relaxation, first, watch)
        self._ruling = None if model.task.only_leaf_rules else Ruling(model)
        self._closed, self.count = -np.inf, 0
        self._max_vectors = max(1, limits.memory_limit * 2**20 // 3 // (8 * model.mdp.n_states))
        self._counter = itertools.count()
        self._heap: list[tuple[float, int, CoarseNode]] = []
        self._most_vectors = 0
        node = None if first.tree is None else self._bounding.first(first.tree)
        if node is not None:
            self._put(node)
        many = limits.threads > 1 and model.mdp.transitions.nnz >= model.settings.threaded_transitions
        self._pool = ThreadPoolExecutor(limits.threads) if many else None

    @property
    def done(self) -> bool:
        """Whether nothing remains that could be better than the incumbent by more than the gap."""
        return self._top <= self._incumbent.target

    @property
    def bound(self) -> float:
        """No tree within the limits returns more."""
        return max(min(max(self._top, self._closed), self._incumbent.unrestricted), self._incumbent.value)

    @property
    def steady_bound(self) -> float:
        """The same: there are no raised targets here."""
        return self.bound

    @property
    def tells(self) -> bool:
        """Whether the bound is lower than what the best policy of any form returns."""
        return self.bound < self._incumbent.unrestricted

    @property
    def vectors(self) -> int:
        """The number of vectors over all states that are kept."""
        return len(set().union(*(node.arrays for _, _, node in self._heap)))

    @property
    def _top(self) -> float:
        """The highest bound of all that is open."""
        return -self._heap[0][0] if self._heap else -np.inf

    def round(self, meanwhile: Callable[[], None]) -> None:
        """Decide something about the best coarse trees; when time runs out in between, they remain as they were.

        Args:
            meanwhile: what else is to be done in every round.
        """
        self.count += 1
        taken = self._take()
        try:
            found = list((map if self._pool is None else self._pool.map)(self._explored, taken))
        except OutOfTimeError:
            found = [Explored(node, None, [node]) for node in taken]
        for explored in found:
            self._watch.count(len(explored.nodes))
            if explored.decision is not None:
                self.observer.decided(explored.node.tree, explored.decision.path, explored.decision.middle)
            for node in explored.nodes:
                self._put(node)
        self._thin()
        self._incumbent.lower(self.bound)
        self._incumbent.report()
        meanwhile()

    def remaining(self, watch: Watch) -> Iterator[CoarseNode]:
        """The nodes that are open, with values that show their bounds up to rounding; those found before come first.

        Args:
            watch: ends the computation of values that were forgotten by an `OutOfTimeError`.
        """
        for _, _, node in sorted(self._heap, key=lambda it: (it[2].values is None, *it[:2])):
            if node.values is not None or node.bound >= self._incumbent.unrestricted:
                yield replace(node, values=self._bounding.known(node))
            else:
                yield self._bounding.again(node, watch)

    def rest(self) -> None:
        """Nothing: threads without work do not disturb others."""

    def stop(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _take(self) -> list[CoarseNode]:
        """The best few nodes that may contain a better tree."""
        taken: list[CoarseNode] = []
        while len(taken) < self.model.settings.coarse_nodes_per_round and not self.done:
            taken.append(heapq.heappop(self._heap)[2])
        return taken

    def _explored(self, node: CoarseNode) -> Explored:
        """What is decided about a node, and the nodes that take its place, with their bounds."""
        bounding = self._bounding
        decision = self._decisions.decide(node.tree, bounding.known(node), self._watch, bounding.payoffs(node).rewards)
        found = (bounding.bounded(child, node, self._watch) for child in decision.children)
        return Explored(node, decision, [it for it in found if it is not None])

    def _put(self, node: CoarseNode) -> None:
        """Add a node to those that are open, unless nothing in it is better than the incumbent."""
        if node.bound > self._incumbent.target:
            tree = complete(node.tree, self._ladders)
            if tree is None:
                heapq.heappush(self._heap, (-node.bound, next(self._counter), node))
                self._most_vectors += len(node.arrays)
            elif self._ruling is None:
                self._close(min(node.bound, self._evaluated(tree)))
                self.observer.evaluated(node.tree, tree, self._bounding.known(node), node.grounds)
            else:
                self._judge(node, tree, self._ruling)
        else:
            self._close(node.bound)
            self.observer.closed(node.tree, self._bounding.known(node), node.grounds)

    def _close(self, bound: float) -> None:
        self._closed = max(self._closed, bound)

    def _evaluated(self, tree: Tree) -> float:
        """An upper bound on the return of a tree, which is considered if it is better than the incumbent."""
        policy = self._questions.actions(tree, np.arange(self.model.mdp.n_states))
        returned = planning.policy_return(self.model.mdp, policy, self._watch)
        if self._incumbent.improved_by(returned.value):
            self._consider(tree)
        return returned.upper

    def _judge(self, node: CoarseNode, tree: Tree, ruling: Ruling) -> None:
        """Close the node of a single tree, which is considered if it keeps the rules."""
        try:
            verdict = ruling.verdict(tree, self._watch)
        except OutOfTimeError:
            self._close(node.bound)
            return
        if verdict.broken is not None:
            self.observer.broken(node.tree, tree, self._grounds(verdict.broken))
            return
        if self._incumbent.improved_by(verdict.value.value):
            self._consider(tree)
        self._close(min(node.bound, verdict.value.upper))
        self.observer.evaluated(node.tree, tree, self._bounding.known(node), node.grounds)

    def _grounds(self, broken: Broken) -> Grounds:
        """On which grounds a complete tree breaks the rules."""
        ceilings = tuple(float(i == broken.ceiling) for i in range(len(self.model.task.ceilings)))
        return Grounds(0.0, ceilings, () if broken.leaf is None else ((broken.leaf, 1.0),))

    def _thin(self) -> None:
        """Let the nodes of low bound start from the first values, if too many have values of their own."""
        # Counting takes a look at every node, so it is done only where there may be too many.
        if self._most_vectors > self._max_vectors:
            self._most_vectors = self.vectors
        if self._most_vectors <= self._max_vectors:
            return
        self._heap.sort(key=lambda it: it[:2])
        kept = self._max_vectors // 2
        rest = [(*it[:2], it[2].forgetful()) for it in self._heap[kept:]]
        self._heap = self._heap[:kept] + rest
        self._most_vectors = self.vectors
