"""Arithmetic: floating-point numbers with bounds on their rounding errors, or rational numbers."""

from fractions import Fraction
from typing import NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from .model import EPSILON, Model, entries_of
from .reading import Floats, Ints, Numbers, readable

SOLVED_STATES = 5000  # states up to which a linear system is solved by its inverse, which then takes 200 MB
STATES_PER_SWEEP, MANY_SWEEPS = 50, 100_000  # states per sweep before an inverse is used; most sweeps without one
COLUMNS, MAX_NUMBERS = 256, 1 << 24  # vectors verified together, and numbers in memory for that; more are not faster
DENSE = 30_000_000  # entries up to which the transitions are kept as a dense array, too: faster, 240 MB

N = TypeVar("N", float, npt.NDArray[np.float64])


class Rows(NamedTuple):
    """Some rows of γ P: their weights, the states to which these belong, and where each row starts."""

    weights: Numbers
    columns: Ints
    starts: Ints

    def ahead(self, V: Numbers) -> Numbers:
        """The weighted sum of V, [S] or [S, n], over every row."""
        weights = self.weights if V.ndim == 1 else self.weights[:, None]
        return np.add.reduceat(weights * V[self.columns], self.starts, axis=0)


class System:
    """Equations X = b + γ P X between some states, with one action in each of them; X is 0 in the other states."""

    def __init__(self, problem: "Arithmetic", states: Ints, actions: Ints | int) -> None:
        self.states, self.actions = states, actions
        numbers = np.full(problem.S, -1)
        numbers[states] = np.arange(len(states))
        weights, columns, starts = problem.rows(states * problem.A + actions)
        columns = numbers[columns]
        # A weight of 0 makes the state of a column irrelevant.
        self.problem, self.rows = problem, Rows(np.where(columns < 0, 0, weights), np.maximum(columns, 0), starts)
        self.floats = self.rows._replace(weights=self.rows.weights.astype(np.float64, copy=False))
        self.inverse: Floats | None = None

    def solve(self, b: Numbers) -> tuple[Numbers, float]:
        """X, and a bound on its errors."""
        X = self.problem.numbers(self._approximate(b.astype(np.float64, copy=False)))
        size = abs(b) + self.rows.ahead(abs(X)) + abs(X)
        off = abs(b + self.rows.ahead(X) - X) + self.problem.rounding(self.problem.terms, size)
        return X, self.problem.error_of(off.max())

    def _approximate(self, b: Floats) -> Floats:
        """By some sweeps, if they are enough, otherwise by an inverse, or by many sweeps if that would be too large."""
        n, X = len(b), np.zeros(len(b))
        if self.inverse is None:
            for _ in range(n // STATES_PER_SWEEP if n <= SOLVED_STATES else MANY_SWEEPS):
                change = b + self.floats.ahead(X) - X
                X = X + change
                if np.abs(change).max() <= self.problem.terms * EPSILON * np.abs(X).max():
                    return X
            if n > SOLVED_STATES:
                return X
            moves = self.problem.moves(self.states, self.actions)
            self.inverse = np.linalg.inv(np.eye(n) - moves).astype(np.float64, copy=False)
        X = self.inverse @ b
        return X + self.inverse @ (b + self.floats.ahead(X) - X)


class Arithmetic:
    """The dynamics of a model, and sums that know their rounding error."""

    def __init__(self, model: Model, *, exact: bool) -> None:
        self.model, self.exact = model, exact
        self.S, self.A = S, A = model.rewards.shape
        self.unit = self.number(0.0 if exact else EPSILON)  # the relative error of one operation
        self.terms = int(np.diff(model.indptr).max()) + 10  # operations per sum over a row of transitions, at most
        self.columns = 8 if exact else max(1, min(COLUMNS, MAX_NUMBERS // max(len(model.data), S * A)))
        self.discount = self.number(model.discount)
        self.rewards, self.initial = self.numbers(model.rewards), self.numbers(model.initial)
        self.dynamics = Rows(self.discount * self.numbers(model.data), model.indices, model.indptr[:-1])
        self.matrix: Floats | None = None  # [S·A, S] γ P in floating-point numbers, if it is not too large
        if S * S * A <= DENSE:
            self.matrix = np.zeros((S * A, S))
            rows = np.repeat(np.arange(S * A), np.diff(model.indptr))
            np.add.at(self.matrix, (rows, model.indices), self.dynamics.weights.astype(np.float64))
        largest = self.ahead(self.numbers(np.ones((S, 1)))).max()
        self.contraction: float = 1 - largest * (1 + self.terms * self.unit) - 4 * self.unit  # 1 − γ, at most
        readable(self.contraction > 0, "the discount is too close to 1 for the rounding of the transitions")
        # At least 1 and the sum of p0, with room for the rounding of a few products.
        self.mass: float = max(1, self.initial.sum()) * (1 + 2 * (S + 16) * self.unit)
        # No return is larger: if all values were 0, their equations would be violated by the rewards.
        self.largest_return: float = self.error_of(abs(self.rewards).max())

    def number(self, x: float) -> float:
        """A floating-point number in the arithmetic that is used."""
        return cast(float, Fraction(x)) if self.exact else float(x)

    def numbers(self, array: npt.ArrayLike) -> Numbers:
        """An array of floating-point numbers in the arithmetic that is used."""
        floats = np.asarray(array, dtype=np.float64)
        if not self.exact:
            return floats
        exact = np.empty(floats.shape, dtype=object)
        exact.ravel()[:] = [Fraction(x) for x in floats.ravel().tolist()]
        return cast(Numbers, exact)

    def rounding(self, operations: int, size: N) -> N:
        """A bound on the rounding error of some operations on numbers whose absolute values sum to `size`."""
        return operations * self.unit * size

    def error_of(self, residual: N) -> N:
        """By how much a return or a value is off, at most, if Bellman equations are violated by at most `residual`."""
        return residual / self.contraction * self.mass

    def rows(self, rows: Ints) -> Rows:
        """Some rows of γ P."""
        entries, lengths = entries_of(self.model.indptr, rows), self.model.indptr[rows + 1] - self.model.indptr[rows]
        return Rows(self.dynamics.weights[entries], self.model.indices[entries], np.cumsum(lengths) - lengths)

    def moves(self, states: Ints, actions: Ints | int) -> Floats:
        """[n, n] γ P between some states, with one action in each of them, as floating-point numbers."""
        numbers, n = np.full(self.S, -1), len(states)
        numbers[states] = np.arange(n)
        weights, columns, starts = self.rows(states * self.A + actions)
        rows, columns = np.repeat(np.arange(n), np.diff(starts, append=len(columns))), numbers[columns]
        inside = columns >= 0
        entries = rows[inside] * n + columns[inside]
        floats = weights[inside].astype(np.float64)
        return np.bincount(entries, floats, n * n).astype(np.float64, copy=False).reshape(n, n)

    def ahead(self, X: Numbers, states: Ints | slice = slice(None)) -> Numbers:
        """[S, A, n] γ P X for n columns [S, n]; for some states only, if they are given one by one."""
        if not isinstance(states, slice):
            product = self.rows((states[:, None] * self.A + np.arange(self.A)).ravel()).ahead(X)
        else:
            product = self.dynamics.ahead(X) if self.matrix is None or self.exact else self.matrix @ X
        return product.reshape(-1, self.A, X.shape[1])

    def at_start(self, V: Numbers, states: Ints | slice = slice(None)) -> tuple[float, float]:
        """p0·V from below and from above, where V is given for some states."""
        total = (self.initial[states] * V).sum()
        error = self.rounding(self.S + 8, (self.initial[states] * abs(V)).sum())
        return total - error, total + error

    def q_values(self, V: Numbers) -> tuple[Numbers, Numbers]:
        """[S, A] r + γ P V, and a bound on its rounding errors and those of the difference to V."""
        Q = self.rewards + self.ahead(V[:, None])[:, :, 0]
        if self.exact:
            return Q, np.zeros_like(Q)
        size = abs(self.rewards) + self.ahead(abs(V)[:, None])[:, :, 0] + abs(V)[:, None]
        return Q, self.rounding(self.terms, size)

    def largest_of(self, rewards: Floats) -> float:
        """No policy returns more with these rewards [S, A]: if values were 0, rewards would violate their equations."""
        return float(self.error_of(np.abs(rewards).max()))

    def value(self, policy: Ints, rewards: Floats | None = None) -> tuple[float, float]:
        """The return of a policy [S], from below and from above, with other rewards [S, A] if these are given."""
        # States that the policy does not reach have no influence, not even on the rounding.
        reached = self.model.reached(policy[:, None] == np.arange(self.A))
        states = np.flatnonzero(reached)
        earned = self.rewards if rewards is None else self.numbers(rewards)
        V, error = System(self, states, policy[states]).solve(earned[states, policy[states]])
        low, high = self.at_start(V, states)
        return low - error, high + error
