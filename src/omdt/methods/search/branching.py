"""Branching: the nodes that take the place of a node when one of its open regions is decided.

Of the ways to continue a partial tree that symmetries turn into one another only the first is taken.
"""

from collections.abc import Iterator

import numpy as np

from omdt.mdp import Ints
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.knowledge import Knowledge
from omdt.methods.search.nodes import Node, OpenRegion, Partial
from omdt.methods.search.partial_tree import (
    HOLE,
    Leaf,
    Path,
    Split,
    Tree,
    leaf_actions,
    replaced,
    sibling_action,
)
from omdt.methods.search.regions import Region


class Branching:
    """Makes nodes and their children, with the regions of a basis."""

    def __init__(self, knowledge: Knowledge, basis: Basis) -> None:
        self._model, self._symmetries = knowledge.model, knowledge.symmetries
        self._basis, self._regions = basis, basis.tables.regions

    def node(self, partial: Partial) -> Node:
        """The node of a partial tree."""
        actions = self._basis.actions.copy()
        size = self._model.size
        opens: list[OpenRegion] = []
        leaves = 0
        stack: list[tuple[Tree, Path, Region]] = [(partial.tree, (), self._regions.everything)]
        while stack:
            tree, path, region = stack.pop()
            if isinstance(tree, Split):
                left, right = self._regions.split(region, tree.question)
                stack += [(tree.right, (*path, True), right), (tree.left, (*path, False), left)]
                continue
            leaves += 1
            if isinstance(tree, Leaf):
                actions[region.states] = tree.action
            elif len(region.states):
                opens.append(OpenRegion(path, region, size.depth - len(path)))
        return Node(partial, actions, tuple(opens), size.leaves - leaves)

    def alike(self, node: Node) -> Ints:
        """The symmetries that turn a node with its pins into itself."""
        labels = node.actions.copy()
        for i, o in enumerate(node.open):
            labels[o.region.states] = -2 - i
        for i, (state, _) in enumerate(node.partial.pins):
            labels[state] = self._model.mdp.n_actions + i
        used = {action for _, action in node.partial.pins} | leaf_actions(node.tree)
        return self._symmetries.fixing(labels, np.array(sorted(used), dtype=np.int64))

    def leaves(self, node: Node, place: OpenRegion, alike: Ints) -> Iterator[tuple[int, Node]]:
        """The nodes in which a region becomes a leaf, by action; without further open regions these are complete."""
        # Two sibling leaves with the same action are one leaf, which was examined before they were split.
        useless = sibling_action(node.tree, place.path)
        for action in self.different_actions(alike):
            if action == useless or not self._model.allowed[place.region.states, action].all():
                continue
            actions = node.actions.copy()
            actions[place.region.states] = action
            rest = tuple(o for o in node.open if o is not place)
            yield action, Node(_child(node.partial, place.path, Leaf(action)), actions, rest, node.spare)

    def splits(self, node: Node, place: OpenRegion, alike: Ints) -> Iterator[tuple[int, Partial]]:
        """The partial trees in which a region is divided, by question."""
        if min(place.depth, node.spare) == 0:
            return
        for k in self._different_questions(place.region, alike).tolist():
            yield k, _child(node.partial, place.path, Split(k, HOLE, HOLE))

    def fixing(self, node: Node, state: int) -> Ints:
        """The symmetries that turn a node into itself and leave a state where it is."""
        alike = self.alike(node)
        fixing: Ints = alike[self._symmetries.states[alike, state] == state]
        return fixing

    def different_actions(self, alike: Ints) -> list[int]:
        """The actions, one of those that symmetries turn into one another."""
        actions = range(self._model.mdp.n_actions)
        return [action for action in actions if not np.any(self._symmetries.actions[alike, action] < action)]

    def _different_questions(self, region: Region, alike: Ints) -> Ints:
        """The questions that divide a region, one of those that symmetries turn into one another."""
        questions = self._regions.questions(region)
        if len(alike) == 0:
            return questions
        turned = self._regions.representatives(region)[self._symmetries.questions[np.ix_(alike, questions)]]
        return questions[np.all(turned >= questions, axis=0)]


def _child(partial: Partial, path: Path, subtree: Tree) -> Partial:
    return Partial(replaced(partial.tree, path, subtree), partial.vector, blind=partial.blind, pins=partial.pins)
