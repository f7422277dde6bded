"""Neighbours: the trees that the local search tries around a tree.

There are three kinds: *promising* neighbours, chosen below every node by their first-order gain (see `changes`); *small
changes*, trees with another action in one leaf or another question about the same feature in one node; and random
changes, from which a climb begins anew. With many states, evaluations take long: the most promising neighbours come
first, and no more are tried than `step_seconds` allows.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.methods.search.changes import Around, Changes, Marks, changed_policy, simple_changes
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


class Neighbours:
    """Finds neighbours of trees."""

    def __init__(self, model: Model, questions: Ranks, fitting: Fitting, watch: Watch) -> None:
        self.model, self.questions, self.fitting, self.watch = model, questions, fitting, watch
        self.states = np.arange(model.mdp.n_states)
        self._marks = Marks.of(*model.mdp.rewards.shape)
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
        around = Around(tree, self.questions, self.model.size)
        if self._many_states:
            yield from self._best_of_all(around, gains, least)
            return
        seen = {0}
        simple = self._simple(around, gains, least)
        yield from _simple_candidates(around, simple, np.arange(len(simple.gain)), seen)
        yield from self._candidates(tree, self._distinct(around.actions, self._fitted(around, gains, least), seen))

    def by_gain(self, tree: Tree, gains: Floats, least: float = -np.inf) -> Iterator[Candidate]:
        """The same trees, those that are most likely to be better first.

        First-order gains promise too much where many states change, so what counts is the gain per changed state.
        Fitting takes long, so trees with a fitted subtree come last. With many states, the gain alone counts.
        """
        around = Around(tree, self.questions, self.model.size)
        if self._many_states:
            yield from self._best_of_all(around, gains, least)
            return
        seen = {0}
        simple = self._simple(around, gains, least)
        per_state = np.where(simple.gain > 0, simple.gain / np.maximum(simple.changed, 1), simple.gain)
        yield from _simple_candidates(around, simple, np.argsort(-per_state, kind="stable"), seen)
        fitted = self._distinct(around.actions, self._fitted(around, gains, least), seen)
        ordered = sorted(fitted, key=lambda it: -_gain_per_change(it[0].gain, around.actions, it[1]))
        yield from self._candidates(tree, ordered)

    def _simple(self, around: Around, gains: Floats, least: float) -> Changes:
        """Simple changes of a tree of at least some gain, node by node."""
        settings = self.model.settings
        parts = simple_changes(around, gains, self._marks, settings.candidates_per_node, settings.resolution)
        in_time = itertools.takewhile(lambda _: self.watch.remaining > 0, parts)
        return Changes.joined(part.rows(part.gain >= least) for part in in_time)

    def _fitted(self, around: Around, gains: Floats, least: float) -> Iterator[Change]:
        """Nodes where more than a stump fits with subtrees that are fitted to the gains, of at least some gain."""
        for place in self.places(around.tree):
            if len(place.states) and place.depth >= 2 and place.leaves >= 3 and self.watch.remaining > 0:
                here, states = gains[place.states], place.states
                fitted = self.fitting.tree(gains, states, place.depth, place.leaves)
                present = float(_taken(here, around.actions[states]).sum())
                gain = float(_taken(here, self.questions.actions(fitted, states)).sum()) - present
                if gain >= least:
                    yield Change(place, gain, fitted)

    def _best_of_all(self, around: Around, gains: Floats, least: float) -> Iterator[Candidate]:
        """The trees with the most promising changes, simple or fitted, best first."""
        places, simple = list(self.places(around.tree)), self._simple(around, gains, least)
        changes = [
            Change(places[node], gain, around.subtree(k, left, right))
            for node, k, left, right, gain in zip(*(column.tolist() for column in simple[:5]), strict=True)
        ]
        changes += self._fitted(around, gains, least)
        return self._candidates(around.tree, self._distinct(around.actions, self._best_first(changes), {0}))

    def _in_order(self, changes: Iterable[Change]) -> Iterable[Change]:
        """The order in which changes are tried: with many states the most promising ones, best first."""
        return self._best_first(changes) if self._many_states else changes

    def _best_first(self, changes: Iterable[Change]) -> list[Change]:
        """The most promising changes, best first, as many as can be evaluated in one step of a climb."""
        ordered = sorted(changes, key=lambda change: -change.gain)
        return ordered[: evaluations_within(self.model, self.model.settings.step_seconds)]

    def _distinct(self, current: Ints, changes: Iterable[Change], seen: set[int]) -> Iterator[tuple[Change, Ints]]:
        """Changes and the policies [S] that they lead to, without repetitions.

        Args:
            current: [S] the present policy.
            changes: some changes.
            seen: keys of the policies to leave out, to which the others are added.
        """
        for change in changes:
            policy = self._policy(current, change.place, change.subtree)
            _, key = self._marks.difference(current, policy)
            if key not in seen:
                seen.add(key)
                yield change, policy

    def _candidates(self, tree: Tree, changed: Iterable[tuple[Change, Ints]]) -> Iterator[Candidate]:
        """The trees with one of the changes."""
        for change, policy in changed:
            yield Candidate(replaced(tree, change.place.path, change.subtree), policy)

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
        return self._candidates(tree, self._distinct(current, self._in_order(changes), {0}))

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


def _simple_candidates(around: Around, changes: Changes, order: Ints, seen: set[int]) -> Iterator[Candidate]:
    """The trees with one of some simple changes, in a given order, without policies whose keys were seen before."""
    keys = changes.key.tolist()
    for i in order.tolist():
        if keys[i] not in seen:
            seen.add(keys[i])
            node, k, left, right = (int(column[i]) for column in changes[:4])
            tree = replaced(around.tree, around.paths[node], around.subtree(k, left, right))
            yield Candidate(tree, changed_policy(around, node, k, left, right))
