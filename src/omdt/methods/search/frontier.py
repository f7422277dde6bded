"""The frontier: the cases that remain to show that no tree reaches a target."""

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from omdt.methods.search.nodes import Case, Findings, Partial

MAX_SIGNATURES = 500_000
"""Signatures that are kept, some 60 MB; when there are more, all are forgotten, which costs time but no bound."""


class Frontier:
    """Open cases, best first.

    Cases that are handed out remain part of the frontier until their findings arrive. Of different cases with the same
    signature, whose completions play alike, only the first is handed out: what comes of it holds for the others.

    Args:
        root: the case of all trees.
        signature: tells which partial trees have completions that play alike; by default all are different.

    Attributes:
        closed: the highest bound of all that was closed.
        budget: the one that tables are made for.
        taken: the cases that are being explored, in the order in which they were taken.
    """

    def __init__(self, root: Case, signature: Callable[[Partial], bytes] | None = None) -> None:
        self._signature, self._first = signature, dict[bytes, int]()
        self.closed, self.budget = -np.inf, np.inf
        self.taken: deque[Case] = deque()
        self._counter = itertools.count()
        self._heap: list[tuple[float, int, Partial]] = []
        self._vectors = 0
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

    def take(self, target: float, cases: int) -> list[Case]:
        """Take cases, the best first, as far as their bounds are above the target; return those that are new.

        Args:
            target: what is to be shown.
            cases: how many may be taken at the same time.
        """
        new: list[Case] = []
        while len(self.taken) + len(new) < cases and self._heap and -self._heap[0][0] > target:
            negated, _, partial = heapq.heappop(self._heap)
            self._vectors -= partial.vector is not None
            if self._is_first(partial):
                new.append(Case(-negated, partial))
        self.taken += new
        return new

    def put(self, findings: Findings, max_vectors: int) -> None:
        """Replace the case that was taken first by what came of it; keep no more than the given number of vectors."""
        self.taken.popleft()
        self.closed = max(self.closed, findings.closed)
        for case in findings.open:
            self._push(case)
        if self._vectors > max_vectors:
            self._thin(max_vectors)

    def _is_first(self, partial: Partial) -> bool:
        """Whether no other partial tree was handed out whose completions play alike; it may be handed out again."""
        if self._signature is None:
            return True
        if len(self._first) >= MAX_SIGNATURES:
            self._first.clear()
        # Two trees with the same hash are both handed out.
        tree = hash(partial.tree)
        return self._first.setdefault(self._signature(partial), tree) == tree

    def _push(self, case: Case) -> None:
        self._vectors += case.partial.vector is not None
        heapq.heappush(self._heap, (-case.bound, next(self._counter), case.partial))

    def _thin(self, max_vectors: int) -> None:
        """Let the cases of low bound start from the optimal values, because too many have a vector of their own."""
        own = [it for it in self._heap if it[2].vector is not None]
        own.sort(key=lambda it: it[:2])
        rest = [(*it[:2], replace(it[2], vector=None)) for it in own[max_vectors // 2 :]]
        shared = [it for it in self._heap if it[2].vector is None]
        self._heap = own[: max_vectors // 2] + rest + shared
        self._vectors = max_vectors // 2
        heapq.heapify(self._heap)
