"""Check: whether a solution's tree has the value it claims, and whether a certificate proves its bound.

This file needs numpy and nothing else of this package: who doubts the search reads this instead. It runs by itself,
`python -m omdt.check SOLUTION MODEL.npz --certificate FILE`, or behind `omdt check`. The page "What proven means here"
of the documentation has the mathematics in full, and the format of a certificate.

What is to be shown is that no tree within the size limit returns more than the bound B. A *case* is a partial tree,
with fixed leaves and open places; case 0 is a single open place. A case is branched at an open place into every action
as a leaf and every question that divides the place, or it is closed, because no tree that completes it returns more
than B:

- by *losses*. For a vector U let δ(s, a) = U(s) − r(s, a) − γ P(s, a)·U. A policy with discounted visits x returns
  p0·U − Σ x δ, so what returns more than B loses less than the budget β = p0·U − B. A set F of leaves loses, inside F,
  at least p0·W − λ β, for every vector W with W ≤ (1 + λ) δ + γ P W on F and W ≤ λ δ + γ P W elsewhere. What disjoint
  parts of a tree lose adds up; when it reaches the budget, the case is closed. What *any* subtree of a certain size
  loses in a region is a claim, proven by cases of its own.
- by *options*. V bounds all trees of the case if no agent gains on V that plays the actions of the fixed leaves, and
  elsewhere keeps an action until it leaves a box, a set of states that every leaf around the present state contains.
- by its *value*, if no place is open.

**Rounding.** A vector W that violates its inequality by e is worth e / (1 − γ) less, and so on for U and V; every
violation is computed with a bound on its own rounding error, which is zero with exact rational numbers.
"""

import argparse
import base64
import gzip
import hashlib
import json
import math
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

FORMAT = "omdt-certificate-1"
SOLUTION = "omdt-solution-1"
HEAD = bytes.fromhex("1f8b08000000000002ff")
"""How a certificate begins: gzip without a name or a time."""

EPSILON = 2.0**-52
LARGEST = 1e250
"""No number of a file may be larger, so that no sum overflows."""

LARGEST_MULTIPLIER = 1e50
MAX_LINE = 1 << 24
MAX_CASES = 5_000_000
MAX_BOXES = 200_000
MAX_SWEEPS, MANY_SWEEPS = 60, 100_000
MAX_MODEL = 1 << 32
COLUMNS = 256
"""Vectors that are verified at once, at most."""

MAX_NUMBERS = 1 << 24
"""Numbers in memory for that, at most."""

DENSE = 30_000_000
"""Up to so many entries the transitions are kept as a dense array as well."""

INVERSES = 1 << 24
"""Numbers in inverses that are kept for another case."""

Place = tuple[tuple[int, ...], int, int]
"""A leaf or open place of a case: the way to it, its region, and its action or −1."""

Case = tuple[Place, ...]
"""A partial tree, its places from left to right."""


class UnreadableError(ValueError):
    """A file is not what it should be."""


class RejectedError(Exception):
    """What was claimed is not proven."""


@dataclass(frozen=True, eq=False)
class Model:
    """A Markov decision process in plain arrays, transitions as rows s·A + a of a sparse matrix.

    Rows and rewards of unavailable actions are those of what is played instead; `available` [S, A] says which actions
    are available, None that all are.
    """

    data: Any
    indices: Any
    indptr: Any
    rewards: Any
    initial: Any
    features: Any
    discount: float
    feature_names: tuple[str, ...]
    action_names: tuple[str, ...]
    available: Any = None


@dataclass(frozen=True)
class Questions:
    """What the trees may ask; by default one threshold between every two neighbouring values of every feature.

    Attributes:
        groups: the questions in their order, by column: its name, whether it is asked for equality, and the numbers
            that it is compared with, or None for all that matter. No groups means thresholds on every column.
        predicates: further columns of 0 and 1 behind the features: their names, and one bit per state.
        states: the number of states that the predicates are about.
    """

    groups: tuple[tuple[str, bool, tuple[float, ...] | None], ...] | None = None
    predicates: tuple[tuple[str, bytes], ...] = ()
    states: int = 0

    @classmethod
    def read(cls, statement: Any) -> "Questions":
        """The questions that a solution, or the head of a certificate, states; None states the default."""
        if statement is None:
            return cls()
        if not isinstance(statement, dict) or not statement.keys() <= {"asked", "predicates"}:
            raise UnreadableError("the statement of the questions is not understood")
        asked, predicates = statement.get("asked"), statement.get("predicates", {"states": 0, "holds": {}})
        if not isinstance(asked, list | None) or not isinstance(predicates, dict):
            raise UnreadableError("the questions are no list, or the predicates no object")
        groups = None if asked is None else tuple(_group(entry) for entry in asked)
        states, holds = predicates.get("states"), predicates.get("holds")
        if isinstance(states, bool) or not isinstance(states, int) or not isinstance(holds, dict):
            raise UnreadableError("the predicates do not say of how many states they are, or where they hold")
        return cls(groups, tuple((name, _bits(text, name, states)) for name, text in holds.items()), states)

    def columns(self, features: Any, names: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
        """[S, F'] what a tree reads in each state: the features, then the predicates; and the names of the columns."""
        if not self.predicates:
            return features, names
        if self.states != len(features):
            raise UnreadableError(f"the predicates are about {self.states} states, the model has {len(features)}")
        both = (*names, *(name for name, _ in self.predicates))
        if len(set(both)) < len(both):
            raise UnreadableError("a predicate has the name of a feature")
        packed = np.array([np.frombuffer(bits, dtype=np.uint8) for _, bits in self.predicates])
        holds = np.unpackbits(packed, axis=1, count=self.states).T
        return np.hstack([features, holds.astype(np.float64)]), both

    def sides(self, columns: Any, names: tuple[str, ...]) -> Any:
        """[S, K] whether a state goes right at a question: above a threshold, or different in an equality.

        Of questions that divide the states alike the first counts. A number that is stated must divide them: otherwise
        a statement would seem to speak of trees that ask more than they can.
        """
        sides: dict[bytes, Any] = {}
        everything = tuple((name, False, None) for name in names)
        for name, equality, numbers in everything if self.groups is None else self.groups:
            if name not in names:
                raise UnreadableError(f"there are questions about the unknown feature {name!r:.80}")
            column = columns[:, names.index(name)]
            values = np.unique(column) if equality else np.unique(column)[:-1]
            for number in values if numbers is None else numbers:
                side = column != number if equality else column > number
                if side.any() and not side.all():
                    sides.setdefault(np.packbits(side ^ side[0]).tobytes(), side)
                elif numbers is not None:
                    raise UnreadableError(f"to compare {name!r:.80} with {number!r} divides no states")
        return np.array([*sides.values()], dtype=np.bool_).reshape(len(sides), len(columns)).T

    def words(self) -> str:
        """The questions in words; empty for the default."""
        known = [name for name, _ in self.predicates]
        if self.groups is None:
            said = ["thresholds on every feature"] if known else []
            return ", ".join([*said, *(f"the predicate {name!r}" for name in known)])
        return ", ".join(_group_words(*group, group[0] in known) for group in self.groups) or "nothing"


def _group(entry: Any) -> tuple[str, bool, tuple[float, ...] | None]:
    """The questions about one column, as a statement has them."""
    kinds = [kind for kind in ("threshold", "equals") if isinstance(entry, dict) and kind in entry]
    if len(kinds) != 1 or entry.keys() != {"feature", *kinds} or not isinstance(entry["feature"], str):
        raise UnreadableError(f"{entry!r:.80} is no statement about the questions that a feature is asked")
    numbers = entry[kinds[0]]
    if numbers == "all":
        return entry["feature"], kinds == ["equals"], None
    if not isinstance(numbers, list) or not all(_is_number(it, sys.float_info.max) for it in numbers):
        raise UnreadableError(f"feature {entry['feature']!r:.80} is compared with {numbers!r:.40}")
    return entry["feature"], kinds == ["equals"], tuple(float(it) for it in numbers)


def _bits(text: Any, name: str, states: int) -> bytes:
    try:
        bits = base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        bits = b""
    if len(bits) != (states + 7) // 8:
        raise UnreadableError(f"the predicate {name!r:.80} does not have one bit for each of {states} states")
    return bits


def _group_words(name: str, equality: bool, numbers: tuple[float, ...] | None, is_predicate: bool) -> str:
    if is_predicate and (numbers is None or any(_divides_truths(equality, number) for number in numbers)):
        return f"the predicate {name!r}"
    one, many = ("value of", "values of") if equality else ("threshold on", "thresholds on")
    if numbers is None:
        return f"{many} {name!r}"
    return f"{len(numbers)} {one if len(numbers) == 1 else many} {name!r}"


def _divides_truths(equality: bool, number: float) -> bool:
    """Whether a comparison with a number tells 0 from 1."""
    return number in (0, 1) if equality else 0 <= number < 1


def _is_number(it: Any, largest: float) -> bool:
    return isinstance(it, int | float) and not isinstance(it, bool) and abs(it) <= largest


@dataclass(frozen=True)
class Size:
    """How large a tree may be."""

    depth: int
    leaves: int

    def below(self, case: Case, path: tuple[int, ...]) -> "Size":
        """How large a subtree may be at a place of a case, without what cannot be used."""
        return self.normal(self.depth - len(path), self.leaves - len(case) + 1)

    @staticmethod
    def normal(depth: int, leaves: int) -> "Size":
        """The size without what cannot be used."""
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


class Problem:
    """The model with its questions and regions, and sums that know their rounding error.

    Attributes:
        unit: the relative error of one operation; 0 when numbers are exact.
        terms: as many of it as a sum over a row of transitions takes.
        contraction: at most 1 − γ times the largest sum of a row.
        mass: at least 1 and the sum of p0, with room for the rounding of a few products.
    """

    def __init__(self, model: Model, questions: Questions | None = None, *, exact: bool = False) -> None:
        self.model, self.exact = model, exact
        self.questions = Questions() if questions is None else questions
        self.S, self.A = model.rewards.shape
        self.unit: Any = Fraction(0) if exact else EPSILON
        self.terms = int(np.diff(model.indptr).max()) + 10
        self.discount: Any = Fraction(model.discount) if exact else model.discount
        self.rewards, self.initial = self.numbers(model.rewards), self.numbers(model.initial)
        self.weights = self.discount * self.numbers(model.data)
        self.matrix = None if exact or self.S * self.S * self.A > DENSE else self._dense()
        largest = self.ahead(np.full((self.S, 1), self.one)).max()
        self.contraction = self.one - largest * (1 + self.terms * self.unit) - 4 * self.unit
        if not self.contraction > 0:
            raise UnreadableError("the discount is too close to 1 for the rounding of the transitions")
        self.mass = max(self.one, self.initial.sum()) * (1 + 2 * (self.S + 16) * self.unit)
        self._numbers: dict[bytes, int] = {}
        self._splits: dict[tuple[int, int], tuple[int, int]] = {}
        self._dividing: dict[int, list[int]] = {}

    @cached_property
    def sides(self) -> Any:
        """[S, K] whether a state goes right at a question."""
        return self.questions.sides(*self.questions.columns(self.model.features, self.model.feature_names))

    @cached_property
    def decisive(self) -> Any:
        """[S] where it matters what is done; everywhere, if nowhere."""
        m = self.model
        lengths = np.diff(m.indptr).reshape(self.S, self.A)
        alike = (m.rewards == m.rewards[:, :1]).all(axis=1) & (lengths == lengths[:, :1]).all(axis=1)
        for s in np.flatnonzero(alike):
            rows = slice(m.indptr[s * self.A], m.indptr[(s + 1) * self.A])
            for array in (m.indices[rows].reshape(self.A, -1), m.data[rows].reshape(self.A, -1)):
                alike[s] &= bool((array == array[:1]).all())
        return ~alike if not alike.all() else alike

    @cached_property
    def regions(self) -> list[Any]:
        """The states of every region that was met; the first are those where it matters what is done."""
        return [np.flatnonzero(self.decisive)]

    @property
    def columns(self) -> int:
        """How many vectors are looked at together."""
        return 8 if self.exact else max(1, min(COLUMNS, MAX_NUMBERS // max(len(self.model.data), self.S * self.A)))

    @property
    def one(self) -> Any:
        """The number 1."""
        return Fraction(1) if self.exact else 1.0

    def numbers(self, array: Any) -> Any:
        """An array of floating-point numbers in the arithmetic that is used."""
        if not self.exact:
            return np.asarray(array, dtype=np.float64)
        exact = np.empty(np.shape(array), dtype=object)
        exact.ravel()[:] = [Fraction(x) for x in np.asarray(array, dtype=np.float64).ravel().tolist()]
        return exact

    def ahead(self, X: Any) -> Any:
        """[S, A, n] γ P X for n columns [S, n]."""
        if self.matrix is not None:
            product = self.matrix.reshape(-1, self.S) @ X
        else:
            product = np.add.reduceat(self.weights[:, None] * X[self.model.indices], self.model.indptr[:-1], axis=0)
        return product.reshape(self.S, self.A, -1)

    def at_start(self, V: Any) -> tuple[Any, Any]:
        """p0·V from below and from above."""
        total = (self.initial * V).sum()
        error = (self.S + 8) * self.unit * (self.initial * abs(V)).sum()
        return total - error, total + error

    def q_values(self, V: Any) -> tuple[Any, Any]:
        """[S, A] r + γ P V, and a bound on the rounding error of it and of its difference to V."""
        Q = self.rewards + self.ahead(V[:, None])[:, :, 0]
        if self.exact:
            return Q, Fraction(0)
        size = abs(self.rewards) + self.ahead(abs(V)[:, None])[:, :, 0] + abs(V)[:, None]
        return Q, self.terms * self.unit * size

    def region(self, states: Any) -> int:
        """The number of a set of sorted states."""
        key = states.astype(np.int32).tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.regions)
            self.regions.append(states)
        return self._numbers[key]

    def split(self, region: int, k: int) -> tuple[int, int]:
        """The two sides of a question within a region."""
        if (region, k) not in self._splits:
            states = self.regions[region]
            right = self.sides[states, k]
            self._splits[region, k] = (self.region(states[~right]), self.region(states[right]))
        return self._splits[region, k]

    def dividing(self, region: int) -> list[int]:
        """The questions that divide a region, the first of those that do it in the same way."""
        if region not in self._dividing:
            inside = self.sides[self.regions[region]]
            first: dict[bytes, int] = {}
            for k in np.flatnonzero((inside != inside[:1]).any(axis=0)):
                first.setdefault((inside[:, k] ^ inside[0, k]).tobytes(), int(k))
            self._dividing[region] = sorted(first.values())
        return self._dividing[region]

    def children(self, case: Case, i: int, size: Size) -> list[tuple[tuple[str, int], Case]]:
        """What can become of an open place: a leaf with each action, or each question that divides it.

        A leaf beside a leaf with the same action is left out: both are one leaf, which the branch above them has.
        """
        path, region, _ = case[i]
        beside = [action for other, _, action in case if path and other == (*path[:-1], 1 - path[-1])]
        found: list[tuple[tuple[str, int], Case]] = []
        for a in range(self.A):
            if a not in beside:
                found.append((("action", a), (*case[:i], (path, region, a), *case[i + 1 :])))
        if len(path) < size.depth and len(case) < size.leaves:
            for k in self.dividing(region):
                left, right = self.split(region, k)
                two = (((*path, 0), left, -1), ((*path, 1), right, -1))
                found.append((("question", k), (*case[:i], *two, *case[i + 1 :])))
        return found

    def actions(self, case: Case) -> Any:
        """[S] the action of a fixed leaf, −1 in open places; where nothing matters it is the first one."""
        actions = np.where(self.decisive, -1, 0)
        for _, region, action in case:
            actions[self.regions[region]] = action
        return actions

    def value(self, policy: Any) -> tuple[Any, Any]:
        """The return of a policy [S], from below and from above."""
        m, rows = self.model, np.arange(self.S) * self.A + policy
        reached = m.initial > 0
        fresh = np.flatnonzero(reached)
        while len(fresh):
            successors = np.unique(np.concatenate([m.indices[m.indptr[i] : m.indptr[i + 1]] for i in rows[fresh]]))
            fresh = successors[~reached[successors]]
            reached[fresh] = True
        # What cannot be reached has no influence, not even on the rounding.
        states = np.flatnonzero(reached)
        rows, place = rows[states], np.cumsum(reached) - 1
        lengths = m.indptr[rows + 1] - m.indptr[rows]
        entries = np.concatenate([np.arange(m.indptr[i], m.indptr[i + 1]) for i in rows])
        chain = Chain(place[m.indices[entries]], np.cumsum(lengths) - lengths)
        rewards = self.rewards[states, policy[states]]
        values = self.numbers(
            chain.values(m.discount * m.data[entries], m.rewards[states, policy[states]], self.terms * EPSILON)
        )
        weights = self.weights[entries]
        off = abs(rewards + chain.ahead(weights, values) - values)
        size = abs(rewards) + chain.ahead(weights, abs(values)) + abs(values)
        error = (off + self.terms * self.unit * size).max() / self.contraction * self.mass
        start = self.initial[states]
        total, rounding = (start * values).sum(), (self.S + 8) * self.unit * (start * abs(values)).sum()
        return total - rounding - error, total + rounding + error

    def _dense(self) -> Any:
        matrix = np.zeros((self.S * self.A, self.S))
        rows = np.repeat(np.arange(self.S * self.A), np.diff(self.model.indptr))
        np.add.at(matrix, (rows, self.model.indices), self.weights)
        return matrix.reshape(self.S, self.A, self.S)


@dataclass(frozen=True, eq=False)
class Chain:
    """Where the transitions of a policy lead, one row after the other, and where each row starts."""

    columns: Any
    starts: Any

    def ahead(self, weights: Any, V: Any) -> Any:
        """The sum of V over every row, with these weights."""
        return np.add.reduceat(weights * V[self.columns], self.starts)

    def values(self, weights: Any, rewards: Any, accuracy: float) -> Any:
        """Approximate values, by sweeps where few are enough or there are many states, else by a linear solve."""
        S = len(self.starts)
        V = np.zeros(S)
        for _ in range(MAX_SWEEPS if S <= 5000 else MANY_SWEEPS):
            step = rewards + self.ahead(weights, V) - V
            V = V + step
            if float(np.abs(step).max()) <= accuracy * float(np.abs(V).max()):
                return V
        if S > 5000:
            return V
        system = np.eye(S)
        rows = np.repeat(np.arange(S), np.diff(self.starts, append=len(self.columns)))
        np.subtract.at(system, (rows, self.columns), weights)
        inverse = np.linalg.inv(system)
        V = inverse @ rewards
        return V + inverse @ (rewards + self.ahead(weights, V) - V)


@dataclass(frozen=True, eq=False)
class Context:
    """What losses are counted from.

    Attributes:
        fixed: [S] the actions of the leaves for which U was made, −1 elsewhere.
        delta: [S, A] δ, rounded down and at least 0.
        allowed: [S, A] the actions that agree with `fixed`.
        budget: β, rounded up: what returns more than the bound loses less.
    """

    fixed: Any
    delta: Any
    allowed: Any
    budget: Any


@dataclass(frozen=True)
class Loss:
    """What leaves, given as regions and actions, lose at least inside their regions."""

    context: int
    leaves: tuple[tuple[int, int], ...]
    value: Any


@dataclass(frozen=True)
class Claim:
    """What every subtree of a size loses at least in a region."""

    context: int
    region: int
    size: Size
    value: Any


@dataclass(frozen=True, eq=False)
class Pending:
    """A vector W that is still to be verified; its losses must reach `value`, or the budget if λ is infinite."""

    forced: Any
    multiplier: Any
    W: Any
    value: Any
    what: str


def make_context(problem: Problem, U: Any, fixed: Any, excluded: Any, target: Any) -> Context:
    """The losses relative to a vector U.

    Args:
        problem: the problem.
        U: [S] any vector; only a good one gives a small budget.
        fixed: [S] the actions of fixed leaves, −1 elsewhere.
        excluded: [S, A] actions that nothing of interest takes.
        target: what is of interest returns more.
    """
    Q, rounding = problem.q_values(U)
    delta = U[:, None] - Q - rounding
    allowed = (fixed[:, None] < 0) | (fixed[:, None] == np.arange(problem.A))
    lack = max(problem.one * 0, -np.where(allowed & ~excluded, delta, problem.one).min())
    optimum = problem.at_start(U)[1] + lack / problem.contraction * problem.mass
    budget = optimum - target + 4 * problem.unit * (abs(optimum) + abs(target))
    return Context(fixed, np.where(delta > 0, delta, problem.one * 0), allowed, budget)


def losses_of(problem: Problem, context: Context, excluded: Any, columns: list[Pending]) -> list[Any]:
    """What each vector W shows: a loss, or for an infinite λ what the cheapest policy costs."""
    W = np.stack([it.W for it in columns], axis=1)
    forced = np.stack([it.forced for it in columns], axis=1)
    inside = forced >= 0
    multiplier = np.array([problem.one if it.multiplier is None else it.multiplier for it in columns])
    extra = np.array([problem.one * (it.multiplier is not None) for it in columns])
    factor = np.where(inside, multiplier + extra, multiplier)
    free = (context.allowed & ~excluded)[:, :, None] & ~inside[:, None, :]
    needed = free | (forced[:, None, :] == np.arange(problem.A)[None, :, None])
    Q = context.delta[:, :, None] * factor[:, None, :] + problem.ahead(W)
    rounding = problem.terms * problem.unit * (Q + W[:, None, :])
    violation = np.where(needed, W[:, None, :] - Q + rounding, problem.one * 0)
    excess = violation.reshape(-1, len(columns)).max(axis=0)
    shown = []
    for j, it in enumerate(columns):
        cost = problem.at_start(W[:, j])[0] - max(excess[j], 0) / problem.contraction * problem.mass
        allowance = 0 if it.multiplier is None else it.multiplier * context.budget
        shown.append(cost - allowance - 8 * problem.unit * (abs(cost) + abs(allowance)))
    return shown


class Options:
    """Bounds cases by vectors V, and keeps the inverses of boxes."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._boxes: dict[tuple[int, int], list[bytes]] = {}
        self._inverses: dict[tuple[bytes, int], Any] = {}
        self._kept = 0

    def bound(self, case: Case, size: Size, V: Any) -> Any:
        """No tree that completes a case returns more."""
        problem = self.problem
        Q, rounding = problem.q_values(V)
        gain = Q - V[:, None] + rounding
        actions = problem.actions(case)
        fixed = np.flatnonzero(actions >= 0)
        excess = max([problem.one * 0, *gain[fixed, actions[fixed]].tolist()])
        boxes: dict[bytes, None] = {}
        for path, region, action in case:
            if action < 0:
                below = size.below(case, path)
                boxes.update(dict.fromkeys(self.boxes(region, below.depth)))
        promising: dict[int, list[bytes]] = {}
        for box in boxes:
            # Where an action gains nothing in any state of a box, keeping it gains nothing either.
            inside = gain[np.frombuffer(box, dtype=np.int32)]
            for a in np.flatnonzero(inside.max(axis=0) > 0).tolist():
                promising.setdefault(a, []).append(box)
        for a, chosen in promising.items():
            if problem.matrix is None and not problem.exact:
                excess = max(excess, self._swept_gain(chosen, a, gain[:, a]))
            else:
                excess = max([excess, *(self._kept_gain(box, a, gain[:, a]) for box in chosen)])
        at_start = problem.at_start(V)[1]
        return at_start + excess / problem.contraction * problem.mass

    def _kept_gain(self, box: bytes, a: int, gain: Any) -> Any:
        """The most that is gained by keeping an action until the box is left: D = gain + γ P D."""
        problem, states = self.problem, np.frombuffer(box, dtype=np.int32)
        gain, inside = gain[states], self._inside(states, a)
        D = problem.numbers(self._inverse(box, inside, a) @ gain.astype(np.float64))
        size = abs(gain) + inside @ abs(D) + abs(D)
        off = (gain + inside @ D - D + problem.terms * problem.unit * size).max()
        return D.max() + max(off, 0) / problem.contraction * (1 + 8 * problem.unit)

    def _swept_gain(self, boxes: list[bytes], a: int, gain: Any) -> Any:
        """The same for many boxes of a large problem, found by sweeps."""
        problem, m = self.problem, self.problem.model
        starts, lengths = m.indptr[a :: problem.A][: problem.S], np.diff(m.indptr)[a :: problem.A]
        chain_starts = np.cumsum(lengths) - lengths
        entries = np.repeat(starts - chain_starts, lengths) + np.arange(lengths.sum())
        weights, columns = problem.weights[entries][:, None], m.indices[entries]
        inside = np.zeros((problem.S, len(boxes)), dtype=np.bool_)
        for j, box in enumerate(boxes):
            inside[np.frombuffer(box, dtype=np.int32), j] = True
        gains = np.where(inside, gain[:, None], 0.0)

        def ahead(D: Any) -> Any:
            return np.where(inside, np.add.reduceat(weights * D[columns], chain_starts, axis=0), 0.0)

        D = gains
        for _ in range(MANY_SWEEPS):
            change = gains + ahead(D) - D
            D = D + change
            if np.abs(change).max() <= EPSILON * np.abs(D).max():
                break
        size = abs(gains) + ahead(abs(D)) + abs(D)
        off = (gains + ahead(D) - D + problem.terms * EPSILON * size).max()
        return D.max() + max(off, 0.0) / problem.contraction * (1 + 8 * EPSILON)

    def _inside(self, states: Any, a: int) -> Any:
        """γ P between the states of a box under an action."""
        problem, m = self.problem, self.problem.model
        if problem.matrix is not None:
            return problem.matrix[np.ix_(states, [a], states)][:, 0]
        place = np.full(problem.S, -1)
        place[states] = np.arange(len(states))
        inside = np.full((len(states), len(states)), problem.one * 0)
        for i, s in enumerate(states):
            rows = slice(m.indptr[s * problem.A + a], m.indptr[s * problem.A + a + 1])
            for t, weight in zip(place[m.indices[rows]], problem.weights[rows], strict=True):
                if t >= 0:
                    inside[i, t] += weight
        return inside

    def _inverse(self, box: bytes, inside: Any, a: int) -> Any:
        if (box, a) not in self._inverses:
            if self._kept > INVERSES:
                self._inverses.clear()
                self._kept = 0
            self._inverses[box, a] = np.linalg.inv(np.eye(len(inside)) - inside.astype(np.float64))
            self._kept += inside.size
        return self._inverses[box, a]

    def boxes(self, region: int, k: int) -> list[bytes]:
        """Sets of states, of which every leaf with at most k questions contains one around each of its states.

        An answer is tight at a state if no other answer that holds there leaves strictly fewer states of the region.
        A leaf around a state is cut out by at most k answers, and each can be replaced by a tight one.
        """
        if (region, k) not in self._boxes:
            states = self.problem.regions[region]
            right = self.problem.sides[np.ix_(states, self.problem.dividing(region))]
            answers = np.hstack([~right, right]).T
            patterns = [np.flatnonzero(tight).tolist() for tight in np.unique(_tight(answers), axis=0)]
            if sum(math.comb(len(conditions), min(k, len(conditions))) for conditions in patterns) > MAX_BOXES:
                raise RejectedError(f"a region has more than {MAX_BOXES:,} boxes")
            found: dict[bytes, None] = {}
            for conditions in patterns:
                for chosen in combinations(conditions, min(k, len(conditions))):
                    inside = answers[list(chosen)].all(axis=0)
                    found[states[inside].astype(np.int32).tobytes()] = None
            self._boxes[region, k] = list(found)
        return self._boxes[region, k]


def _tight(answers: Any) -> Any:
    """[n, C] whether each of C answers [C, n] is tight at each of n states."""
    numbers = answers.astype(np.float64)
    sizes = numbers.sum(axis=1)
    smaller = (numbers @ numbers.T == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    beaten = numbers.T @ smaller.astype(np.float64) > 0
    return answers.T & ~beaten


@dataclass(frozen=True, eq=False)
class Renaming:
    """Other names for states and actions under which problem and questions stay as they are."""

    states: Any
    actions: Any


def renaming_error(problem: Problem, renaming: Renaming) -> Any:
    """How much the return of a tree may change under other names; raises if questions do not become questions."""
    g, h, m = renaming.states, renaming.actions, problem.model
    if not np.array_equal(np.sort(g), np.arange(problem.S)) or not np.array_equal(np.sort(h), np.arange(problem.A)):
        raise RejectedError("a symmetry is no permutation")
    if not np.array_equal(problem.decisive[g], problem.decisive):
        raise RejectedError("a symmetry takes a state where nothing matters to one where something does")
    known = {_division(side[problem.decisive]) for side in problem.sides.T}
    back = np.argsort(g)
    for k, side in enumerate(problem.sides.T):
        if _division(side[back][problem.decisive]) not in known:
            raise RejectedError(f"a symmetry does not turn question {k} into a question")
    size = (abs(problem.rewards).max() * (1 + 4 * problem.unit)) / problem.contraction
    rows, numbers = problem.one * 0, problem.numbers(m.data)
    for s in range(problem.S):
        for a in range(problem.A):
            one, other = s * problem.A + a, int(g[s]) * problem.A + int(h[a])
            here = {int(g[m.indices[e]]): numbers[e] for e in range(m.indptr[one], m.indptr[one + 1])}
            there = {int(m.indices[e]): numbers[e] for e in range(m.indptr[other], m.indptr[other + 1])}
            zero = problem.one * 0
            rows = max(rows, sum(abs(here.get(t, zero) - there.get(t, zero)) for t in {*here, *there}))
    rewards = abs(problem.rewards[np.ix_(g, h)] - problem.rewards).max()
    start = abs(problem.initial[g] - problem.initial).sum()
    error = (rewards + problem.discount * rows * size) / problem.contraction * problem.mass + start * size
    return error * problem.mass


def slack_of(problem: Problem, size: Size, renaming: Renaming) -> Any:
    """How much more than the trees that are looked at a tree may return that symmetries turn into one of them.

    It may be renamed once for every way to go on at each of its nodes, and anew whenever two leaves that act alike
    become one.
    """
    steps = 2 * size.leaves**2 * (problem.A + problem.sides.shape[1])
    return renaming_error(problem, renaming) * steps * (1 + 8 * problem.unit)


def _division(side: Any) -> bytes:
    return bytes((side ^ side[0]).tobytes()) if len(side) else b""


class Checker:
    """Follows a certificate record by record."""

    def __init__(self, problem: Problem, size: Size, bound: float) -> None:
        self.problem, self.size = problem, size
        self.target: Any = Fraction(bound) if problem.exact else bound
        self.slack = problem.one * 0
        self.options = Options(problem)
        self.excluded = np.zeros((problem.S, problem.A), dtype=np.bool_)
        self.regions = [0]
        self.contexts: list[Context] = []
        self.losses: list[Loss] = []
        self.claims: list[Claim] = []
        self.renamings: list[Renaming] = []
        self.pending: dict[tuple[int, bool], list[Pending]] = {}
        self.open: dict[int, Case] = {0: (((), 0, -1),)}
        self.cases = 1

    def follow(self, records: "Records") -> None:
        """Check everything up to the end."""
        for number, (record, raw) in enumerate(records):
            kind, *rest = record
            step = getattr(self, f"_{kind}", None) if kind in STEPS else None
            if step is None or len(rest) != STEPS[kind]:
                raise UnreadableError(f"record {number} is no record of a certificate")
            try:
                step(raw, *rest)
            except RejectedError as error:
                raise RejectedError(f"record {number} ({kind}): {error}") from None
            except (TypeError, ValueError, IndexError, KeyError, OverflowError) as error:
                raise UnreadableError(f"record {number} ({kind}) is not understood: {error}") from None
        for key in list(self.pending):
            self._verify(key)
        if self.open:
            case = min(self.open)
            open_cases = _counted(len(self.open), "case is", "cases are")
            raise RejectedError(f"{open_cases} left open, such as case {case}: {self._words(case)}")

    def _symmetry(self, raw: bytes) -> None:
        names = np.frombuffer(raw, dtype="<i4").astype(np.int64)
        if len(names) != self.problem.S + self.problem.A or self.cases > 1 or self.contexts:
            raise RejectedError("a symmetry has another length, or comes too late")
        renaming = Renaming(names[: self.problem.S], names[self.problem.S :])
        self.slack = max(self.slack, slack_of(self.problem, self.size, renaming))
        self.renamings.append(renaming)

    @property
    def goal(self) -> Any:
        """What no case may return more than."""
        return self.target - self.slack - 2 * self.problem.unit * (abs(self.target) + self.slack)

    def _region(self, raw: bytes, parent: int, question: int, right: int) -> None:
        region = _item(self.regions, parent)
        if question not in self.problem.dividing(region) or right not in (0, 1):
            raise RejectedError(f"question {question!r} does not divide the region")
        self.regions.append(self.problem.split(region, question)[right])

    def _context(self, raw: bytes, case: int | None) -> None:
        fixed = np.full(self.problem.S, -1) if case is None else self.problem.actions(self._case(case))
        U = self._vector(raw)
        self.contexts.append(make_context(self.problem, U, fixed, self.excluded, self.goal))

    def _without(self, raw: bytes, state: int, action: int) -> None:
        context = _item(self.contexts, 0)
        if not (0 <= state < self.problem.S and 0 <= action < self.problem.A) or np.any(context.fixed >= 0):
            raise RejectedError("there is no such state or action")
        forced = np.full(self.problem.S, -1)
        forced[state] = action
        self._expect((0, False), Pending(forced, None, self._cost(raw), None, f"action {action} in state {state}"))
        self.excluded[state, action] = True

    def _loss(self, raw: bytes, context: int, leaves: list[Any], multiplier: Any, value: Any) -> None:
        _item(self.contexts, context)
        forced = np.full(self.problem.S, -1)
        named = tuple((_item(self.regions, region), int(action)) for region, action in leaves)
        for region, action in named:
            states = self.problem.regions[region]
            if not 0 <= action < self.problem.A or np.any(forced[states] >= 0):
                raise RejectedError("leaves overlap or have no action")
            forced[states] = action
        if multiplier is not None:
            multiplier, value = self._number(multiplier), self._number(value)
            if not 0 <= multiplier <= LARGEST_MULTIPLIER:
                raise RejectedError(f"λ is {float(multiplier)}")
        what = f"loss {len(self.losses)}"
        self._expect((context, True), Pending(forced, multiplier, self._cost(raw), value, what))
        self.losses.append(Loss(context, named, math.inf if multiplier is None else value))

    def _claim(self, raw: bytes, context: int, region: int, depth: int, leaves: int, tokens: list[Any]) -> None:
        _item(self.contexts, context)
        if not all(type(it) is int for it in (depth, leaves)) or not (0 <= depth < 60 and 1 <= leaves <= 2**depth):
            raise RejectedError("there is no such size")
        size = Size(depth, leaves)
        number = _item(self.regions, region)
        stack: list[Case] = [(((), number, -1),)]
        value: Any = math.inf
        for token in tokens:
            if not stack:
                raise RejectedError("there are more steps than cases")
            case = stack.pop()
            if token[0] == "b":
                _check_open(case, token[1])
                stack += [child for _, child in self.problem.children(case, token[1], size)][::-1]
                if len(stack) > MAX_CASES:
                    raise RejectedError("there are too many cases")
            else:
                value = min(value, self._lost(context, case, size, token))
        if stack:
            raise RejectedError(f"{_counted(len(stack), 'case')} of the claim left open")
        self.claims.append(Claim(context, number, size, value))

    def _branch(self, raw: bytes, number: int, place: int, dropped: list[Any]) -> None:
        case = self._case(number)
        _check_open(case, place)
        children = self.problem.children(case, place, self.size)
        instead = {(str(kind), int(which)): _item(self.renamings, by) for kind, which, by in dropped}
        if len(instead) != len(dropped) or not instead.keys() <= {label for label, _ in children}:
            raise RejectedError("what is left out is no way to go on")
        del self.open[number]
        for i, (label, child) in enumerate(children):
            if label in instead:
                self._check_symmetry(case, place, label, instead[label], [it for it, _ in children[:i]])
            else:
                self.open[self.cases] = child
                self.cases += 1
        if len(self.open) > MAX_CASES:
            raise RejectedError("there are too many cases")

    def _check_symmetry(
        self, case: Case, place: int, label: tuple[str, int], renaming: Renaming, before: list[tuple[str, int]]
    ) -> None:
        """Raise unless the case is turned into itself and one way to go on into an earlier one."""
        problem = self.problem
        actions = problem.actions(case)
        labels = actions.copy()
        for i, (_, region, action) in enumerate(case):
            if action < 0:
                labels[problem.regions[region]] = -1 - i
        seen = labels[problem.decisive]
        used = np.unique(seen[seen >= 0])
        if not np.array_equal(labels[renaming.states][problem.decisive], seen) or np.any(
            renaming.actions[used] != used
        ):
            raise RejectedError(f"the symmetry for {label} does not turn the case into itself")
        region = case[place][1]
        if label[0] == "action":
            turned = ("action", int(renaming.actions[label[1]]))
        else:
            states = np.sort(renaming.states[problem.regions[problem.split(region, label[1])[0]]])
            side = problem.region(states)
            turned = next(
                (("question", k) for k in problem.dividing(region) if side in problem.split(region, k)), label
            )
        if turned not in before:
            raise RejectedError(f"the symmetry turns {label} into {turned}, which does not come before it")

    def _close(self, raw: bytes, number: int, context: int, token: list[Any]) -> None:
        case = self._case(number)
        if token[0] == "options":
            shown = self.options.bound(case, self.size, self._vector(raw))
            reached = shown <= self.goal
        elif token[0] == "value":
            if any(action < 0 for _, _, action in case):
                raise RejectedError("a case with open places has no value")
            shown = self.problem.value(self.problem.actions(case))[1]
            reached = shown <= self.goal
        else:
            about = _item(self.contexts, context)
            if np.any((about.fixed >= 0) & (about.fixed != self.problem.actions(case))):
                raise RejectedError(f"context {context} is about other leaves than case {number}")
            lost = self._lost(context, case, self.size, token)
            shown, reached = f"losses of {float(lost):.9g} of {float(about.budget):.9g}", lost >= about.budget
        if not reached:
            raise RejectedError(f"case {number}, {self._words(number)}, is not closed by {shown}")
        del self.open[number]

    def _lost(self, context: int, case: Case, size: Size, token: list[Any]) -> Any:
        """What a case loses at least, by a step of a certificate."""
        if token[0] == "x":
            allowed = _item(self.contexts, context).allowed & ~self.excluded
            fixed = [(self.problem.regions[region], action) for _, region, action in case if action >= 0]
            if all(allowed[states, action].all() for states, action in fixed):
                raise RejectedError("no leaf takes an action that is left out")
            return math.inf
        if token[0] == "h":
            if [path for path, _, action in case if action < 0] != [(0,), (1,)] or len(case) != 2:
                raise RejectedError("only a single question has two halves")
            shares, pairs = size.shares(), token[1]
            if len(pairs) != len(shares):
                raise RejectedError("a way to share the leaves is missing")
            sums = [
                self._claimed(context, case[0][1], one, left) + self._claimed(context, case[1][1], other, right)
                for (one, other), (left, right) in zip(shares, pairs, strict=True)
            ]
            return min(sums) * (1 - 8 * self.problem.unit)
        if token[0] != "s":
            raise RejectedError(f"there is no step {token[0]!r}")
        return self._sum(context, case, size, token[1], token[2])

    def _sum(self, context: int, case: Case, size: Size, losses: list[int], claims: list[int]) -> Any:
        fixed = {region: action for _, region, action in case if action >= 0}
        opens = [(path, region) for path, region, action in case if action < 0]
        total = self.problem.one * 0
        for number in losses:
            loss = _item(self.losses, number)
            if loss.context != context:
                raise RejectedError(f"loss {number} is of another context")
            for region, action in loss.leaves:
                if fixed.pop(region, None) != action:
                    raise RejectedError(f"loss {number} is about a leaf that is not there, or was counted before")
            total += max(loss.value, 0)
        if len(claims) != len(opens):
            raise RejectedError("there is not one claim for every open place")
        for number, (path, region) in zip(claims, opens, strict=True):
            total += self._claimed(context, region, size.below(case, path), number)
        return total * (1 - (len(case) + 8) * self.problem.unit)

    def _claimed(self, context: int, region: int, size: Size, number: int) -> Any:
        if number == -1:
            return self.problem.one * 0
        claim = _item(self.claims, number)
        if claim.context != context or claim.region != region or not claim.size.covers(size):
            raise RejectedError(f"claim {number} is about something else")
        return max(claim.value, 0)

    def _expect(self, key: tuple[int, bool], pending: Pending) -> None:
        waiting = self.pending.setdefault(key, [])
        waiting.append(pending)
        if len(waiting) >= self.problem.columns:
            self._verify(key)

    def _verify(self, key: tuple[int, bool]) -> None:
        """Verify the vectors that wait; what is left out of a problem is so without reference to what else is."""
        context = self.contexts[key[0]]
        excluded = self.excluded if key[1] else np.zeros_like(self.excluded)
        waiting = self.pending.pop(key)
        for it, shown in zip(waiting, losses_of(self.problem, context, excluded, waiting), strict=True):
            needed = context.budget if it.multiplier is None else it.value
            if not shown >= needed:
                raise RejectedError(f"{it.what}: its vector shows {float(shown):.9g}, not {float(needed):.9g}")

    def _vector(self, raw: bytes) -> Any:
        """The vector of a record."""
        lengths = {4 * self.problem.S: "<f4", 8 * self.problem.S: "<f8"}
        if len(raw) not in lengths:
            raise RejectedError(f"a vector has {len(raw)} bytes")
        with np.errstate(invalid="ignore"):
            vector = np.frombuffer(raw, dtype=lengths[len(raw)]).astype(np.float64)
        if not np.all(np.abs(vector) <= LARGEST):
            raise RejectedError("a vector is not finite")
        return self.problem.numbers(vector)

    def _cost(self, raw: bytes) -> Any:
        vector = self._vector(raw)
        if np.any(vector < 0):
            raise RejectedError("a vector of costs is negative somewhere")
        return vector

    def _number(self, number: Any) -> Any:
        if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= LARGEST:
            raise RejectedError(f"{number!r:.40} is not a finite number")
        return Fraction(number) if self.problem.exact else float(number)

    def _case(self, number: int) -> Case:
        if number not in self.open:
            raise RejectedError(f"case {number!r:.40} is not open")
        return self.open[number]

    def _words(self, number: int) -> str:
        names = self.problem.model.action_names
        places = [
            f"{''.join('LR'[step] for step in path) or 'root'}: {'open' if action < 0 else repr(names[action])}"
            for path, _, action in self.open[number][:8]
        ]
        return ", ".join(places)


STEPS = {"symmetry": 0, "region": 3, "context": 1, "without": 2, "loss": 4, "claim": 5, "branch": 3, "close": 3}
"""The kinds of records and how many entries follow."""


def _item(items: list[Any], number: Any) -> Any:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(items):
        raise RejectedError(f"there is no number {number!r:.40}")
    return items[number]


def _check_open(case: Case, place: Any) -> None:
    if not isinstance(place, int) or not 0 <= place < len(case) or case[place][2] >= 0:
        raise RejectedError(f"there is no open place {place!r:.40}")


class Records:
    """The records of a certificate, each a list and raw bytes; `head` is what it says of itself."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self.stream, self.limit = stream, limit
        self.digest = hashlib.sha256()
        self.head = self._line()
        if self.head[:1] != [FORMAT] or len(self.head) != 2 or not isinstance(self.head[1], dict):
            raise UnreadableError(f"this is no certificate: it does not begin with {FORMAT!r}")

    def __iter__(self) -> Iterator[tuple[list[Any], bytes]]:
        while True:
            digest = self.digest.hexdigest()
            line = self._line()
            if line[:1] == ["end"]:
                if line[1:] != [digest] or self.stream.read(1):
                    raise UnreadableError("the certificate was changed: its checksum does not fit")
                return
            if len(line) < 2 or not isinstance(line[-1], int) or not 0 <= line[-1] <= self.limit:
                raise UnreadableError("a record does not say how many bytes follow, or too many")
            raw = self.stream.read(line[-1])
            if len(raw) < line[-1]:
                raise UnreadableError("the certificate ends too early")
            self.digest.update(raw)
            yield line[:-1], raw

    def _line(self) -> list[Any]:
        line = self.stream.readline(MAX_LINE)
        self.digest.update(line)
        if not line.endswith(b"\n"):
            raise UnreadableError("the certificate ends too early, or has a line that is too long")
        record = json.loads(line)
        if not isinstance(record, list) or not record or not isinstance(record[0], str):
            raise UnreadableError("a record is no list")
        return record


@dataclass(frozen=True, eq=False)
class Claimed:
    """What a solution says."""

    value: float
    bound: float
    size: Size | None
    discount: float
    policy: Any
    shape: Size
    questions: Questions
    forbid: bool


def read_solution(data: Any, model: Model) -> Claimed:
    """What a solution claims of a model, given the content of its file."""
    if not isinstance(data, dict) or data.get("format") != SOLUTION:
        raise UnreadableError(f"this is not a solution: its format is not {SOLUTION!r}")
    questions = Questions.read(data.get("questions"))
    columns = questions.columns(model.features, model.feature_names)
    for key, names in (("feature_names", columns[1]), ("action_names", model.action_names)):
        if data.get(key) != list(names):
            raise UnreadableError(f"the solution is of another problem: its {key} are not those of the model")
    numbers = [data.get(key) for key in ("value", "bound", "discount")]
    if not all(isinstance(x, int | float) and abs(x) <= LARGEST for x in numbers):
        raise UnreadableError("value, bound or discount of the solution is not a finite number")
    depth, leaves = data.get("max_depth"), data.get("max_leaf_nodes")
    for limit, least in ((depth, 0), (leaves, 1)):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < least):
            raise UnreadableError("a limit on the size of the tree is not a whole number")
    size = None
    if depth is not None or leaves is not None:
        most = 2 ** min(depth or 0, 1000) if leaves is None else leaves
        size = Size(most - 1 if depth is None else min(depth, most - 1), most)
    rule = data.get("unavailable", "fallback")
    if rule not in ("fallback", "forbid"):
        raise UnreadableError(f"what the tree may do with unavailable actions is {rule!r:.40}, not fallback or forbid")
    policy, shape = _policy(data.get("tree"), *columns, model.action_names)
    value, bound, discount = (float(x) for x in numbers)  # type: ignore[arg-type]
    return Claimed(value, bound, size, discount, policy, shape, questions, rule == "forbid")


def _policy(tree: Any, columns: Any, names: tuple[str, ...], actions: tuple[str, ...]) -> tuple[Any, Size]:
    """[S] the actions of a tree of nested dictionaries, and its size."""
    policy = np.zeros(len(columns), dtype=np.int64)
    depth, leaves = 0, 0
    for node, states, level, right in _nodes(tree, columns, names):
        depth = max(depth, level)
        if right is None:
            if node["action"] not in actions:
                raise UnreadableError(f"the tree takes the unknown action {node['action']!r:.80}")
            policy[states] = actions.index(node["action"])
            leaves += 1
    return policy, Size(depth, leaves)


def _nodes(tree: Any, columns: Any, names: tuple[str, ...]) -> Iterator[tuple[Any, Any, int, Any]]:
    """Every node of a tree, the states that come to it, its level, and which of them go right; None in a leaf."""
    stack = [(tree, np.arange(len(columns)), 0)]
    while stack:
        node, states, level = stack.pop()
        if not isinstance(node, dict):
            raise UnreadableError("a node of the tree is no object")
        if "action" in node:
            yield node, states, level, None
            continue
        if node.get("feature") not in names:
            raise UnreadableError(f"the tree asks for the unknown feature {node.get('feature')!r:.80}")
        column = columns[states, names.index(node["feature"])]
        threshold = node.get("equals", node.get("threshold"))
        if isinstance(threshold, bool) or not isinstance(threshold, int | float):
            raise UnreadableError(f"the tree compares with {threshold!r:.40}")
        right = column != threshold if "equals" in node else column > threshold
        yield node, states, level, right
        stack += [(node.get("right"), states[right], level + 1), (node.get("left"), states[~right], level + 1)]


def _check_asked(tree: Any, problem: Problem) -> None:
    """Raise unless every node divides the states that come to it as a question does, whatever number it names."""
    columns = problem.questions.columns(problem.model.features, problem.model.feature_names)
    for node, states, _, right in _nodes(tree, *columns):
        # Without groups every threshold is a question.
        if right is None or (problem.questions.groups is None and "equals" not in node):
            continue
        if right.any() and not right.all():
            inside = problem.sides[states]
            if not np.any(np.all((inside ^ inside[:1]) == (right ^ right[0])[:, None], axis=0)):
                raise RejectedError(f"the tree asks {node['feature']!r:.80} a question that the solution does not name")


def _check_available(policy: Any, model: Model) -> None:
    """Raise if the tree names an action in a state that some policy reaches and that does not offer it."""
    if model.available is None:
        return
    missing = _reached(model) & ~model.available[np.arange(len(policy)), policy]
    if missing.any():
        s = int(missing.argmax())
        raise RejectedError(
            f"the solution forbids unavailable actions, but in state {s} the tree names "
            f"{model.action_names[policy[s]]!r:.80}, which is not available there"
        )


def _reached(model: Model) -> Any:
    """[S] whether some policy comes to each state."""
    reached = model.initial > 0
    source = np.repeat(np.arange(len(reached)), np.diff(model.indptr[:: model.rewards.shape[1]]))
    source, target = source[model.data > 0], model.indices[model.data > 0]
    starts = np.searchsorted(source, np.arange(len(reached) + 1))
    todo = np.flatnonzero(reached).tolist()
    while todo:
        s = todo.pop()
        after = target[starts[s] : starts[s + 1]]
        new = np.unique(after[~reached[after]])
        reached[new] = True
        todo += new.tolist()
    return reached


@dataclass(frozen=True)
class Verdict:
    """What was verified.

    Attributes:
        value: the value that was recomputed.
        bound: the bound that the certificate proves, or None without one.
        cases: how many partial trees it took.
        claims: how many claims about regions.
        losses: how many vectors of costs.
        questions: what the trees that the bound is about may ask, in words; empty for thresholds on every feature.
        forbid: whether the tree was to name no unavailable action, in any state that can be reached, and names none.
    """

    value: float
    bound: float | None
    cases: int = 0
    claims: int = 0
    losses: int = 0
    questions: str = ""
    forbid: bool = False


def check(model: Model, solution: Any, certificate: Path | None, *, exact: bool = False) -> Verdict:
    """Check a solution, and its bound if there is a certificate.

    Args:
        model: the problem that was solved.
        solution: the content of the solution's JSON file.
        certificate: the file that proves the bound.
        exact: whether to compute with rational numbers, which takes long.

    Raises:
        UnreadableError: if a file is not what it should be.
        RejectedError: if something that is claimed is not proven.
    """
    claimed = read_solution(solution, model)
    if claimed.discount != model.discount:
        raise UnreadableError(
            f"the solution is for the discount {claimed.discount!r}, the model has {model.discount!r}"
        )
    problem = Problem(model, claimed.questions, exact=exact)
    if claimed.size is not None and not claimed.size.covers(claimed.shape):
        leaves = _counted(claimed.shape.leaves, "leaf", "leaves")
        raise RejectedError(f"the tree has depth {claimed.shape.depth} and {leaves}: too large")
    if claimed.forbid:
        _check_available(claimed.policy, model)
    low, high = problem.value(claimed.policy)
    # A solver that finds the values of all states together rounds relative to the largest of them.
    largest = float(abs(model.rewards).max()) / float(problem.contraction)
    tolerance = (high - low) + EPSILON * (4 * abs(claimed.value) + largest)
    value = float(low + high) / 2
    if not low - tolerance <= claimed.value <= high + tolerance:
        raise RejectedError(f"the tree returns {value!r}, but the solution claims {claimed.value!r}")
    if certificate is None:
        return Verdict(value, None, forbid=claimed.forbid)
    if claimed.size is None:
        raise RejectedError("the solution has no limit on the size, so there is nothing to prove")
    _check_asked(solution.get("tree"), problem)
    checker = Checker(problem, claimed.size, claimed.bound)
    try:
        with open(certificate, "rb") as file:
            if file.read(len(HEAD)) != HEAD:
                raise UnreadableError(f"{certificate} is no certificate: it does not begin like one")
            file.seek(0)
            with gzip.open(file, "rb") as stream:
                records = Records(stream, 8 * (problem.S + problem.A))  # type: ignore[arg-type]
                _check_head(records.head[1], problem, claimed, solution.get("questions"))
                checker.follow(records)
    except OSError as error:
        raise UnreadableError(f"cannot read {certificate}: {error.strerror or error}") from None
    except (EOFError, zlib.error, RecursionError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{certificate} is damaged: {error}") from None
    counts = (checker.cases, len(checker.claims), len(checker.losses))
    return Verdict(value, claimed.bound, *counts, questions=claimed.questions.words(), forbid=claimed.forbid)


def _check_head(head: dict[str, Any], problem: Problem, claimed: Claimed, questions: Any) -> None:
    assert claimed.size is not None
    if head.get("asks") != questions:
        raise RejectedError("the certificate is about trees that may ask other questions than the solution says")
    said = {key: head.get(key) for key in ("states", "actions", "questions", "depth", "leaves", "discount")}
    true = {
        "states": problem.S,
        "actions": problem.A,
        "questions": problem.sides.shape[1],
        "depth": claimed.size.depth,
        "leaves": claimed.size.leaves,
        "discount": claimed.discount,
    }
    for key, value in true.items():
        if said[key] != value:
            raise RejectedError(f"the certificate is about {said[key]!r:.40} {key}, the problem has {value}")
    if head.get("policy") != policy_digest(claimed.policy):
        raise RejectedError("the certificate belongs to another tree")


def policy_digest(policy: Any) -> str:
    """By what a certificate recognises its tree."""
    return hashlib.sha256(policy.astype("<i4").tobytes()).hexdigest()


def read_model(path: Path, fallback: str | None = None) -> Model:
    """The model of an npz file, as `omdt.write` writes it.

    Args:
        path: the file.
        fallback: replaces the one in the file: the action that is played where an unavailable one is named.
    """
    names = ("data", "indices", "indptr", "rewards", "initial", "features", "discount", "feature_names", "action_names")
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_MODEL:
                raise UnreadableError(f"{path} would take more than {MAX_MODEL:,} bytes")
        with np.load(path, allow_pickle=False) as arrays_of:
            arrays = {name: np.asarray(arrays_of[name]) for name in names}
            optional = {name: np.asarray(arrays_of[name]) for name in ("available", "fallback") if name in arrays_of}
    except (OSError, KeyError, ValueError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        raise UnreadableError(f"{path} is not a readable model: {error}") from None
    mask = None
    if fallback is None and "fallback" in optional:
        fallback = str(optional["fallback"])
    if fallback is not None and fallback not in arrays["action_names"].ravel().tolist():
        raise UnreadableError(f"{path}: the fallback {fallback!r:.80} is not an action of the model")
    if "available" in optional:
        try:
            mask = _mask(optional["available"], arrays["rewards"].shape)
            arrays |= _filled_in(arrays, mask, fallback)
        except (ValueError, IndexError) as error:
            raise UnreadableError(f"{path}: available does not fit the model: {error}") from None
    for name in names[:-2]:
        if arrays[name].dtype.kind not in "iuf" or not np.isfinite(arrays[name]).all():
            raise UnreadableError(f"{path}: {name} must be finite numbers")
    rewards, indptr, indices = arrays["rewards"], arrays["indptr"].astype(np.int64), arrays["indices"].astype(np.int64)
    if rewards.ndim != 2 or arrays["features"].ndim != 2 or len(arrays["features"]) != len(rewards):
        raise UnreadableError(f"{path}: rewards or features have the wrong shape")
    S, A = rewards.shape
    fits = len(indptr) == S * A + 1 and len(indices) == len(arrays["data"]) == indptr[-1] and indptr[0] == 0
    if not fits or np.any(np.diff(indptr) < 1) or np.any((indices < 0) | (indices >= S)):
        raise UnreadableError(f"{path}: the transitions are not a matrix of shape [{S * A}, {S}]")
    sums = np.add.reduceat(arrays["data"], indptr[:-1])
    if np.any(arrays["data"] < 0) or np.any(np.abs(sums - 1) > 4 * EPSILON * np.diff(indptr)):
        raise UnreadableError(f"{path}: the probabilities of a row do not sum to 1; omdt.write makes them do so")
    initial = arrays["initial"]
    if initial.shape != (S,) or np.any(initial < 0) or abs(initial.sum() - 1) > 4 * EPSILON * S:
        raise UnreadableError(f"{path}: initial is not a distribution over {S} states")
    discount = float(arrays["discount"])
    if not 0 < discount < 1:
        raise UnreadableError(f"{path}: the discount is {discount}")
    features, actions = (tuple(str(name) for name in arrays[key]) for key in ("feature_names", "action_names"))
    if len(features) != arrays["features"].shape[1] or len(actions) != A:
        raise UnreadableError(f"{path}: there is not one name for every feature and action")
    dynamics = (arrays["data"], indices, indptr, rewards, initial, arrays["features"], discount)
    return Model(*dynamics, features, actions, mask)


def _counted(number: int, one: str, many: str = "") -> str:
    """A number with the noun that fits it; this file needs nothing else of the package."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _mask(available: Any, shape: tuple[int, ...]) -> Any:
    """[S, A] the truth values of what is available."""
    if available.shape != shape:
        raise ValueError(f"its shape is {available.shape}, that of the rewards {shape}")
    if available.dtype != np.bool_ and not (available.dtype.kind in "iuf" and np.isin(available, (0, 1)).all()):
        raise ValueError("it must hold truth values, or 0 and 1")
    mask = available != 0
    if not mask.any(axis=1).all():
        raise ValueError("a state has no available action")
    return mask


def _filled_in(arrays: dict[str, Any], mask: Any, fallback: str | None) -> dict[str, Any]:
    """Transitions and rewards in which an unavailable action does what is played instead.

    That is the fallback where it is available, otherwise the first available action.
    """
    S, A = mask.shape
    played = np.broadcast_to(mask.argmax(axis=1)[:, None], (S, A))
    if fallback is not None:
        b = arrays["action_names"].tolist().index(fallback)
        played = np.where(mask[:, [b]], b, played)
    played = np.where(mask, np.arange(A), played)
    rows = (np.arange(S)[:, None] * A + played).ravel()
    starts, lengths = arrays["indptr"][:-1].astype(np.int64)[rows], np.diff(arrays["indptr"]).astype(np.int64)[rows]
    ends = np.cumsum(lengths)
    entries = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)
    return {
        "data": arrays["data"][entries],
        "indices": arrays["indices"][entries],
        "indptr": np.concatenate([[0], ends]),
        "rewards": np.take_along_axis(arrays["rewards"], played, axis=1),
    }


def words(verdict: Verdict) -> str:
    """What was verified, in words."""
    names = "names no unavailable action"
    if verdict.bound is None:
        kept = f", and the tree {names}" if verdict.forbid else ""
        return f"value {verdict.value:.9g} VERIFIED{kept}; the bound was not checked, that takes --certificate"
    returns = f"{names} and returns" if verdict.forbid else "returns"
    trees = "tree within the limits" + (f" that asks only for {verdict.questions}" if verdict.questions else "")
    return (
        f"VERIFIED: the tree {returns} {verdict.value:.9g}, and no {trees} more than {verdict.bound:.9g} "
        f"({_counted(verdict.cases, 'case')}, {_counted(verdict.claims, 'claim')}, "
        f"{_counted(verdict.losses, 'loss', 'losses')})"
    )


def main(arguments: list[str] | None = None) -> int:
    """The stand-alone command: 0 when everything is verified, 1 when something is not, 2 for unreadable files."""
    parser = argparse.ArgumentParser(prog="python -m omdt.check", description="Check a solution of omdt.")
    parser.add_argument("solution", type=Path)
    parser.add_argument("model", type=Path, help="an npz file, as omdt.write writes it")
    parser.add_argument("--certificate", type=Path)
    parser.add_argument("--exact", action="store_true", help="compute with rational numbers")
    options = parser.parse_args(arguments)
    try:
        solution = json.loads(options.solution.read_text(encoding="utf-8"))
        fallback = solution.get("fallback") if isinstance(solution, dict) else None
        print(words(check(read_model(options.model, fallback), solution, options.certificate, exact=options.exact)))
    except RejectedError as error:
        print(f"NOT VERIFIED: {error}")
        return 1
    except (UnreadableError, OSError, ValueError, RecursionError) as error:
        print(f"omdt.check: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
