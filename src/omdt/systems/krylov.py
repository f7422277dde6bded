"""Krylov: restarted GMRES with an approximation of the inverse, which makes a solver out of whatever comes close.

With the factors of a matrix that differs in k rows it needs no more than k + 1 steps, since the product of both is the
identity plus a matrix of rank k: this is the low-rank update through kept factors. With one cycle of multigrid it needs
some dozens.
"""

import math
from collections.abc import Callable

import numpy as np

from omdt.arrays import Floats
from omdt.watch import Watch, late

RESTART = 20
"""Steps between two restarts; each keeps a vector of the size of the system."""

SLOWEST = 0.9
"""Reduction of the residual per restart beyond which the method counts as stuck."""

SPARE = 0.3
"""The residual aimed for, as a part of what is needed: the 2-norm, which is minimised, is not the norm of the goal."""

Map = Callable[[Floats], Floats]


class GMRES:
    """Corrections of a solution of A x = b, each a combination of the next directions.

    Args:
        apply: x ↦ A x.
        inverse: an approximation of x ↦ A⁻¹ x.
        steps: how many steps there may be.
        watch: ends the computation early.
    """

    def __init__(self, apply: Map, inverse: Map, steps: int, watch: Watch | None) -> None:
        self._apply, self._inverse, self._left, self._watch = apply, inverse, steps, watch
        self._last = 0

    def can_reach(self, reduced: float, missing: float) -> bool:
        """Whether the remaining steps will foreseeably be enough.

        Args:
            reduced: the part of the residual that the last correction left.
            missing: the part that has yet to be reached.
        """
        if missing >= 1:
            return True
        if not reduced < SLOWEST:
            return False
        return self._last * math.log(missing) / math.log(max(reduced, 1e-16)) <= self._left

    def correction(self, residual: Floats, enough: float) -> Floats:
        """A correction that leaves as little as possible of a residual, after as many steps as `enough` asks for."""
        # Squares of very large or very small numbers would leave the range of floating point.
        unit = float(np.abs(residual).max())
        scaled = residual / unit
        most, length = min(RESTART, self._left), float(np.linalg.norm(scaled))
        basis, H = np.empty((most + 1, len(residual))), np.zeros((most + 1, most))
        basis[0] = scaled / length
        weights, self._last = np.zeros(0), 0
        for k in range(most):
            w = self._apply(self._inverse(basis[k]))
            self._left -= 1
            self._last += 1
            H[k + 1, k] = _orthogonalised(basis[: k + 1], w, H[: k + 1, k])
            if not math.isfinite(H[k + 1, k]):
                break
            weights, left = _least(H[: k + 2, : k + 1], length)
            if left <= SPARE * enough * length or H[k + 1, k] <= 1e-15 * length or late(self._watch):
                break
            basis[k + 1] = w / H[k + 1, k]
        return unit * self._inverse(weights @ basis[: len(weights)])


def _orthogonalised(basis: Floats, w: Floats, overlaps: Floats) -> float:
    """Make a vector orthogonal to others in place, and add up its overlaps with them; returns its remaining length."""
    length = 0.0
    # Where cancellation leaves little of the vector, once is not enough.
    for _ in range(2):
        before = float(np.linalg.norm(w))
        overlap = basis @ w
        w -= overlap @ basis
        overlaps += overlap
        length = float(np.linalg.norm(w))
        if length > 0.5 * before:
            break
    return length


def _least(H: Floats, length: float) -> tuple[Floats, float]:
    """The weights y for which H y is closest to (length, 0, 0, …), and their distance."""
    right = np.zeros(H.shape[0])
    right[0] = length
    weights: Floats = np.linalg.lstsq(H, right)[0].astype(np.float64)
    return weights, float(np.linalg.norm(H @ weights - right))
