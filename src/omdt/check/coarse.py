"""The proof by ranges: follows a certificate whose nodes are coarse trees, each closed by a vector.

Node 0 stands for all trees. A node is either decided, and other nodes take its place (`ranges`), or closed by a vector
that no choice raises which a tree of this node can make (`induction`). The records are

    ["decide", node, path, middle]            what is decided at the end of a path; null unless a range is divided
    ["close", [node, …], exponent, narrow]    + a vector for all these nodes; under rules, weights may follow: an object
                                              with `earned` (1 or 0), `ceilings` [multiplier, …], and `shares`
                                              [[path, multiplier], …]

The numbers of a vector are whole multiples of 2^exponent. The bytes hold their differences to the previous vector,
which is rounded down to such multiples before: n ≥ 0 as 2 n and n < 0 as −2 n − 1, first the lowest byte of every
state, then the second lowest ones, and so on.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from .claimed import Size
from .induction import Induction
from .ladders import Ladders
from .ranges import CoarseTree, Growth, choices
from .reading import (
    Floats,
    Ints,
    Json,
    Numbers,
    RejectedError,
    UnreadableError,
    counted,
    finite,
    readable,
    require,
    typed,
)
from .ruling import Ruling, Weights

LARGEST_MULTIPLE = 2.0**53  # absolute value of a multiple of 2^exponent, so that every one is a floating-point number
EXPONENTS = (-300, 300)  # of the numbers of a vector, at least and at most, so that no product underflows or overflows
MAX_NODES = 5_000_000  # open nodes at any time; more would take gigabytes

Vector: TypeAlias = Floats


def decoded(raw: bytes, exponent: int, previous: Vector) -> Vector:
    """The vector of a record."""
    S = len(previous)
    low, high = EXPONENTS
    readable(low <= exponent <= high, f"a vector cannot be of multiples of 2^{exponent}")
    readable(len(raw) % S == 0 and len(raw) <= 7 * S, f"a vector has {len(raw)} bytes, not up to 7 per state")
    codes = np.zeros(S, dtype=np.int64)
    for i, plane in enumerate(np.frombuffer(raw, dtype=np.uint8).reshape(-1, S)):
        codes |= plane.astype(np.int64) << (8 * i)
    multiples = based_on(previous, exponent) + ((codes >> 1) ^ -(codes & 1))
    readable(bool(np.all(np.abs(multiples) <= LARGEST_MULTIPLE)), "a vector has numbers that are too large")
    return np.ldexp(multiples.astype(np.float64), exponent)


def based_on(previous: Vector, exponent: int) -> Ints:
    """[S] the multiples of 2^exponent that differences are counted from."""
    with np.errstate(over="ignore"):
        multiples = np.floor(np.ldexp(previous, -exponent))
    return np.clip(multiples, -LARGEST_MULTIPLE, LARGEST_MULTIPLE).astype(np.int64)


class CoarseChecker:
    """Follows a certificate record by record."""

    def __init__(
        self, induction: Induction, ladders: Ladders, size: Size, bound: float, ruling: Ruling | None = None
    ) -> None:
        self.induction, self.ladders, self.bound, self.ruling = induction, ladders, bound, ruling
        self.growth = Growth(ladders, size, induction.S, induction.A, ruling)
        root = self.growth.root
        self.open: dict[int, CoarseTree] = {} if root is None else {0: root}
        self.nodes, self.vectors = 1, 0
        self.previous = np.zeros(induction.S)

    def follow(self, records: Iterator[tuple[list[Json], bytes]]) -> None:
        """Check everything up to the end."""
        for number, (record, raw) in enumerate(records):
            kind = record[0] if record else None
            try:
                if kind == "decide" and len(record) == 4 and not raw:
                    self._decide(*record[1:])
                elif kind == "close" and len(record) in (4, 5):
                    self._close(raw, *record[1:])
                else:
                    raise UnreadableError("it is neither a decision nor a vector that closes nodes")
            except RejectedError as error:
                raise RejectedError(f"record {number} ({kind}): {error}") from None
            except ValueError as error:
                raise UnreadableError(f"record {number}, {record!r:.80}, is not understood: {error}") from None
        if self.open:
            number, tree = min(self.open.items())
            opens = counted(len(self.open), "node is", "nodes are")
            raise RejectedError(f"{opens} left open, such as node {number}: {tree!r:.200}")

    def _decide(self, number: Json, path: Json, middle: Json) -> None:
        tree = self._taken(number)
        before = None if middle is None else typed(middle, int, "where a range is divided")
        for child in self.growth.children(tree, _path(path), before):
            self.open[self.nodes] = child
            self.nodes += 1
        require(len(self.open) <= MAX_NODES, "there are too many nodes")

    def _close(self, raw: bytes, numbers: Json, exponent: Json, narrow: Json, weighed: Json = None) -> None:
        self.vectors += 1
        self.previous = decoded(raw, typed(exponent, int, "the exponent of a vector"), self.previous)
        readable(isinstance(narrow, bool), f"{narrow!r:.40} is no truth value")
        weights = read_weights(weighed)
        readable(weights.plain or self.ruling is not None, "there are weights without rules")
        vector = self.induction.numbers(self.previous)
        for number in typed(numbers, list, "the nodes of a vector"):
            tree = self._taken(number)
            try:
                allows = self._shown(tree, vector, weights, narrow=bool(narrow))
            except RejectedError as error:
                raise RejectedError(f"node {number}: {error}") from None
            enough = self.shows(allows) if weights.earned else allows < 0
            require(enough, f"the vector of node {number} allows {float(allows):.9g}")

    def _shown(self, tree: CoarseTree, vector: Numbers, weights: Weights, *, narrow: bool) -> Fraction | float:
        """What a vector shows of a node: the most that is earned or, with the weight 0, below 0 if no tree obeys."""
        if self.ruling is None:
            possible = choices(tree, self.ladders, (self.induction.S, self.induction.A))
            return self.induction.bound(vector, possible, narrow=narrow)
        possible = self.ruling.choices(tree)
        self.ruling.check_visits(weights, possible, self.induction)
        induction, constant = self.ruling.earned(tree, weights, self.induction)
        shown = induction.bound(vector, possible, narrow=narrow)
        return shown if math.isinf(shown) else Fraction(shown) + constant

    def shows(self, earned: Fraction | float) -> bool:
        """Whether it is within the bound to earn as much."""
        if math.isinf(self.bound) or math.isinf(earned):
            return earned == -math.inf or self.bound == math.inf
        return Fraction(earned) + Fraction(self.induction.asked.offset) <= Fraction(self.bound)

    def _taken(self, number: Json) -> CoarseTree:
        """An open node, which is open no more."""
        node = typed(number, int, "the number of a node")
        require(node in self.open, f"node {node} is not open")
        return self.open.pop(node)


def _path(stated: Json) -> tuple[int, ...]:
    sides = tuple(typed(side, int, "a side") for side in typed(stated, list, "a path"))
    readable(all(side in (0, 1) for side in sides), "a side is neither left (0) nor right (1)")
    return sides


def read_weights(stated: Json) -> Weights:
    """How a record says that its vector weighs what is earned, and the limits; nothing says that there are none."""
    if stated is None:
        return Weights()
    content = typed(stated, dict, "the weights of a vector")
    earned = typed(content.get("earned"), int, "the weight of what is earned")
    readable(earned in (0, 1), f"the weight of what is earned is {earned}, not 0 or 1")
    ceilings = [finite(it, "a multiplier") for it in typed(content.get("ceilings", []), list, "the multipliers")]
    shares = []
    for entry in typed(content.get("shares", []), list, "the multipliers of shares"):
        pair = typed(entry, list, "the multiplier of a share")
        readable(len(pair) == 2, f"{entry!r:.40} is not a path and its multiplier")
        shares.append((_path(pair[0]), finite(pair[1], "a multiplier")))
    return Weights(earned, tuple(ceilings), tuple(shares))
