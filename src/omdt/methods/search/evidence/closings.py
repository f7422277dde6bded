"""Closings: vectors that show a bound, or that no tree obeys, together with what they bound."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from omdt.mdp import Floats
from omdt.methods.search.evidence.stakes import Stakes
from omdt.methods.search.evidence.vectors import Proof, Vectors

SHARED = 0.5
"""The part of the room below 0 that the digits of a vector may take which shows that no tree obeys the rules."""


@dataclass(frozen=True, eq=False)
class Closing:
    """How some nodes are closed.

    Attributes:
        stakes: what the vector bounds.
        proof: the vector.
        shown: no tree of the nodes earns more; −∞ if none obeys the rules.
    """

    stakes: Stakes
    proof: Proof
    shown: float


def closed_by(vectors: Vectors, stakes: Stakes, values: Floats, goal: float) -> Closing | None:
    """The closing by a vector that is made from values; None if it shows nothing.

    Args:
        vectors: makes vectors.
        stakes: what they have to bound.
        values: [S] above the values of all policies.
        goal: what is to be shown.

    Raises:
        NoEvidenceError: if no vector settles.
    """
    constant = float(stakes.constant)
    vectors = vectors.about(stakes.induction)
    if stakes.bounds_return:
        proof = vectors.proof(values, stakes.choices, goal - constant)
        return Closing(stakes, proof, _upwards(proof.shown, stakes.constant))
    started = float(stakes.induction.at_start(values)) if np.isfinite(values).all() else -constant
    room = max(0.0, -constant - started)
    proof = vectors.proof(values, stakes.choices, -constant - SHARED * room)
    empty = proof.shown == -math.inf or (math.isfinite(proof.shown) and Fraction(proof.shown) + stakes.constant < 0)
    return Closing(stakes, proof, -math.inf) if empty else None


def _upwards(shown: float, constant: Fraction) -> float:
    """A sum, rounded up."""
    if math.isinf(shown) or constant == 0:
        return shown
    total = Fraction(shown) + constant
    found = float(total)
    return found if Fraction(found) >= total else math.nextafter(found, math.inf)
