"""Raising: brings vectors that nearly bound all choices to where no choice raises them, on a grid of few digits.

The vectors of the search are above the truth, but rounded, and a certificate should not take more bytes than it needs.
So every value is rounded up to a multiple of a step; where a choice still raises a value, the value is raised to the
next multiple that it does not, until there is no such choice. With a coarser step the vector takes fewer bytes and
proves less.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from omdt.check import Induction
from omdt.mdp import Bools, Floats, Ints

MAX_SWEEPS = 200
"""Sweeps over the states before a step counts as too coarse: where values creep up by single steps, more take longer
than another attempt with a finer step."""


WHOLE = 1e-6
"""By how much a number of steps may exceed a whole one and still be taken for it: the excess is rounding, and if it is
not, the value is raised once more."""


class Grounds(NamedTuple):
    """What a vector must bound, for the compiled loop.

    Attributes:
        indptr: [S·A + 1] where the transitions of row s·A + a begin.
        indices: successors.
        data: probabilities.
        rewards: [S, A] rewards times the sums of the rows.
        ends: [S] the states in which everything is over.
        first: [S + 1] where the predecessors of every state begin.
        predecessors: of all states.
        shrinkage: 1 − γ.
        margin: relative rounding error that is allowed for, twice that of the checker.
        strict: whether every choice must lower values below 0.
        cap: the highest value that is ever needed.
    """

    indptr: Ints
    indices: Ints
    data: Floats
    rewards: Floats
    ends: Bools
    first: Ints
    predecessors: Ints
    shrinkage: float
    margin: float
    strict: bool
    cap: float

    @classmethod
    def of(cls, induction: Induction) -> "Grounds":
        """What the vectors of a certificate must bound."""
        model, asked, S = induction.model, induction.asked, induction.S
        steps = (np.ones(len(model.indices), dtype=np.bool_), model.indices, model.indptr[:: induction.A])
        backward = sparse.csc_array(steps, shape=(S, S)).tocsr()
        return cls(
            indptr=model.indptr,
            indices=model.indices,
            data=model.data,
            rewards=_earned(induction),
            ends=asked.ends,
            first=backward.indptr,
            predecessors=backward.indices,
            shrinkage=float(induction.shrinkage),
            margin=2 * induction.terms * float(induction.unit),
            strict=_is_strict(induction),
            cap=_cap(induction),
        )

    def about(self, induction: Induction) -> "Grounds":
        """The same for other rewards."""
        return self._replace(rewards=_earned(induction), strict=_is_strict(induction), cap=_cap(induction))


def _earned(induction: Induction) -> Floats:
    """[S, A] rewards times the sums of the rows."""
    earned: Floats = (induction.rewards * induction.mass).reshape(induction.S, induction.A)
    return earned


def _costs_only(induction: Induction) -> bool:
    return bool((induction.asked.rewards <= 0).all())


def _is_strict(induction: Induction) -> bool:
    """Whether every choice must lower values below 0."""
    asked = induction.asked
    return asked.discount == 1 and asked.endless is None and _costs_only(induction)


def _cap(induction: Induction) -> float:
    """The highest value that is ever needed."""
    return max(0.0, float(induction.asked.final.max())) if _costs_only(induction) else np.inf


def raised(grounds: Grounds, choices: Bools, counts: Bools, V: Floats, step: float) -> Floats | None:
    """A vector of multiples of a step, not below V, that no choice raises; None if values do not settle.

    Args:
        grounds: what it must bound.
        choices: [S, A] the actions that may be chosen.
        counts: [S] the states in which that matters.
        V: [S] where to begin, final rewards in ends.
        step: a power of 2.
    """
    found = np.where(grounds.ends, V, np.minimum(np.ceil(V / step) * step, grounds.cap))
    settled = _raise(grounds, choices, counts & ~grounds.ends, found, step, MAX_SWEEPS)
    return found if settled else None


@njit(cache=True, nogil=True)
def _raise(grounds, choices, counts, V, step, sweeps):  # type: ignore[no-untyped-def]
    """Raise V [S] until no choice raises it any more; whether that came to an end."""
    S, A = grounds.rewards.shape
    active = counts.copy()
    for sweep in range(sweeps):
        changed = False
        for i in range(S):
            s = i if sweep % 2 == 1 else S - 1 - i
            if not active[s]:
                continue
            active[s] = False
            before = V[s]
            for a in range(A):
                if choices[s, a]:
                    up = _missing(grounds, V, s, a, step)
                    if up > 0.0:
                        if V[s] >= grounds.cap or up == np.inf:
                            return False
                        V[s] = min(V[s] + up, grounds.cap)
            if V[s] > before:
                changed = True
                active[s] = True
                for k in range(grounds.first[s], grounds.first[s + 1]):
                    if counts[grounds.predecessors[k]]:
                        active[grounds.predecessors[k]] = True
        if not changed:
            return True
    return False


@njit(cache=True, nogil=True)
def _missing(grounds, V, s, a, step):  # type: ignore[no-untyped-def]
    """By how much the value of a state has to be raised so that an action does not raise it; a multiple of the step."""
    row = s * grounds.rewards.shape[1] + a
    gain = grounds.rewards[s, a]
    size, leave = abs(gain), 0.0
    for k in range(grounds.indptr[row], grounds.indptr[row + 1]):
        t, p = grounds.indices[k], grounds.data[k]
        change, lost = V[t] - V[s], grounds.shrinkage * V[t]
        gain += p * (change - lost)
        size += p * (abs(change) + abs(lost))
        leave += p if t != s else p * grounds.shrinkage
    above = gain + grounds.margin * size
    if above < 0.0 or (above == 0.0 and not (grounds.strict and V[s] < 0.0)):
        return 0.0
    if leave <= 0.0:
        # The state is never left: it earns for ever, or nothing.
        return np.inf if above > 0.0 else -V[s]
    # In a circle without rewards, all values must become the same: rounding must not carry one beyond the others.
    return max(step, np.ceil(gain / leave / step - WHOLE) * step)
