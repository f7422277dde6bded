"""The coarse search: best-first branch and bound over coarse trees, at any number of states.

A round decides something about each of the best few coarse trees and bounds what comes of it. Bounds of one round do
not depend on one another, so several threads may compute them, and the result is the same however many do.
"""

import heapq
import itertools
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from omdt import planning
from omdt.limits import Limits
from omdt.mdp import Floats
from omdt.methods.search.coarse.coarse_tree import CoarseTree, Undecided, complete
from omdt.methods.search.coarse.decisions import Child, Decision, Decisions
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.coarse.observing import CoarseObserver, Unobserved
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.partial_tree import Tree
from omdt.methods.search.ranks import Ranks
from omdt.watch import OutOfTimeError, Watch


@dataclass(frozen=True, eq=False)
class CoarseNode:
    """A coarse tree with what is known of it.

    Attributes:
        bound: no completion returns more.
        tree: the coarse tree.
        values: [S] above the value of every completion; None for the optimal values.
    """

    bound: float
    tree: CoarseTree
    values: Floats | None


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
        self._ladders = Ladders(questions)
        self._relaxation = Relaxation(model, self._ladders)
        self._decisions = Decisions(self._relaxation, questions)
        self._optimal = model.optimal.upper
        self._closed, self.count = -np.inf, 0
        self._max_vectors = max(1, limits.memory_limit * 2**20 // 3 // (8 * model.mdp.n_states))
        self._counter = itertools.count()
        self._heap: list[tuple[float, int, CoarseNode]] = []
        self._put(CoarseNode(self._first(incumbent.unrestricted), Undecided(model.size.depth), None))
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
    def vectors(self) -> int:
        """The number of vectors over all states that are kept."""
        return len({id(node.values) for _, _, node in self._heap if node.values is not None})

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
                yield replace(node, values=self._known(node))
            else:
                relaxed = self._relaxation.bound(node.tree, self._optimal, node.bound, watch)
                yield CoarseNode(relaxed.bound, node.tree, relaxed.values)

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
        values = self._known(node)
        decision = self._decisions.decide(node.tree, values, self._watch)
        return Explored(node, decision, [self._bounded(child, node, values) for child in decision.children])

    def _known(self, node: CoarseNode) -> Floats:
        """[S] values above those of every completion."""
        return self._optimal if node.values is None else node.values

    def _bounded(self, child: Child, node: CoarseNode, values: Floats) -> CoarseNode:
        if child.same:
            return replace(node, tree=child.tree)
        bound, lower, possible = self._relaxation.bound(child.tree, values, self._incumbent.target, self._watch)
        bound = min(bound, node.bound)
        return CoarseNode(self._first(bound) if possible else bound, child.tree, lower)

    def _first(self, bound: float) -> float:
        """A bound as it counts: until there is a tree, what may return −∞ at best may nevertheless have the first."""
        return max(bound, -sys.float_info.max) if self._incumbent.tree is None else bound

    def _put(self, node: CoarseNode) -> None:
        """Add a node to those that are open, unless nothing in it is better than the incumbent."""
        if node.bound > self._incumbent.target:
            tree = complete(node.tree, self._ladders)
            if tree is None:
                heapq.heappush(self._heap, (-node.bound, next(self._counter), node))
                return
            self._close(min(node.bound, self._evaluated(tree)))
            self.observer.evaluated(node.tree, tree, self._known(node))
        else:
            self._close(node.bound)
            self.observer.closed(node.tree, self._known(node))

    def _close(self, bound: float) -> None:
        self._closed = max(self._closed, bound)

    def _evaluated(self, tree: Tree) -> float:
        """An upper bound on the return of a tree, which is considered if it is better than the incumbent."""
        policy = self._questions.actions(tree, np.arange(self.model.mdp.n_states))
        returned = planning.policy_return(self.model.mdp, policy, self._watch)
        if self._incumbent.improved_by(returned.value):
            self._consider(tree)
        return returned.upper

    def _thin(self) -> None:
        """Let the nodes of low bound start from the optimal values, if too many have values of their own."""
        if self.vectors <= self._max_vectors:
            return
        self._heap.sort(key=lambda it: it[:2])
        kept = self._max_vectors // 2
        rest = [(*it[:2], replace(it[2], values=None)) for it in self._heap[kept:]]
        self._heap = self._heap[:kept] + rest
