"""Vectors: what closes the nodes of a proof by ranges, with as few bytes as the bound allows."""

import math
from dataclasses import dataclass

import numpy as np

from omdt.check import Induction, RejectedError, based_on
from omdt.errors import FalseClaimError
from omdt.mdp import Bools, Floats
from omdt.methods.search.evidence.raising import Grounds, raised

DIGITS = 50
"""Bits per number, at most: the checker reads whole multiples of a power of 2 up to 2^53."""

FINEST = -200
"""Exponent of the finest step: smaller values than this are nothing but underflow."""

SMALLEST = 2.0**FINEST
"""Smaller values than this are taken for 0, before it is seen whether a choice raises that."""

FINER = 64.0
"""Factor by which the step is made finer where a vector did not settle or does not show enough."""

HORIZON = 64.0
"""Steps of a grid that the sum of all roundings may take, to begin with, where there is no discount to tell."""


@dataclass(frozen=True, eq=False)
class Proof:
    """A vector that closes a node.

    Attributes:
        vector: [S] the vector.
        exponent: its numbers are multiples of 2^exponent.
        narrow: whether it holds only where policies come to.
        shown: no policy earns more.
    """

    vector: Floats
    exponent: int
    narrow: bool
    shown: float


class Vectors:
    """Finds vectors that convince the checker."""

    def __init__(self, induction: Induction) -> None:
        self.induction = induction
        self._grounds = Grounds.of(induction)
        discount = induction.asked.discount
        self._horizon = HORIZON if discount == 1 else 1.25 / induction.shrinkage

    def proof(self, values: Floats, choices: Bools, goal: float) -> Proof:
        """A vector that shows that no policy that makes the choices [S, A] earns more than a goal, if possible.

        Args:
            values: [S] above the values of all these policies; they may be infinite where such policies do not go.
            choices: the actions that may be chosen.
            goal: what is to be shown; if that is not possible, as little more as possible is.
        """
        asked = self.induction.asked
        narrow, counts = not bool(np.isfinite(values).all()), np.ones(len(values), dtype=np.bool_)
        if narrow:
            narrowed = self.induction.narrowed(choices)
            if narrowed is None:
                return Proof(np.zeros(len(values)), 0, True, -math.inf)
            choices, counts = narrowed
        V = np.where(asked.ends, asked.final, np.where(counts & ~(np.abs(values) < SMALLEST), values, 0.0))
        if not np.isfinite(V).all():
            return Proof(np.zeros(len(values)), 0, True, math.inf)
        best: Proof | None = None
        for exponent in self._exponents(V, goal):
            found = self._settled(V, choices, counts, exponent, narrow=narrow)
            if found is not None and (best is None or found.shown < best.shown):
                best = found
            if found is not None and found.shown <= goal:
                break
            self._horizon *= 2.0
        if best is None:
            raise FalseClaimError("there is no evidence for the bound of a coarse tree that would convince the checker")
        self._horizon = max(8.0, self._horizon / 1.5)
        return best

    def _exponents(self, V: Floats, goal: float) -> list[int]:
        """The steps to try, from the coarsest that may show the goal to the finest."""
        largest = float(np.abs(V).max())
        finest = max((math.frexp(largest)[1] if largest > 0 else 0) - DIGITS, FINEST)
        slack = goal - float(self.induction.at_start(V))
        if not slack > 0 or not math.isfinite(slack):
            return [finest + 6, finest]
        # Final rewards of 1 must be multiples of the step.
        most = 0 if self.induction.asked.final.any() else finest + DIGITS + 8
        coarsest = max(finest, min(math.frexp(slack / self._horizon)[1] - 1, most))
        between = range(coarsest, finest, -int(math.log2(FINER)))
        return [*between, finest]

    def _settled(self, V: Floats, choices: Bools, counts: Bools, exponent: int, *, narrow: bool) -> Proof | None:
        """A vector with this step, if the checker accepts one."""
        step = math.ldexp(1.0, exponent)
        shrinkage = float(self.induction.shrinkage)
        # With a discount it is known by how much rounding to the grid may raise values.
        room = step * (1 - shrinkage) / shrinkage if shrinkage > 0 else 0.0
        ends = self.induction.asked.ends
        found = raised(self._grounds, choices, counts, np.where(counts & ~ends, V + room, V), step)
        if found is None:
            return None
        try:
            shown = self.induction.bound(found, choices, narrow=narrow)
        except RejectedError:
            return None
        return Proof(found, exponent, narrow, float(shown))


def encoded(proof: Proof, previous: Floats) -> bytes:
    """The bytes of a vector in a certificate after another one."""
    multiples = np.ldexp(proof.vector, -proof.exponent).astype(np.int64)
    change = multiples - based_on(previous, proof.exponent)
    codes = (change << 1) ^ (change >> 63)
    width = max(1, (int(codes.max(initial=0)).bit_length() + 7) // 8)
    planes = [(codes >> (8 * i)).astype(np.uint8) for i in range(width)]
    return b"".join(plane.tobytes() for plane in planes)
