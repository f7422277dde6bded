"""Check: whether a solution's tree has the value it claims, and whether a certificate proves its bound.

This file imports numpy and nothing of this package: whoever doubts the search reads this instead. It runs by itself,
`python -m omdt.check SOLUTION MODEL.npz --certificate FILE`, or behind `omdt check`. The page "What proven means here"
of the documentation has the mathematics in full, and the format of a certificate. The file has three sections:
reading, arithmetic, and the argument, which is this:

To be shown is that no tree within the size limit returns more than the bound B. A *case* is a partial tree with fixed
leaves and open places; case 0 is a single open place. A case is either branched at an open place into every action as a
leaf and every question that divides the place, or closed, because no tree that completes it returns more than B:

- by *losses*. For a vector U let δ(s, a) = U(s) − r(s, a) − γ P(s, a)·U. A policy with discounted visits x returns
  p0·U − Σ x δ, so a policy that returns more than B loses less than the budget β = p0·U − B. A set F of leaves loses,
  inside F, at least p0·W − λ β, for every vector W with W ≤ (1 + λ) δ + γ P W on F and W ≤ λ δ + γ P W elsewhere. The
  losses of disjoint parts of a tree add up; when they reach the budget, the case is closed. What *every* subtree of a
  certain size loses in a region is a claim, proven by cases of its own.
- by *options*. V bounds all trees of the case if an agent gains nothing on V that plays the actions of fixed leaves and
  elsewhere keeps an action until it leaves a box: a set of states that every leaf around the present state contains.
- by its *value*, if no place is open.

Vectors need not be exact: one that violates its inequality by e proves e / (1 − γ) less (`Arithmetic.error_of`). Every
violation is computed with a bound on its own rounding error (`Arithmetic.rounding`), which is zero with `--exact`.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations, count
from pathlib import Path
from types import UnionType
from typing import NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

FORMAT, SOLUTION = "omdt-certificate-1", "omdt-solution-1"
HEAD = bytes.fromhex("1f8b08000000000002ff")  # the first bytes of every certificate: gzip without a name or a time

EPSILON = 2.0**-52  # relative rounding error of one floating-point operation, at most
LARGEST = 1e250  # absolute value of a number in a file, at most, so that no sum overflows
LARGEST_MULTIPLIER = 1e50  # of losses, at most, so that no product with a large number overflows
MAX_LINE = 1 << 24  # bytes per line of a certificate; the longest ones, claims of many steps, take about a megabyte
MAX_CASES = 5_000_000  # open cases at any time; more would take gigabytes
MAX_BOXES = 200_000  # boxes per region; more would take hours
MAX_MODEL = 1 << 32  # bytes of a model's arrays, unpacked: a small archive can claim to hold any amount
SOLVED_STATES = 5000  # states up to which a linear system is solved by its inverse, which then takes 200 MB
STATES_PER_SWEEP, MANY_SWEEPS = 50, 100_000  # states per sweep before an inverse is used; most sweeps without one
COLUMNS, MAX_NUMBERS = 256, 1 << 24  # vectors verified together, and numbers in memory for that; more are not faster
DENSE = 30_000_000  # entries up to which the transitions are kept as a dense array, too: faster, 240 MB
INVERSES = 1 << 24  # numbers in inverses that are kept for other cases, 128 MB

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[np.float64]  # or Fractions with `exact`, likewise wherever a single number is a float
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Shape: TypeAlias = "str | type | UnionType | list[Shape] | tuple[Shape, ...] | dict[str, tuple[Shape, ...]]"
Case: TypeAlias = tuple[tuple[tuple[int, ...], int, int], ...]
"""A partial tree, its leaves and open places from left to right: path (0 left, 1 right), region, action (−1 if open)"""
Label: TypeAlias = tuple[str, int]  # a way to continue at an open place: ("action", a) or ("question", k)
Group: TypeAlias = tuple[str, bool, tuple[float, ...] | None]  # column, equality?, numbers to compare with or all
Leaves: TypeAlias = list[tuple[int, int]]  # regions and actions
Step: TypeAlias = list[object]  # of a proof: its kind, and the entries that `STEP` lists
T = TypeVar("T")
N = TypeVar("N", float, npt.NDArray[np.float64])


class UnreadableError(ValueError):
    """A file is not what it should be."""


class RejectedError(Exception):
    """What was claimed is not proven."""


def _require(condition: bool | np.bool_, message: str, error: type[Exception] = RejectedError) -> None:
    """Raise an error about a proof unless a condition holds."""
    if not condition:
        raise error(message)


_readable = partial(_require, error=UnreadableError)  # the same about a file


# ---- Reading: JSON, the records of a certificate, the model, questions, sizes, the solution --------------------------


def _typed(value: Json, kind: type[T], what: str) -> T:
    """A JSON value of this type; a truth value is no number."""
    if not isinstance(value, kind) or isinstance(value, bool):
        nouns = {int: "a whole number", str: "a text", list: "a list", dict: "an object"}
        raise UnreadableError(f"{what} is {value!r:.40}, not {nouns[kind]}")
    return value


def _finite(value: Json, what: str, largest: float = sys.float_info.max) -> float:
    """A JSON value that is a number, and not too large."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= largest:
        raise UnreadableError(f"{what} is {value!r:.40}, not a finite number")
    return float(value)


def records(stream: gzip.GzipFile, limit: int) -> Iterator[tuple[list[Json], bytes]]:
    """The records of a certificate, each with raw bytes, at most as many as the limit; the first record is its head."""
    digest = hashlib.sha256()
    for number in count():
        before, line = digest.hexdigest(), stream.readline(MAX_LINE)
        _readable(line.endswith(b"\n"), "the certificate ends too early, or has a line that is too long")
        try:
            record = _typed(json.loads(line), list, "a record")
        except (ValueError, RecursionError) as error:
            raise UnreadableError(f"a line of the certificate is damaged: {error}") from None
        if record[:1] == ["end"] and number > 0:
            unchanged = record[1:] == [before] and stream.read(1) == b""
            _readable(unchanged, "the certificate was changed: its checksum does not fit")
            return
        known = number > 0 or record[:1] == [FORMAT]
        _readable(known, f"this is no certificate: its format is not {FORMAT!r}")
        length = _typed(record.pop() if record else None, int, "the number of bytes after a record") if number else 0
        _readable(0 <= length <= limit, f"a record cannot be followed by {length} bytes")
        raw = stream.read(length)
        _readable(len(raw) == length, "the certificate ends too early")
        digest.update(line + raw)
        yield record, raw


def _entries_of(indptr: Ints, rows: Ints) -> Ints:
    """The positions of the entries of some rows of a sparse matrix, one row after the other."""
    lengths = indptr[rows + 1] - indptr[rows]
    return np.repeat(indptr[rows] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())


@dataclass(frozen=True, eq=False)
class Model:
    """A Markov decision process in plain arrays, transitions as rows s·A + a of a sparse matrix."""

    data: Floats
    indices: Ints
    indptr: Ints
    rewards: Floats  # [S, A]; rewards and rows of unavailable actions are those of the action that is played instead
    initial: Floats
    features: Floats
    discount: float
    feature_names: tuple[str, ...]
    action_names: tuple[str, ...]
    available: Bools | None = None  # [S, A] which actions are available; None if all are

    def reached(self, rows: Ints) -> Bools:
        """[S] whether a state can be reached if these rows [S, n] of the transitions may be taken."""
        reached = self.initial > 0
        fresh = np.flatnonzero(reached)
        while len(fresh):
            entries = _entries_of(self.indptr, rows[fresh].ravel())
            successors = np.unique(self.indices[entries[self.data[entries] > 0]])
            fresh = successors[~reached[successors]]
            reached[fresh] = True
        return reached


DAMAGED = (OSError, LookupError, ValueError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)
MODEL_NUMBERS = ("indices", "indptr", "data", "rewards", "initial", "features", "discount")
MODEL_NAMES = ("feature_names", "action_names")


def read_model(path: Path, fallback: str | None = None) -> Model:
    """The model of an npz file, as `omdt.write` writes it; `fallback` is played instead of the fallback in the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
            _readable(size <= MAX_MODEL, f"it would take {size:,} bytes, more than {MAX_MODEL:,}")
        with np.load(path, allow_pickle=False) as file:
            known = [name for name in ("available", "fallback") if name in file]
            return _model({name: np.asarray(file[name]) for name in (*MODEL_NUMBERS, *MODEL_NAMES, *known)}, fallback)
    except DAMAGED as error:
        raise UnreadableError(f"{path} is not a readable model: {error}") from None


def _model(arrays: dict[str, npt.NDArray[np.generic]], fallback: str | None) -> Model:
    S, A, F, n = (arrays[name].size for name in ("initial", "action_names", "feature_names", "data"))
    shapes = {"indptr": (S * A + 1,), "indices": (n,), "data": (n,), "rewards": (S, A), "available": (S, A)}
    shapes |= {"initial": (S,), "features": (S, F), "feature_names": (F,), "action_names": (A,)}
    for name, array in arrays.items():
        shape = shapes.get(name, ())
        _readable(array.shape == shape, f"{name} does not fit the model: its shape is {array.shape}, not {shape}")
        _readable(name not in MODEL_NUMBERS or array.dtype.kind in "iuf", f"{name} must be finite numbers")
    features, actions = (tuple(str(name) for name in arrays[key]) for key in MODEL_NAMES)
    fallback = str(arrays["fallback"]) if fallback is None and "fallback" in arrays else fallback
    _readable(fallback in (None, *actions), f"the fallback {fallback!r:.80} is not an action of the model")
    numbers = {name: arrays[name].astype(np.float64) for name in MODEL_NUMBERS}
    whole = f"the transitions are not a matrix of shape [{S * A}, {S}]"
    ends = numbers["indptr"]
    _readable(np.isfinite(ends).all() and ends[0] == 0 and ends[-1] == n and np.all(np.diff(ends) >= 0), whole)
    number = None if fallback is None else actions.index(fallback)
    available = _fill_in(numbers, arrays["available"], number) if "available" in arrays else None
    for name, array in numbers.items():
        _readable(np.isfinite(array).all(), f"{name} must be finite numbers")
    indices, indptr = (numbers.pop(name).astype(np.int64) for name in MODEL_NUMBERS[:2])
    data, rewards, initial, table, discount = numbers.values()
    _readable(np.all(np.diff(indptr) > 0) and np.all((indices >= 0) & (indices < S)), whole)
    off = np.abs(np.add.reduceat(data, indptr[:-1]) - 1) > 4 * EPSILON * np.diff(indptr)
    sums = "the probabilities of a row do not sum to 1; omdt.write makes them do so"
    _readable(np.all(data >= 0) and not np.any(off), sums)
    distribution = np.all(initial >= 0) and abs(initial.sum() - 1) <= 4 * EPSILON * S
    _readable(distribution, f"initial is not a distribution over {S} states")
    _readable(bool(0 < discount < 1), f"the discount is {discount}, not between 0 and 1")
    return Model(data, indices, indptr, rewards, initial, table, float(discount), features, actions, available)


def _fill_in(numbers: dict[str, Floats], stated: npt.NDArray[np.generic], fallback: int | None) -> Bools:
    """Let unavailable actions do what is played instead: the fallback where it is available, or the first that is."""
    truths = stated.dtype.kind in "biuf" and np.isin(stated, (0, 1)).all()
    _readable(truths, "available must hold truth values, or 0 and 1")
    available, (S, A), indptr = stated.astype(np.bool_), stated.shape, numbers["indptr"].astype(np.int64)
    _readable(available.any(axis=1).all(), "a state has no available action")
    first = available.argmax(axis=1)[:, None]
    played = first if fallback is None else np.where(available[:, [fallback]], fallback, first)
    played = np.where(available, np.arange(A), played)
    rows = (np.arange(S)[:, None] * A + played).ravel()
    for name in ("data", "indices"):
        numbers[name] = numbers[name][_entries_of(indptr, rows)]
    numbers["indptr"] = np.concatenate([[0.0], np.cumsum(np.diff(indptr)[rows])])
    numbers["rewards"] = np.take_along_axis(numbers["rewards"], played, axis=1)
    return available


def _division(side: Bools) -> bytes:
    """The same for questions that divide states in the same way, even if left and right are swapped."""
    return np.packbits(side ^ side[:1]).tobytes()


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


@dataclass(frozen=True)
class Questions:
    """What the trees may ask; by default one threshold between every two neighbouring values of every feature."""

    groups: tuple[Group, ...] | None = None  # the questions in their order; None for thresholds on every column
    predicates: tuple[tuple[str, bytes], ...] = ()  # columns of 0 and 1 behind the features: names, and bits per state
    states: int = 0  # the number of states that the predicates are about

    @classmethod
    def read(cls, statement: Json) -> "Questions":
        """The questions that a solution, or the head of a certificate, states; None states the default."""
        if statement is None:
            return cls()
        stated = _typed(statement, dict, "the statement of the questions")
        _readable(stated.keys() <= {"asked", "predicates"}, "the statement of the questions is not understood")
        asked = stated.get("asked")
        groups = None if asked is None else tuple(_group(entry) for entry in _typed(asked, list, "asked"))
        predicates = _typed(stated.get("predicates", {"states": 0, "holds": {}}), dict, "predicates")
        states = _typed(predicates.get("states"), int, "the number of states of the predicates")
        holds = _typed(predicates.get("holds"), dict, "where the predicates hold")
        return cls(groups, tuple((name, _bits(text, name, states)) for name, text in holds.items()), states)

    def columns(self, features: Floats, names: tuple[str, ...]) -> tuple[Floats, tuple[str, ...]]:
        """What a tree can ask about in each state: the features, then the predicates [S, F'], and their names."""
        if not self.predicates:
            return features, names
        S, names = len(features), (*names, *(name for name, _ in self.predicates))
        _readable(self.states == S, f"the predicates are about {self.states} states, the model has {S}")
        _readable(len(set(names)) == len(names), "a predicate has the name of a feature")
        packed = np.array([np.frombuffer(bits, dtype=np.uint8) for _, bits in self.predicates])
        return np.hstack([features, np.unpackbits(packed, axis=1, count=S).T.astype(np.float64)]), names

    def sides(self, columns: Floats, names: tuple[str, ...]) -> Bools:
        """[S, K] whether a state goes right at a question: above a threshold, or different in an equality.

        Of questions that divide the states in the same way the first counts. A number that is stated must divide them:
        otherwise a statement would seem to be about trees that ask more than they can.
        """
        sides: dict[bytes, Bools] = {}
        for name, equality, numbers in self._groups(names):
            _readable(name in names, f"there are questions about the unknown feature {name!r:.80}")
            column = columns[:, names.index(name)]
            values = np.unique(column) if equality else np.unique(column)[:-1]
            for number in values.tolist() if numbers is None else numbers:
                side = column != number if equality else column > number
                divides = side.any() and not side.all()
                useful = divides or numbers is None
                _readable(useful, f"to compare {name!r:.80} with {number!r} divides no states")
                if divides:
                    sides.setdefault(_division(side), side)
        return np.array([*sides.values()], dtype=np.bool_).reshape(len(sides), len(columns)).T

    def words(self) -> str:
        """The questions in words; empty for the default."""
        predicates = [name for name, _ in self.predicates]
        parts = ["thresholds on every feature"] if self.groups is None and predicates else []
        for name, equality, numbers in self._groups(predicates):
            # A predicate is asked about where some number tells 0 from 1.
            tells = numbers is None or any(x in (0, 1) if equality else 0 <= x < 1 for x in numbers)
            one, many = ("value of", "values of") if equality else ("threshold on", "thresholds on")
            listed = f"{many if numbers is None else _counted(len(numbers), one, many)} {name!r}"
            parts.append(f"the predicate {name!r}" if tells and name in predicates else listed)
        return ", ".join(parts) or ("" if self.groups is None else "nothing")

    def _groups(self, names: Sequence[str]) -> Sequence[Group]:
        return [(name, False, None) for name in names] if self.groups is None else self.groups


def _group(entry: Json) -> Group:
    """The questions about one column, as a statement has them."""
    stated, kind = (entry, "equals" if "equals" in entry else "threshold") if isinstance(entry, dict) else ({}, "")
    _readable(stated.keys() == {"feature", kind}, f"{entry!r:.80} does not state the questions about a feature")
    name, numbers = _typed(stated["feature"], str, "the feature of a question"), stated[kind]
    if numbers == "all":
        return name, kind == "equals", None
    what = f"what {name!r:.80} is compared with"
    return name, kind == "equals", tuple(_finite(number, what) for number in _typed(numbers, list, what))


def _bits(text: Json, name: str, states: int) -> bytes:
    try:
        bits = base64.b64decode(_typed(text, str, name), validate=True)
    except ValueError:
        bits = b""
    fit = len(bits) == (states + 7) // 8
    _readable(fit, f"the predicate {name!r:.80} does not have one bit for each of {states} states")
    return bits


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


class Claimed:
    """What a solution says of a model, given the content of its file."""

    def __init__(self, content: Json, model: Model) -> None:
        data = content if isinstance(content, dict) else {}
        _readable(data.get("format") == SOLUTION, f"this is not a solution: its format is not {SOLUTION!r}")
        self.stated = data.get("questions")
        self.questions = Questions.read(self.stated)
        columns, names = self.questions.columns(model.features, model.feature_names)
        true = {"feature_names": [*names], "action_names": [*model.action_names], "discount": model.discount}
        for key, its in true.items():
            said = data.get(key)
            _readable(said == its, f"the solution is of another problem: {key} is {said!r:.80}, not {its!r:.80}")
        self.value = _finite(data.get("value"), "the solution's value", LARGEST)
        self.bound = _finite(data.get("bound"), "the solution's bound", LARGEST)
        rule = data.get("unavailable", "fallback")
        wrong = f"what the tree may do with unavailable actions is {rule!r:.40}, not fallback or forbid"
        _readable(rule in ("fallback", "forbid"), wrong)
        self.forbid = rule == "forbid"
        self.limit = _limit(data.get("max_depth"), data.get("max_leaf_nodes"))
        self.policy = np.zeros(len(model.rewards), dtype=np.int64)
        # For every node its feature, whether it is an equality, the states that come to it, and which of them go right.
        self.asked: list[tuple[str, bool, Ints, Bools]] = []
        self.size = self._read_tree(data.get("tree"), columns, names, model.action_names)

    def _read_tree(self, tree: Json, columns: Floats, names: tuple[str, ...], actions: tuple[str, ...]) -> Size:
        """Follow the states through a tree of nested objects; its size."""
        stack: list[tuple[Json, Ints, int]] = [(tree, np.arange(len(self.policy)), 0)]
        depth = leaves = 0
        while stack:
            content, states, level = stack.pop()
            node = _typed(content, dict, "a node of the tree")
            if "action" in node:
                action = _typed(node["action"], str, "the action of a leaf")
                _readable(action in actions, f"the tree takes the unknown action {action!r:.80}")
                self.policy[states] = actions.index(action)
                depth, leaves = max(depth, level), leaves + 1
                continue
            feature, equality = _typed(node.get("feature"), str, "the feature of a node"), "equals" in node
            _readable(feature in names, f"the tree asks for the unknown feature {feature!r:.80}")
            number = _finite(node.get("equals", node.get("threshold")), f"what {feature!r:.80} is compared with")
            column = columns[states, names.index(feature)]
            right = column != number if equality else column > number
            self.asked.append((feature, equality, states, right))
            stack += [(node.get("right"), states[right], level + 1), (node.get("left"), states[~right], level + 1)]
        return Size(depth, leaves)


def _limit(depth: Json, leaves: Json) -> Size | None:
    """The size limit of a solution, None without one."""
    for limit, least in ((depth, 0), (leaves, 1)):
        enough = limit is None or _typed(limit, int, "a limit on the size of the tree") >= least
        _readable(enough, f"a limit on the size of the tree is {limit}, less than {least}")
    if isinstance(leaves, int):
        return Size(min(depth, leaves - 1) if isinstance(depth, int) else leaves - 1, leaves)
    return Size(depth, 2 ** min(depth, 1000)) if isinstance(depth, int) else None


# ---- Arithmetic: floating-point numbers with bounds on their rounding errors, or rational numbers --------------------


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
            rows = np.repeat(np.arange(n), np.diff(self.floats.starts, append=len(self.floats.columns)))
            matrix = np.bincount(rows * n + self.floats.columns, self.floats.weights, n * n).reshape(n, n)
            self.inverse = np.linalg.inv(np.eye(n) - matrix).astype(np.float64, copy=False)
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
        _readable(self.contraction > 0, "the discount is too close to 1 for the rounding of the transitions")
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
        entries, lengths = _entries_of(self.model.indptr, rows), self.model.indptr[rows + 1] - self.model.indptr[rows]
        return Rows(self.dynamics.weights[entries], self.model.indices[entries], np.cumsum(lengths) - lengths)

    def ahead(self, X: Numbers) -> Numbers:
        """[S, A, n] γ P X for n columns [S, n]."""
        product = self.dynamics.ahead(X) if self.matrix is None or self.exact else self.matrix @ X
        return product.reshape(self.S, self.A, -1)

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

    def value(self, policy: Ints) -> tuple[float, float]:
        """The return of a policy [S], from below and from above."""
        # States that the policy does not reach have no influence, not even on the rounding.
        reached = self.model.reached(np.arange(self.S)[:, None] * self.A + policy[:, None])
        states = np.flatnonzero(reached)
        V, error = System(self, states, policy[states]).solve(self.rewards[states, policy[states]])
        low, high = self.at_start(V, states)
        return low - error, high + error


# ---- The argument: cases, losses, options, symmetries, the certificate, and the verdict ------------------------------


class Problem(Arithmetic):
    """The model with its questions, and the regions and cases that they make."""

    def __init__(self, model: Model, questions: Questions | None = None, *, exact: bool = False) -> None:
        super().__init__(model, exact=exact)
        self.questions = Questions() if questions is None else questions
        self._numbers: dict[bytes, int] = {}
        self.split, self.dividing = cache(self._split), cache(self._dividing)  # asked again for every case

    @cached_property
    def sides(self) -> Bools:
        """[S, K] whether a state goes right at a question."""
        return self.questions.sides(*self.questions.columns(self.model.features, self.model.feature_names))

    @cached_property
    def decisive(self) -> Bools:
        """[S] whether actions differ in rewards or transitions; all states, if they differ in none."""
        m = self.model
        lengths = np.diff(m.indptr).reshape(self.S, self.A)
        alike = (m.rewards == m.rewards[:, :1]).all(axis=1) & (lengths == lengths[:, :1]).all(axis=1)
        for s in np.flatnonzero(alike):
            entries = slice(m.indptr[s * self.A], m.indptr[(s + 1) * self.A])
            rows = np.stack([m.indices[entries], m.data[entries]]).reshape(2, self.A, -1)
            alike[s] = (rows == rows[:, :1]).all()
        return np.asarray(alike if alike.all() else ~alike)

    @cached_property
    def regions(self) -> list[Ints]:
        """The states of every region that has a number; region 0 has all states where actions differ."""
        return [np.flatnonzero(self.decisive)]

    def region(self, states: Ints) -> int:
        """The number of a set of sorted states."""
        number = self._numbers.setdefault(states.astype(np.int32).tobytes(), len(self.regions))
        if number == len(self.regions):
            self.regions.append(states)
        return number

    def _split(self, region: int, k: int) -> tuple[int, int]:
        """The two sides of a question within a region."""
        states = self.regions[region]
        right = self.sides[states, k]
        return self.region(states[~right]), self.region(states[right])

    def _dividing(self, region: int) -> list[int]:
        """The questions that divide a region, the first of those that do it in the same way."""
        inside = self.sides[self.regions[region]]
        first: dict[bytes, int] = {}
        for k in np.flatnonzero((inside != inside[:1]).any(axis=0)):
            first.setdefault(_division(inside[:, k]), int(k))
        return sorted(first.values())

    def children(self, case: Case, i: int, size: Size) -> list[tuple[Label, Case]]:
        """What can become of an open place: a leaf with each action, or each question that divides it.

        A leaf beside a leaf with the same action is left out: both act as one leaf, a child of the case above.
        """
        path, region, _ = case[i]
        beside = [action for other, _, action in case if path and other == (*path[:-1], 1 - path[-1])]
        actions = [a for a in range(self.A) if a not in beside]
        ways: list[tuple[Label, Case]] = [(("action", a), ((path, region, a),)) for a in actions]
        if len(path) < size.depth and len(case) < size.leaves:
            for k in self.dividing(region):
                left, right = self.split(region, k)
                ways.append((("question", k), (((*path, 0), left, -1), ((*path, 1), right, -1))))
        return [(label, (*case[:i], *parts, *case[i + 1 :])) for label, parts in ways]

    def actions(self, case: Case) -> Ints:
        """[S] the action of a fixed leaf, −1 in open places, and 0 where actions do not differ."""
        actions = np.where(self.decisive, -1, 0)
        for _, region, action in case:
            actions[self.regions[region]] = action
        return actions


@dataclass(frozen=True, eq=False)
class Context:
    """What losses are counted from."""

    fixed: Ints  # [S] the actions of the leaves for which U was made, −1 elsewhere
    delta: Numbers  # [S, A] δ, rounded down and at least 0
    allowed: Bools  # [S, A] the actions that agree with `fixed`
    budget: float  # β, rounded up: a policy that returns more than the bound loses less


@dataclass(frozen=True, eq=False)
class Pending:
    """A vector W that is still to be verified."""

    forced: Ints  # [S] the actions of the leaves F, −1 elsewhere
    multiplier: float | None  # λ; None for an infinite one
    W: Numbers
    value: float | None  # the loss that W must show; the budget if λ is infinite
    what: str  # its name in errors


def make_context(problem: Problem, U: Numbers, fixed: Ints, excluded: Bools, target: float) -> Context:
    """The losses relative to a vector U [S], of policies that return more than the target.

    These take the actions of fixed leaves [S], −1 elsewhere, and none of the excluded actions [S, A].
    """
    Q, rounding = problem.q_values(U)
    delta = U[:, None] - Q - rounding
    allowed = (fixed[:, None] < 0) | (fixed[:, None] == np.arange(problem.A))
    lack = max(0, -np.where(allowed & ~excluded, delta, 1).min())
    optimum = problem.at_start(U)[1] + problem.error_of(lack)
    budget = optimum - target + problem.rounding(4, abs(optimum) + abs(target))
    return Context(fixed, np.where(delta > 0, delta, 0), allowed, budget)


def losses_of(problem: Problem, context: Context, excluded: Bools, columns: list[Pending]) -> list[float]:
    """What each vector W shows: a loss, or for an infinite λ what the cheapest policy costs."""
    W = np.stack([it.W for it in columns], axis=1)
    forced = np.stack([it.forced for it in columns], axis=1)
    inside = forced >= 0
    factor = np.array([1 if it.multiplier is None else it.multiplier for it in columns])
    factor = factor + (inside & [it.multiplier is not None for it in columns])
    free = (context.allowed & ~excluded)[:, :, None] & ~inside[:, None, :]
    needed = free | (forced[:, None, :] == np.arange(problem.A)[None, :, None])
    Q = context.delta[:, :, None] * factor[:, None, :] + problem.ahead(W)
    rounding = problem.rounding(problem.terms, Q + W[:, None, :])
    violation = np.where(needed, W[:, None, :] - Q + rounding, 0).reshape(-1, len(columns)).max(axis=0)
    shown: list[float] = []
    for j, it in enumerate(columns):
        cost = problem.at_start(W[:, j])[0] - problem.error_of(max(violation[j], 0))
        allowance = 0 if it.multiplier is None else it.multiplier * context.budget
        shown.append(cost - allowance - problem.rounding(8, abs(cost) + abs(allowance)))
    return shown


class Options:
    """Bounds cases by vectors V, and remembers the boxes of regions and the equations of boxes."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.boxes = cache(self._boxes)
        self._systems: dict[tuple[bytes, int], System] = {}
        self._kept = 0

    def bound(self, case: Case, size: Size, V: Numbers) -> float:
        """No tree that completes a case returns more."""
        problem, actions = self.problem, self.problem.actions(case)
        Q, rounding = problem.q_values(V)
        gain = Q - V[:, None] + rounding
        fixed = np.flatnonzero(actions >= 0)
        excess: float = max([0, *gain[fixed, actions[fixed]].tolist()])
        opens = [(region, size.below(case, path).depth) for path, region, action in case if action < 0]
        for box in dict.fromkeys(box for region, k in opens for box in self.boxes(region, k)):
            states = np.frombuffer(box, dtype=np.int64)
            # By being kept until the box is left, an action gains no more than its largest gain there in every step.
            for a in np.flatnonzero(problem.error_of(gain[states].max(axis=0)) > excess).tolist():
                kept, error = self._system(box, states, a).solve(gain[states, a])
                excess = max(excess, kept.max() + error)
        return problem.at_start(V)[1] + problem.error_of(excess)

    def _system(self, box: bytes, states: Ints, a: int) -> System:
        """The equations of what is gained by keeping an action until a box is left."""
        if (box, a) not in self._systems:
            self._kept += len(states) ** 2
            if self._kept > INVERSES:
                self._systems, self._kept = {}, len(states) ** 2
            self._systems[box, a] = System(self.problem, states, a)
        return self._systems[box, a]

    def _boxes(self, region: int, k: int) -> list[bytes]:
        """Sets of states, of which every leaf with at most k questions contains one around each of its states.

        An answer is tight at a state if no other answer that holds there leaves strictly fewer states of the region.
        A leaf around a state is cut out by at most k answers, and each can be replaced by a tight one.
        """
        states = self.problem.regions[region]
        right = self.problem.sides[states][:, self.problem.dividing(region)]
        answers = np.hstack([~right, right]).T
        patterns = [np.flatnonzero(tight).tolist() for tight in np.unique(_tight(answers), axis=0)]
        number = sum(math.comb(len(conditions), min(k, len(conditions))) for conditions in patterns)
        _require(number <= MAX_BOXES, f"a region has more than {MAX_BOXES:,} boxes")
        found: dict[bytes, None] = {}
        for conditions in patterns:
            for chosen in combinations(conditions, min(k, len(conditions))):
                found[states[answers[list(chosen)].all(axis=0)].tobytes()] = None
        return list(found)


def _tight(answers: Bools) -> Bools:
    """[n, C] whether each of C answers [C, n] is tight at each of n states."""
    numbers = answers.astype(np.float64)
    sizes = numbers.sum(axis=1)
    smaller = (numbers @ numbers.T == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    return np.asarray(answers.T & ~(numbers.T @ smaller.astype(np.float64) > 0))


@dataclass(frozen=True, eq=False)
class Renaming:
    """Other names for states [S] and actions [A] under which problem and questions stay as they are."""

    states: Ints
    actions: Ints


def slack_of(problem: Problem, size: Size, renaming: Renaming) -> float:
    """How much more a tree may return than the one that symmetries turn it into; raises if this is no symmetry.

    A tree may be renamed once for every way to continue at each of its nodes, and anew whenever two leaves that act
    alike become one.
    """
    g, h, decisive, m, S, A = renaming.states, renaming.actions, problem.decisive, problem.model, problem.S, problem.A
    permutes = np.array_equal(np.sort(g), np.arange(S)) and np.array_equal(np.sort(h), np.arange(A))
    _require(permutes, "a symmetry is no permutation")
    kept = np.array_equal(decisive[g], decisive)
    _require(kept, "a symmetry takes a state where actions do not differ to one where they do")
    known = {_division(side[decisive]) for side in problem.sides.T}
    for k, side in enumerate(problem.sides[np.argsort(g)].T):
        _require(_division(side[decisive]) in known, f"a symmetry does not turn question {k} into a question")
    rows, data = np.repeat(np.arange(S * A), np.diff(m.indptr)), problem.numbers(m.data)
    renamed = (g[rows // A] * A + h[rows % A]) * S + g[m.indices]
    keys, entries = np.unique(np.concatenate([renamed, rows * S + m.indices]), return_inverse=True)
    differences, transitions = problem.numbers(np.zeros(len(keys))), problem.numbers(np.zeros(S * A))
    np.add.at(differences, entries, np.concatenate([data, -data]))
    np.add.at(transitions, keys // S, abs(differences))
    rewards = abs(problem.rewards[np.ix_(g, h)] - problem.rewards)
    start = abs(problem.initial[g] - problem.initial).sum()
    off = problem.error_of(rewards.max() + problem.discount * transitions.max() * problem.largest_return)
    steps = 2 * size.leaves**2 * (A + problem.sides.shape[1])
    slack: float = (off + start * problem.largest_return) * problem.mass * steps
    return slack * (1 + problem.rounding(8, 1.0))


STEP: dict[str, tuple[Shape, ...]] = {"b": (int,), "s": (["loss"], ["claim"]), "h": ([("claim", "claim")],)}
STEP |= {"x": (), "options": (), "value": ()}
RECORD: dict[str, tuple[Shape, ...]] = {
    "symmetry": (),
    "region": ("region", int, "side"),  # parent, question, side
    "context": ("case",),
    "without": ("state", "action"),
    "loss": ("context", [("region", "action")], int | float | None, int | float | None),  # leaves, λ, value
    "claim": ("context", "region", int, int, [STEP]),  # depth, leaves, steps
    "branch": (int, int, [(str, int, "symmetry")]),  # case, place, ways to continue and why they are left out
    "close": (int, int, STEP),  # case, context, step
}
"""The kinds of records with the shapes of their entries: a type; the name of a kind of things, for the number of one; a
list of any length, a tuple for a list of just these entries, and a dictionary for one that begins with its kind."""


class _Loss(NamedTuple):
    context: Context
    leaves: Leaves
    value: float  # what the leaves lose at least inside their regions


class _Claim(NamedTuple):
    context: Context
    region: int
    size: Size
    value: float  # what every subtree of this size loses at least in the region


Claims: TypeAlias = list[_Claim | None]


class Checker:
    """Follows a certificate record by record; there is a method for every kind of record."""

    def __init__(self, problem: Problem, size: Size, bound: float) -> None:
        self.problem, self.size = problem, size
        self.target, self.slack = problem.number(bound), problem.number(0.0)
        self.options = Options(problem)
        self.excluded = np.zeros((problem.S, problem.A), dtype=np.bool_)
        self.regions, self.contexts, self.renamings = [0], list[Context](), list[Renaming]()
        self.losses, self.claims = list[_Loss](), list[_Claim]()
        self.open: dict[int, Case] = {0: (((), 0, -1),)}
        self.cases = 1
        self.pending: dict[tuple[Context, bool], list[Pending]] = {}
        self.things: dict[str, Sequence[object] | dict[int, Case]] = {"case": self.open, "region": self.regions}
        self.things |= {"context": self.contexts, "loss": self.losses, "claim": self.claims, "side": range(2)}
        self.things |= {"symmetry": self.renamings, "state": range(problem.S), "action": range(problem.A)}

    def follow(self, records: Iterator[tuple[list[Json], bytes]]) -> None:
        """Check everything up to the end."""
        for number, (record, raw) in enumerate(records):
            try:
                kind, *entries = cast(list[object], self._parsed(record, RECORD))
                method: Callable[..., None] = getattr(self, f"_{kind}")
                method(raw, *entries)
            except RejectedError as error:
                raise RejectedError(f"record {number} ({record[0]}): {error}") from None
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise UnreadableError(f"record {number}, {record!r:.80}, is not understood: {error}") from None
        for key in list(self.pending):
            self._verify(key)
        if self.open:
            number, case = min(self.open.items())
            opens = _counted(len(self.open), "case is", "cases are")
            raise RejectedError(f"{opens} left open, such as case {number}: {self._words(case)}")

    def _parsed(self, value: Json, shape: Shape) -> object:
        """A part of a record, if it has this shape, with things instead of their numbers."""
        if isinstance(shape, str):
            return self._thing(value, shape)
        if isinstance(value, list):
            if isinstance(shape, list):
                return [self._parsed(entry, shape[0]) for entry in value]
            if isinstance(shape, dict) and value and isinstance(value[0], str) and value[0] in shape:
                return [value[0], *cast(list[object], self._parsed(value[1:], shape[value[0]]))]
            if isinstance(shape, tuple) and len(value) == len(shape):
                return list(map(self._parsed, value, shape))
        elif isinstance(shape, type | UnionType) and isinstance(value, shape) and not isinstance(value, bool):
            _readable(not isinstance(value, int | float) or abs(value) <= LARGEST, "a number is too large")
            return value
        raise UnreadableError(f"{value!r:.40} has another shape than such a record")

    def _thing(self, number: Json, kind: str) -> object:
        """The thing with a number; null stands for no case, and −1 for no claim."""
        known = self.things[kind]
        if type(number) is int and (number in known if isinstance(known, dict) else 0 <= number < len(known)):
            return known[number]
        nothing = number is None if kind == "case" else kind == "claim" and type(number) is int and number == -1
        _require(nothing, f"there is no {kind} {number!r:.40}")
        return None

    @property
    def goal(self) -> float:
        """No case may return more: the bound, less what symmetries may cost."""
        return self.target - self.slack - self.problem.rounding(2, abs(self.target) + self.slack)

    def _symmetry(self, raw: bytes) -> None:
        S, early = self.problem.S, self.cases == 1 and not self.contexts
        _require(len(raw) == 4 * (S + self.problem.A), "a symmetry does not name every state and action")
        _require(early, "a symmetry comes after a context or a branch")
        names = np.frombuffer(raw, dtype="<i4").astype(np.int64)
        self.renamings.append(Renaming(names[:S], names[S:]))
        self.slack = max(self.slack, slack_of(self.problem, self.size, self.renamings[-1]))

    def _region(self, raw: bytes, parent: int, question: int, side: int) -> None:
        _require(question in self.problem.dividing(parent), f"question {question} does not divide the region")
        self.regions.append(self.problem.split(parent, question)[side])

    def _context(self, raw: bytes, case: Case | None) -> None:
        fixed = np.full(self.problem.S, -1) if case is None else self.problem.actions(case)
        self.contexts.append(make_context(self.problem, self._vector(raw), fixed, self.excluded, self.goal))

    def _without(self, raw: bytes, state: int, action: int) -> None:
        _require(len(self.contexts) > 0 and np.all(self.contexts[0].fixed < 0), "context 0 is not about all policies")
        forced = np.where(np.arange(self.problem.S) == state, action, -1)
        what = f"action {action} in state {state}"
        self._expect(self.contexts[0], False, Pending(forced, None, self._vector(raw, 0.0), None, what))
        self.excluded[state, action] = True

    def _loss(self, raw: bytes, about: Context, leaves: Leaves, multiplier: float | None, value: float | None) -> None:
        forced = np.full(self.problem.S, -1)
        for region, action in leaves:
            states = self.problem.regions[region]
            _require(np.all(forced[states] < 0), "leaves overlap")
            forced[states] = action
        least = math.inf
        if multiplier is not None:
            possible = value is not None and 0 <= multiplier <= LARGEST_MULTIPLIER
            _require(possible, f"λ is {multiplier} and the loss {value}")
            multiplier, least = self.problem.number(multiplier), self.problem.number(value or 0.0)
        what = f"loss {len(self.losses)}"
        self._expect(about, True, Pending(forced, multiplier, self._vector(raw, 0.0), least, what))
        self.losses.append(_Loss(about, leaves, least))

    def _claim(self, raw: bytes, context: Context, region: int, depth: int, leaves: int, steps: list[Step]) -> None:
        possible = 0 <= depth < 60 and 1 <= leaves <= 2**depth
        _require(possible, f"no tree has depth {depth} and {leaves} leaves")
        size, value = Size(depth, leaves), math.inf
        stack: list[Case] = [(((), region, -1),)]
        for kind, *entries in steps:
            _require(len(stack) > 0, "there are more steps than cases")
            case = stack.pop()
            if kind == "b":
                stack += [child for _, child in reversed(self._children(case, cast(int, entries[0]), size))]
                _require(len(stack) <= MAX_CASES, "there are too many cases")
            else:
                value = min(value, self._lost(context, case, size, kind, entries))
        _require(not stack, f"{_counted(len(stack), 'case', 'cases')} of the claim left open")
        self.claims.append(_Claim(context, region, size, value))

    def _branch(self, raw: bytes, number: int, place: int, dropped: list[tuple[str, int, Renaming]]) -> None:
        case = self._taken(number)
        children = self._children(case, place, self.size)
        labels = [label for label, _ in children]
        instead = {(kind, which): renaming for kind, which, renaming in dropped}
        _require(instead.keys() <= set(labels), "what is left out is no way to continue the case")
        _require(len(instead) == len(dropped), "something is left out twice")
        for i, (label, child) in enumerate(children):
            if label in instead:
                self._check_symmetry(case, place, label, instead[label], labels[:i])
            else:
                self.open[self.cases] = child
                self.cases += 1
        _require(len(self.open) <= MAX_CASES, "there are too many cases")

    def _check_symmetry(self, case: Case, place: int, label: Label, renaming: Renaming, before: list[Label]) -> None:
        """Raise unless the case is turned into itself and one way to continue it into an earlier one."""
        problem, region = self.problem, case[place][1]
        parts = [(path, its, -1 - i if action < 0 else action) for i, (path, its, action) in enumerate(case)]
        labels = problem.actions(tuple(parts))
        seen = labels[problem.decisive]
        used = np.unique(seen[seen >= 0])
        same = np.array_equal(labels[renaming.states][problem.decisive], seen)
        same = same and np.array_equal(renaming.actions[used], used)
        _require(same, f"the symmetry for {label} does not turn the case into itself")
        if label[0] == "action":
            turned = ("action", int(renaming.actions[label[1]]))
        else:
            left = problem.regions[problem.split(region, label[1])[0]]
            side = problem.region(np.sort(renaming.states[left]))
            turned = ("question", next((k for k in problem.dividing(region) if side in problem.split(region, k)), -1))
        _require(turned in before, f"the symmetry turns {label} into {turned}, which does not come before it")

    def _close(self, raw: bytes, number: int, context: int, step: Step) -> None:
        case, (kind, *entries) = self._taken(number), step
        if kind == "options":
            bound = self.options.bound(case, self.size, self._vector(raw))
            closed, shown = bound <= self.goal, f"options: they allow {float(bound):.9g}"
        elif kind == "value":
            _require(all(action >= 0 for _, _, action in case), "a case with open places has no value")
            bound = self.problem.value(self.problem.actions(case))[1]
            closed, shown = bound <= self.goal, f"its value {float(bound):.9g}"
        else:
            about = cast(Context, self._thing(context, "context"))
            same = np.all((about.fixed < 0) | (about.fixed == self.problem.actions(case)))
            _require(same, f"context {context} is about other leaves than case {number}")
            lost = self._lost(about, case, self.size, kind, entries)
            closed, shown = lost >= about.budget, f"losses of {float(lost):.9g} of {float(about.budget):.9g}"
        _require(closed, f"case {number}, {self._words(case)}, is not closed by {shown}")

    def _lost(self, context: Context, case: Case, size: Size, kind: object, entries: list[object]) -> float:
        """What a case loses at least, by a step of a certificate."""
        ways: dict[object, Callable[..., float]] = {"s": self._sum, "h": self._halves, "x": self._left_out}
        _require(kind in ways, f"a step {kind!r} shows no loss")
        return ways[kind](context, case, size, *entries) * (1 - self.problem.rounding(len(case) + 8, 1.0))

    def _left_out(self, context: Context, case: Case, size: Size) -> float:
        allowed = context.allowed & ~self.excluded
        fixed = [(self.problem.regions[region], action) for _, region, action in case if action >= 0]
        _require(not all(allowed[it].all() for it in fixed), "no leaf takes an excluded action")
        return math.inf

    def _halves(self, context: Context, case: Case, size: Size, pairs: list[Claims]) -> float:
        """What the two sides of a single question lose, however they share the leaves."""
        single = [(path, action) for path, _, action in case] == [((0,), -1), ((1,), -1)]
        _require(single, "only a single question has two halves")
        _require(len(pairs) == len(size.shares()), "a way to share the leaves is missing")
        regions = [region for _, region, _ in case]
        return min(self._claimed(context, pair, regions, it) for pair, it in zip(pairs, size.shares(), strict=True))

    def _sum(self, context: Context, case: Case, size: Size, losses: list[_Loss], claims: Claims) -> float:
        """What fixed leaves and open places lose together."""
        fixed = {region: action for _, region, action in case if action >= 0}
        opens = [(region, size.below(case, path)) for path, region, action in case if action < 0]
        total = self._claimed(context, claims, [region for region, _ in opens], [below for _, below in opens])
        for loss in losses:
            _require(loss.context is context, "a loss is of another context")
            for region, action in loss.leaves:
                there = fixed.pop(region, None) == action
                _require(there, "a loss is about a leaf that is not there, or was counted before")
            total += max(loss.value, 0)
        return total

    def _claimed(self, context: Context, claims: Claims, regions: list[int], sizes: Sequence[Size]) -> float:
        """What subtrees of these sizes in these regions lose together."""
        _require(len(claims) == len(regions), "there is not one claim for every open place")
        for claim, region, size in zip(claims, regions, sizes, strict=True):
            fit = claim is None or (claim.context is context and claim.region == region and claim.size.covers(size))
            _require(fit, "a claim is about another context, region or size")
        return sum((max(claim.value, 0) for claim in claims if claim is not None), start=self.problem.number(0.0))

    def _expect(self, context: Context, excluding: bool, pending: Pending) -> None:
        waiting = self.pending.setdefault((context, excluding), [])
        waiting.append(pending)
        if len(waiting) >= self.problem.columns:
            self._verify((context, excluding))

    def _verify(self, key: tuple[Context, bool]) -> None:
        """Verify the vectors of a context that wait; actions are excluded without reference to one another."""
        context, waiting = key[0], self.pending.pop(key)
        excluded = self.excluded if key[1] else np.zeros_like(self.excluded)
        for it, shown in zip(waiting, losses_of(self.problem, context, excluded, waiting), strict=True):
            needed = context.budget if it.multiplier is None or it.value is None else it.value
            _require(shown >= needed, f"{it.what}: its vector shows {float(shown):.9g}, not {float(needed):.9g}")

    def _vector(self, raw: bytes, least: float = -LARGEST) -> Numbers:
        """The vector of a record, of 32-bit or 64-bit numbers."""
        types = {4 * self.problem.S: "<f4", 8 * self.problem.S: "<f8"}
        _require(len(raw) in types, f"a vector has {len(raw)} bytes, not 4 or 8 per state")
        with np.errstate(invalid="ignore"):
            vector = np.frombuffer(raw, dtype=types[len(raw)]).astype(np.float64)
        within = np.all((least <= vector) & (vector <= LARGEST))
        _require(within, f"a vector has numbers that are not finite, or below {least}")
        return self.problem.numbers(vector)

    def _taken(self, number: int) -> Case:
        """An open case, which is open no more."""
        _require(number in self.open, f"case {number} is not open")
        return self.open.pop(number)

    def _children(self, case: Case, place: int, size: Size) -> list[tuple[Label, Case]]:
        is_open = 0 <= place < len(case) and case[place][2] < 0
        _require(is_open, f"there is no open place {place}")
        return self.problem.children(case, place, size)

    def _words(self, case: Case) -> str:
        names = self.problem.model.action_names
        return ", ".join(
            f"{''.join('LR'[side] for side in path) or 'root'}: {'open' if action < 0 else repr(names[action])}"
            for path, _, action in case[:8]
        )


@dataclass(frozen=True)
class Verdict:
    """What was verified."""

    value: float  # of the tree, recomputed
    bound: float | None  # that the certificate proves; None without one
    cases: int = 0  # in the proof, and likewise
    claims: int = 0
    losses: int = 0
    questions: str = ""  # what the trees may ask that the bound is about; empty for thresholds on every feature
    forbid: bool = False  # whether the tree was to name no unavailable action in a state that can be reached


def check(model: Model, solution: Json, certificate: Path | None, *, exact: bool = False) -> Verdict:
    """Check a solution, given the content of its file, and its bound if there is a certificate.

    `exact` computes with rational numbers, which takes long. An `UnreadableError` says that a file is not what it
    should be, a `RejectedError` that something that is claimed is not proven.
    """
    claimed = Claimed(solution, model)
    problem = Problem(model, claimed.questions, exact=exact)
    value = _check_tree(claimed, problem)
    if certificate is None:
        return Verdict(value, None, forbid=claimed.forbid)
    if claimed.limit is None:
        raise RejectedError("the solution has no limit on the size, so there is nothing to prove")
    _check_asked(claimed, problem)
    checker = Checker(problem, claimed.limit, claimed.bound)
    try:
        with open(certificate, "rb") as file:
            _readable(file.read(len(HEAD)) == HEAD, f"{certificate} is no certificate: it does not begin like one")
            file.seek(0)
            content = records(gzip.GzipFile(fileobj=file), 8 * (problem.S + problem.A))
            _check_head(next(content)[0], problem, claimed.limit, claimed)
            checker.follow(content)
    except OSError as error:
        raise UnreadableError(f"cannot read {certificate}: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise UnreadableError(f"{certificate} is damaged: {error}") from None
    counts = (checker.cases, len(checker.claims), len(checker.losses))
    return Verdict(value, claimed.bound, *counts, questions=claimed.questions.words(), forbid=claimed.forbid)


def _check_tree(claimed: Claimed, problem: Problem) -> float:
    """The return of the solution's tree; raises unless its size, its actions and its value are as claimed."""
    shape = f"the tree has depth {claimed.size.depth} and {_counted(claimed.size.leaves, 'leaf', 'leaves')}"
    _require(claimed.limit is None or claimed.limit.covers(claimed.size), f"{shape}: too large")
    if claimed.forbid:
        _check_available(claimed.policy, problem.model)
    low, high = problem.value(claimed.policy)
    # A solver that finds the values of all states together rounds a few times, relative to the largest of them.
    tolerance = (high - low) + EPSILON * (4 * abs(claimed.value) + 16 * float(problem.largest_return))
    value = float(low + high) / 2
    right = low - tolerance <= claimed.value <= high + tolerance
    _require(right, f"the tree returns {value!r}, but the solution claims {claimed.value!r}")
    return value


def _check_available(policy: Ints, model: Model) -> None:
    """Raise if the tree names an action in a state that some policy reaches and that does not offer it."""
    if model.available is not None:
        every_row = np.arange(model.rewards.size).reshape(model.rewards.shape)
        missing = model.reached(every_row) & ~model.available[np.arange(len(policy)), policy]
        s = int(missing.argmax())
        named = f"in state {s} the tree names {model.action_names[policy[s]]!r:.80}, which is not available there"
        _require(not missing[s], f"the solution forbids unavailable actions, but {named}")


def _check_asked(claimed: Claimed, problem: Problem) -> None:
    """Raise unless every node divides the states that come to it as a question does, whatever number it names."""
    for feature, equality, states, right in claimed.asked:
        # Unless questions are listed, every threshold may be asked.
        if (problem.questions.groups is not None or equality) and right.any() and not right.all():
            known = {_division(side) for side in problem.sides[states].T}
            unknown = f"the tree asks {feature!r:.80} a question that the solution does not name"
            _require(_division(right) in known, unknown)


def _check_head(record: list[Json], problem: Problem, size: Size, claimed: Claimed) -> None:
    head = _typed(record[1] if len(record) == 2 else None, dict, "the head of the certificate")
    other = "the certificate is about trees that may ask other questions than the solution says"
    _require(head.get("asks") == claimed.stated, other)
    true = {"states": problem.S, "actions": problem.A, "questions": problem.sides.shape[1]}
    true |= {"depth": size.depth, "leaves": size.leaves, "discount": problem.model.discount}
    for key, its in true.items():
        said = head.get(key)
        _require(said == its, f"the certificate is about {said!r:.40} {key}, the problem has {its}")
    _require(head.get("policy") == policy_digest(claimed.policy), "the certificate belongs to another tree")


def policy_digest(policy: Ints) -> str:
    """By what a certificate recognises its tree."""
    return hashlib.sha256(policy.astype("<i4").tobytes()).hexdigest()


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
        f"({_counted(verdict.cases, 'case', 'cases')}, {_counted(verdict.claims, 'claim', 'claims')}, "
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
