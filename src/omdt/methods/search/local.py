"""Local search: a good tree within seconds, better ones the longer it runs.

A tree is a nested tuple, an action for a leaf and (k, left, right) for a split on question k. Around the current tree
with policy π the change of the return is, to first order,

    J(π') − J(π) ≈ Σ_s w(s) A^π(s, π'(s)),        w = occupancy of π, mixed with a little of everything,

which is additive over states, so the best stump or the best two levels below a node follow from sums over its states.
These estimates only propose and order the candidates; each is then evaluated exactly, and only improvements of the
exact return are accepted. Restarts perturb the best tree.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Floats, Ints
from omdt.methods.search.evaluation import Engine, engine
from omdt.solution import Limits
from omdt.splits import Splits
from omdt.tree import Nodes, TreePolicy
from omdt.watch import Watch

Nested = Any
"""An action, or (k, left, right)."""

EXACT_PER_NODE = 12
MIXING = 0.02
MAX_STEPS = 1000
"""Improvements from one start at most, in case rounding makes them go round in circles."""


@dataclass(frozen=True)
class Size:
    """How large a tree may be: its depth and its number of leaves."""

    depth: int
    leaves: int

    @classmethod
    def of(cls, limits: Limits) -> "Size":
        """The size that limits allow, of which at least one must be given."""
        depth, leaves = limits.max_depth, limits.max_leaf_nodes
        most = 2 ** (depth or 0) if leaves is None else leaves
        return cls(most - 1 if depth is None else min(depth, most - 1), most)


@dataclass(frozen=True)
class Place:
    """A node of a tree: the way to it, its states, its subtree, and how much may grow there."""

    path: tuple[bool, ...]
    states: Ints
    subtree: Nested
    depth: int
    leaves: int


def local_search(mdp: MDP, splits: Splits, limits: Limits, watch: Watch) -> TreePolicy:
    """The best tree found until the watch runs out."""
    search = LocalSearch(mdp, splits, limits, watch)
    search.start()
    while watch.remaining > 0 and not search.done:
        search.climb(1)
    return to_policy(search.best, splits, mdp)


def to_policy(tree: Nested, splits: Splits, mdp: MDP) -> TreePolicy:
    """The tree policy of a nested tuple."""
    nodes = Nodes()
    stack: list[tuple[Nested, tuple[int, str] | None]] = [(tree, None)]
    while stack:
        node, attach = stack.pop()
        if not isinstance(node, tuple):
            nodes.leaf(int(node), attach)
            continue
        k, left, right = node
        index = nodes.split(int(splits.feature[k]), float(splits.threshold[k]), bool(splits.equality[k]), attach)
        stack.append((right, (index, "right")))
        stack.append((left, (index, "left")))
    return nodes.tree(TreePolicy, splits.feature_names, mdp.action_names)


def count_leaves(tree: Nested) -> int:
    """How many leaves a nested tree has."""
    return count_leaves(tree[1]) + count_leaves(tree[2]) if isinstance(tree, tuple) else 1


def leaf_actions(tree: Nested) -> set[int]:
    """The actions of the leaves of a nested tree."""
    if isinstance(tree, tuple):
        return leaf_actions(tree[1]) | leaf_actions(tree[2])
    return set() if tree is None else {tree}


class LocalSearch:
    """Hill climbing with restarts; `best` and `value` improve while it runs.

    Attributes:
        best: the best tree so far.
        value: its return.
        bound: no tree returns more, as far as is known; only reported.
        optimal: [S] values of the best policy of any form.
    """

    def __init__(self, mdp: MDP, splits: Splits, limits: Limits, watch: Watch) -> None:
        self.mdp, self.sides, self.watch = mdp, splits.sides(), watch
        self.optimal = planning.optimal_values(mdp)
        optimal_return = planning.expected_return(mdp, self.optimal)
        self.bound = optimal_return.upper
        # Sums over states are matrix products, which need numbers instead of booleans.
        self.weights_of_side = self.sides.astype(np.float64)
        self.random = np.random.default_rng(limits.seed)
        self.size = Size.of(limits)
        self.engine: Engine = engine(mdp)
        # Differences in return below this are rounding, not worth following.
        self.noise = 1e-12 * abs(optimal_return.value)
        self.value = -np.inf
        self.best: Nested = 0
        self.seeds = self._seeds()

    @property
    def done(self) -> bool:
        """Whether a single leaf is all there is to find."""
        return self.size.depth == 0 or self.sides.shape[1] == 0

    def start(self) -> None:
        """Try every single leaf."""
        for action in range(self.mdp.n_actions):
            self.consider(action)
            if self._late():
                return

    def climb(self, times: int) -> None:
        """Climb from the next seeds, and when there are no more, from perturbations of the best tree."""
        for _ in range(0 if self.done else times):
            if self._late():
                return
            tree = next(self.seeds, None)
            self.climb_from(self._perturbed(self.best) if tree is None else tree)

    def _late(self) -> bool:
        return self.watch.remaining == 0

    def consider(self, tree: Nested) -> float:
        """Make this the tree around which is searched, and the best one if it is."""
        policy = self.policy(tree)
        self.engine.rebase(policy)
        if self.engine.value > self.value + self.noise:
            self.value, self.best = self.engine.value, tree
            self.watch.report(self.value, max(self.bound, self.value))
        return self.engine.value

    def policy(self, tree: Nested) -> Ints:
        """[S] the actions of a tree."""
        return self._policy_on(tree, np.arange(self.mdp.n_states))

    def _policy_on(self, tree: Nested, states: Ints) -> Ints:
        """[n] what a tree would do in the given states."""
        actions = np.empty(len(states), dtype=np.int64)
        stack = [(tree, np.arange(len(states)))]
        while stack:
            node, rows = stack.pop()
            if isinstance(node, tuple):
                right = self.sides[states[rows], node[0]]
                stack += [(node[1], rows[~right]), (node[2], rows[right])]
            else:
                actions[rows] = node
        return actions

    def _seeds(self) -> Iterator[Nested]:
        """Trees fitted to the Q-values of the optimal policy and of the trees themselves."""
        q = planning.q_values(self.mdp, self.optimal)
        advantages = q.value - q.value.max(axis=1, keepdims=True)
        states = np.arange(self.mdp.n_states)
        optimal = planning.occupancies(self.mdp, planning.greedy(q)).value
        random = planning.occupancies(self.mdp, planning.random_policy(self.mdp)).value
        for weights in (optimal, random, optimal + random, np.ones(len(states)) / len(states)):
            yield self._fitted(advantages * weights[:, None], states, self.size.depth, self.size.leaves)
        self.engine.rebase(self.policy(self.best))
        for _ in range(5):
            tree = self._fitted(self._gains(), states, self.size.depth, self.size.leaves)
            self.engine.rebase(self.policy(tree))
            yield tree

    def _gains(self) -> Floats:
        """[S, A] first-order gain of each action in each state."""
        x = self.engine.occupancies
        mixed = (1 - MIXING) * x + MIXING * x.sum() / len(x)
        gains: Floats = mixed[:, None] * self.engine.advantages
        return gains

    def climb_from(self, tree: Nested) -> None:
        """Take the best of the promising neighbours until none is better."""
        value = self.consider(tree)
        for _ in range(MAX_STEPS):
            if self._late():
                return
            best_value, best_tree = value, None
            for candidate, policy in self._neighbours(tree):
                candidate_value = self.engine.evaluate(policy)
                if candidate_value > best_value + self.noise:
                    best_value, best_tree = candidate_value, candidate
                if self._late():
                    break
            if best_tree is None:
                return
            tree = best_tree
            value = self.consider(tree)

    def places(self, tree: Nested) -> Iterator[Place]:
        """All nodes of a tree, root first."""
        spare = self.size.leaves - count_leaves(tree)
        stack: list[tuple[tuple[bool, ...], Ints, Nested]] = [((), np.arange(self.mdp.n_states), tree)]
        while stack:
            path, states, node = stack.pop()
            yield Place(path, states, node, self.size.depth - len(path), spare + count_leaves(node))
            if isinstance(node, tuple):
                right = self.sides[states, node[0]]
                stack.append(((*path, True), states[right], node[2]))
                stack.append(((*path, False), states[~right], node[1]))

    def _neighbours(self, tree: Nested) -> Iterator[tuple[Nested, Ints]]:
        """Trees that differ from this one below one node, the most promising of every node, and their policies."""
        gains = self._gains()
        current = self.policy(tree)
        seen = {current.tobytes()}
        for place in self.places(tree):
            if len(place.states) == 0:
                continue
            for subtree in self._alternatives(place, gains):
                policy = current.copy()
                policy[place.states] = self._policy_on(subtree, place.states)
                key = policy.tobytes()
                if key not in seen:
                    seen.add(key)
                    yield replaced(tree, place.path, subtree), policy

    def _alternatives(self, place: Place, gains: Floats) -> Iterator[Nested]:
        """Subtrees for one node."""
        total = gains[place.states].sum(axis=0)
        most = np.argsort(-total, kind="stable")[: 1 + EXACT_PER_NODE // 2]
        yield from (int(action) for action in most)
        if isinstance(place.subtree, tuple):
            _, left, right = place.subtree
            yield left
            yield right
            for k in self._best_rotations(place, gains):
                yield (int(k), left, right)
                yield (int(k), right, left)
        if place.depth >= 1 and place.leaves >= 2:
            scores, left_actions, right_actions = self._stumps(gains, place.states)
            for k in np.argsort(-scores, kind="stable")[:EXACT_PER_NODE]:
                yield (int(k), int(left_actions[k]), int(right_actions[k]))
        if place.depth >= 2 and place.leaves >= 3:
            yield self._fitted(gains, place.states, place.depth, place.leaves)

    def _best_rotations(self, place: Place, gains: Floats) -> Ints:
        """Questions with which the present subtrees of a node promise most."""
        _, left, right = place.subtree
        g = gains[place.states]
        rows = np.arange(len(place.states))
        gain_left = g[rows, self._policy_on(left, place.states)]
        gain_right = g[rows, self._policy_on(right, place.states)]
        side = self.weights_of_side[place.states]
        straight = gain_left.sum() + side.T @ (gain_right - gain_left)
        crossed = gain_right.sum() + side.T @ (gain_left - gain_right)
        best: Ints = np.argsort(-np.maximum(straight, crossed), kind="stable")[:EXACT_PER_NODE]
        return best

    def _stumps(self, gains: Floats, states: Ints) -> tuple[Floats, Ints, Ints]:
        """[K] first-order gain of the best stump on each question, with its two actions."""
        left, right = side_sums(self.weights_of_side[states], gains[states])
        scores = left.max(axis=1) + right.max(axis=1)
        return scores, left.argmax(axis=1), right.argmax(axis=1)

    def _fitted(self, gains: Floats, states: Ints, depth: int, leaves: int) -> Nested:
        """The tree with the highest first-order gain: exact for two levels, greedy above."""
        if depth == 0 or leaves == 1 or len(states) == 0:
            return int(gains[states].sum(axis=0).argmax())
        if depth == 1 or leaves == 2:
            scores, left, right = self._stumps(gains, states)
            k = int(scores.argmax())
            return (k, int(left[k]), int(right[k]))
        scores, _, _ = self._stumps(gains, states)
        best, best_score = None, -np.inf
        for k in np.argsort(-scores, kind="stable")[: 2 * EXACT_PER_NODE]:
            right = self.sides[states, k]
            score = sum(self._stump_score(gains, part) for part in (states[right], states[~right]))
            if score > best_score:
                best, best_score = int(k), score
        assert best is not None
        right = self.sides[states, best]
        # Leaves are shared out by how much each side has to gain from a split.
        worth = [
            self._stump_score(gains, part) - gains[part].sum(axis=0).max() for part in (states[~right], states[right])
        ]
        left_leaves, right_leaves = _shared_leaves(leaves, depth, worth)
        return (
            best,
            self._fitted(gains, states[~right], depth - 1, left_leaves),
            self._fitted(gains, states[right], depth - 1, right_leaves),
        )

    def _stump_score(self, gains: Floats, states: Ints) -> float:
        """First-order gain of the best stump."""
        if len(states) == 0:
            return 0.0
        return float(self._stumps(gains, states)[0].max())

    def _perturbed(self, tree: Nested) -> Nested:
        """The tree with one to three random changes."""
        for _ in range(int(self.random.integers(1, 4))):
            places = [place for place in self.places(tree) if len(place.states)]
            place = places[int(self.random.integers(len(places)))]
            tree = replaced(tree, place.path, self._random_change(place))
        return tree

    def _random_change(self, place: Place) -> Nested:
        action = int(self.random.integers(self.mdp.n_actions))
        k = int(self.random.integers(self.sides.shape[1]))
        kind = int(self.random.integers(4))
        if isinstance(place.subtree, tuple):
            if kind == 0:
                return (k, place.subtree[1], place.subtree[2])
            if kind == 1:
                return (place.subtree[0], place.subtree[2], place.subtree[1])
        if kind == 2 or place.depth == 0 or place.leaves < 2:
            return action
        weights = self.random.exponential(size=len(place.states))
        gains = np.zeros_like(self.engine.advantages)
        gains[place.states] = weights[:, None] * self._gains()[place.states]
        return self._fitted(gains, place.states, place.depth, place.leaves)


def side_sums(right: Floats, gains: Floats) -> tuple[Floats, Floats]:
    """[K, A] sums over the states on the left and on the right of each of K questions.

    Args:
        right: [n, K] 1 where a state is on the right of a question.
        gains: [n, A] what is summed.
    """
    sums: Floats = right.T @ gains
    return gains.sum(axis=0) - sums, sums


def replaced(tree: Nested, path: tuple[bool, ...], subtree: Nested) -> Nested:
    """The tree with another subtree at the end of a path."""
    if not path:
        return subtree
    k, left, right = tree
    if path[0]:
        return (k, left, replaced(right, path[1:], subtree))
    return (k, replaced(left, path[1:], subtree), right)


def sibling_action(tree: Nested, path: tuple[bool, ...]) -> Any:
    """The action of the leaf beside the place at the end of a path; None when there is no leaf."""
    if not path:
        return None
    for right in path[:-1]:
        tree = tree[2 if right else 1]
    sibling = tree[1 if path[-1] else 2]
    return None if isinstance(sibling, tuple) else sibling


def _shared_leaves(leaves: int, depth: int, worth: list[float]) -> tuple[int, int]:
    """How many of the leaves each side gets: at least one, at most what its depth can use, more where more is worth."""
    full = 2 ** (depth - 1)
    if leaves >= 2 * full:
        return full, full
    share = worth[0] / (worth[0] + worth[1]) if worth[0] + worth[1] > 0 else 0.5
    left = min(max(round(share * leaves), 1, leaves - full), leaves - 1, full)
    return left, leaves - left
