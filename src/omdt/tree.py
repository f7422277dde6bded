"""TreePolicy: an immutable decision tree that maps observations to actions.

The tree is a struct of arrays over its nodes, root first and every parent before its children. A decision node asks
one question of one feature and sends the observation left or right; a leaf names an action.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from omdt.available import played_instead
from omdt.counting import counted
from omdt.errors import InputError
from omdt.exceptions import Exceptions
from omdt.mdp import Bools, Floats, Ints
from omdt.splits import midpoints

LEAF = -1
NO_EXCEPTIONS = Exceptions()


@dataclass(frozen=True, eq=False, repr=False)
class TreePolicy:
    """A decision tree policy.

    Attributes:
        feature: [N] column that each node asks about; −1 in a leaf.
        threshold: [N] left when the feature is at most this; in an equality, left when it is this; 0 in a leaf.
        left: [N] index of the left child; −1 in a leaf.
        right: [N] index of the right child; −1 in a leaf.
        action: [N] action of each leaf; −1 in a decision node.
        feature_names: F names of the columns of an observation.
        action_names: A names of the actions.
        equality: [N] whether the node asks for equality; by default none does.
        integer: [F] whether a feature takes whole numbers only, which are then shown as such; by default none does.
        exceptions: what is played where the action of a leaf is not available; by default every action is.
        truths: names of the features that are truth values where the problem comes from; 1 is true.
    """

    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    action: Ints
    feature_names: tuple[str, ...]
    action_names: tuple[str, ...]
    equality: Bools = ()  # type: ignore[assignment]
    integer: tuple[bool, ...] = ()
    exceptions: Exceptions = NO_EXCEPTIONS
    truths: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        nodes = len(self.feature)
        columns = {
            "feature": np.array(self.feature, dtype=np.int64),
            "threshold": np.array(self.threshold, dtype=np.float64),
            "left": np.array(self.left, dtype=np.int64),
            "right": np.array(self.right, dtype=np.int64),
            "action": np.array(self.action, dtype=np.int64),
            "equality": np.array(self.equality, dtype=np.bool_) if len(self.equality) else np.zeros(nodes, np.bool_),
        }
        for name, column in columns.items():
            if column.shape != (nodes,):
                raise InputError(f"the tree's {name} has shape {column.shape}, expected [{nodes}]")
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        object.__setattr__(self, "action_names", tuple(self.action_names))
        object.__setattr__(self, "integer", tuple(self.integer) or (False,) * len(self.feature_names))
        if len(self.integer) != len(self.feature_names):
            features, marks = counted(len(self.feature_names), "feature"), counted(len(self.integer), "integer mark")
            raise InputError(f"the tree has {features} but {marks}")
        _check_structure(self)
        object.__setattr__(self, "truths", tuple(name for name in self.truths if name in self.feature_names))
        self.exceptions.check(len(self.feature_names), self.action_names)

    @classmethod
    def leaf(cls, action: int, feature_names: Sequence[str], action_names: Sequence[str]) -> Self:
        """The tree that always takes the same action."""
        grown = Nodes()
        grown.leaf(action)
        return grown.tree(cls, tuple(feature_names), tuple(action_names))

    @classmethod
    def from_sklearn(cls, estimator: Any, feature_names: Sequence[str], action_names: Sequence[str]) -> Self:
        """A fitted scikit-learn tree classifier whose classes are action indices or action names.

        scikit-learn rounds observations to 32 bits before it compares; the thresholds are moved to where that rounding
        turns over, so the result decides like the estimator on every observation.
        """
        source = estimator.tree_
        if source.n_outputs != 1:
            raise InputError("only scikit-learn trees with one output are policies")
        if source.n_features != len(feature_names):
            raise InputError(
                f"the tree was fitted on {counted(source.n_features, 'feature')} but {len(feature_names)} are named"
            )
        classes = [_action_index(label, action_names) for label in estimator.classes_]
        inner = source.children_left >= 0
        threshold = np.zeros(source.node_count)
        threshold[inner] = _undo_float32(source.threshold[inner])
        return cls(
            feature=np.where(inner, source.feature, LEAF),
            threshold=threshold,
            left=np.where(inner, source.children_left, LEAF),
            right=np.where(inner, source.children_right, LEAF),
            action=np.where(inner, LEAF, np.array(classes)[source.value[:, 0, :].argmax(axis=1)]),
            feature_names=tuple(feature_names),
            action_names=tuple(action_names),
        )

    @classmethod
    def from_dict(
        cls,
        nested: Any,
        feature_names: Sequence[str],
        action_names: Sequence[str],
        integer: Sequence[bool] = (),
    ) -> Self:
        """The tree of a nested dictionary as `to_dict` makes it."""
        grown = Nodes()
        stack: list[tuple[Any, str, Attach | None]] = [(nested, "tree", None)]
        while stack:
            node, path, attach = stack.pop()
            if not isinstance(node, dict):
                raise InputError(f"{path} must be an object with an action or a feature, not {node!r:.40}")
            if "action" in node:
                grown.leaf(_position(node["action"], action_names, "action", path), attach)
                continue
            equality = "equals" in node
            missing = {"feature", "left", "right", "equals" if equality else "threshold"} - node.keys()
            if missing:
                raise InputError(f"{path} lacks {', '.join(sorted(missing))}")
            value = node["equals" if equality else "threshold"]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"{path} compares with {value!r:.40}, which is not a number")
            if isinstance(value, int) and abs(value) > 2**1023:
                raise InputError(f"{path} compares with {value!r:.40}, which is too large a number")
            index = grown.split(_position(node["feature"], feature_names, "feature", path), value, equality, attach)
            stack.append((node["right"], path + ".right", (index, "right")))
            stack.append((node["left"], path + ".left", (index, "left")))
        return grown.tree(cls, tuple(feature_names), tuple(action_names), tuple(integer))

    def to_dict(self) -> dict[str, Any]:
        """The tree as nested dictionaries that JSON can hold."""
        nodes: list[dict[str, Any]] = []
        for i in range(self.n_nodes):
            if self.feature[i] == LEAF:
                nodes.append({"action": self.action_names[self.action[i]]})
            else:
                key = "equals" if self.equality[i] else "threshold"
                nodes.append({"feature": self.feature_names[self.feature[i]], key: float(self.threshold[i])})
        for node, left, right in zip(nodes, self.left, self.right, strict=True):
            if left != LEAF:
                node["left"], node["right"] = nodes[left], nodes[right]
        return nodes[0]

    def __repr__(self) -> str:
        return f"<TreePolicy: {counted(self.n_decision_nodes, 'decision node')}, depth {self.depth}>\n{self.to_text()}"

    def _repr_svg_(self) -> str:
        """The drawn tree, for notebooks."""
        from omdt.export.svg import to_svg

        return to_svg(self)

    def __eq__(self, other: object) -> bool:
        """Whether both trees name the same action on every conceivable observation, with the same exceptions."""
        if not isinstance(other, TreePolicy):
            return NotImplemented
        said = (self.feature_names, self.action_names, self.exceptions.table)
        other_said = (other.feature_names, other.action_names, other.exceptions.table)
        return said == other_said and _same_behaviour(self, other)

    def __hash__(self) -> int:
        return hash((self.feature_names, self.action_names))

    @property
    def n_nodes(self) -> int:
        """Decision nodes and leaves."""
        return len(self.feature)

    @property
    def n_decision_nodes(self) -> int:
        """Nodes that ask a question."""
        return int((self.feature != LEAF).sum())

    @property
    def n_leaves(self) -> int:
        """Nodes that name an action."""
        return self.n_nodes - self.n_decision_nodes

    @property
    def depth(self) -> int:
        """Questions on the longest path."""
        level = np.zeros(self.n_nodes, dtype=np.int64)
        for i in np.flatnonzero(self.feature != LEAF):
            level[[self.left[i], self.right[i]]] = level[i] + 1
        return int(level.max())

    def actions(self, observations: ArrayLike) -> Ints:
        """[n] the action that a leaf names for each of n observations [n, F]."""
        actions: Ints = self.action[self.leaves(observations)]
        return actions

    def played(self, observations: ArrayLike, available: Bools | None = None) -> Ints:
        """[n] the action that is played on each of n observations [n, F].

        Args:
            observations: what is observed.
            available: [n, A] which actions can be played, where that is known. By default the table of exceptions says
                where the action of a leaf cannot.
        """
        X = np.asarray(observations, dtype=np.float64)
        named = self.actions(X)
        if available is None:
            return self.exceptions.applied(X, named)
        if available.shape != (len(X), len(self.action_names)) or not available.any(axis=1).all():
            shape = f"[{len(X)}, {len(self.action_names)}]"
            raise InputError(f"available must have shape {shape} and an available action in each row")
        name = self.exceptions.fallback
        instead = played_instead(available, None if name is None else self.action_names.index(name))
        return np.where(available[np.arange(len(X)), named], named, instead)

    def leaves(self, observations: ArrayLike) -> Ints:
        """[n] the node at which each of n observations [n, F] ends."""
        X = np.asarray(observations, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.feature_names):
            names = ", ".join(self.feature_names)
            raise InputError(
                f"observations must have shape [n, {len(self.feature_names)}] ({names}), not {X.shape}; a tree that "
                "asks predicates reads solution.observations(mdp)"
            )
        return self._leaves_from(0, X)

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: ArrayLike | None = None,
    ) -> tuple[Any, Any]:
        """The action to play on one observation [F] or many [n, F], and the state, as Stable-Baselines3 has it.

        Args:
            observation: what is observed.
            state: handed back.
            episode_start: not used.
            deterministic: not used.
            action_masks: [A] or [n, A] which actions are available, where that is known; the tree's own table of
                exceptions is used otherwise.
        """
        X = np.asarray(observation, dtype=np.float64)
        masks = None if action_masks is None else np.atleast_2d(np.asarray(action_masks, dtype=np.bool_))
        if X.ndim == 1:
            return self.played(X[None, :], masks)[0], state
        return self.played(X, masks), state

    def pruned(self, observations: ArrayLike) -> Self:
        """The tree without the nodes that do not matter, with the same action on every observation.

        A split disappears when one of its sides alone acts right on every observation that reaches it, which includes
        sides that none reaches and sides that act alike. Thresholds move midway between the neighbouring values, and
        features that are whole numbers in every observation are marked so.

        Args:
            observations: [n, F] all observations that can occur.
        """
        X = np.asarray(observations, dtype=np.float64)
        smaller = self.reduced(X)
        return replace(
            smaller,
            threshold=_midway(smaller, X),
            integer=tuple(bool(whole) for whole in (X == np.floor(X)).all(axis=0)),
            exceptions=self.exceptions,
            truths=self.truths,
        )

    def reduced(self, observations: ArrayLike) -> Self:
        """The tree without the nodes that do not matter for the observations [n, F], its thresholds as they are."""
        X = np.asarray(observations, dtype=np.float64)
        self.actions(X)
        tree, smaller = self, self._pruned_once(X)
        while smaller.n_nodes < tree.n_nodes:
            tree, smaller = smaller, smaller._pruned_once(X)
        return smaller

    def with_leaf(self, node: int, action: int) -> Self:
        """The tree with a leaf in place of a node and all that is below it."""
        return self._changed(node, node, action)

    def with_child(self, node: int, child: int) -> Self:
        """The tree with a node that is below another one in place of that."""
        return self._changed(node, child, LEAF)

    def question(self, node: int) -> str:
        """What a decision node asks, as in `X ≤ 2`; yes leads left."""
        j, k = int(self.feature[node]), float(self.threshold[node])
        if self.equality[node]:
            return f"{printable(self.feature_names[j])} = {int(k) if self.integer[j] and k == int(k) else f'{k:.6g}'}"
        return f"{printable(self.feature_names[j])} ≤ {int(np.floor(k)) if self.integer[j] else f'{k:.6g}'}"

    def to_text(self) -> str:
        """The tree as indented lines."""
        lines: list[str] = []
        stack = [(0, "", "")]
        while stack:
            node, first, rest = stack.pop()
            if self.feature[node] == LEAF:
                lines.append(first + printable(self.action_names[self.action[node]]))
                continue
            lines.append(first + self.question(node))
            stack.append((int(self.right[node]), rest + "└── no:  ", rest + "         "))
            stack.append((int(self.left[node]), rest + "├── yes: ", rest + "│        "))
        return "\n".join(lines)

    def _goes_right(self, nodes: Ints, X: Floats) -> Bools:
        """Whether each row of X goes right at the decision node beside it."""
        values = X[np.arange(len(X)), self.feature[nodes]]
        return np.where(self.equality[nodes], values != self.threshold[nodes], values > self.threshold[nodes])

    def _actions_from(self, node: int, X: Floats) -> Ints:
        """[n] the actions of the subtree below a node."""
        actions: Ints = self.action[self._leaves_from(node, X)]
        return actions

    def _leaves_from(self, node: int, X: Floats) -> Ints:
        """[n] the leaves of the subtree below a node."""
        at = np.full(len(X), node)
        moving = np.arange(len(X)) if self.feature[node] != LEAF else np.arange(0)
        while len(moving):
            nodes = at[moving]
            at[moving] = np.where(self._goes_right(nodes, X[moving]), self.right[nodes], self.left[nodes])
            moving = moving[self.feature[at[moving]] != LEAF]
        return at

    def _changed(self, node: int, other: int, action: int) -> Self:
        """The tree with another node in place of a node; that becomes a leaf if an action is given."""
        grown = Nodes()
        stack: list[tuple[int, Attach | None]] = [(0, None)]
        while stack:
            i, attach = stack.pop()
            takes = action if i == node else LEAF
            i = other if i == node else i
            if takes != LEAF or self.feature[i] == LEAF:
                grown.leaf(int(self.action[i]) if takes == LEAF else takes, attach)
                continue
            index = grown.split(int(self.feature[i]), float(self.threshold[i]), bool(self.equality[i]), attach)
            stack.append((int(self.right[i]), (index, "right")))
            stack.append((int(self.left[i]), (index, "left")))
        return grown.tree(type(self), self.feature_names, self.action_names, self.integer)

    def _pruned_once(self, X: Floats) -> Self:
        grown = Nodes()
        wanted = self._actions_from(0, X)
        stack: list[tuple[int, Ints, Attach | None]] = [(0, np.arange(len(X)), None)]
        while stack:
            node, rows, attach = stack.pop()
            node = self._needed(node, X[rows], wanted[rows])
            if self.feature[node] == LEAF:
                grown.leaf(int(self.action[node]), attach)
                continue
            right = self._goes_right(np.full(len(rows), node), X[rows])
            equality = bool(self.equality[node])
            index = grown.split(int(self.feature[node]), float(self.threshold[node]), equality, attach)
            stack.append((int(self.right[node]), rows[right], (index, "right")))
            stack.append((int(self.left[node]), rows[~right], (index, "left")))
        return grown.tree(type(self), self.feature_names, self.action_names, self.integer)

    def _needed(self, node: int, X: Floats, wanted: Ints) -> int:
        """The first node at or below this one whose question matters for the rows of X, or the leaf they share."""
        while self.feature[node] != LEAF:
            left, right = int(self.left[node]), int(self.right[node])
            goes_right = self._goes_right(np.full(len(X), node), X)
            if np.array_equal(self._actions_from(left, X[goes_right]), wanted[goes_right]):
                node = left
            elif np.array_equal(self._actions_from(right, X[~goes_right]), wanted[~goes_right]):
                node = right
            else:
                break
        return node


Tree = TypeVar("Tree", bound=TreePolicy)

Attach = tuple[int, str]
"""A parent's index and which of its sides a new node becomes."""


class Nodes:
    """Collects the nodes of a growing tree in preorder."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def leaf(self, action: int, attach: Attach | None = None) -> int:
        """Add a leaf and return its index."""
        return self._add(LEAF, 0.0, False, action, attach)

    def split(self, feature: int, threshold: float, equality: bool, attach: Attach | None = None) -> int:
        """Add a decision node and return its index."""
        return self._add(feature, threshold, equality, LEAF, attach)

    def _add(self, feature: int, threshold: float, equality: bool, action: int, attach: Attach | None) -> int:
        index = len(self.rows)
        self.rows.append(
            {
                "feature": feature,
                "threshold": threshold,
                "equality": equality,
                "action": action,
                "left": LEAF,
                "right": LEAF,
            }
        )
        if attach is not None:
            parent, side = attach
            self.rows[parent][side] = index
        return index

    def tree(
        self,
        kind: type[Tree],
        feature_names: tuple[str, ...],
        action_names: tuple[str, ...],
        integer: tuple[bool, ...] = (),
    ) -> Tree:
        """The finished tree."""
        columns: dict[str, Any] = {key: np.array([row[key] for row in self.rows]) for key in self.rows[0]}
        return kind(**columns, feature_names=feature_names, action_names=action_names, integer=integer)


def printable(name: str) -> str:
    """A name with line breaks and other control characters spelled out, fit for one line of text."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def _check_structure(tree: TreePolicy) -> None:
    if tree.n_nodes == 0:
        raise InputError("the tree has no nodes; it needs at least one leaf")
    inner = tree.feature != LEAF
    indices = np.arange(tree.n_nodes)
    children = np.concatenate([tree.left[inner], tree.right[inner]])
    if np.any(tree.feature[inner] < 0) or np.any(tree.feature >= len(tree.feature_names)):
        raise InputError(f"the tree asks about a feature that is not among the {len(tree.feature_names)} named ones")
    if np.any(tree.action[~inner] < 0) or np.any(tree.action >= len(tree.action_names)):
        raise InputError(f"the tree takes an action that is not among the {len(tree.action_names)} named ones")
    if not np.isfinite(tree.threshold).all():
        raise InputError("the tree has a threshold that is not a finite number")
    late = np.all(tree.left[inner] > indices[inner]) and np.all(tree.right[inner] > indices[inner])
    if not late or not np.array_equal(np.sort(children), indices[1:]):
        raise InputError("the tree's nodes do not form a tree with every parent before its children")


def _position(name: Any, names: Sequence[str], what: str, path: str) -> int:
    if name not in names:
        raise InputError(f"{path} names the {what} {name!r:.80}, which is not among the {len(names)} {what}s")
    return list(names).index(name)


def _action_index(label: Any, action_names: Sequence[str]) -> int:
    if isinstance(label, str):
        return _position(label, action_names, "action", "the fitted tree")
    if not 0 <= int(label) < len(action_names):
        raise InputError(f"the fitted tree predicts {label!r}, which is not one of the {len(action_names)} actions")
    return int(label)


def _undo_float32(threshold: Floats) -> Floats:
    """The largest x that rounds to a 32-bit number of at most the threshold."""
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below, np.float32(np.inf))
    boundary = below.astype(np.float64) / 2 + above.astype(np.float64) / 2
    return np.where(boundary.astype(np.float32) > below, np.nextafter(boundary, -np.inf), boundary)


def _midway(tree: TreePolicy, X: Floats) -> Floats:
    """[N] thresholds moved midway between the neighbouring values that occur; equalities stay."""
    threshold = tree.threshold.copy()
    for j in np.unique(tree.feature[tree.feature != LEAF]):
        values = np.unique(X[:, j])
        nodes = np.flatnonzero((tree.feature == j) & ~tree.equality)
        upper = np.searchsorted(values, threshold[nodes], side="right")
        threshold[nodes] = midpoints(values)[upper - 1]
    return threshold


@dataclass(frozen=True)
class Range:
    """The values one feature can still take on a path: lower < x ≤ upper, x = only if given, x not excluded."""

    lower: float = -np.inf
    upper: float = np.inf
    only: float | None = None
    excluded: frozenset[float] = frozenset()

    def possible(self) -> bool:
        """Whether any value is left."""
        if self.only is not None:
            return self.lower < self.only <= self.upper and self.only not in self.excluded
        return self.lower < self.upper

    def narrowed(self, threshold: float, equality: bool, right: bool) -> "Range":
        """The values that go right, or left, at a question about the feature."""
        if equality and right:
            return replace(self, excluded=self.excluded | {threshold})
        if equality:
            same = self.only is None or self.only == threshold
            return replace(self, only=threshold) if same else replace(self, upper=-np.inf)
        if right:
            return replace(self, lower=max(self.lower, threshold))
        return replace(self, upper=min(self.upper, threshold))


def _same_behaviour(first: TreePolicy, second: TreePolicy) -> bool:
    """Walk both trees at once along every path that some observation takes."""
    stack: list[tuple[int, int, dict[int, Range]]] = [(0, 0, {})]
    while stack:
        i, j, ranges = stack.pop()
        in_first = first.feature[i] != LEAF
        if not in_first and second.feature[j] == LEAF:
            if first.action[i] != second.action[j]:
                return False
            continue
        tree, node = (first, i) if in_first else (second, j)
        feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
        for right in (False, True):
            now = ranges.get(feature, Range()).narrowed(threshold, bool(tree.equality[node]), right)
            if now.possible():
                child = int((tree.right if right else tree.left)[node])
                step = (child, j) if in_first else (i, child)
                stack.append((*step, {**ranges, feature: now}))
    return True
