"""Neighbours: the trees that the local search tries around a tree.

There are three kinds: *promising* neighbours, chosen below every node by their first-order gain (see `fitting`); *small
changes*, all trees with another action in one leaf or another question about the same feature in one node; and random
changes, from which a climb begins anew.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.methods.search.fitting import Fitting
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Path, Split, Tree, count_leaves, replaced
from omdt.methods.search.ranks import Ranks
from omdt.watch import Watch


@dataclass(frozen=True, eq=False)
class Place:
    """A node of a tree, and how large the subtree there may be.

    Attributes:
        path: the way to it.
        states: the states that reach it.
        subtree: the subtree there.
        depth: maximum depth of a subtree there.
        leaves: maximum number of leaves of a subtree there.
    """

    path: Path
    states: Ints
    subtree: Tree
    depth: int
    leaves: int


class Candidate(NamedTuple):
    """A tree to evaluate.

    Attributes:
        tree: the tree.
        policy: [S] its actions.
    """

    tree: Tree
    policy: Ints


class Neighbours:
    """Finds neighbours of trees."""

    def __init__(self, model: Model, questions: Ranks, fitting: Fitting, watch: Watch) -> None:
        self.model, self.questions, self.fitting, self.watch = model, questions, fitting, watch
        self.states = np.arange(model.mdp.n_states)

    def places(self, tree: Tree) -> Iterator[Place]:
        """All nodes of a tree, the root first."""
        size = self.model.size
        spare = size.leaves - count_leaves(tree)
        stack: list[tuple[Path, Ints, Tree]] = [((), self.states, tree)]
        while stack:
            path, states, node = stack.pop()
            yield Place(path, states, node, size.depth - len(path), spare + count_leaves(node))
            if isinstance(node, Split):
                right = self.questions.right(states, node.question)
                stack.append(((*path, True), states[right], node.right))
                stack.append(((*path, False), states[~right], node.left))

    def promising(self, tree: Tree, gains: Floats) -> Iterator[Candidate]:
        """Trees with another subtree at one node, those of highest gain per node, without repeated policies."""
        current = self.questions.actions(tree, self.states)
        seen = {_digest(current)}
        for place in self.places(tree):
            if len(place.states) == 0 or self.watch.remaining == 0:
                continue
            for subtree in self._alternatives(place, gains):
                policy = self._policy(current, place, subtree)
                key = _digest(policy)
                if key not in seen:
                    seen.add(key)
                    yield Candidate(replaced(tree, place.path, subtree), policy)

    def _alternatives(self, place: Place, gains: Floats) -> Iterator[Tree]:
        """Promising subtrees for one node."""
        most = self.model.settings.candidates_per_node
        total = gains[place.states].sum(axis=0)
        for action in np.argsort(-total, kind="stable")[: 1 + most // 2]:
            yield Leaf(int(action))
        if isinstance(place.subtree, Split):
            _, left, right = place.subtree
            yield left
            yield right
            for k in self._best_rotations(place.states, left, right, gains):
                yield Split(k, left, right)
                yield Split(k, right, left)
        if place.depth >= 1 and place.leaves >= 2:
            yield from self.fitting.stumps(gains, place.states).best(most)
        if place.depth >= 2 and place.leaves >= 3:
            yield self.fitting.tree(gains, place.states, place.depth, place.leaves)

    def _best_rotations(self, states: Ints, left: Tree, right: Tree, gains: Floats) -> list[int]:
        """The questions above these two subtrees that gain most, with the subtrees on either side."""
        here, rows = gains[states], np.arange(len(states))
        gain_left = here[rows, self.questions.actions(left, states)]
        gain_right = here[rows, self.questions.actions(right, states)]
        change = self.questions.sums(states, (gain_right - gain_left)[:, None])[1][:, 0]
        straight, crossed = gain_left.sum() + change, gain_right.sum() - change
        best = np.argsort(-np.maximum(straight, crossed), kind="stable")[: self.model.settings.candidates_per_node]
        return [int(k) for k in best]

    def small_changes(self, tree: Tree) -> Iterator[Candidate]:
        """All trees with another action in one leaf or another question about the same feature in one node."""
        current = self.questions.actions(tree, self.states)
        for place in self.places(tree):
            if len(place.states) == 0:
                continue
            for subtree in self._small_changes_at(place.subtree):
                policy = self._policy(current, place, subtree)
                if np.any(policy != current):
                    yield Candidate(replaced(tree, place.path, subtree), policy)

    def _small_changes_at(self, subtree: Tree) -> Iterator[Tree]:
        """The subtrees with another action or question at their root."""
        if not isinstance(subtree, Split):
            leaves = map(Leaf, range(self.model.mdp.n_actions))
            yield from (leaf for leaf in leaves if leaf != subtree)
            return
        features = self.questions.feature
        for other in np.flatnonzero(features == features[subtree.question]):
            if other != subtree.question:
                yield Split(int(other), subtree.left, subtree.right)

    def _policy(self, current: Ints, place: Place, subtree: Tree) -> Ints:
        """[S] the present policy with the actions of another subtree at one node."""
        policy = current.copy()
        policy[place.states] = self.questions.actions(subtree, place.states)
        return policy

    def perturbed(self, tree: Tree, gains: Floats, random: np.random.Generator) -> Tree:
        """The tree with a few random changes."""
        for _ in range(int(random.integers(1, self.model.settings.max_random_changes + 1))):
            places = [place for place in self.places(tree) if len(place.states)]
            place = places[int(random.integers(len(places)))]
            tree = replaced(tree, place.path, self._random_subtree(place, gains, random))
        return tree

    def _random_subtree(self, place: Place, gains: Floats, random: np.random.Generator) -> Tree:
        """A subtree for one node: another question or exchanged sides, a leaf, or a tree fitted to noisy gains."""
        action = int(random.integers(self.model.mdp.n_actions))
        k = int(random.integers(len(self.questions)))
        kind = int(random.integers(4))
        if isinstance(place.subtree, Split):
            if kind == 0:
                return Split(k, place.subtree.left, place.subtree.right)
            if kind == 1:
                return Split(place.subtree.question, place.subtree.right, place.subtree.left)
        if kind == 2 or place.depth == 0 or place.leaves < 2:
            return Leaf(action)
        noisy = np.zeros_like(gains)
        noisy[place.states] = random.exponential(size=len(place.states))[:, None] * gains[place.states]
        return self.fitting.tree(noisy, place.states, place.depth, place.leaves)


def _digest(policy: Ints) -> bytes:
    return blake2b(policy.tobytes(), digest_size=16).digest()
