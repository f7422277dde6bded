"""Random problems without a discount, with their true answers: probabilities and expected totals of every kind.

The MDPs are small and have whatever makes such objectives hard: end components, traps, targets that cannot be reached,
cycles without reward, unavailable actions, ties, a single state or action.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

import exact_chains as exact
import omdt
from omdt.mdp import MDP
from omdt.methods.search.settings import SearchSettings
from omdt.solution import Solution
from omdt.splits import Splits
from omdt.task import Size, Task
from random_mdps import availability, distribution, feature_array
from tasks import dense, policies_of_trees, random_questions

KINDS = ("reach", "until", "total until", "total")
MOST_POLICIES = 3000
"""Largest number of deterministic policies per problem, so that trying all trees takes little time."""

ATTEMPTS = 8
"""Problems that are drawn at most until one needs a tree of more than one leaf."""


@dataclass(frozen=True, eq=False)
class TotalTask:
    """A problem without a discount.

    Attributes:
        mdp: the MDP, with the rewards of the totals.
        kind: one of `KINDS`.
        maximise: whether the value is to be large.
        target: [S] the states that end it; ignored for totals without a target.
        staying: [S] the states that may be visited before, only for the kind "until".
        predicates: [S, n] questions of the user's own.
        categorical: the features that are asked for equality.
        size: depth and leaves of the largest tree.
    """

    mdp: MDP
    kind: str
    maximise: bool
    target: np.ndarray
    staying: np.ndarray
    predicates: np.ndarray
    categorical: tuple[str, ...]
    size: tuple[int, int]

    @classmethod
    def random(cls, rng: np.random.Generator, kind: str | None = None) -> "TotalTask":
        """A random problem, in most cases one whose best tree is better than every leaf."""
        task = cls._any(rng, kind)
        for _ in range(ATTEMPTS if rng.random() < 0.8 else 0):
            if task.needs_questions:
                break
            task = cls._any(rng, kind)
        return task

    @classmethod
    def _any(cls, rng: np.random.Generator, kind: str | None) -> "TotalTask":
        kind = str(rng.choice(KINDS)) if kind is None else kind
        mdp = random_total_mdp(rng, kind)
        S = mdp.n_states
        target = rng.random(S) < rng.choice([0.0, 0.0, 0.15, 0.3])
        target[-1] |= rng.random() < 0.8
        staying = rng.random(S) < 0.7 if kind == "until" else np.ones(S, dtype=np.bool_)
        categorical, predicates = random_questions(mdp, rng)
        depth = int(rng.choice([0, 1, 1, 2, 2, 2]))
        leaves = 2**depth if rng.random() < 0.7 else int(rng.integers(1, 2**depth + 1))
        maximise = bool(rng.random() < 0.5)
        return cls(mdp, kind, maximise, target, staying, predicates, categorical, (depth, leaves))

    @cached_property
    def splits(self) -> Splits:
        """The questions a tree may ask."""
        labels = ("p", "q")[: self.predicates.shape[1]]
        return Splits.of(self.mdp, categorical=self.categorical, predicates=self.predicates, labels=labels)

    @property
    def objective(self) -> omdt.Objective:
        """What is asked."""
        if self.kind in ("reach", "until"):
            staying = self.staying if self.kind == "until" else None
            return omdt.Objective.reach(self.target, staying=staying, maximise=self.maximise)
        until = self.target if self.kind == "total until" else None
        return omdt.Objective.total(until=until, maximise=self.maximise)

    @property
    def asked(self) -> Task:
        """The task of a method."""
        return Task(self.mdp, self.splits, Size(*self.size), self.objective)

    def solve(self, settings: dict[str, Any] | None = None, **rest: Any) -> Solution:
        """What a method finds."""
        if settings is not None:
            rest["settings"] = SearchSettings(**settings)
        if rest.get("method") not in ("copy",):
            rest |= {"max_depth": self.size[0], "max_leaf_nodes": self.size[1]}
        return omdt.solve(self.mdp, splits=self.splits, objective=self.objective, **rest)

    def value(self, policy: np.ndarray) -> exact.Number:
        """What a policy [S] is worth, exactly."""
        chain = [self._rows[s][a] for s, a in enumerate(policy)]
        return exact.expected(self.mdp.initial, self._values(chain, policy))

    @cached_property
    def _rows(self) -> list[exact.Chain]:
        return exact.rows_of(dense(self.mdp)[0])

    @cached_property
    def _alike(self) -> list[list[int]]:
        """For every state and action, the first action that does the same there."""
        does = [
            list(zip(rows, rewards.tolist(), strict=True))
            for rows, rewards in zip(self._rows, self.mdp.rewards, strict=True)
        ]
        return [[all_does.index(one) for one in all_does] for all_does in does]

    def _values(self, chain: exact.Chain, policy: np.ndarray) -> list[exact.Number]:
        goal = set(np.flatnonzero(self.target).tolist())
        if self.kind in ("reach", "until"):
            return exact.probabilities(chain, goal, set(np.flatnonzero(self.staying).tolist()) - goal)
        rewards = [Fraction(float(self.mdp.rewards[s, a])) for s, a in enumerate(policy)]
        if self.kind == "total until":
            return exact.totals_until(chain, rewards, goal)
        return exact.totals(chain, rewards)

    @property
    def needs_questions(self) -> bool:
        """Whether the best tree is better than every leaf; not if the rewards have no total."""
        leaves = (np.full(self.mdp.n_states, action) for action in range(self.mdp.n_actions))
        try:
            return all(self.better(self.best, self.value(leaf)) for leaf in leaves)
        except AssertionError:
            return False

    def better(self, one: exact.Number, other: exact.Number) -> bool:
        """Whether one value is better than another."""
        return one > other if self.maximise else one < other

    @cached_property
    def best(self) -> exact.Number:
        """The best value of all trees within the limits."""
        found: exact.Number | None = None
        for policy in self._distinct():
            value = self.value(policy)
            found = value if found is None or self.better(value, found) else found
        assert found is not None
        return found

    def _distinct(self) -> Iterator[np.ndarray]:
        """The policies of all trees, one of those that do the same wherever they go."""
        starts = np.flatnonzero(self.mdp.initial).tolist()
        seen = set()
        for policy in policies_of_trees(self.mdp, self.splits.sides(), *self.size):
            visited, waiting = set(starts), list(starts)
            while waiting:
                s = waiting.pop()
                new = self._rows[s][policy[s]].keys() - visited
                visited |= new
                waiting += new
            key = frozenset((s, self._alike[s][policy[s]]) for s in visited)
            if key not in seen:
                seen.add(key)
                yield policy


def random_total_mdp(rng: np.random.Generator, kind: str) -> MDP:
    """A small MDP whose rewards have a total."""
    S, F = (int(rng.integers(1, 10)) if rng.random() < 0.3 else int(rng.integers(5, 10))), int(rng.integers(1, 4))
    A = int(rng.integers(1, 5)) if rng.random() < 0.3 else int(rng.integers(2, 5))
    while A**S > MOST_POLICIES:
        A -= 1
    shape = str(rng.choice(["few", "sure", "forward", "loops", "ways"], p=[0.2, 0.1, 0.1, 0.2, 0.4]))
    P = np.zeros((S, A, S))
    for s in range(S):
        for a in range(A):
            P[s, a] = _row(rng, s, S, shape)
    traps = rng.random(S) < rng.choice([0.0, 0.2])
    P[traps] = np.eye(S)[traps][:, None, :]
    rewards = rng.integers(0, 3, (S, A)) * rng.integers(0, 2, (S, 1)) * rng.choice([1.0, 0.5, 0.3])
    if kind == "total":
        rewards = rewards * rng.choice([-1.0, 1.0])
        rewards[traps] *= rng.integers(0, 2)
        if shape == "forward" and not rewards[-1].any():
            # Every policy ends, so that rewards of both signs have a total.
            rewards[traps] = 0.0
            rewards[~traps] *= rng.choice([-1.0, 1.0], (int((~traps).sum()), A))
    if rng.random() < 0.2 and A > 1:
        P[:, -1], rewards[:, -1] = P[:, 0], rewards[:, 0]
    rest: dict[str, Any] = {"discount": 0.9}
    if rng.random() < 0.3:
        rest["available"] = availability(rng, S, A)
    X = feature_array(rng, S, F, str(rng.choice(["distinct", "repeated", "constant"], p=[0.8, 0.15, 0.05])))
    p0 = np.eye(S)[0] if rng.random() < 0.7 else distribution(rng, S)
    return MDP.from_dense(P, rewards, p0, X, **rest)


def _row(rng: np.random.Generator, s: int, S: int, shape: str) -> np.ndarray:
    """The distribution of the next state.

    Args:
        rng: the source of all numbers.
        s: the present state.
        S: number of states.
        shape: over few states; one state for sure; later states only; mostly the present state; or a step forward,
            backward or to any state, so that the last state is reached by the right action in every state.
    """
    if shape == "forward":
        return np.eye(S)[s] if s == S - 1 else np.r_[np.zeros(s + 1), distribution(rng, S - s - 1)]
    if shape == "sure" or (shape != "ways" and rng.random() < 0.3):
        return np.eye(S)[rng.integers(S)]
    if shape == "ways":
        row = np.eye(S)[(s + rng.choice([-1, 1])) % S]
        return row if rng.random() < 0.6 else 0.75 * row + 0.25 * np.eye(S)[rng.integers(S)]
    successors = rng.choice(S, min(S, int(rng.integers(1, 4))), replace=False)
    row = np.zeros(S)
    row[successors] = (
        rng.choice([0.5, 1.0, 3.0], len(successors)) if rng.random() < 0.7 else rng.random(len(successors))
    )
    row[s] += 9.0 if shape == "loops" else 0.0
    return row / row.sum() if row.sum() > 0 else np.eye(S)[s]
