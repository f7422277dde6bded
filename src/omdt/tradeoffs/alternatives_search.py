"""The enumeration of all trees that return at least a given value, each policy once, in the order of their values.

A node of this branch and bound is what is left to every state (`alternatives_domains`). Its bound is the return of an
agent that may take, in every state, any action that is left, independently of all other states (`coarse.relaxation`).
A visited state with several actions left is decided in all ways. Nodes are taken in the order of their bounds, so trees
are found best first, and every policy is found once, however many trees have it.

**Memory.** When as many nodes wait as memory allows, further ones are explored depth first, so that hardly more are
added. Trees are then no longer found in order; the result is sorted in any case.
"""

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from omdt import planning
from omdt.mdp import Floats, Ints
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.model import Model
from omdt.methods.search.ranks import Ranks
from omdt.tradeoffs.alternatives_consistency import Words
from omdt.tradeoffs.alternatives_domains import Domains
from omdt.watch import OutOfTimeError, Watch

LARGE = 10.0
"""What an infinite value counts where the next state to decide is chosen, as a multiple of the largest finite one."""

NODE_BYTES = 1000
"""Memory of a node beside its arrays."""


@dataclass(frozen=True, eq=False)
class Node:
    """What is left to every state, with what is known of it.

    Attributes:
        domains: [G, W] what is left to every cell.
        values: [S] above the values of all that remains.
        open: visited decisive states with several actions left, at least one.
    """

    domains: Words
    values: Floats
    open: Ints


@dataclass(frozen=True, eq=False)
class Found:
    """A policy that some tree within the limits has.

    Attributes:
        plays: [S] what it plays in the decisive states that it visits; −1 elsewhere.
        value: its return on the problem of the task.
    """

    plays: Ints
    value: float


class Enumeration:
    """Finds all policies of trees within the limits that return at least as much as the best one less a tolerance.

    Args:
        model: the model of the task.
        tolerance: how much less than the best return is enough, given the best return.
        limit: maximum number of policies that are kept, the best ones.
        memory_limit: MiB for the nodes that wait.
        watch: the clock; every node counts.
        progress: called with the number of policies whenever one is found.

    Attributes:
        domains: the states of the task, and what trees can do in them.
        noise: a difference of returns that is no more than this counts as rounding.
        found: the policies so far.
        truncated: whether there are more than the limit allows.
        exhausted: whether nothing is left that may be better than what is kept.
    """

    def __init__(
        self,
        model: Model,
        tolerance: Callable[[float], float],
        limit: int,
        memory_limit: int,
        watch: Watch,
        progress: Callable[[int], None] = lambda found: None,
    ) -> None:
        questions = Ranks(model.task.splits)
        self.domains = Domains(model, questions)
        self._model, self._tolerance, self._limit, self._watch = model, tolerance, limit, watch
        self._progress = progress
        self._relaxation = Relaxation(model, Ladders(questions))
        largest = abs(model.optimal_return.value)
        self.noise = planning.ROUNDING * max(largest if np.isfinite(largest) else 0.0, model.scale)
        self.found: list[Found] = []
        self.truncated, self.exhausted = False, False
        self._best = -np.inf
        self._counter = itertools.count()
        self._heap: list[tuple[float, int, Node]] = []
        self._stack: list[tuple[float, Node]] = []
        per_node = 2 * 8 * model.mdp.n_states + self.domains.nbytes + NODE_BYTES
        self._most_waiting = max(1, memory_limit * 2**20 // per_node)

    def run(self, policy: Ints) -> None:
        """Enumerate until nothing is left, or until time is up.

        Args:
            policy: [S] that of a good tree, which is taken first.
        """
        self._add(self.domains.plays(policy), self._watch.closing())
        try:
            self._begin()
            while (taken := self._take()) is not None:
                self._watch.check()
                self._explore(*taken)
            self.exhausted = True
        except OutOfTimeError:
            pass

    @property
    def least(self) -> float:
        """A policy that returns less than this is not among those that are asked for."""
        return self._best if np.isinf(self._best) else self._best - self._tolerance(self._best)

    @property
    def _floor(self) -> float:
        """A policy is taken if it returns at least this: a difference of no more than rounding counts as none."""
        if self.truncated:
            return min(found.value for found in self.found) + self.noise
        return self.least - self.noise

    def _begin(self) -> None:
        domains = self.domains.supported(self.domains.root, self._watch)
        if domains is not None:
            self._examine(domains, self._model.optimal.upper, np.inf)

    def _take(self) -> tuple[float, Node] | None:
        """The next node that may contain a policy that is asked for, with its bound."""
        while self._stack:
            bound, node = self._stack.pop()
            if bound >= self._floor:
                return bound, node
        if not self._heap or -self._heap[0][0] < self._floor:
            return None
        negated, _, node = heapq.heappop(self._heap)
        return -negated, node

    def _explore(self, bound: float, node: Node) -> None:
        """Decide about an open state of a node in all ways."""
        for child in self.domains.decided(node.domains, self._next(node)):
            domains = self.domains.supported(child, self._watch)
            if domains is not None:
                self._examine(domains, node.values, bound)

    def _examine(self, domains: Words, above: Floats, of_parent: float) -> None:
        """Bound what is left; unless nothing in it is asked for, take its only policy or let it wait."""
        self._watch.count(1)
        choices = self.domains.choices(domains)
        relaxed = self._relaxation.bound_of(choices, above, self._floor, self._watch)
        bound = min(relaxed.bound, of_parent)
        if bound < self._floor:
            return
        walk = self.domains.walk(choices)
        if len(walk.open) == 0:
            self._add(walk.plays, self._watch)
        elif len(self._heap) < self._most_waiting:
            heapq.heappush(self._heap, (-bound, next(self._counter), Node(domains, relaxed.values, walk.open)))
        else:
            self._stack.append((bound, Node(domains, relaxed.values, walk.open)))

    def _next(self, node: Node) -> int:
        """The open state in which every action but the best one is estimated to lose most."""
        mdp, states = self._model.mdp, node.open
        V = _finite(node.values, self._model.scale)
        choices, q = self.domains.choices(node.domains), self._model.look_ahead(V)
        visits = self._relaxation.visits(choices, q)[states]
        losses = np.where(choices[states], visits[:, None] * np.maximum(V[states, None] - q[states], 0.0), np.inf)
        played = mdp.played[states]
        best = np.take_along_axis(played, losses.argmin(axis=1)[:, None], axis=1)
        return int(states[np.where(played == best, np.inf, losses).min(axis=1).argmax()])

    def _add(self, plays: Ints, watch: Watch) -> None:
        """Take a policy if it is asked for and not known; keep no more than the limit allows."""
        if any(np.array_equal(plays, found.plays) for found in self.found):
            return
        returned = planning.policy_return(self._model.mdp, np.maximum(plays, 0), watch)
        largest = max(abs(returned.value), self.noise / planning.ROUNDING)
        if not planning.is_rounding(returned.error, largest):
            watch.check()
        if self.found and returned.value < self._floor:
            return
        self._best = max(self._best, returned.value)
        self.found = [it for it in (*self.found, Found(plays, returned.value)) if it.value >= self.least - self.noise]
        if len(self.found) > self._limit:
            self.truncated = True
            self.found.sort(key=lambda it: -it.value)
            self.found.pop()
        self._progress(len(self.found))


def _finite(values: Floats, scale: float) -> Floats:
    """The values with large numbers in place of infinite ones, so that differences of them mean something."""
    infinite = np.isinf(values)
    if not infinite.any():
        return values
    large = LARGE * max(float(np.abs(values).max(where=~infinite, initial=0.0)), scale, 1e-280)
    return np.clip(values, -large, large)
