"""Scales: against what differences of returns are judged."""

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from omdt.mdp import MDP, Floats
from omdt.norms import norms
from omdt.planning.certified import Certified
from omdt.planning.chains import visited_chain
from omdt.planning.lookahead import greedy, q_values
from omdt.planning.optimal import is_final, optimal_values
from omdt.planning.policies import expected_return, policy_return
from omdt.systems import System
from omdt.watch import Watch, late

ROUNDING = 1e-12
"""Part of the scale of a problem that counts as rounding: no return is known better where rewards add up."""

NOTHING, STAND_IN = 1e-13, 1e-3
"""What is earned counts as nothing below the first part of the smallest reward; the second part is then the scale."""

UNCERTAIN = 1e-6
"""A certified error that is a larger part of the returns than this comes from a computation that was cut off."""

_SCALES: WeakKeyDictionary[MDP, float] = WeakKeyDictionary()
"""The scales of the MDPs in use, since an MDP never changes, unless a watch ended their computation."""


def scale(mdp: MDP, watch: Watch | None = None) -> float:
    """The scale of a problem's returns, against which differences are judged; 0 while it is not known.

    It is Σ_s x(s) |r(s, a)| under the optimal policy: rewards may cancel in the return, but their rounding does not.
    Rewards that are never earned do not count. Where nothing is earned, a small part of the smallest reward stands in.
    """
    optimal = optimal_values(mdp, watch)
    if not is_final(mdp):
        return 0.0
    known = _SCALES.get(mdp)
    if known is None:
        known = _scale(mdp, optimal, watch)
        if not late(watch):
            _SCALES[mdp] = known
    return known


def _scale(mdp: MDP, optimal: Certified[Floats], watch: Watch | None) -> float:
    smallest = float(np.abs(mdp.rewards).min(where=mdp.rewards != 0, initial=np.inf))
    if not np.isfinite(smallest):
        return 0.0
    earned = _earned_without_discount(mdp, watch) if mdp.discount == 1 else _earned(mdp, optimal, watch)
    return earned if earned > NOTHING * smallest else STAND_IN * smallest


def _earned(mdp: MDP, optimal: Certified[Floats], watch: Watch | None) -> float:
    """Σ_s x(s) |r(s, a)| under the optimal policy."""
    P, r, p0 = visited_chain(mdp, greedy(q_values(mdp, optimal)))
    values = System(mdp.discount * P, norms(mdp).shrinkage).solve(np.abs(r), watch=watch)
    return float(p0 @ values)


def _earned_without_discount(mdp: MDP, watch: Watch | None) -> float:
    """The same where there is no discount; 0 if it is infinite."""
    optimal = optimal_values(mdp, watch)
    if np.any(mdp.rewards > 0) and np.any(mdp.rewards < 0):
        # Every policy ends, so that of equally good actions any will do.
        policy = greedy(q_values(mdp, optimal))
        sizes = replace(mdp, rewards=np.abs(mdp.rewards), endless=None)
        earned = policy_return(sizes, policy, watch).value
    else:
        earned = abs(expected_return(mdp, optimal).value)
    return earned if np.isfinite(earned) else 0.0


def is_rounding(error: float, largest: float) -> bool:
    """Whether an error is rounding beside returns of this size; otherwise a computation was cut off."""
    return error <= UNCERTAIN * largest + 1e-280
