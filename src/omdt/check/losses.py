"""Losses: what leaves lose compared with a vector, at least."""

from dataclasses import dataclass

import numpy as np

from .cases import Problem
from .reading import Bools, Ints, Numbers


@dataclass(frozen=True, eq=False)
class Context:
    """What losses are counted from."""

    fixed: Ints  # [S] the actions of the leaves for which U was made, −1 elsewhere
    delta: Numbers  # [S, A] δ, rounded down and at least 0
    allowed: Bools  # [S, A] the actions that agree with `fixed`
    budget: float  # β, rounded up: a policy that returns more than the bound loses less


@dataclass(frozen=True, eq=False)
class Pending:
    """A vector W that is still to be verified."""

    forced: Ints  # [S] the actions of the leaves F, −1 elsewhere
    multiplier: float | None  # λ; None for an infinite one
    W: Numbers
    value: float | None  # the loss that W must show; the budget if λ is infinite
    what: str  # its name in errors


def make_context(problem: Problem, U: Numbers, fixed: Ints, excluded: Bools, target: float) -> Context:
    """The losses relative to a vector U [S], of policies that return more than the target.

    These take the actions of fixed leaves [S], −1 elsewhere, and none of the excluded actions [S, A].
    """
    Q, rounding = problem.q_values(U)
    delta = U[:, None] - Q - rounding
    allowed = (fixed[:, None] < 0) | (fixed[:, None] == np.arange(problem.A))
    lack = max(0, -np.where(allowed & ~excluded, delta, 1).min())
    optimum = problem.at_start(U)[1] + problem.error_of(lack)
    budget = optimum - target + problem.rounding(4, abs(optimum) + abs(target))
    return Context(fixed, np.where(delta > 0, delta, 0), allowed, budget)


def losses_of(problem: Problem, context: Context, excluded: Bools, columns: list[Pending]) -> list[float]:
    """What each vector W shows: a loss, or for an infinite λ what the cheapest policy costs."""
    W = np.stack([it.W for it in columns], axis=1)
    forced = np.stack([it.forced for it in columns], axis=1)
    inside = forced >= 0
    factor = np.array([1 if it.multiplier is None else it.multiplier for it in columns])
    factor = factor + (inside & [it.multiplier is not None for it in columns])
    free = (context.allowed & ~excluded)[:, :, None] & ~inside[:, None, :]
    needed = free | (forced[:, None, :] == np.arange(problem.A)[None, :, None])
    Q = context.delta[:, :, None] * factor[:, None, :] + problem.ahead(W)
    rounding = problem.rounding(problem.terms, Q + W[:, None, :])
    violation = np.where(needed, W[:, None, :] - Q + rounding, 0).reshape(-1, len(columns)).max(axis=0)
    shown: list[float] = []
    for j, it in enumerate(columns):
        cost = problem.at_start(W[:, j])[0] - problem.error_of(max(violation[j], 0))
        allowance = 0 if it.multiplier is None else it.multiplier * context.budget
        shown.append(cost - allowance - problem.rounding(8, abs(cost) + abs(allowance)))
    return shown
