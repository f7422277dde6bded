"""Enumeration under rules: all trees that keep them and return enough, by branch and bound over coarse trees.

Under rules about shape, prices or limits on totals, two trees that do the same need not be worth the same, and only one
of them may keep the rules. So it is trees that are enumerated, by the coarse search with a floor in place of a target,
and every complete one is judged. Of trees that play the same, the one with the highest net return is kept.
"""

import numpy as np

from omdt.methods.search.coarse.bounding import Bounding, CoarseNode
from omdt.methods.search.coarse.coarse_tree import complete
from omdt.methods.search.coarse.decisions import Decisions
from omdt.methods.search.coarse.first_tree import First
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.ruling import Ruling
from omdt.tradeoffs.alternatives_branching import NODE_BYTES, Waiting
from omdt.tradeoffs.alternatives_collection import Collection
from omdt.tradeoffs.alternatives_domains import Domains
from omdt.tree import LEAF, TreePolicy
from omdt.watch import OutOfTimeError, Watch


class Floor:
    """The floor of a collection as bounds see it.

    Attributes:
        tree: a tree that keeps the rules.
        unrestricted: no policy of any form returns more.
    """

    def __init__(self, model: Model, collection: Collection, tree: Tree) -> None:
        self._collection, self.tree, self.unrestricted = collection, tree, model.optimal_return.upper

    @property
    def target(self) -> float:
        """A tree that returns no more than this is not asked for."""
        return float(np.nextafter(self._collection.floor, -np.inf))


class RuledEnumeration:
    """Finds all trees within the limits that keep the rules and that a collection asks for.

    Args:
        model: the model of the task.
        collection: takes what is found.
        memory_limit: MiB for the nodes that wait.
        watch: the clock; every node counts.

    Attributes:
        domains: the states of the task.
        exhausted: whether nothing is left that the collection asks for.
    """

    def __init__(self, model: Model, collection: Collection, memory_limit: int, watch: Watch) -> None:
        self._model, self._collection, self._watch = model, collection, watch
        self._questions = Ranks(model.splits)
        self._ladders = Ladders(self._questions, len(model.task.splits))
        self._ruling = Ruling(model)
        self.domains = Domains(model, Ranks(model.task.splits))
        vectors = 3 + len(model.task.ceilings) + (model.size.leaves if model.task.least_share else 0)
        most = max(1, memory_limit * 2**20 // 3 // (8 * vectors * model.mdp.n_states + NODE_BYTES))
        self._waiting: Waiting[CoarseNode] = Waiting(most)
        self.exhausted = False

    def run(self, best: TreePolicy) -> None:
        """Enumerate until nothing is left, or until time is up.

        Args:
            best: a good tree that keeps the rules, which is taken first.
        """
        tree = self._numbered(best)
        self._judge(tree, self._watch.closing())
        relaxation, first = Relaxation(self._model, self._ladders), First.of(self._model, self._ladders)
        try:
            bounding = Bounding.of(Floor(self._model, self._collection, tree), relaxation, first, self._watch)
            decisions = Decisions(relaxation, self._questions, first)
            node = None if first.tree is None else bounding.first(first.tree)
            if node is not None:
                self._put(node)
            while not self.exhausted:
                self._step(bounding, decisions)
        except OutOfTimeError:
            pass

    def _step(self, bounding: Bounding, decisions: Decisions) -> None:
        """Decide something about the next node."""
        self._watch.check()
        taken = self._waiting.take(self._collection.floor)
        if taken is None:
            self.exhausted = True
            return
        node = taken[1]
        rewards = bounding.payoffs(node).rewards
        for child in decisions.decide(node.tree, bounding.known(node), self._watch, rewards).children:
            self._watch.count(1)
            bounded = bounding.bounded(child, node, self._watch)
            if bounded is not None:
                self._put(bounded)

    def _put(self, node: CoarseNode) -> None:
        """Let a node wait, or judge its only tree; unless nothing in it is asked for."""
        if node.bound < self._collection.floor:
            return
        tree = complete(node.tree, self._ladders)
        if tree is None:
            self._waiting.put(node.bound, node)
        else:
            self._judge(tree, self._watch)

    def _judge(self, tree: Tree, watch: Watch) -> None:
        """Take a tree if it keeps the rules."""
        verdict = self._ruling.verdict(tree, watch)
        if verdict.broken is None:
            policy = self._questions.actions(tree, np.arange(self._model.mdp.n_states))
            self._collection.add_tree(tree, self.domains.plays(policy), verdict.value.value)

    def _numbered(self, policy: TreePolicy) -> Tree:
        """A tree policy as a tree of the search."""
        splits = self._model.splits
        asked = zip(splits.feature.tolist(), splits.threshold.tolist(), splits.equality.tolist(), strict=True)
        numbers = {question: k for k, question in enumerate(asked)}

        def below(node: int) -> Tree:
            if policy.feature[node] == LEAF:
                return Leaf(int(policy.action[node]))
            question = (int(policy.feature[node]), float(policy.threshold[node]), bool(policy.equality[node]))
            return Split(numbers[question], below(int(policy.left[node])), below(int(policy.right[node])))

        return below(0)
