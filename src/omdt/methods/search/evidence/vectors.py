"""Vectors: what closes the nodes of a proof by ranges, with as few bytes as the bound allows."""

import math
from copy import copy
from dataclasses import dataclass

import numpy as np

from omdt.check import Induction, RejectedError, based_on
from omdt.mdp import Bools, Floats
from omdt.methods.search.evidence.durations import Durations
from omdt.methods.search.evidence.raising import Grounds, raised

DIGITS = 50
"""Bits per number, at most: the checker reads whole multiples of a power of 2 up to 2^53."""

FINEST = -200
"""Exponent of the finest step: smaller values than this are nothing but underflow."""

SMALLEST = 2.0**FINEST
"""Smaller values than this are taken for 0, before it is seen whether a choice raises that."""

FINER = 64.0
"""Factor by which the step is made finer where a vector did not settle or does not show enough."""

SURPLUS = 1.25
"""Factor by which values are raised at once beyond what the roundings of the greedy policy add up to: other choices may
take longer, and values that have to be raised step by step take many sweeps."""

MOST_PATIENCE = 2.0**20
"""Largest factor by which steps are made finer from the start because those before were too coarse."""


class NoEvidenceError(Exception):
    """No vector was found that would convince the checker."""


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


class Patience:
    """How much finer than estimated the first step is, because coarser ones were in vain before."""

    def __init__(self) -> None:
        self.factor = 1.0

    def rewarded(self) -> None:
        """A step was fine enough."""
        self.factor = max(1.0, self.factor / 1.25)

    def tried(self) -> None:
        """A step was too coarse."""
        self.factor = min(2 * self.factor, MOST_PATIENCE)


class Vectors:
    """Finds vectors that convince the checker."""

    def __init__(self, induction: Induction, durations: Durations) -> None:
        self.induction, self._durations = induction, durations
        self._grounds = Grounds.of(induction)
        self._patience = Patience()

    def about(self, induction: Induction) -> "Vectors":
        """The same for other rewards on the same model."""
        if induction is self.induction:
            return self
        other = copy(self)
        other.induction, other._grounds = induction, self._grounds.about(induction)
        return other

    def proof(self, values: Floats, choices: Bools, goal: float) -> Proof:
        """A vector that shows that no policy that makes the choices [S, A] earns more than a goal, if possible.

        Args:
            values: [S] above the values of all these policies; they may be infinite where such policies do not go.
            choices: the actions that may be chosen.
            goal: what is to be shown; if that is not possible, as little more as possible is.

        Raises:
            NoEvidenceError: if values do not settle with any step.
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
        steps = np.where(asked.ends, 0.0, self._durations.of(V, choices, asked.rewards))
        found = self._found(V, SURPLUS * steps, choices, counts, goal, narrow=narrow)
        if found is None:
            raise NoEvidenceError
        return found

    def _found(
        self, V: Floats, steps: Floats, choices: Bools, counts: Bools, goal: float, *, narrow: bool
    ) -> Proof | None:
        """The vector of the coarsest step that shows the goal, or else the one that shows most."""
        best: Proof | None = None
        horizon = 1 + float(self.induction.at_start(np.where(counts, steps, 0.0)))
        exponents = self._exponents(V, goal, horizon)
        # Where there is no room at all, values may be on the grid already.
        attempts = [*((exponent, steps) for exponent in exponents), (exponents[-1], np.zeros_like(steps))]
        for exponent, added in attempts:
            found = self._settled(V, added, choices, counts, exponent, narrow=narrow)
            if found is not None and (best is None or found.shown < best.shown):
                best = found
            if found is not None and found.shown <= goal:
                self._patience.rewarded()
                break
            self._patience.tried()
        return best

    def _exponents(self, V: Floats, goal: float, horizon: float) -> list[int]:
        """The steps to try, from the coarsest that may show the goal to the finest.

        Args:
            V: [S] the vector that is to be rounded.
            goal: what is to be shown.
            horizon: steps of a grid that the sum of all roundings takes.
        """
        largest = float(np.abs(V).max())
        finest = max((math.frexp(largest)[1] if largest > 0 else 0) - DIGITS, FINEST)
        slack = goal - float(self.induction.at_start(V))
        if not slack > 0 or not math.isfinite(slack):
            return [finest + 6, finest]
        # Final rewards of 1 must be multiples of the step.
        most = 0 if self.induction.asked.final.any() else finest + DIGITS + 8
        coarsest = max(finest, min(math.frexp(slack / (self._patience.factor * horizon))[1] - 1, most))
        between = range(coarsest, finest, -int(math.log2(FINER)))
        return [*between, finest]

    def _settled(
        self, V: Floats, steps: Floats, choices: Bools, counts: Bools, exponent: int, *, narrow: bool
    ) -> Proof | None:
        """A vector with this step, if the checker accepts one."""
        step = math.ldexp(1.0, exponent)
        found = raised(self._grounds, choices, counts, np.where(counts, V + step * steps, V), step)
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
