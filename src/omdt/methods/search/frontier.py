"""The frontier: the cases that remain to show that no tree reaches a target."""

import heapq
import itertools
from dataclasses import replace

import numpy as np

from omdt.methods.search.nodes import Case, Findings, Partial


class Frontier:
    """Open cases, best first.

    Cases that are handed out remain part of the frontier until their findings arrive.

    Attributes:
        closed: the highest bound of all that was closed.
        budget: the one that tables are made for.
        taken: the cases that are being explored.
    """

    def __init__(self, root: Case) -> None:
        self.closed, self.budget = -np.inf, np.inf
        self.taken: list[Case] = []
        self._counter = itertools.count()
        self._heap: list[tuple[float, int, Partial]] = []
        self._push(root)

    @property
    def top(self) -> float:
        """The highest bound of all that is open."""
        return max([-self._heap[0][0] if self._heap else -np.inf, *(bound for bound, _ in self.taken)])

    @property
    def bound(self) -> float:
        """No tree that is examined returns more."""
        return max(self.top, self.closed)

    def budget_for(self, needed: float, fresh: float) -> float:
        """The budget to explore with: the one of the present tables while that is at most a little too large.

        Args:
            needed: the smallest budget that will do.
            fresh: if it has shrunk to this part of the present one, or has grown, it becomes the present one.
        """
        if not fresh * self.budget <= needed <= self.budget:
            self.budget = needed
        return self.budget

    def take(self, target: float, cases: int) -> None:
        """Take up to the given number of cases, the best first, as far as their bounds are above the target."""
        while len(self.taken) < cases and self._heap and -self._heap[0][0] > target:
            negated, _, partial = heapq.heappop(self._heap)
            self.taken.append(Case(-negated, partial))

    def put(self, found: list[Findings], max_vectors: int) -> None:
        """Add what came of the cases that were taken; keep no more than the given number of vectors."""
        self.taken = []
        for findings in found:
            self.closed = max(self.closed, findings.closed)
            for case in findings.open:
                self._push(case)
        self._thin(max_vectors)

    def _push(self, case: Case) -> None:
        heapq.heappush(self._heap, (-case.bound, next(self._counter), case.partial))

    def _thin(self, max_vectors: int) -> None:
        """Let the cases of low bound start from the optimal values, if too many have a vector of their own."""
        own = [it for it in self._heap if it[2].vector is not None]
        if len(own) > max_vectors:
            own.sort(key=lambda it: it[:2])
            rest = [(*it[:2], replace(it[2], vector=None)) for it in own[max_vectors // 2 :]]
            shared = [it for it in self._heap if it[2].vector is None]
            self._heap = own[: max_vectors // 2] + rest + shared
            heapq.heapify(self._heap)
