"""Intervals: what a tree returns at least where probabilities are known as intervals only.

For every row s·A + a of a file, nature chooses a distribution p of the next state with l ≤ p ≤ u, and likewise one of
the first state. With the tree's action in every state,

    (T V)(s) = r(s) + γ min over p of p·V

is a monotone γ-contraction, and its fixpoint has the values of the worst case: of any V, it is at least
V − max(V − T V)⁺ / (1 − γ) and at most V + max(T V − V)⁺ / (1 − γ). So it does not matter where V comes from; it comes
from chains of nature's answers, or from sweeps V ← T V where there are many states.

The least p·V starts from l and gives what is missing to 1 to the next states of the least value first, each up to u.
"""

import zipfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import numpy as np

from .arithmetic import MANY_SWEEPS, SOLVED_STATES
from .model import DAMAGED, EPSILON, MAX_MODEL, Model
from .reading import Floats, Ints, UnreadableError, readable

Exact: TypeAlias = list[float]  # or Fractions with `exact`, likewise wherever a single number is a float

WORLDS = "worlds_"  # what the arrays of the intervals begin with in the file of a model that was learned from a log
OWN = ("lower", "upper", "indices", "indptr", "rewards", "initial_lower", "initial_upper")
SHARED = ("features", "discount", "feature_names", "action_names")
ANSWERS = 200  # chains of nature's answers, at most; it nearly always takes less than ten


@dataclass(frozen=True, eq=False)
class Intervals:
    """An interval MDP in plain arrays, both ends of the transitions as rows s·A + a of one sparse pattern."""

    lower: Floats
    upper: Floats
    indices: Ints
    indptr: Ints
    rewards: Floats  # [S, A] the least expected rewards
    initial_lower: Floats
    initial_upper: Floats
    features: Floats
    discount: float
    feature_names: tuple[str, ...]
    action_names: tuple[str, ...]

    @property
    def model(self) -> Model:
        """A model with the same features, names and discount, by which the tree of a solution is read."""
        dynamics = (self.upper, self.indices, self.indptr, self.rewards, self.initial_upper)
        return Model(*dynamics, self.features, self.discount, self.feature_names, self.action_names)


def read_intervals(path: Path) -> Intervals | None:
    """The intervals in an npz file, alone or beside a learned model; None if it has none."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
            readable(size <= MAX_MODEL, f"it would take {size:,} bytes, more than {MAX_MODEL:,}")
        with np.load(path, allow_pickle=False) as file:
            prefix = WORLDS if f"{WORLDS}lower" in file else ""
            if f"{prefix}lower" not in file:
                return None
            arrays = {name: np.asarray(file[prefix + name]) for name in OWN}
            return _intervals(arrays | {name: np.asarray(file[name]) for name in SHARED})
    except DAMAGED as error:
        raise UnreadableError(f"{path} has no readable intervals: {error}") from None


def _intervals(arrays: dict[str, np.ndarray]) -> Intervals:
    S, A, F, n = (arrays[name].size for name in ("initial_lower", "action_names", "feature_names", "lower"))
    shapes = ((n,), (n,), (n,), (S * A + 1,), (S, A), (S,), (S,), (S, F), (), (F,), (A,))
    for name, shape in zip((*OWN, *SHARED), shapes, strict=True):
        its = arrays[name].shape
        readable(its == shape, f"{name} does not fit the others: its shape is {its}, not {shape}")
    features, actions = (tuple(str(text) for text in arrays[name]) for name in SHARED[2:])
    numbers = {name: arrays[name].astype(np.float64) for name in (*OWN, *SHARED[:2])}
    for name, array in numbers.items():
        readable(bool(np.isfinite(array).all()), f"{name} must be finite numbers")
    indices, indptr = (numbers.pop(name).astype(np.int64) for name in ("indices", "indptr"))
    whole = f"indices and indptr are not those of a matrix of shape [{S * A}, {S}]"
    readable(bool(indptr[0] == 0 and indptr[-1] == n and np.all(np.diff(indptr) > 0)), whole)
    readable(bool(np.all((indices >= 0) & (indices < S))), whole)
    lower, upper, rewards, first, last, table, discount = numbers.values()
    for ends, low, high in ((indptr, lower, upper), (np.array([0, S]), first, last)):
        loose = 4 * EPSILON * np.diff(ends)  # what rounding may have cost
        least, most = (np.add.reduceat(end, ends[:-1]) for end in (low, high))
        between = np.all((low >= 0) & (low <= high) & (high <= 1))
        possible = np.all((least <= 1 + loose) & (most >= 1 - loose))
        readable(bool(between and possible), "between some ends of intervals there is no distribution")
    readable(bool(0 < discount < 1), f"the discount is {discount}, not between 0 and 1")
    own = (lower, upper, indices, indptr, rewards, first, last)
    return Intervals(*own, table, float(discount), features, actions)


def guaranteed(intervals: Intervals, policy: Ints, *, exact: bool = False) -> tuple[float, float, float]:
    """What a policy [S] returns in the worst case, from below and from above; and the largest value of a state."""
    worst = _Worst(intervals, policy, exact=exact)
    V = worst.numbers(_Worst(intervals, policy, exact=False).near())
    after = worst.step(V)[0]
    first = worst.start(V)
    longest = max(len(intervals.initial_lower), int(np.diff(intervals.indptr).max()))
    unit = 0 if exact else EPSILON
    # A sum of n products, with probabilities that are sums themselves, is off by less than 4 n + 16 roundings.
    rounding = (4 * longest + 16) * unit * (max(map(abs, V)) + max(map(abs, worst.rewards)))
    contraction = 1 - worst.discount * (1 + 4 * longest * unit) - 4 * unit
    readable(contraction > 0, "the discount is too close to 1 for the rounding of the transitions")
    below = max(0, max(v - t for v, t in zip(V, after, strict=True)) + rounding) / contraction + rounding
    above = max(0, max(t - v for v, t in zip(V, after, strict=True)) + rounding) / contraction + rounding
    return float(first - below), float(first + above), float(max(map(abs, V)))


def poured(lower: Exact, upper: Exact, V: Exact) -> Exact:
    """The distribution between two ends with the least expectation of V."""
    p, left = list(lower), 1 - sum(lower)
    for k in sorted(range(len(V)), key=V.__getitem__):
        more = max(0, min(upper[k] - lower[k], left))
        p[k], left = p[k] + more, left - more
    return p


class _Worst:
    """Nature against one policy [S]."""

    def __init__(self, intervals: Intervals, policy: Ints, *, exact: bool) -> None:
        self.S, self.exact = len(policy), exact
        self.discount = self.numbers([intervals.discount])[0]
        self.rewards = self.numbers(intervals.rewards[np.arange(self.S), policy])
        rows = np.arange(self.S) * len(intervals.action_names) + policy
        parts = [slice(*intervals.indptr[row : row + 2]) for row in rows]
        self.columns = [intervals.indices[part].tolist() for part in parts]
        self.ends = [(self.numbers(intervals.lower[part]), self.numbers(intervals.upper[part])) for part in parts]
        self.first = (self.numbers(intervals.initial_lower), self.numbers(intervals.initial_upper))

    def numbers(self, values: "Floats | list[float]") -> Exact:
        """Floating-point numbers in the arithmetic that is used."""
        floats = [float(x) for x in values]
        return [Fraction(x) for x in floats] if self.exact else floats  # type: ignore[misc]

    def step(self, V: Exact) -> tuple[Exact, list[Exact]]:
        """[S] T V, and the distributions that attain it."""
        answers = [
            poured(*ends, [V[s] for s in columns]) for ends, columns in zip(self.ends, self.columns, strict=True)
        ]
        ahead = [
            sum(p * V[s] for p, s in zip(answer, columns, strict=True))
            for answer, columns in zip(answers, self.columns, strict=True)
        ]
        return [r + self.discount * x for r, x in zip(self.rewards, ahead, strict=True)], answers

    def start(self, V: Exact) -> float:
        """The least expectation of V over the first state."""
        return sum(p * v for p, v in zip(poured(*self.first, V), V, strict=True))

    def near(self) -> list[float]:
        """[S] values near the fixpoint."""
        V = [0.0] * self.S
        for _ in range(ANSWERS if self.S <= SOLVED_STATES else MANY_SWEEPS):
            after, answers = self.step(V)
            change = max(abs(a - v) for a, v in zip(after, V, strict=True))
            if change <= 16 * EPSILON * max(map(abs, after)):
                break
            V = after if self.S > SOLVED_STATES else self.chain(answers)
        return V

    def chain(self, answers: list[Exact]) -> list[float]:
        """[S] the values of the chain of some distributions."""
        matrix = np.eye(self.S)
        for s, (answer, columns) in enumerate(zip(answers, self.columns, strict=True)):
            np.subtract.at(matrix[s], columns, self.discount * np.array(answer, dtype=np.float64))
        solved: list[float] = np.linalg.solve(matrix, np.array(self.rewards, dtype=np.float64)).tolist()
        return solved
