"""TreePolicy: an immutable decision tree that maps observations to actions.

The tree is a struct of arrays over its nodes, root first and every parent before its children. A decision node asks
one question about one feature and sends the observation left or right; a leaf names an action.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from omdt.available import played_instead
from omdt.counting import counted
from omdt.errors import InputError
from omdt.exceptions import Exceptions
from omdt.mdp import Bools, Floats, Ints
from omdt.tree.fitted import FittedClassifier, from_fitted
from omdt.tree.nested import NestedNode, from_nested, to_nested
from omdt.tree.nodes import LEAF, Nodes, leaves_below, levels
from omdt.tree.pruning import midway, pruned_once, with_leaf, with_node
from omdt.tree.ranges import same_behaviour
from omdt.tree.text import indented, printable, question

NO_EXCEPTIONS = Exceptions()

State = TypeVar("State")


@dataclass(frozen=True, eq=False, repr=False)
class TreePolicy:
    """A decision tree policy.

    Attributes:
        feature: [N] column that each node asks about; −1 in a leaf.
        threshold: [N] the number that the feature is compared with: left if it is at most this or, in an equality, if
            it is equal to this; 0 in a leaf.
        left: [N] index of the left child; −1 in a leaf.
        right: [N] index of the right child; −1 in a leaf.
        action: [N] action of each leaf; −1 in a decision node.
        feature_names: F names of the columns of an observation.
        action_names: A names of the actions.
        equality: [N] whether the node asks for equality; by default none does.
        integer: [F] whether a feature takes whole numbers only, which are then shown as such; by default none does.
        exceptions: what is played where the action of a leaf is not available; by default there are no such places.
        truths: names of the features that are Boolean in the model that the problem was read from; 1 is true.
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
    def from_sklearn(
        cls, estimator: FittedClassifier, feature_names: Sequence[str], action_names: Sequence[str]
    ) -> Self:
        """A fitted scikit-learn tree classifier whose classes are action indices or action names.

        scikit-learn rounds observations to 32 bits before it compares. The thresholds are moved accordingly, so the
        tree decides like the classifier on every observation.
        """
        return from_fitted(estimator, cls, feature_names, action_names)

    @classmethod
    def from_dict(
        cls,
        nested: object,
        feature_names: Sequence[str],
        action_names: Sequence[str],
        integer: Sequence[bool] = (),
    ) -> Self:
        """The tree of a nested dictionary as `to_dict` makes it."""
        grown = from_nested(nested, feature_names, action_names)
        return grown.tree(cls, tuple(feature_names), tuple(action_names), tuple(integer))

    def to_dict(self) -> NestedNode:
        """The tree as nested dictionaries that JSON can hold."""
        return to_nested(self, self.feature_names, self.action_names)

    def __repr__(self) -> str:
        return f"<TreePolicy: {counted(self.n_decision_nodes, 'decision node')}, depth {self.depth}>\n{self.to_text()}"

    def _repr_svg_(self) -> str:
        """The drawn tree, for notebooks."""
        from omdt.export.svg import to_svg

        return to_svg(self)

    def __eq__(self, other: object) -> bool:
        """Whether both trees name the same action on every possible observation and have the same exceptions."""
        if not isinstance(other, TreePolicy):
            return NotImplemented
        facts = (self.feature_names, self.action_names, self.exceptions.table)
        other_facts = (other.feature_names, other.action_names, other.exceptions.table)
        return facts == other_facts and same_behaviour(self, other)

    def __hash__(self) -> int:
        return hash((self.feature_names, self.action_names))

    @property
    def n_nodes(self) -> int:
        """Number of decision nodes and leaves."""
        return len(self.feature)

    @property
    def n_decision_nodes(self) -> int:
        """Number of nodes that ask a question."""
        return int((self.feature != LEAF).sum())

    @property
    def n_leaves(self) -> int:
        """Number of nodes that name an action."""
        return self.n_nodes - self.n_decision_nodes

    @property
    def depth(self) -> int:
        """Number of questions on the longest path."""
        return int(levels(self).max())

    def actions(self, observations: ArrayLike) -> Ints:
        """[n] the action that a leaf names for each of n observations [n, F]."""
        actions: Ints = self.action[self.leaves(observations)]
        return actions

    def played(self, observations: ArrayLike, available: Bools | None = None) -> Ints:
        """[n] the action that is played on each of n observations [n, F].

        Args:
            observations: what is observed.
            available: [n, A] whether each action can be played, if that is known. By default the table of exceptions
                says where the action of a leaf cannot be played, and what is played instead.
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
        """[n] the leaf that each of n observations [n, F] reaches."""
        return leaves_below(self, 0, self._checked(observations))

    def predict(
        self,
        observation: ArrayLike,
        state: State | None = None,
        episode_start: object = None,
        deterministic: bool = True,
        action_masks: ArrayLike | None = None,
    ) -> tuple[np.int64 | Ints, State | None]:
        """The action to play on one observation [F] or many [n, F], and the state, as in Stable-Baselines3.

        Args:
            observation: what is observed.
            state: returned unchanged.
            episode_start: not used.
            deterministic: not used.
            action_masks: [A] or [n, A] whether each action is available, if that is known; otherwise the tree's own
                table of exceptions is used.
        """
        X = np.asarray(observation, dtype=np.float64)
        masks = None if action_masks is None else np.atleast_2d(np.asarray(action_masks, dtype=np.bool_))
        if X.ndim == 1:
            return np.int64(self.played(X[None, :], masks)[0]), state
        return self.played(X, masks), state

    def pruned(self, observations: ArrayLike) -> Self:
        """The tree without the nodes that do not matter, with the same action on every observation.

        A question is removed if one of its two subtrees alone gives the right action on every observation that reaches
        the question: if no observation reaches the other subtree, or if both give the same actions. Thresholds move
        midway between the neighbouring values, and features that are whole numbers in every observation are marked so.

        Args:
            observations: [n, F] all observations that can occur.
        """
        X = np.asarray(observations, dtype=np.float64)
        smaller = replace(self.reduced(X), exceptions=self.exceptions, truths=self.truths)
        return smaller.tidied(X)

    def tidied(self, observations: ArrayLike) -> Self:
        """The same tree with thresholds midway between neighbouring values of the observations [n, F].

        Features that are whole numbers in all of them are marked so.
        """
        X = self._checked(observations)
        whole = tuple(bool(whole) for whole in (X == np.floor(X)).all(axis=0))
        return replace(self, threshold=midway(self, X), integer=whole)

    def reduced(self, observations: ArrayLike) -> Self:
        """The tree without the nodes that do not matter for the observations [n, F], with unchanged thresholds."""
        X = self._checked(observations)
        tree, smaller = self, self._with(pruned_once(self, X))
        while smaller.n_nodes < tree.n_nodes:
            tree, smaller = smaller, self._with(pruned_once(smaller, X))
        return smaller

    def with_leaf(self, node: int, action: int) -> Self:
        """The tree with a leaf in place of a node and all that is below it."""
        return self._with(with_leaf(self, node, action))

    def with_child(self, node: int, child: int) -> Self:
        """The tree in which a node is replaced by one that is below it, with its subtree."""
        return self._with(with_node(self, node, child))

    def question(self, node: int) -> str:
        """What a decision node asks, as in `X ≤ 2`, or `not busy` about a truth value; yes leads left."""
        j = int(self.feature[node])
        if self.feature_names[j] in self.truths and not self.equality[node] and 0 <= self.threshold[node] < 1:
            return f"not {printable(self.feature_names[j])}"
        return question(self.feature_names[j], float(self.threshold[node]), bool(self.equality[node]), self.integer[j])

    def to_text(self) -> str:
        """The tree as indented lines."""
        return indented(self, self.question, self.action_names)

    def _checked(self, observations: ArrayLike) -> Floats:
        """Observations as an array; raises unless its shape is [n, F]."""
        X = np.asarray(observations, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.feature_names):
            names = ", ".join(self.feature_names)
            raise InputError(
                f"observations must have shape [n, {len(self.feature_names)}] ({names}), not {X.shape}; a tree that "
                "asks predicates reads solution.observations(mdp)"
            )
        return X

    def _with(self, nodes: Nodes) -> Self:
        """A tree of other nodes with the names of this one."""
        return nodes.tree(type(self), self.feature_names, self.action_names, self.integer)


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
