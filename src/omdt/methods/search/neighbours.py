"""Neighbours: the trees that the local search tries around a tree.

There are three kinds: *promising* neighbours, chosen below every node by their first-order gain (see `fitting`); *small
changes*, trees with another action in one leaf or another question about the same feature in one node; and random
changes, from which a climb begins anew. With many states, evaluations take long: the most promising neighbours come
first, and no more are tried than `step_seconds` allows.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.methods.search.effort import evaluations_within
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


class Change(NamedTuple):
    """Another subtree for one node.

    Attributes:
        place: the node.
        gain: the first-order gain over the present subtree.
        subtree: the other subtree.
    """

    place: Place
    gain: float
    subtree: Tree


class Candidate(NamedTuple):
    """A tree to evaluate.

    Attributes:
        tree: the tree.
        policy: [S] its actions.
    """

    tree: Tree
    policy: Ints


Alternatives = Iterator[tuple[float, Tree]]
"""Subtrees for one node, each with the gains of its actions."""


class Neighbours:
    """Finds neighbours of trees."""

    def __init__(self, model: Model, questions: Ranks, fitting: Fitting, watch: Watch) -> None:
        self.model, self.questions, self.fitting, self.watch = model, questions, fitting, watch
        self.states = np.arange(model.mdp.n_states)
        self._many_states = model.mdp.n_states >= model.settings.impatient_states

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

    def promising(self, tree: Tree, gains: Floats, least: float = -np.inf) -> Iterator[Candidate]:
        """Trees with another subtree at one node, those of highest gain per node, without repeated policies.

        With many states, the most promising of all nodes come first.

        Args:
            tree: the tree.
            gains: [S, A] the gains around it.
            least: minimum gain of a tree.
        """
        current = self.questions.actions(tree, self.states)
        changes = self._changes(tree, gains, current, least, self._simple, self._fitted)
        return self._candidates(tree, self._distinct(current, self._in_order(changes)))

    def by_gain(self, tree: Tree, gains: Floats, least: float = -np.inf) -> Iterator[Candidate]:
        """The same trees, those that are most likely to be better first.

        First-order gains promise too much where many states change, so what counts is the gain per changed state.
        Fitting takes long, so trees with a fitted subtree come last. With many states, the policies of all trees would
        not fit into memory, and the gain alone counts.
        """
        current = self.questions.actions(tree, self.states)
        if self._many_states:
            changes = self._changes(tree, gains, current, least, self._simple, self._fitted)
            yield from self._candidates(tree, self._distinct(current, self._best_first(changes)))
            return
        for kind in (self._simple, self._fitted):
            found = self._distinct(current, self._changes(tree, gains, current, least, kind))
            yield from self._candidates(
                tree, sorted(found, key=lambda it: -_gain_per_change(it[0].gain, current, it[1]))
            )

    def _changes(
        self, tree: Tree, gains: Floats, current: Ints, least: float, *kinds: Callable[[Place, Floats], Alternatives]
    ) -> Iterator[Change]:
        """Promising changes of a tree of at least some gain, node by node."""
        for place in self.places(tree):
            if len(place.states) and self.watch.remaining > 0:
                present = float(_taken(gains[place.states], current[place.states]).sum())
                for kind in kinds:
                    for gain, subtree in kind(place, gains):
                        if gain - present >= least:
                            yield Change(place, gain - present, subtree)

    def _in_order(self, changes: Iterable[Change]) -> Iterable[Change]:
        """The order in which changes are tried: with many states the most promising ones, best first."""
        return self._best_first(changes) if self._many_states else changes

    def _best_first(self, changes: Iterable[Change]) -> list[Change]:
        """The most promising changes, best first, as many as can be evaluated in one step of a climb."""
        ordered = sorted(changes, key=lambda change: -change.gain)
        return ordered[: evaluations_within(self.model, self.model.settings.step_seconds)]

    def _distinct(self, current: Ints, changes: Iterable[Change]) -> Iterator[tuple[Change, Ints]]:
        """Changes and the policies [S] that they lead to, without the present policy and without repetitions."""
        seen = {_digest(current)}
        for change in changes:
            policy = self._policy(current, change.place, change.subtree)
            key = _digest(policy)
            if key not in seen:
                seen.add(key)
                yield change, policy

    def _candidates(self, tree: Tree, changed: Iterable[tuple[Change, Ints]]) -> Iterator[Candidate]:
        """The trees with one of the changes."""
        for change, policy in changed:
            yield Candidate(replaced(tree, change.place.path, change.subtree), policy)

    def _simple(self, place: Place, gains: Floats) -> Alternatives:
        """Promising leaves, stumps and rearrangements of the present subtrees for one node, with their gains."""
        settings, states = self.model.settings, place.states
        most, here = settings.candidates_per_node, gains[states]
        total = here.sum(axis=0)
        for action in np.argsort(-total, kind="stable")[: 1 + most // 2]:
            yield float(total[action]), Leaf(int(action))
        if isinstance(place.subtree, Split):
            _, left, right = place.subtree
            sides = [_taken(here, self.questions.actions(side, states)) for side in (left, right)]
            yield float(sides[0].sum()), left
            yield float(sides[1].sum()), right
            straight, crossed = self._rotations(states, *sides)
            best = np.maximum(straight, crossed)
            for k in self.questions.spread(states, best, most, settings.resolution):
                yield float(straight[k]), Split(k, left, right)
                yield float(crossed[k]), Split(k, right, left)
        if place.depth >= 1 and place.leaves >= 2:
            stumps = self.fitting.stumps(gains, states)
            for k in self.questions.spread(states, stumps.scores, most, settings.resolution):
                yield float(stumps.scores[k]), stumps.stump(k)

    def _fitted(self, place: Place, gains: Floats) -> Alternatives:
        """A subtree that is fitted to the gains, with its gain, if there may be more than a stump."""
        if place.depth >= 2 and place.leaves >= 3:
            fitted = self.fitting.tree(gains, place.states, place.depth, place.leaves)
            yield float(_taken(gains[place.states], self.questions.actions(fitted, place.states)).sum()), fitted

    def _rotations(self, states: Ints, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """[K] the gains of every question above two subtrees, and above the same subtrees with sides exchanged.

        Args:
            states: [n] the states of the node.
            left: [n] gains of the actions of the left subtree.
            right: [n] gains of the actions of the right subtree.
        """
        change = self.questions.sums(states, (right - left)[:, None])[1][:, 0]
        return left.sum() + change, right.sum() - change

    def small_changes(self, tree: Tree, gains: Floats) -> Iterator[Candidate]:
        """All trees with another action in one leaf or another question about the same feature in one node.

        Where these are too many to evaluate, the most promising ones, and thresholds 1, 2, 4, 8, … steps away.
        """
        current = self.questions.actions(tree, self.states)
        places = [place for place in self.places(tree) if len(place.states)]
        if self.count_small_changes(tree) <= evaluations_within(self.model, self.model.settings.step_seconds):
            changes = (Change(place, 0.0, other) for place in places for other in self._small_changes_at(place.subtree))
        else:
            changes = (change for place in places for change in self._likely_changes(place, gains, current))
        return self._candidates(tree, self._distinct(current, self._in_order(changes)))

    def count_small_changes(self, tree: Tree) -> int:
        """The number of small changes of a tree."""
        if not isinstance(tree, Split):
            return self.model.mdp.n_actions - 1
        features = self.questions.feature
        here = int(np.count_nonzero(features == features[tree.question])) - 1
        return here + self.count_small_changes(tree.left) + self.count_small_changes(tree.right)

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

    def _likely_changes(self, place: Place, gains: Floats, current: Ints) -> Iterator[Change]:
        """Small changes at one node: the most promising ones, and thresholds 1, 2, 4, 8, … steps away."""
        settings, states, subtree = self.model.settings, place.states, place.subtree
        here = gains[states]
        present = float(_taken(here, current[states]).sum())
        if not isinstance(subtree, Split):
            total = here.sum(axis=0)
            for action in np.argsort(-total, kind="stable")[: settings.candidates_per_node]:
                yield Change(place, float(total[action]) - present, Leaf(int(action)))
            return
        sides = [_taken(here, self.questions.actions(side, states)) for side in subtree[1:]]
        straight, _ = self._rotations(states, *sides)
        alike = self.questions.alike(subtree.question)
        best = alike[np.argsort(-straight[alike], kind="stable")[: settings.candidates_per_node]]
        for k in np.union1d(best, self.questions.stepped(subtree.question)).tolist():
            yield Change(place, float(straight[k]) - present, Split(k, subtree.left, subtree.right))

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


def _taken(gains: Floats, actions: Ints) -> Floats:
    """[n] the gains [n, A] of one action per state."""
    taken: Floats = gains[np.arange(len(actions)), actions]
    return taken


def _gain_per_change(gain: float, before: Ints, after: Ints) -> float:
    """A gain per state in which two policies differ; a loss as it is."""
    return gain / np.count_nonzero(before != after) if gain > 0 else gain


def _digest(policy: Ints) -> bytes:
    return blake2b(policy.tobytes(), digest_size=16).digest()
