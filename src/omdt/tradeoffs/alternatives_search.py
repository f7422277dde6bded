"""The enumeration of all policies of trees that return enough: three ways in turns, until one of them is through.

Which way is faster depends on the problem (`alternatives_branching`, `alternatives_losses`). Turns are counted in nodes
and their lengths follow from the sizes of the problem, so the same problem always gives the same list, unless time runs
out.
"""

from omdt.mdp import Ints
from omdt.methods.search.model import Model
from omdt.tradeoffs.alternatives_branching import Branching, ByStates, ByTrees, Parts
from omdt.tradeoffs.alternatives_collection import Collection
from omdt.tradeoffs.alternatives_domains import Domains
from omdt.tradeoffs.alternatives_losses import ByLosses
from omdt.watch import OutOfTimeError, Watch

NODES_PER_TURN = 50
"""Nodes of one way before the other has its turn; a hundredth of a second to a second."""

CHEAP_STEPS, MOST_STEPS = 1e6, 1e9
"""Estimated steps of a node by states: up to the first number it takes about as long as one by trees; beyond the second
it would take seconds, and only trees are decided."""


class Enumeration:
    """Finds all policies of trees within the limits that a collection asks for.

    Args:
        model: the model of the task.
        collection: takes what is found.
        memory_limit: MiB for the nodes that wait.
        watch: the clock; every node counts.

    Attributes:
        domains: the states of the task, and what trees can do in them.
        exhausted: whether nothing is left that the collection asks for.
    """

    def __init__(self, model: Model, collection: Collection, memory_limit: int, watch: Watch) -> None:
        self._collection, self._watch = collection, watch
        self._parts = Parts.of(model, collection, watch, memory_limit * 2**20 // 3)
        self.domains: Domains = self._parts.domains
        self.exhausted = False

    def run(self, policy: Ints) -> None:
        """Enumerate until nothing is left, or until time is up.

        Args:
            policy: [S] that of a good tree, which is taken first.
        """
        self._collection.add(self.domains.plays(policy), self._watch.closing())
        try:
            ways = self._ways()
            while not self.exhausted:
                for way, nodes in ways:
                    self._take_turn(way, nodes)
        except OutOfTimeError:
            pass

    def _ways(self) -> list[tuple[Branching, int]]:
        """The ways to enumerate, with the number of nodes per turn."""
        steps = self.domains.steps
        ways: list[tuple[Branching, int]] = [(ByTrees(self._parts), NODES_PER_TURN)]
        if steps <= MOST_STEPS:
            nodes = max(1, int(NODES_PER_TURN * min(1.0, CHEAP_STEPS / steps)))
            ways.insert(0, (ByStates(self._parts), nodes))
        if self._parts.model.searchable and len(self._parts.questions):
            ways.append((ByLosses(self._parts), NODES_PER_TURN))
        return ways

    def _take_turn(self, way: Branching, nodes: int) -> None:
        """Explore some nodes in one way, unless everything has been found."""
        until = self._watch.nodes + nodes
        while not self.exhausted and self._watch.nodes < until:
            self._watch.check()
            self.exhausted = not way.step()
