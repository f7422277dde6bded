"""The best tree under rules by trying all trees, and what every rule means, written from the documentation of `Rules`.

Nothing here is shared with the package but the arrays of the MDP and the statement of the rules: trees are nested
tuples, enumerated with every question in every place, also where it divides nothing, and a policy is evaluated by one
dense linear system.

    problem = Problem(mdp, Rules(root="feature_0"), max_depth=2)
    problem.best.value
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from omdt.mdp import MDP
from omdt.rules import Rules
from omdt.tree import LEAF, TreePolicy

LIMIT_TOLERANCE = 1e-9
"""Excess over a limit that counts as kept, relative to the limit or to 1."""

SHARE_TOLERANCE = 1e-9
"""Relative amount by which a share of visits may be too small."""

CLEARLY = 3.0
"""A total is in doubt if its excess is within this factor of the tolerance; such problems are not compared."""


class Leaf(NamedTuple):
    """A leaf and its action."""

    action: int


class Ask(NamedTuple):
    """A question: left if the column is at most the number or, in an equality, equal to it."""

    column: int
    number: float
    equality: bool
    left: "Tree"
    right: "Tree"


Tree = Leaf | Ask
Question = tuple[int, float, bool]


class Best(NamedTuple):
    """What is known after all trees were tried.

    Attributes:
        value: the largest net return of a tree that keeps the rules; None if there is none.
        tree: such a tree.
        trees: number of trees within the size limits that keep the given tree.
        obeying: number of those that keep all rules.
        doubtful: whether rounding decides about some tree, so that nobody can be blamed for another answer.
    """

    value: float | None
    tree: Tree | None
    trees: int
    obeying: int
    doubtful: bool


@dataclass(frozen=True, eq=False)
class Problem:
    """An MDP, rules, and a limit on the size.

    Attributes:
        mdp: the MDP, whose discounted return is maximised, or its total if its discount is 1.
        rules: the rules; rules of the user's own are not known here.
        max_depth: maximum number of questions on any path, or None.
        max_leaves: maximum number of leaves, or None.
        unavailable: "fallback" or "forbid".
    """

    mdp: MDP
    rules: Rules
    max_depth: int | None = None
    max_leaves: int | None = None
    unavailable: str = "fallback"

    @cached_property
    def questions(self) -> list[Question]:
        """Every question that the rules about features allow; of questions about one column that divide alike one."""
        found: list[Question] = []
        names, rules = self.mdp.feature_names, self.rules
        asked = names if rules.features is None else rules.features
        for j, name in enumerate(names):
            if name not in asked or name in rules.without:
                continue
            values = np.unique(self.mdp.features[:, j]).tolist()
            if name in rules.categorical:
                # With two values, both questions are the same one.
                found += [(j, value, True) for value in (values if len(values) > 2 else values[:-1])]
            else:
                found += [(j, (low + high) / 2, False) for low, high in pairwise(values)]
        return found

    def trees(self) -> Iterator[Tree]:
        """All trees within the size limits that keep the given tree."""
        depth = self.max_depth if self.max_depth is not None else 99
        leaves = self.max_leaves if self.max_leaves is not None else 10**6
        if self.rules.keep is None:
            yield from self._grown(depth, leaves)
            return
        for tree in self._completed(self.rules.keep, depth, leaves):
            if depth_of(tree) <= depth and leaves_of(tree) <= leaves:
                yield tree

    def _grown(self, depth: int, leaves: int) -> Iterator[Tree]:
        """All trees of limited size."""
        for action in range(self.mdp.n_actions):
            yield Leaf(action)
        if depth < 1 or leaves < 2:
            return
        below = list(self._grown(depth - 1, leaves - 1))
        sizes = [leaves_of(tree) for tree in below]
        for (column, number, equality), left, right in product(self.questions, range(len(below)), range(len(below))):
            if sizes[left] + sizes[right] <= leaves:
                yield Ask(column, number, equality, below[left], below[right])

    def _completed(self, kept: Any, depth: int, leaves: int) -> Iterator[Tree]:
        """All completions of a tree with open places; limits on the whole only save work here."""
        if kept.get("open"):
            yield from self._grown(min(depth, kept.get("depth", depth)), min(leaves, kept.get("leaves", leaves)))
        elif "action" in kept:
            yield Leaf(self.mdp.action_names.index(kept["action"]))
        elif depth > 0:
            column = self.mdp.feature_names.index(kept["feature"])
            number, equality = float(kept.get("equals", kept.get("threshold"))), "equals" in kept
            rights = list(self._completed(kept["right"], depth - 1, leaves - 1))
            for left in self._completed(kept["left"], depth - 1, leaves - 1):
                for right in rights:
                    yield Ask(column, number, equality, left, right)

    @cached_property
    def best(self) -> Best:
        """The best tree that keeps all rules."""
        value, found, trees, obeying, doubtful = None, None, 0, 0, False
        for tree in self.trees():
            trees += 1
            verdict = self.judged(tree)
            doubtful |= verdict.doubtful
            if verdict.broken:
                continue
            obeying += 1
            if value is None or verdict.value > value:
                value, found = verdict.value, tree
        return Best(value, found, trees, obeying, doubtful)

    def judged(self, tree: Tree) -> "Verdict":
        """Which rules a tree of any size breaks, and what it returns net of prices."""
        leaf_of = [path_of(tree, x) for x in self.mdp.features.tolist()]
        policy = tuple(action_at(tree, path) for path in leaf_of)
        broken = {name for name, holds in self._plain_rules(tree, policy).items() if not holds}
        doubtful = False
        visits = self.visits(policy)
        for name, excess, tolerance in (*self._limits(policy), *self._shares(tree, leaf_of, visits)):
            if excess > tolerance:
                broken.add(name)
            doubtful |= bool(tolerance / CLEARLY < excess < tolerance * CLEARLY)
        return Verdict(self._net_return(tree, leaf_of, policy, visits), broken, doubtful and len(broken) <= 1)

    def _plain_rules(self, tree: Tree, policy: tuple[int, ...]) -> dict[str, bool]:
        """Whether a tree keeps each rule in which no expectation occurs."""
        rules, mdp = self.rules, self.mdp
        columns = asked_columns(tree)
        counts = Counter(mdp.action_names[action] for action in actions_of(tree))
        every = rules.max_leaves.get("every", 10**9)
        first = tree.column if isinstance(tree, Ask) else None
        return {
            "features": rules.max_features is None or len(set(columns)) <= rules.max_features,
            "root": rules.root is None or first is None or mdp.feature_names[first] == rules.root,
            "leaves": all(count <= rules.max_leaves.get(name, every) for name, count in counts.items()),
            "actions": all(self.allowed[s][action] for s, action in enumerate(policy)),
            "monotone": all(self._is_monotone(text, policy) for text in rules.monotone),
            "keep": rules.keep is None or self._keeps(rules.keep, tree),
        }

    @cached_property
    def reached(self) -> list[bool]:
        """[S] whether some policy reaches each state."""
        P = self._dense[0]
        seen = [bool(p > 0) for p in self.mdp.initial]
        todo = [s for s, there in enumerate(seen) if there]
        while todo:
            s = todo.pop()
            for t in np.flatnonzero((P[s] > 0).any(axis=0)).tolist():
                if not seen[t]:
                    seen[t] = True
                    todo.append(t)
        return seen

    @cached_property
    def allowed(self) -> list[list[bool]]:
        """[S][A] what a leaf with each state may name by the rules about actions."""
        mdp = self.mdp
        allowed = [[True] * mdp.n_actions for _ in range(mdp.n_states)]
        for s in range(mdp.n_states):
            if not self.reached[s]:
                continue
            for text in self.rules.forbid:
                action, condition = text.split(":", 1)
                if self._holds(condition, s):
                    allowed[s][mdp.action_names.index(action)] = False
            for text in self.rules.require:
                action, condition = text.split(":", 1)
                if self._holds(condition, s):
                    for a, name in enumerate(mdp.action_names):
                        allowed[s][a] &= name == action
            if self.unavailable == "forbid":
                for a in range(mdp.n_actions):
                    allowed[s][a] &= bool(mdp.available[s, a])
        return allowed

    def _holds(self, condition: str, s: int) -> bool:
        """Whether a condition over features holds in a state; feature names must be Python's."""
        words = condition.replace("&", " and ").replace("|", " or ")
        words = re.sub(r"!(?!=)", " not ", words)
        words = re.sub(r"(?<![<>!=])=(?!=)", "==", words).strip()
        values = dict(zip(self.mdp.feature_names, self.mdp.features[s].tolist(), strict=True))
        return bool(eval(words, {"__builtins__": {}, "true": True, "false": False}, values))

    def _is_monotone(self, text: str, policy: tuple[int, ...]) -> bool:
        """Whether the action never falls (`:down`: never rises) with a feature, all other features being equal."""
        mdp = self.mdp
        name, _, direction = text.partition(":")
        j = mdp.feature_names.index(name)
        order = list(self.rules.order or mdp.action_names)
        place = [order.index(action) for action in mdp.action_names]
        for s, t in product(range(mdp.n_states), repeat=2):
            x, y = mdp.features[s].tolist(), mdp.features[t].tolist()
            comparable = self.reached[s] and self.reached[t] and x[:j] + x[j + 1 :] == y[:j] + y[j + 1 :]
            if comparable and x[j] < y[j]:
                low, high = place[policy[s]], place[policy[t]]
                if (low < high) if direction == "down" else (low > high):
                    return False
        return True

    def _keeps(self, kept: Any, tree: Tree) -> bool:
        """Whether a tree is the given one but for its open places, and keeps the limits of these."""
        if kept.get("open"):
            return depth_of(tree) <= kept.get("depth", 99) and leaves_of(tree) <= kept.get("leaves", 10**6)
        if "action" in kept:
            return isinstance(tree, Leaf) and self.mdp.action_names[tree.action] == kept["action"]
        return (
            isinstance(tree, Ask)
            and self.mdp.feature_names[tree.column] == kept["feature"]
            and tree.number == kept.get("equals", kept.get("threshold"))
            and tree.equality == ("equals" in kept)
            and self._keeps(kept["left"], tree.left)
            and self._keeps(kept["right"], tree.right)
        )

    @cached_property
    def _dense(self) -> tuple[np.ndarray, np.ndarray]:
        """P [S, A, S], and [S] whether each state is terminal."""
        S, A = self.mdp.rewards.shape
        P = self.mdp.transitions.toarray().reshape(S, A, S)
        stays = np.array([np.array_equal(P[s], np.tile(np.eye(S)[s], (A, 1))) for s in range(S)])
        return P, stays & (self.mdp.rewards == 0).all(axis=1)

    @property
    def terminal(self) -> np.ndarray:
        """[S] whether every action stays in the state and earns nothing."""
        return self._dense[1]

    def policy(self, tree: Tree) -> tuple[int, ...]:
        """[S] the action that a tree names in each state."""
        return tuple(action_at(tree, path_of(tree, x)) for x in self.mdp.features.tolist())

    @cached_property
    def _known_visits(self) -> dict[tuple[int, ...], np.ndarray]:
        return {}

    def visits(self, policy: tuple[int, ...]) -> np.ndarray:
        """[S] the expected discounted number of visits of each state; without a discount none of terminal states."""
        if policy not in self._known_visits:
            P = self._dense[0]
            S, discount = self.mdp.n_states, self.mdp.discount
            step = discount * P[np.arange(S), list(policy)]
            visits = np.zeros(S)
            counted = np.arange(S) if discount < 1 else self._met(step, ~self.terminal)
            visits[counted] = np.linalg.solve((np.eye(S) - step)[np.ix_(counted, counted)].T, self.mdp.initial[counted])
            self._known_visits[policy] = visits
        return self._known_visits[policy]

    def _met(self, step: np.ndarray, among: np.ndarray) -> np.ndarray:
        """The states among some that a chain comes to."""
        met = self.mdp.initial > 0
        for _ in range(len(met)):
            met = met | (met @ (step > 0))
        return np.flatnonzero(met & among)

    def _limits(self, policy: tuple[int, ...]) -> Iterator[tuple[str, float, float]]:
        """By how much each limit on another total is exceeded, and what is tolerated."""
        states, visits = np.arange(self.mdp.n_states), self.visits(policy)
        for text in self.rules.at_most:
            name, sign, number = text.split()
            total = float(visits @ self.mdp.reward_models[name][states, list(policy)])
            limit = float(number)
            excess = limit - total if sign == ">=" else total - limit
            yield f"at_most {name}", excess, LIMIT_TOLERANCE * max(1.0, abs(limit))

    def _shares(self, tree: Tree, leaf_of: list[str], visits: np.ndarray) -> Iterator[tuple[str, float, float]]:
        """By how much the share of each leaf is too small, and what is tolerated."""
        least = self.rules.min_share
        if not least:
            return
        # Where nothing is decided anywhere, the first states are all that is visited.
        counted = self.mdp.initial if self.terminal.all() else np.where(self.terminal, 0.0, visits)
        if counted.sum() <= 0:
            return
        for path in paths_of(tree):
            own = sum(counted[s] for s, other in enumerate(leaf_of) if other == path)
            yield "min_share", least - own / counted.sum(), SHARE_TOLERANCE * least

    def _net_return(self, tree: Tree, leaf_of: list[str], policy: tuple[int, ...], visits: np.ndarray) -> float:
        """The return less what is paid per visit and once."""
        mdp, rules = self.mdp, self.rules
        gross = float(visits @ mdp.rewards[np.arange(mdp.n_states), list(policy)])
        per_use = [self._price(rules.prices, name) for name in mdp.feature_names]
        once = [self._price(rules.prices_once, name) for name in mdp.feature_names]
        tolls = [sum(per_use[j] for j in columns_on(tree, path)) for path in leaf_of]
        paid = sum(visits[s] * toll for s, toll in enumerate(tolls) if not self.terminal[s])
        return float(gross - paid - sum(once[j] for j in set(asked_columns(tree))))

    @staticmethod
    def _price(prices: Any, name: str) -> float:
        return float(prices.get(name, prices.get("every", 0.0)))

    @property
    def scale(self) -> float:
        """A magnitude beside which the rounding of returns is about 1e-13."""
        horizon = 1 / (1 - self.mdp.discount) if self.mdp.discount < 1 else self.mdp.n_states
        prices = max([0.0, *self.rules.prices.values(), *self.rules.prices_once.values()])
        return float((np.abs(self.mdp.rewards).max() + prices) * horizon)


class Verdict(NamedTuple):
    """What is known of one tree: its net return, the rules that it breaks, and whether rounding decides about it."""

    value: float
    broken: set[str]
    doubtful: bool


def depth_of(tree: Tree) -> int:
    """Number of questions on the longest path."""
    return 0 if isinstance(tree, Leaf) else 1 + max(depth_of(tree.left), depth_of(tree.right))


def actions_of(tree: Tree) -> list[int]:
    """The actions of all leaves."""
    return [tree.action] if isinstance(tree, Leaf) else [*actions_of(tree.left), *actions_of(tree.right)]


def leaves_of(tree: Tree) -> int:
    """Number of leaves."""
    return len(actions_of(tree))


def asked_columns(tree: Tree) -> list[int]:
    """The columns of all questions."""
    return [] if isinstance(tree, Leaf) else [tree.column, *asked_columns(tree.left), *asked_columns(tree.right)]


def path_of(tree: Tree, x: list[float]) -> str:
    """The way of an observation to its leaf, as in "lr"."""
    if isinstance(tree, Leaf):
        return ""
    left = x[tree.column] == tree.number if tree.equality else x[tree.column] <= tree.number
    return ("l" if left else "r") + path_of(tree.left if left else tree.right, x)


def paths_of(tree: Tree) -> list[str]:
    """The ways to all leaves."""
    if isinstance(tree, Leaf):
        return [""]
    return [*("l" + path for path in paths_of(tree.left)), *("r" + path for path in paths_of(tree.right))]


def action_at(tree: Tree, path: str) -> int:
    """The action of the leaf at the end of a way."""
    for step in path:
        assert isinstance(tree, Ask)
        tree = tree.left if step == "l" else tree.right
    assert isinstance(tree, Leaf)
    return tree.action


def columns_on(tree: Tree, path: str) -> list[int]:
    """The columns that are asked about on a way."""
    columns = []
    for step in path:
        assert isinstance(tree, Ask)
        columns.append(tree.column)
        tree = tree.left if step == "l" else tree.right
    return columns


def nested(tree: Tree, mdp: MDP) -> dict[str, Any]:
    """A tree as nested dictionaries, the form of `Rules.keep` and of files."""
    if isinstance(tree, Leaf):
        return {"action": mdp.action_names[tree.action]}
    number = "equals" if tree.equality else "threshold"
    sides = {"left": nested(tree.left, mdp), "right": nested(tree.right, mdp)}
    return {"feature": mdp.feature_names[tree.column], number: tree.number, **sides}


def plain(tree: TreePolicy, node: int = 0) -> Tree:
    """A tree of the package as nested tuples."""
    if tree.feature[node] == LEAF:
        return Leaf(int(tree.action[node]))
    below = (plain(tree, int(tree.left[node])), plain(tree, int(tree.right[node])))
    return Ask(int(tree.feature[node]), float(tree.threshold[node]), bool(tree.equality[node]), *below)
