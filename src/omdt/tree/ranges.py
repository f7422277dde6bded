"""The values that a feature can take on a path, and whether two trees agree on all observations."""

from dataclasses import dataclass, replace

import numpy as np

from omdt.tree.nodes import LEAF, NodeArrays


@dataclass(frozen=True)
class Range:
    """The values x that a feature can still take on a path.

    Attributes:
        lower: x > lower.
        upper: x ≤ upper.
        only: x is this value, unless it is None.
        excluded: x is none of these.
    """

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


def same_behaviour(first: NodeArrays, second: NodeArrays) -> bool:
    """Whether two trees name the same action on every observation.

    Both trees are walked at once, along every path that some observation takes.
    """
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
