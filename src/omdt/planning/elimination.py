"""Elimination without subtractions: the values of a chain that may take ages to end.

Where a chain leaves a set of states only once in 10¹⁵ steps, I − P is singular but for rounding, and no residual tells
anything about the error of a solution. The numbers that describe the chain are nevertheless well known: the
probabilities p(s, s') of other states, the probabilities ℓ(s) to end, and the rewards. Elimination of a state k turns
them into those of the chain that is observed outside of k only,

    p(s, s') += p(s, k) p(k, s') / o(k),    ℓ(s) += p(s, k) ℓ(k) / o(k),    r(s) += p(s, k) r(k) / o(k),

with o(k) = ℓ(k) + Σ_{s' ≠ k} p(k, s') instead of 1 − p(k, k). Nothing is subtracted, so every number keeps its relative
accuracy (Grassmann, Taksar and Heyman, 1985). Rewards of both signs are two problems with rewards of one sign.

**Error.** With n states, one elimination perturbs every number by a factor of at most 1 ± (n + 6) u, where u is the
unit roundoff: o(k) is a sum of n terms, then there are a division, a product and a sum. A value is a sum of r(s) times
quotients of polynomials of degree n − 1 and n in p and ℓ with non-negative coefficients (the matrix-tree theorem), so
perturbations of these by factors 1 ± ε change it by a factor of at most 1 ± 2 (n + 1) ε. Over all eliminations that is
n (n + 1) (n + 6) u, and the substitution at the end adds n (n + 6) u.
"""

import numpy as np
from numba import njit
from scipy import sparse

from omdt.mdp import EPSILON, Floats
from omdt.planning.certified import UNDERFLOW, Certified

MAX_STATES = 800
"""Maximum number of states; with more, elimination takes longer than a few tenths of a second, in which nobody looks at
the clock."""

TINY = 1e-290
"""Products below this may have lost their relative accuracy to underflow."""


def eliminated(P: sparse.csr_array, ending: Floats, r: Floats, margin: float) -> Certified[Floats] | None:
    """[n] the values of x = r + P x, with small relative errors if all rewards have one sign.

    The rows of P and the probabilities to end are understood to be divided by their common sums.

    Args:
        P: [n, n] transitions between states that are not visited for ever.
        ending: [n] the probability to go somewhere else, where nothing is earned any more.
        r: [n] rewards.
        margin: relative error of these numbers.

    Returns:
        None if there are too many states, or numbers too small for their relative accuracy.
    """
    n = len(r)
    if n > MAX_STATES:
        return None
    dense = P.toarray()
    right = np.stack([np.maximum(r, 0.0), np.maximum(-r, 0.0)], axis=1) * (dense.sum(axis=1) + ending)[:, None]
    if not _eliminate(dense, ending.astype(np.float64).copy(), right):
        return None
    # u = EPSILON / 2; the rewards were multiplied by sums of n + 1 terms.
    relative = (n * (n + 2) * (n + 6) + 2 * n + 8) * EPSILON / 2 + 2 * (n + 2) * margin
    if relative > 0.1:
        return None
    gained, lost = right.T
    return Certified(gained - lost, 1.2 * relative * (gained + lost) + UNDERFLOW)


@njit(cache=True)
def _eliminate(p, ending, right):  # type: ignore[no-untyped-def]
    """Put the values in place of the rewards `right` [n, 2]; whether no number was too small."""
    n = len(ending)
    out = np.zeros(n)
    for k in range(n - 1, -1, -1):
        total = ending[k]
        for t in range(k):
            total += p[k, t]
        if total < TINY:
            return False
        out[k] = total
        for s in range(k):
            if p[s, k] == 0.0:
                continue
            factor = p[s, k] / total
            for t in range(k):
                added = factor * p[k, t]
                if added < TINY and p[k, t] > 0.0:
                    return False
                p[s, t] += added
            for i in range(2):
                added = factor * right[k, i]
                if added < TINY and right[k, i] > 0.0:
                    return False
                right[s, i] += added
            added = factor * ending[k]
            if added < TINY and ending[k] > 0.0:
                return False
            ending[s] += added
    for k in range(n):
        for i in range(2):
            total = right[k, i]
            for t in range(k):
                total += p[k, t] * right[t, i]
            right[k, i] = total / out[k]
    return True
