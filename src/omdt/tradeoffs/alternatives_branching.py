"""Two ways to enumerate the policies of all trees that return enough, both by branch and bound.

**By states.** A node is what is left to every state (`alternatives_domains`). A visited state with several actions left
is decided in all ways, and what no tree within the limits can give any more is taken from the other states. A policy is
found once, however many trees have it. This is fast where the best trees are nearly as good as the best policy of any
form, because then few actions are left to each state.

**By trees.** A node is a coarse tree (`coarse.coarse_tree`), which is decided further where that is estimated to lower
the bound most (`coarse.decisions`), until nothing is open that it visits. One decision is about many states, so this is
fast where all trees are far from the best policy, and where there are many states. A policy is found once per tree.

In both, the bound of a node is the return of an agent that may take, in every state, any action that is left there,
independently of all other states (`coarse.relaxation`).
"""

import heapq
import itertools
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.methods.search.coarse.coarse_tree import CoarseTree, Undecided
from omdt.methods.search.coarse.decisions import Decisions
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.model import Model
from omdt.methods.search.ranks import Ranks
from omdt.tradeoffs.alternatives_collection import Collection
from omdt.tradeoffs.alternatives_consistency import Words
from omdt.tradeoffs.alternatives_domains import Domains
from omdt.watch import Watch

LARGE = 10.0
"""What an infinite value counts where the next state to decide is chosen, as a multiple of the largest finite one."""

NODE_BYTES = 1000
"""Memory of a node beside its arrays."""

Node = TypeVar("Node")


class Branching(Protocol):
    """A way to enumerate."""

    def step(self) -> bool:
        """Explore the next node; False if none is left, so that everything has been found."""


class Waiting(Generic[Node]):
    """Nodes that wait to be explored.

    After a node, the best of those that took its place is explored, down to a policy; then the node with the highest
    bound of all. So policies are found soon, and where there are more than the limit allows, good ones prune the rest.
    When as many nodes wait as memory allows, further ones are taken depth first, so that hardly more are added.

    Args:
        most: maximum number of nodes that wait in the order of their bounds.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._counter = itertools.count()
        self._fresh: list[tuple[float, Node]] = []
        self._heap: list[tuple[float, int, Node]] = []
        self._stack: list[tuple[float, Node]] = []

    def put(self, bound: float, node: Node) -> None:
        """Let a node wait."""
        self._fresh.append((bound, node))

    def take(self, floor: float) -> tuple[float, Node] | None:
        """The next node whose bound is at least the floor, with its bound; None if there is none."""
        fresh, self._fresh = sorted(self._fresh, key=lambda it: -it[0]), []
        for bound, node in fresh[1:]:
            if len(self._heap) < self._most:
                heapq.heappush(self._heap, (-bound, next(self._counter), node))
            else:
                self._stack.append((bound, node))
        if fresh and fresh[0][0] >= floor:
            return fresh[0]
        while self._stack:
            bound, node = self._stack.pop()
            if bound >= floor:
                return bound, node
        if not self._heap or -self._heap[0][0] < floor:
            return None
        negated, _, node = heapq.heappop(self._heap)
        return -negated, node


@dataclass(frozen=True, eq=False)
class Parts:
    """What both ways work with.

    Attributes:
        model: the model of the task.
        questions: the questions of the task.
        domains: its states, and what trees can do in them.
        relaxation: bounds what is left.
        collection: takes what is found.
        watch: ends everything by an `OutOfTimeError`; every node counts.
        max_bytes: memory for the nodes that wait in each way.
    """

    model: Model
    questions: Ranks
    domains: Domains
    relaxation: Relaxation
    collection: Collection
    watch: Watch
    max_bytes: int

    @classmethod
    def of(cls, model: Model, collection: Collection, watch: Watch, max_bytes: int) -> "Parts":
        """All parts for a task."""
        questions = Ranks(model.task.splits)
        relaxation = Relaxation(model, Ladders(questions))
        return cls(model, questions, Domains(model, questions), relaxation, collection, watch, max_bytes)

    def most_waiting(self, further_bytes: int) -> int:
        """The number of nodes that fit into memory, each with a vector over all states and further memory."""
        return max(1, self.max_bytes // (8 * self.model.mdp.n_states + further_bytes + NODE_BYTES))


class StateNode(NamedTuple):
    """What is left to every state.

    Attributes:
        domains: [G, W] what is left to every cell.
        values: [S] above the values of all that remains.
        open: visited decisive states with several actions left, at least one.
    """

    domains: Words
    values: Floats
    open: Ints


class ByStates:
    """Decides one state after another."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._domains = parts, parts.domains
        open_bytes = 8 * parts.model.mdp.n_states
        self._waiting: Waiting[StateNode] = Waiting(parts.most_waiting(parts.domains.nbytes + open_bytes))
        self._begun = False

    def step(self) -> bool:
        """Explore the next node; False if none is left."""
        if not self._begun:
            self._begun = True
            self._examine(self._domains.root, self._parts.model.optimal.upper, np.inf)
            return True
        taken = self._waiting.take(self._parts.collection.floor)
        if taken is None:
            return False
        bound, node = taken
        for child in self._domains.decided(node.domains, self._next(node)):
            self._examine(child, node.values, bound)
        return True

    def _examine(self, domains: Words, above: Floats, of_parent: float) -> None:
        """Bound what is left; unless nothing in it is asked for, take its only policy or let it wait."""
        parts = self._parts
        parts.watch.count(1)
        left = self._domains.supported(domains, parts.watch)
        if left is None:
            return
        choices = self._domains.choices(left)
        relaxed = parts.relaxation.bound_of(choices, above, parts.collection.floor, parts.watch)
        bound = min(relaxed.bound, of_parent)
        if bound < parts.collection.floor:
            return
        walk = self._domains.walk(choices)
        if len(walk.open) == 0:
            parts.collection.add(walk.plays, parts.watch)
        else:
            self._waiting.put(bound, StateNode(left, relaxed.values, walk.open))

    def _next(self, node: StateNode) -> int:
        """The open state in which every action but the best one is estimated to lose most."""
        model, states = self._parts.model, node.open
        V = _finite(node.values, model.scale)
        choices, q = self._domains.choices(node.domains), model.look_ahead(V)
        visits = self._parts.relaxation.visits(choices, q)[states]
        losses = np.where(choices[states], visits[:, None] * np.maximum(V[states, None] - q[states], 0.0), np.inf)
        played = model.mdp.played[states]
        best = np.take_along_axis(played, losses.argmin(axis=1)[:, None], axis=1)
        return int(states[np.where(played == best, np.inf, losses).min(axis=1).argmax()])


class TreeNode(NamedTuple):
    """A coarse tree, with values [S] above those of all its completions."""

    tree: CoarseTree
    values: Floats


class ByTrees:
    """Decides one question or leaf after another."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._decisions = Decisions(parts.relaxation, parts.questions)
        self._waiting: Waiting[TreeNode] = Waiting(parts.most_waiting(0))
        depth = parts.model.size.depth if len(parts.questions) else 0
        self._examine(Undecided(depth), parts.model.optimal.upper, np.inf)

    def step(self) -> bool:
        """Explore the next node; False if none is left."""
        taken = self._waiting.take(self._parts.collection.floor)
        if taken is None:
            return False
        bound, node = taken
        for child in self._decisions.decide(node.tree, node.values, self._parts.watch).children:
            if child.same:
                self._parts.watch.count(1)
                self._waiting.put(bound, TreeNode(child.tree, node.values))
            else:
                self._examine(child.tree, node.values, bound)
        return True

    def _examine(self, tree: CoarseTree, above: Floats, of_parent: float) -> None:
        """Bound a coarse tree; unless nothing in it is asked for, take its only policy or let it wait."""
        parts = self._parts
        parts.watch.count(1)
        choices = parts.relaxation.choices(tree)
        relaxed = parts.relaxation.bound_of(choices, above, parts.collection.floor, parts.watch)
        bound = min(relaxed.bound, of_parent)
        if not relaxed.possible or bound < parts.collection.floor:
            return
        walk = parts.domains.walk(choices)
        if len(walk.open) > 0:
            self._waiting.put(bound, TreeNode(tree, relaxed.values))
        elif parts.model.task.allowed is None or parts.domains.possible(walk.plays):
            # Where rules are to be kept also in states that are not visited, it may be that no tree does all of it.
            parts.collection.add(walk.plays, parts.watch)


def _finite(values: Floats, scale: float) -> Floats:
    """The values with large numbers in place of infinite ones, so that differences of them mean something."""
    infinite = np.isinf(values)
    if not infinite.any():
        return values
    large = LARGE * max(float(np.abs(values).max(where=~infinite, initial=0.0)), scale, 1e-280)
    return np.clip(values, -large, large)
