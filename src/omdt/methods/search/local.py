"""Local search: a good tree within seconds, better ones the longer it runs.

A tree is a nested tuple, an action for a leaf and (k, left, right) for a split on question k. Around the current tree
with policy π the change of the return is, to first order,

    J(π') − J(π) ≈ Σ_s w(s) A^π(s, π'(s)),        w = occupancy of π, mixed with a little of everything,

which is additive over states, so the best stump or the best two levels below a node follow from sums over its states.
These estimates only propose and order the candidates; each is then evaluated exactly, and only improvements of the
exact return are accepted. Restarts perturb the best tree.

Before a climb ends with a new best tree, all its small changes are evaluated, promising or not: every other action in
every leaf and every other threshold or value in every node. So the best tree is locally best unless time runs out.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from omdt import planning
from omdt import task as asked
from omdt.limits import Limits
from omdt.mdp import MDP, Bools, Floats, Ints
from omdt.methods.copy import least_entropy, settled
from omdt.methods.search.evaluation import Engine, engine
from omdt.methods.search.ranks import Ranks
from omdt.rules import names_only
from omdt.solution import tolerated_excess
from omdt.splits import Splits
from omdt.task import Task
from omdt.tree import Nodes, TreePolicy
from omdt.watch import Watch

Nested = Any
"""An action, or (k, left, right)."""

EXACT_PER_NODE = 12
MIXING = 0.02
MAX_STEPS = 1000
"""Improvements from one start at most, in case rounding makes them go round in circles."""

IMPATIENT_STATES = 20_000
"""From here on an evaluation takes so long that the first improvement is taken instead of the best."""

POLISHING_SHARE = 0.1
"""Part of the time limit that is kept back at most to evaluate the small changes of the last best tree."""


@dataclass(frozen=True)
class Size:
    """How large a tree may be: its depth and its number of leaves."""

    depth: int
    leaves: int

    @classmethod
    def of(cls, size: asked.Size) -> "Size":
        """The size that limits allow, of which at least one must be given."""
        depth, leaves = size.max_depth, size.max_leaf_nodes
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


def local_search(task: Task, limits: Limits, watch: Watch) -> TreePolicy:
    """The best tree found until the watch runs out."""
    search = LocalSearch(task, limits, watch)
    search.start()
    while watch.remaining > 0 and not (search.single or search.optimal_reached):
        search.climb(1)
    return to_policy(0 if search.best is None else search.best, task.splits, task.problem)


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
        unrestricted: no policy of any form returns more.
        scale: the scale of the problem's returns.
        allowed: [S, A] the actions that a leaf with each state may name; None if it may name all of them.
    """

    def __init__(self, task: Task, limits: Limits, watch: Watch) -> None:
        mdp, splits = task.problem, task.splits
        self.mdp, self.splits, self.limits, self.watch = mdp, splits, limits, watch
        self.questions = Ranks(splits)
        self.optimal = planning.optimal_values(mdp, watch)
        optimal_return = planning.expected_return(mdp, self.optimal)
        self.unrestricted = self.bound = optimal_return.upper
        self.scale = planning.scale(mdp, watch)
        self.random = np.random.default_rng(limits.seed)
        self.size = Size.of(task.size)
        self.engine: Engine = engine(mdp, watch)
        # Differences in return below this are rounding, not worth following.
        self.noise = planning.ROUNDING * max(abs(optimal_return.value), self.scale)
        self.allowed = task.allowed
        self.best: Nested | None = None
        # Where not every tree is allowed, the first one may be hard to find; until then every return is an improvement.
        self.value = -np.inf if self.allowed is None else self._least_return()
        self.seeds = self._seeds()
        self._polished: Nested = None
        self._seconds, self._permitted = 0.0, True

    @property
    def single(self) -> bool:
        """Whether a single leaf is all there is to find."""
        return self.size.depth == 0 or len(self.questions) == 0

    @property
    def target(self) -> float:
        """What returns no more than this is no better than the best tree, as far as the gap and rounding tell."""
        if self.best is None:
            return self.value
        return self.value + 0.999 * tolerated_excess(self.value, self.limits.gap, self.scale)

    @property
    def optimal_reached(self) -> bool:
        """Whether the best tree is as good as the best policy of any form."""
        return self.best is not None and self.unrestricted <= self.target

    def _least_return(self) -> float:
        """A number that is clearly below the return of every tree."""
        worst = planning.expected_return(self.mdp, planning.worst_values(self.mdp)).lower
        size = max(self.scale, abs(worst), abs(self.unrestricted))
        return worst - (size if size > 1e-280 else 1.0)

    def permits(self, policy: Ints) -> bool:
        """Whether a tree with this policy [S] names nothing that is not allowed."""
        return self.allowed is None or names_only(self.allowed, policy)

    def start(self) -> None:
        """Try every single leaf, and the trees that copy the optimal policy if they are small enough."""
        for action in range(self.mdp.n_actions):
            self.consider(action)
            if self._late():
                return
        if not self.single:
            for tree in self._copies():
                self.consider(tree)
        if self.best is None and self.allowed is not None:
            tree = self._copy(self.allowed, np.arange(self.mdp.n_states), self.size.depth, self.size.leaves)
            if tree is not None:
                self.consider(tree)

    def climb(self, times: int) -> None:
        """Climb from the next seeds, and when there are no more, from perturbations of the best tree."""
        for _ in range(0 if self.single else times):
            if self._late() or self.optimal_reached:
                return
            tree = next(self.seeds, None)
            self.climb_from(self._perturbed(self.best or 0) if tree is None else tree)

    def finish(self) -> None:
        """Spend the time that was kept back on making the best tree locally best."""
        self.watch.reserve(2 * self._seconds)
        if self.best not in (None, self._polished) and not (self.single or self.optimal_reached or self._late()):
            self.climb_from(self.best)

    def _late(self) -> bool:
        return self.watch.remaining == 0

    def consider(self, tree: Nested) -> float:
        """Make this the tree around which is searched, and the best one if it is."""
        begin, policy = time.perf_counter(), self.policy(tree)
        self.engine.rebase(policy)
        self._seconds = time.perf_counter() - begin
        self._permitted = self.permits(policy)
        if self._permitted and self.engine.value > self.value + self.noise:
            self.value, self.best = self.engine.value, tree
            polishing = min(POLISHING_SHARE * self.watch.time_limit, self._polishing_seconds(tree))
            self.watch.reserve(2 * self._seconds + polishing)
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
                right = self.questions.right(states[rows], node[0])
                stack += [(node[1], rows[~right]), (node[2], rows[right])]
            else:
                actions[rows] = node
        return actions

    def _seeds(self) -> Iterator[Nested]:
        """Trees fitted to the Q-values of the optimal policy and of the trees themselves."""
        q = planning.q_values(self.mdp, self.optimal)
        advantages = q.value - q.value.max(axis=1, keepdims=True)
        states = np.arange(self.mdp.n_states)
        optimal = planning.occupancies(self.mdp, planning.greedy(q), self.watch).value
        yield self._fitted(self._weighed(advantages, optimal), states, self.size.depth, self.size.leaves)
        random = planning.occupancies(self.mdp, planning.random_policy(self.mdp), self.watch).value
        for weights in (random, optimal + random, np.ones(len(states)) / len(states)):
            yield self._fitted(self._weighed(advantages, weights), states, self.size.depth, self.size.leaves)
        self.engine.rebase(self.policy(self.best or 0))
        for _ in range(5):
            tree = self._fitted(self._gains(), states, self.size.depth, self.size.leaves)
            self.engine.rebase(self.policy(tree))
            yield tree

    def _copies(self) -> Iterator[Nested]:
        """Trees that do what an optimal policy does, in all states or in those it visits, if they are small enough."""
        q = planning.q_values(self.mdp, self.optimal)
        best, actions = planning.best_actions(q), planning.greedy(q)
        everything = np.ones_like(best) if self.allowed is None else self.allowed
        best = best & everything
        actions = np.where(best[np.arange(len(actions)), actions], actions, best.argmax(axis=1))
        visited = planning.visited(self.mdp, actions)
        only: Bools = actions[:, None] == np.arange(self.mdp.n_actions)
        for allowed in (best, np.where(visited[:, None], only, everything)):
            tree = self._copy(allowed, np.arange(self.mdp.n_states), self.size.depth, self.size.leaves)
            if tree is not None:
                yield tree

    def _copy(self, allowed: Bools, states: Ints, depth: int, leaves: int) -> Nested | None:
        """A tree that takes one of the allowed actions [S, A] in each of some states; None if it would be too large."""
        common = allowed[states].all(axis=0)
        if common.any():
            return int(common.argmax())
        if depth == 0 or leaves == 1 or self._late():
            return None
        wanted = np.eye(self.mdp.n_actions)[settled(allowed[states])]
        k = least_entropy(*self.questions.sums(states, wanted))
        if k is None:
            return None
        right = self.questions.right(states, k)
        first = self._copy(allowed, states[~right], depth - 1, leaves - 1)
        if first is None:
            return None
        second = self._copy(allowed, states[right], depth - 1, leaves - count_leaves(first))
        return None if second is None else (k, first, second)

    def _gains(self) -> Floats:
        """[S, A] first-order gain of each action in each state."""
        x = self.engine.occupancies
        mixed = (1 - MIXING) * x + MIXING * x.sum() / len(x)
        return self._weighed(self.engine.advantages, mixed)

    def _weighed(self, advantages: Floats, weights: Floats) -> Floats:
        """[S, A] advantages times the weights of states; a loss beyond all others where an action is not allowed."""
        gains: Floats = advantages * weights[:, None]
        if self.allowed is not None:
            gains[~self.allowed] = -1e3 * (np.abs(gains).sum() + 1e-300)
        return gains

    def climb_from(self, tree: Nested) -> None:
        """Take the best of the promising neighbours until none is better, and polish what became the best tree."""
        self.consider(tree)
        for _ in range(MAX_STEPS):
            if self._late() or self.optimal_reached:
                return
            better = self._best_of(self._neighbours(tree))
            if better is None and tree == self.best and tree != self._polished:
                better = self._best_of(self._small_changes(tree))
                if better is None and not self._late():
                    self._polished = tree
                    self.watch.reserve(2 * self._seconds)
            if better is None:
                return
            tree = better
            self.consider(tree)

    def _best_of(self, candidates: Iterator[tuple[Nested, Ints]]) -> Nested | None:
        """The best of some trees that come with their policies, if it is better than the one around which is searched.

        With many states the first one that is better will do.
        """
        best_value, best_tree = self.engine.value if self._permitted else -np.inf, None
        for candidate, policy in candidates:
            if self._late():
                break
            value = self._evaluated(policy)
            if value > best_value + self.noise:
                best_value, best_tree = value, candidate
                if self.mdp.n_states >= IMPATIENT_STATES:
                    break
        return best_tree

    def _evaluated(self, policy: Ints) -> float:
        """The return of a policy, −∞ if it is not allowed; how long it takes to find out is remembered."""
        if not self.permits(policy):
            return -np.inf
        begin = time.perf_counter()
        value = self.engine.evaluate(policy)
        self._seconds = time.perf_counter() - begin
        return value

    def _small_changes(self, tree: Nested) -> Iterator[tuple[Nested, Ints]]:
        """All trees with another action in one leaf or another question about the same feature in one node."""
        current = self.policy(tree)
        for place in self.places(tree):
            if len(place.states) == 0:
                continue
            for subtree in self._small_changes_at(place):
                policy = current.copy()
                policy[place.states] = self._policy_on(subtree, place.states)
                if np.any(policy != current):
                    yield replaced(tree, place.path, subtree), policy

    def _small_changes_at(self, place: Place) -> Iterator[Nested]:
        if not isinstance(place.subtree, tuple):
            yield from (action for action in range(self.mdp.n_actions) if action != place.subtree)
            return
        k, left, right = place.subtree
        for other in np.flatnonzero(self.questions.feature == self.questions.feature[k]):
            if other != k:
                yield (int(other), left, right)

    def _polishing_seconds(self, tree: Nested) -> float:
        """Roughly how long it takes to evaluate all small changes of a tree."""
        leaves = count_leaves(tree)
        changes = leaves * self.mdp.n_actions + (leaves - 1) * len(self.questions) / len(self.splits.feature_names)
        return 2 * self._seconds * changes

    def places(self, tree: Nested) -> Iterator[Place]:
        """All nodes of a tree, root first."""
        spare = self.size.leaves - count_leaves(tree)
        stack: list[tuple[tuple[bool, ...], Ints, Nested]] = [((), np.arange(self.mdp.n_states), tree)]
        while stack:
            path, states, node = stack.pop()
            yield Place(path, states, node, self.size.depth - len(path), spare + count_leaves(node))
            if isinstance(node, tuple):
                right = self.questions.right(states, node[0])
                stack.append(((*path, True), states[right], node[2]))
                stack.append(((*path, False), states[~right], node[1]))

    def _neighbours(self, tree: Nested) -> Iterator[tuple[Nested, Ints]]:
        """Trees that differ from this one below one node, the most promising of every node, and their policies."""
        gains = self._gains()
        current = self.policy(tree)
        seen = {_digest(current)}
        for place in self.places(tree):
            if len(place.states) == 0 or self._late():
                continue
            for subtree in self._alternatives(place, gains):
                policy = current.copy()
                policy[place.states] = self._policy_on(subtree, place.states)
                key = _digest(policy)
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
        change = self.questions.sums(place.states, (gain_right - gain_left)[:, None])[1][:, 0]
        straight, crossed = gain_left.sum() + change, gain_right.sum() - change
        best: Ints = np.argsort(-np.maximum(straight, crossed), kind="stable")[:EXACT_PER_NODE]
        return best

    def _stumps(self, gains: Floats, states: Ints) -> tuple[Floats, Ints, Ints]:
        """[K] first-order gain of the best stump on each question, with its two actions."""
        left, right = self.questions.sums(states, gains[states])
        scores = left.max(axis=1) + right.max(axis=1)
        return scores, left.argmax(axis=1), right.argmax(axis=1)

    def _fitted(self, gains: Floats, states: Ints, depth: int, leaves: int) -> Nested:
        """The tree with the highest first-order gain: exact for two levels, greedy above."""
        total = gains[states].sum(axis=0)
        if depth == 0 or leaves == 1 or self._late() or total.max() >= gains[states].max(axis=1).sum():
            return int(total.argmax())
        if depth == 1 or leaves == 2:
            scores, left, right = self._stumps(gains, states)
            k = int(scores.argmax())
            return (k, int(left[k]), int(right[k]))
        scores, _, _ = self._stumps(gains, states)
        best, best_score = None, -np.inf
        for k in np.argsort(-scores, kind="stable")[: 2 * EXACT_PER_NODE]:
            above = self.questions.right(states, k)
            score = sum(self._stump_score(gains, part) for part in (states[above], states[~above]))
            if score > best_score:
                best, best_score = int(k), score
        assert best is not None
        above = self.questions.right(states, best)
        # Leaves are shared out by how much each side has to gain from a split.
        worth = [
            self._stump_score(gains, part) - gains[part].sum(axis=0).max() for part in (states[~above], states[above])
        ]
        left_leaves, right_leaves = _shared_leaves(leaves, depth, worth)
        return (
            best,
            self._fitted(gains, states[~above], depth - 1, left_leaves),
            self._fitted(gains, states[above], depth - 1, right_leaves),
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
        k = int(self.random.integers(len(self.questions)))
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


def _digest(policy: Ints) -> bytes:
    return blake2b(policy.tobytes(), digest_size=16).digest()


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
