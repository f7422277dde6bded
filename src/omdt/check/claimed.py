"""What a solution claims: its tree, how large trees may be, its value and its bound."""

import hashlib
import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from .asked import read_asked
from .model import Model
from .questions import Questions, answers, division
from .reading import LARGEST, SOLUTION, Bools, Floats, Ints, Json, finite, readable, typed
from .statement import Statement

Case: TypeAlias = tuple[tuple[tuple[int, ...], int, int], ...]
"""A partial tree, its leaves and open places from left to right: path (0 left, 1 right), region, action (−1 if open)"""


@dataclass(frozen=True)
class Size:
    """How large a tree may be."""

    depth: int
    leaves: int

    def below(self, case: Case, path: tuple[int, ...]) -> "Size":
        """How large a subtree may be at a place of a case."""
        return self.normal(self.depth - len(path), self.leaves - len(case) + 1)

    @staticmethod
    def normal(depth: int, leaves: int) -> "Size":
        """The size without what cannot be used: no tree has more than 2^depth leaves, or a depth of all its leaves."""
        depth = min(depth, leaves - 1)
        return Size(depth, min(leaves, 2**depth) if depth < 60 else leaves)

    def shares(self) -> list[tuple["Size", "Size"]]:
        """How the two sides of the first question can share the leaves."""
        most = 2 ** (self.depth - 1)
        numbers = range(max(1, self.leaves - most), min(self.leaves - 1, most) + 1)
        return [(self.normal(self.depth - 1, n), self.normal(self.depth - 1, self.leaves - n)) for n in numbers]

    def covers(self, other: "Size") -> bool:
        """Whether every tree of the other size is of this one."""
        return self.depth >= other.depth and self.leaves >= other.leaves


class AskedNode(NamedTuple):
    """A question of the tree."""

    path: tuple[int, ...]  # the way to it: 0 left, 1 right
    feature: str
    equality: bool
    states: Ints  # that come to it
    right: Bools  # which of them go right


class Claimed:
    """What a solution says of a model, given the content of its file."""

    def __init__(self, content: Json, model: Model) -> None:
        data = content if isinstance(content, dict) else {}
        readable(data.get("format") == SOLUTION, f"this is not a solution: its format is not {SOLUTION!r}")
        self.stated = data.get("questions")
        self.questions = Questions.read(self.stated)
        columns, names = self.questions.columns(model.features, model.feature_names)
        true = {"feature_names": [*names], "action_names": [*model.action_names]}
        for key, its in true.items():
            said = data.get(key)
            readable(said == its, f"the solution is of another problem: {key} is {said!r:.80}, not {its!r:.80}")
        self.objective = read_asked(model, data.get("objective"), data.get("discount"))
        sense = "max" if self.objective.sign > 0 else "min"
        readable(data.get("sense", sense) == sense, f"the sense of the solution is not {sense}, as its objective says")
        self.value, self.bound = (_figure(data.get(key), f"the solution's {key}") for key in ("value", "bound"))
        rule = data.get("unavailable", "fallback")
        wrong = f"what the tree may do with unavailable actions is {rule!r:.40}, not fallback or forbid"
        readable(rule in ("fallback", "forbid"), wrong)
        self.forbid = rule == "forbid"
        self.rules = Statement(data.get("stated_rules"))
        told = typed(data.get("rules", []), list, "the rules of the solution in words")
        self.unread = len(told) - self.rules.count  # how many rules the solution has in words only
        readable(self.unread >= 0, f"the solution states {self.rules.count} rules, but has {len(told)} in words")
        if self.rules.about_questions:
            self._check_questions(columns, names)
        self.limit = _limit(data.get("max_depth"), data.get("max_leaf_nodes"))
        self.policy = np.zeros(len(model.rewards), dtype=np.int64)
        self.asked: list[AskedNode] = []
        self.tree = data.get("tree")
        self.size = self._read_tree(self.tree, columns, names, model.action_names)

    @property
    def ruled(self) -> bool:
        """Whether there are rules besides those about questions."""
        return self.forbid or self.rules.count > 0

    def _check_questions(self, columns: Floats, names: tuple[str, ...]) -> None:
        """Raise unless the questions divide the states as those do that the rules leave."""
        apart = self.rules.about_columns
        divided = [
            {
                (j if apart else 0, division(answers(columns[:, j], equality, number)))
                for j, equality, number in questions.distinct(columns, names, apart)
            }
            for questions in (Questions(self.rules.groups(names)), self.questions)
        ]
        readable(divided[0] == divided[1], "the questions of the solution are not those that its rules leave")

    def _read_tree(self, tree: Json, columns: Floats, names: tuple[str, ...], actions: tuple[str, ...]) -> Size:
        """Follow the states through a tree of nested objects; its size."""
        stack: list[tuple[Json, Ints, tuple[int, ...]]] = [(tree, np.arange(len(self.policy)), ())]
        depth = leaves = 0
        while stack:
            content, states, path = stack.pop()
            node = typed(content, dict, "a node of the tree")
            if "action" in node:
                action = typed(node["action"], str, "the action of a leaf")
                readable(action in actions, f"the tree takes the unknown action {action!r:.80}")
                self.policy[states] = actions.index(action)
                depth, leaves = max(depth, len(path)), leaves + 1
                continue
            feature, equality = typed(node.get("feature"), str, "the feature of a node"), "equals" in node
            readable(feature in names, f"the tree asks for the unknown feature {feature!r:.80}")
            number = finite(node.get("equals", node.get("threshold")), f"what {feature!r:.80} is compared with")
            column = columns[states, names.index(feature)]
            right = column != number if equality else column > number
            self.asked.append(AskedNode(path, feature, equality, states, right))
            stack.append((node.get("right"), states[right], (*path, 1)))
            stack.append((node.get("left"), states[~right], (*path, 0)))
        return Size(depth, leaves)


def _figure(value: Json, what: str) -> float:
    """A number, or the text of an infinite one."""
    infinite = value in ("inf", "-inf", math.inf, -math.inf)
    return float(str(value)) if infinite else finite(value, what, LARGEST)


def _limit(depth: Json, leaves: Json) -> Size | None:
    """The size limit of a solution, None without one."""
    for limit, least in ((depth, 0), (leaves, 1)):
        enough = limit is None or typed(limit, int, "a limit on the size of the tree") >= least
        readable(enough, f"a limit on the size of the tree is {limit}, less than {least}")
    if isinstance(leaves, int):
        return Size(min(depth, leaves - 1) if isinstance(depth, int) else leaves - 1, leaves)
    return Size(depth, 2 ** min(depth, 1000)) if isinstance(depth, int) else None


def policy_digest(policy: Ints) -> str:
    """By what a certificate recognises its tree."""
    return hashlib.sha256(policy.astype("<i4").tobytes()).hexdigest()
