"""Nature: the worst distributions within the intervals, given what every next state is worth.

The least p·V with l ≤ p ≤ u and Σ p = 1 starts from l and pours what is missing to 1 over the next states, those of the
least value first, each up to u. All rows are filled at once: the states are sorted by value once, and each one in turn
takes what it can in every row that leads to it. That takes as long as there are transitions.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numba import njit
from scipy import sparse

from omdt.mdp import Floats, Ints
from omdt.robust.interval_mdp import IntervalMDP


@dataclass(frozen=True, eq=False)
class Nature:
    """The intervals of n rows, one per pair of state and action or one per state under a policy.

    Attributes:
        lower: [nnz] the lower ends, row by row.
        slack: [nnz] by how much each upper end is above.
        indices: [nnz] the next state of each.
        indptr: [n + 1] where each row begins, and where the last one ends.
        rewards: [n] the reward of each row.
        discount: γ.
        missing: [n] what the lower ends of each row lack to 1.
        positions: [nnz] the entries in the order of their next states.
        rows: [nnz] the row of each of these.
        begins: [S + 1] where the entries of each next state begin in that order, and where those of the last one end.
    """

    lower: Floats
    slack: Floats
    indices: Ints
    indptr: Ints
    rewards: Floats
    discount: float
    missing: Floats
    positions: Ints
    rows: Ints
    begins: Ints

    @classmethod
    def of(cls, problem: IntervalMDP, actions: Ints | None = None) -> Self:
        """All pairs of an interval MDP, row s·A + a for state s and action a.

        Args:
            problem: the interval MDP.
            actions: [S] takes only the pairs of these actions, row s for state s.
        """
        lower, upper, rewards = problem.lower, problem.upper, problem.rewards.ravel()
        if actions is not None:
            chosen = np.arange(problem.n_states) * problem.n_actions + actions
            lower, upper, rewards = lower[chosen], upper[chosen], rewards[chosen]
        lengths = np.diff(upper.indptr)
        row = np.repeat(np.arange(len(lengths)), lengths)
        positions = np.argsort(upper.indices, kind="stable")
        return cls(
            lower=lower.data,
            slack=upper.data - lower.data,
            indices=upper.indices.astype(np.int64),
            indptr=upper.indptr.astype(np.int64),
            rewards=rewards,
            discount=problem.discount,
            missing=np.maximum(1.0 - np.bincount(row, lower.data, minlength=len(lengths)), 0.0),
            positions=positions,
            rows=row[positions],
            begins=np.searchsorted(upper.indices[positions], np.arange(problem.n_states + 1)),
        )

    @property
    def longest(self) -> int:
        """The number of next states of the longest row."""
        return int(np.diff(self.indptr).max())

    def respond(self, values: Floats) -> tuple[Floats, Floats]:
        """The worst that can follow if the next states have values [S].

        Returns:
            [n] r + γ min p·V of each row; and [nnz] the distributions p that attain it.
        """
        p, expected, left = np.empty(len(self.lower)), np.zeros(len(self.rewards)), self.missing.copy()
        order = np.argsort(values, kind="stable")
        _pour(order, values, self.begins, self.positions, self.rows, self.lower, self.slack, left, p, expected)
        return self.rewards + self.discount * expected, p

    def chain(self, p: Floats, chosen: Ints) -> sparse.csr_array:
        """[m, S] the distributions of m chosen rows out of those that `respond` found."""
        begin, lengths = self.indptr[chosen], self.indptr[chosen + 1] - self.indptr[chosen]
        indptr = np.append(0, np.cumsum(lengths))
        entries = np.arange(indptr[-1]) + np.repeat(begin - indptr[:-1], lengths)
        shape = (len(chosen), len(self.begins) - 1)
        return sparse.csr_array((p[entries], self.indices[entries], indptr), shape=shape)


def worst_first(problem: IntervalMDP, values: Floats) -> Floats:
    """[S] the first distribution with the least expectation of values [S]."""
    lower = problem.initial_lower
    order = np.argsort(values, kind="stable")
    slack = (problem.initial_upper - lower)[order]
    poured = np.minimum(np.cumsum(slack), max(1.0 - float(lower.sum()), 0.0))
    first = lower.copy()
    first[order] += np.diff(poured, prepend=0.0)
    return first


@njit(cache=True)
def _pour(order, values, begins, positions, rows, lower, slack, left, p, expected):  # type: ignore[no-untyped-def]
    """Fill p [nnz] and the expectation of values [n], next state by next state in the given order; empties `left`."""
    for s in order:
        for i in range(begins[s], begins[s + 1]):
            k, row = positions[i], rows[i]
            poured = min(slack[k], left[row])
            left[row] -= poured
            p[k] = lower[k] + poured
            expected[row] += p[k] * values[s]
