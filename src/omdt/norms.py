"""Norms: what a discount below 1 says about sums over all steps and about errors, asked of the model in one place.

With the discount γ and the expected successor of a vector V, one step x ↦ γ P x shrinks every vector: values in the
∞-norm, occupancies in the 1-norm. Two numbers follow from this, and whoever needs one of them asks here instead of
writing 1 / (1 − γ):

- what is at most c per step adds up to at most c / (1 − γ) over all steps (`Norms.total`);
- an estimate x̂ of the fixpoint of a step, with residual ρ, is at most ρ / (1 − γ) away from it (`Norms.error_of`).

The second one must hold for the matrix as it is stored, whose rows may exceed 1 by rounding.
"""

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from omdt.mdp import EPSILON, MDP


@dataclass(frozen=True)
class Norms:
    """How one step of an MDP shrinks vectors, and what follows from that.

    Attributes:
        shrinkage: 1 − γ, the part of a vector's norm that one step takes away if every row sums to 1.
        contraction: at most 1 − γ · (largest sum of a stored row); positive unless rounding hides it.
    """

    shrinkage: float
    contraction: float

    @property
    def horizon(self) -> float:
        """1 / (1 − γ), the expected number of steps and the sum of all occupancies; ∞ without a discount."""
        return self.total(1.0)

    def total(self, per_step: float) -> float:
        """The most that something of at most `per_step` in every step adds up to over all steps."""
        return per_step / self.shrinkage if self.shrinkage > 0 else math.copysign(math.inf, per_step)

    def error_of(self, residual: float) -> float:
        """Bound on the distance between the fixpoint of a step and an estimate with this residual."""
        return float(residual) / self.contraction * (1 + 4 * EPSILON) if self.contraction > 0 else math.inf


_NORMS: WeakKeyDictionary[MDP, Norms] = WeakKeyDictionary()
"""The norms of the MDPs in use; an MDP never changes."""


def norms(mdp: MDP) -> Norms:
    """The norms of an MDP, computed once."""
    known = _NORMS.get(mdp)
    if known is None:
        known = _NORMS[mdp] = norms_of(mdp.discount, row_excess(mdp.transitions))
    return known


def norms_of(discount: float, excess: float = 0.0) -> Norms:
    """The norms of steps with a discount, where the sum of a stored row exceeds 1 by at most `excess`."""
    return Norms(1 - discount, 1 - discount * (1 + excess))


def row_excess(P: sparse.csr_array) -> float:
    """By how much the sum of a row that was normalised in floating point may exceed 1."""
    return 4 * EPSILON * int(np.diff(P.indptr).max())
