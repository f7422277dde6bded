"""Moves: small random changes of a tree, from which tuning chooses those that pay in the simulator.

A threshold moves by a random part of the spread that its feature has where its question is asked, between a hundredth
of the spread and all of it; or all thresholds move at once. Other moves give a question another feature, a leaf another
action, or a leaf a question, or take a question away. New thresholds are numbers of few digits: a long step does not
need more. A move that changes no action on what was observed is followed by another.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from omdt.learning.grid import roundest
from omdt.mdp import Bools, Floats, Ints
from omdt.task import Size
from omdt.tree import LEAF, TreePolicy, levels

LEAST_STEP = 0.01
"""The shortest step of a threshold, as a part of the feature's spread."""

LOOSE = 0.1
"""How far a new threshold may be moved for the sake of few digits, as a part of its step."""

SECOND = 0.3
"""Probability that another move follows."""

PATIENCE = 20
"""Most moves of which none changes an action, as where a single action is all there is."""


@dataclass(frozen=True, eq=False)
class Mover:
    """Draws neighbours of trees.

    Attributes:
        rng: draws them.
        size: how large a tree may be.
        observations: [n, F] what is observed when a good tree plays.
        integer: [F] whether a feature takes whole numbers only; their thresholds are halfway between two of these.
    """

    rng: np.random.Generator
    size: Size
    observations: Floats
    integer: tuple[bool, ...]

    def neighbour(self, tree: TreePolicy) -> TreePolicy:
        """A tree that differs by one move or by some, and in what it does on some observation."""
        before, moved = tree.actions(self.observations), self._moved(tree)
        for _ in range(PATIENCE):
            if self.rng.random() >= SECOND and (moved.actions(self.observations) != before).any():
                break
            moved = self._moved(moved)
        return moved

    def _moved(self, tree: TreePolicy) -> TreePolicy:
        """The tree after one move that is possible."""
        possible: list[tuple[float, Callable[[TreePolicy], TreePolicy]]] = []
        if tree.n_decision_nodes:
            possible += [(0.3, self._one_threshold), (0.2, self._all_thresholds)]
            possible += [(0.15, self._question), (0.05, self._removal)]
        if len(tree.action_names) > 1:
            possible.append((0.15, self._action))
        if self._room(tree).size:
            possible.append((0.15, self._growth))
        weights = np.array([weight for weight, _ in possible])
        return possible[int(self.rng.choice(len(possible), p=weights / weights.sum()))][1](tree)

    def _one_threshold(self, tree: TreePolicy) -> TreePolicy:
        node = self._any(tree.feature != LEAF)
        threshold = tree.threshold.copy()
        threshold[node] = self._stepped(tree, node)
        return replace(tree, threshold=threshold)

    def _all_thresholds(self, tree: TreePolicy) -> TreePolicy:
        threshold = tree.threshold.copy()
        for node in np.flatnonzero(tree.feature != LEAF):
            threshold[node] = self._stepped(tree, int(node))
        return replace(tree, threshold=threshold)

    def _question(self, tree: TreePolicy) -> TreePolicy:
        """Another question about any feature, with a threshold that divides what is observed there."""
        node = self._any(tree.feature != LEAF)
        feature, threshold, equality = tree.feature.copy(), tree.threshold.copy(), tree.equality.copy()
        feature[node], threshold[node] = self._drawn(tree, node)
        equality[node] = False
        return replace(tree, feature=feature, threshold=threshold, equality=equality)

    def _removal(self, tree: TreePolicy) -> TreePolicy:
        """One of the two subtrees takes the place of a question."""
        node = self._any(tree.feature != LEAF)
        kept = tree.left if self.rng.random() < 0.5 else tree.right
        return tree.with_child(node, int(kept[node]))

    def _action(self, tree: TreePolicy) -> TreePolicy:
        leaf = self._any(tree.feature == LEAF)
        action = tree.action.copy()
        action[leaf] = self._other_action(tree, leaf)
        return replace(tree, action=action)

    def _growth(self, tree: TreePolicy) -> TreePolicy:
        """A question in place of a leaf; one of its two leaves has the action of before."""
        leaf = int(self.rng.choice(self._room(tree)))
        feature, threshold = self._drawn(tree, leaf)
        actions = [int(tree.action[leaf]), self._other_action(tree, leaf)]
        self.rng.shuffle(actions)
        columns = {name: np.append(getattr(tree, name), [LEAF, LEAF]) for name in ("feature", "left", "right")}
        columns["feature"][leaf], columns["left"][leaf], columns["right"][leaf] = (
            feature,
            tree.n_nodes,
            tree.n_nodes + 1,
        )
        thresholds, action = np.append(tree.threshold, [0.0, 0.0]), np.append(tree.action, actions)
        thresholds[leaf], action[leaf] = threshold, LEAF
        return replace(
            tree,
            feature=columns["feature"],
            threshold=thresholds,
            left=columns["left"],
            right=columns["right"],
            action=action,
            equality=np.append(tree.equality, [False, False]),
        )

    def _room(self, tree: TreePolicy) -> Ints:
        """The leaves that may become questions."""
        if self.size.max_leaf_nodes is not None and tree.n_leaves >= self.size.max_leaf_nodes:
            return np.zeros(0, dtype=np.int64)
        shallow = True if self.size.max_depth is None else levels(tree) < self.size.max_depth
        return np.flatnonzero((tree.feature == LEAF) & shallow)

    def _any(self, nodes: Bools) -> int:
        return int(self.rng.choice(np.flatnonzero(nodes)))

    def _other_action(self, tree: TreePolicy, leaf: int) -> int:
        A = len(tree.action_names)
        return int((tree.action[leaf] + self.rng.integers(1, max(2, A))) % A)

    def _stepped(self, tree: TreePolicy, node: int) -> float:
        """The threshold of a question after a random step."""
        j = int(tree.feature[node])
        column = self._observed(tree, node)[:, j]
        step = float(column.std()) * LEAST_STEP ** self.rng.random()
        threshold = float(tree.threshold[node]) + step * float(self.rng.normal())
        if tree.equality[node]:
            return float(self.rng.choice(column))
        if self.integer[j]:
            return float(np.floor(threshold)) + 0.5
        return roundest(threshold - LOOSE * step, threshold + LOOSE * step) if step > 0 else threshold

    def _drawn(self, tree: TreePolicy, node: int) -> tuple[int, float]:
        """A feature, and a threshold between two random observations of it."""
        j = int(self.rng.integers(len(tree.feature_names)))
        low, high = np.sort(self.rng.choice(self._observed(tree, node)[:, j], 2))
        if self.integer[j]:
            return j, float(np.floor((low + high) / 2)) + 0.5
        return j, roundest(float(low), float(high)) if low < high else float(low)

    def _observed(self, tree: TreePolicy, node: int) -> Floats:
        """[m, F] the observations that reach a node, or all of them if these are few."""
        reached = self.observations[_below(tree, node)[tree.leaves(self.observations)]]
        return reached if len(reached) > 1 else self.observations


def _below(tree: TreePolicy, node: int) -> Bools:
    """[N] whether each node is a node or below it."""
    below = np.zeros(tree.n_nodes, dtype=bool)
    below[node] = True
    for i in range(node, tree.n_nodes):
        if below[i] and tree.feature[i] != LEAF:
            below[[tree.left[i], tree.right[i]]] = True
    return below
