"""The value of one policy without a discount: a Markov chain, its graph, and one system of linear equations.

The graph tells the values of some states: ends, and states from which nothing more is earned. If the other states, T,
need not come to these, the value is infinite. Otherwise X = r + P X on T. For the error, some H with H − P H > 0 is
found as well: if |r + P X − X| ≤ κ (H − P H) everywhere on T, then X is off by at most κ H.
"""

import math
from typing import cast

import numpy as np

from .arithmetic import MANY_SWEEPS, SOLVED_STATES
from .induction import Induction
from .model import EPSILON, entries_of
from .reading import Bools, Floats, Ints, RejectedError, require


class Chain:
    """The Markov chain of a policy [S]; `largest` is the largest absolute value of a state, when it is known."""

    largest = 0.0

    def __init__(self, induction: Induction, policy: Ints) -> None:
        self.induction, self.policy, self.asked = induction, policy, induction.asked
        model, S, A = induction.model, induction.S, induction.A
        chosen = (policy[:, None] == np.arange(A)) & ~self.asked.ends[:, None]
        self.reached = model.reached(chosen)
        self.rewards = self.asked.rewards[np.arange(S), policy].astype(np.float64)
        states = np.flatnonzero(self.reached & ~self.asked.ends)
        rows = states * A + policy[states]
        entries = entries_of(model.indptr, rows)
        self.origin = np.repeat(states, model.indptr[rows + 1] - model.indptr[rows])
        self.successor, self.weight = model.indices[entries], model.data[entries]
        kept = self.weight > 0
        self.origin, self.successor, self.weight = self.origin[kept], self.successor[kept], self.weight[kept]
        sums = np.bincount(self.origin, self.weight, S)
        self.weight = self.weight / sums[self.origin]

    def value(self) -> tuple[float, float]:
        """What the policy earns, from below and from above."""
        ends, endless = self.asked.ends, self.asked.endless
        earning = self.reached & np.where(ends, self.asked.final != 0, self.rewards != 0)
        settled = ends if endless is not None else ends | ~self._leading_to(earning)
        lost = self.reached & ~self._leading_to(settled & self.reached)
        if lost.any():
            worth = self._worth(lost) if endless is None else endless
            return worth, worth
        transient = self.reached & ~settled
        X, H = self._solved(transient)
        self.largest = float(np.abs(X).max())
        return self._between(transient, X, H)

    def closed_classes(self, over: Bools) -> Bools:
        """[S] the states of classes that are never left, besides those that are over [S]."""
        left, found = self.reached & ~self._leading_to(over), np.zeros(len(over), dtype=np.bool_)
        while left.any():
            ahead, back = left, np.zeros_like(left)
            # From a state that cannot be returned to, fewer states can be reached.
            while (ahead & ~back).any():
                state = np.arange(len(left)) == int((ahead & ~back).argmax())
                ahead, back = self._coming_from(state), self._leading_to(state)
            found, left = found | ahead, left & ~self._leading_to(ahead)
        return found

    def _coming_from(self, states: Bools) -> Bools:
        """[S] the states to which some states can come."""
        found = states
        while True:
            more = found.copy()
            more[self.successor[found[self.origin]]] = True
            if np.array_equal(more, found):
                return found
            found = more

    def _worth(self, lost: Bools) -> float:
        """±∞, the sign of what is earned for ever."""
        signs = np.unique(np.sign(self.rewards[lost & (self.rewards != 0)]))
        require(len(signs) == 1, "the tree earns rewards of both signs for ever, so it has no value")
        return float(signs[0]) * math.inf

    def _leading_to(self, states: Bools) -> Bools:
        """[S] whether a state can come to some states."""
        found = states
        while True:
            more = found.copy()
            more[self.origin[found[self.successor]]] = True
            if np.array_equal(more, found):
                return found
            found = more

    def _solved(self, transient: Bools) -> tuple[Floats, Floats]:
        """[S] values that hold nearly, with the final rewards in ends, and [S] expected numbers of steps in T."""
        known = np.where(self.asked.ends, self.asked.final, 0.0)
        inside = transient[self.origin]
        origin, successor, weight = self.origin[inside], self.successor[inside], self.weight[inside]
        states = np.flatnonzero(transient)
        numbers = np.zeros(len(transient), dtype=np.int64)
        numbers[states] = np.arange(len(states))
        stays = transient[successor]
        entering = np.bincount(origin, weight * np.where(stays, 0.0, known[successor]), len(known))
        parts = (numbers[origin[stays]], numbers[successor[stays]], weight[stays])
        X, H = known.copy(), np.zeros(len(known))
        if len(states):
            X[states], H[states] = _solutions(*parts, (self.rewards + entering)[states])
        return X, H

    def _between(self, transient: Bools, X: Floats, H: Floats) -> tuple[float, float]:
        """p0·X with its error."""
        it, states = self.induction, np.flatnonzero(transient)
        values, steps = it.numbers(X), it.numbers(H)
        total, size = (it.initial * values).sum() / it.started, (it.initial * abs(values)).sum()
        error = 4 * (it.S + 8) * it.unit * size
        if len(states):
            rows = states * it.A + self.policy[states]
            gain, rounding = it.gains(values, rows)
            drift, drifting = it.drift(steps, rows)
            progress = -(drift + drifting)
            require(bool(np.all(progress > 0)), "the tree takes too many steps to be evaluated")
            off = (abs(gain) + rounding) / progress
            error = error + off.max() * it.at_start(steps) * (1 + 8 * it.unit)
        return cast(float, total - error), cast(float, total + error)


def _solutions(rows: Ints, columns: Ints, weights: Floats, b: Floats) -> tuple[Floats, Floats]:
    """X = b + P X and H = 1 + P H, nearly."""
    n = len(b)
    if n <= SOLVED_STATES:
        matrix = np.eye(n) - np.bincount(rows * n + columns, weights, n * n).reshape(n, n)
        try:
            found = np.linalg.solve(matrix, np.stack([b, np.ones(n)], axis=1))
            residual = b - matrix @ found[:, 0]
            better = found[:, 0] + np.linalg.solve(matrix, residual)
            return better.astype(np.float64), found[:, 1].astype(np.float64)
        except np.linalg.LinAlgError:
            raise RejectedError("the tree takes too many steps to be evaluated") from None
    X, H = np.zeros(n), np.zeros(n)
    for _ in range(MANY_SWEEPS):
        change = b + np.bincount(rows, weights * X[columns], n) - X
        steps = 1 + np.bincount(rows, weights * H[columns], n) - H
        X, H = X + change, H + steps
        if np.abs(change).max() <= 8 * EPSILON * np.abs(X).max() and steps.max() <= 0.5:
            break
    return X, H
