"""Facts: what a complete tree does in every state, what it asks, and by how much its shape breaks rules."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.methods.search.partial_tree import Path, Split, Tree
from omdt.methods.search.ruled.keeping import Questions
from omdt.rules import FeatureCount, LeavesPerAction, Monotone, Outline, Prices, ShapeRule
from omdt.task import Task

BROKEN = 0.2
"""The excess of every broken rule about shape or leaves, to which the amount is added: so even one wrong state of many
costs more than a tree could gain by it."""


@dataclass(frozen=True, eq=False)
class Facts:
    """What a complete tree does and asks.

    Attributes:
        tree: the tree.
        leaf: [S] the number of the leaf that each state reaches, from left to right.
        actions: [leaves] the action of each leaf.
        paths: the way to each leaf.
        asked: the column of each question, by the way to it.
    """

    tree: Tree
    leaf: Ints
    actions: Ints
    paths: tuple[Path, ...]
    asked: dict[Path, int]

    @classmethod
    def of(cls, tree: Tree, questions: Questions, states: Ints) -> "Facts":
        """The facts about a tree on all states [S]."""
        parts = questions.parts(tree, states)
        leaf = np.empty(len(states), dtype=np.int64)
        for i, (_, _, here) in enumerate(parts):
            leaf[here] = i
        actions = np.array([end.action for _, end, _ in parts], dtype=np.int64)
        return cls(tree, leaf, actions, tuple(path for path, _, _ in parts), _asked(tree, questions.feature))

    @cached_property
    def policy(self) -> Ints:
        """[S] the action in each state."""
        policy: Ints = self.actions[self.leaf]
        return policy

    @cached_property
    def outline(self) -> Outline:
        """The tree as rules about shape look at it."""
        ends = dict(zip(self.paths, self.actions.tolist(), strict=True))
        return Outline(self.asked, ends, lambda: self.policy)

    def tolls(self, prices: Prices) -> Floats:
        """[S] what a visit of each state pays for questions."""
        per_leaf = np.array([prices.toll(self.outline, path) for path in self.paths])
        tolls: Floats = per_leaf[self.leaf]
        return tolls

    def shape_excess(self, task: Task) -> float:
        """By how much the tree breaks rules about its shape and its leaves; 0 if it keeps them all."""
        excess = sum(_amount(rule, self.outline) for rule in task.shapes)
        if task.allowed is not None:
            wrong = ~task.allowed[np.arange(len(self.policy)), self.policy]
            excess += _counted(int(wrong.sum()), len(wrong))
        return excess


def _asked(tree: Tree, feature: Ints) -> dict[Path, int]:
    """The column of each question of a tree, by the way to it."""
    asked: dict[Path, int] = {}
    stack: list[tuple[Path, Tree]] = [((), tree)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, Split):
            asked[path] = int(feature[node.question])
            stack += [((*path, True), node.right), ((*path, False), node.left)]
    return asked


def _counted(wrong: int, all_of_them: int) -> float:
    """The excess of a rule that some of many cases break."""
    return BROKEN + wrong / all_of_them if wrong else 0.0


def _amount(rule: ShapeRule, outline: Outline) -> float:
    """By how much a complete tree breaks a rule; a rule of another kind is kept or broken."""
    if isinstance(rule, FeatureCount):
        return float(max(0, len(outline.columns) - rule.most))
    if isinstance(rule, LeavesPerAction):
        counts = Counter(outline.ends.values())
        return float(sum(max(0, count - rule.most.get(action, count)) for action, count in counts.items()))
    if isinstance(rule, Monotone):
        lower, upper = rule.rank[outline.policy[rule.neighbours]].T
        wrong = upper > lower if rule.falling else lower > upper
        return _counted(int(wrong.sum()), len(wrong))
    return 0.0 if rule.broken_by(outline) is None else 1.0
