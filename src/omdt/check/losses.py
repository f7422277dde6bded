"""Losses: what leaves lose compared with a vector, at least."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .cases import Open, Problem
from .claimed import Case
from .floors import Floors
from .reading import Bools, Ints, Numbers
from .regions import Regions, bits_of

FEW = 4  # if W is positive in at most 1 / FEW of the states, only the rows of these states are multiplied


@dataclass(frozen=True, eq=False)
class Context:
    """What losses are counted from."""

    fixed: Ints  # [S] the actions of the leaves and pins for which U was made, −1 elsewhere
    delta: Numbers  # [S, A] δ, rounded down and at least 0
    allowed: Bools  # [S, A] the actions of policies that agree with `fixed` and return more than the bound
    budget: float  # β, rounded up: a policy that returns more than the bound loses less
    regions: Regions  # sets of states, of those alone that such policies may visit (`seen`)
    seen: Bools | None = None  # [S] the states that such policies may visit; None for all
    certain: Numbers | None = None  # [S, A] what they lose for sure by an action, as `Floors` adds it up

    @cached_property
    def floors(self) -> Floors:
        """What leaves lose for sure."""
        return Floors(self.certain, self.allowed, self.regions)

    @property
    def visited(self) -> Bools:
        """[S] the states that such policies may visit."""
        return np.ones(len(self.fixed), dtype=np.bool_) if self.seen is None else self.seen

    @cached_property
    def unseen(self) -> int:
        """The states that such policies do not visit, as bits."""
        return bits_of(~self.visited, len(self.fixed))

    @cached_property
    def taken(self) -> dict[int, int]:
        """The states where an action is taken, as bits, by action; in unseen ones, every action is as good as taken."""
        actions = np.unique(self.fixed[self.fixed >= 0]).tolist()
        return {a: bits_of(self.fixed == a, len(self.fixed)) | self.unseen for a in actions}

    def is_within(self, other: "Context") -> bool:
        """Whether all of its policies belong to another context as well."""
        return _agree(self.fixed, other.fixed)

    def about(self, problem: Problem, case: Open) -> bool:
        """Whether it is about all policies of a case."""
        return _agree(problem.actions(*case), self.fixed)

    def view(self, problem: Problem, case: Case) -> Case:
        """A case with what is seen of its regions, as numbers of `regions`."""
        if self.seen is None:
            return case
        states = problem.regions.states
        return tuple((path, self.part(states[region]), action) for path, region, action in case)

    def part(self, states: Ints) -> int:
        """What is seen of some states, as a number of `regions`."""
        return self.regions.number(states if self.seen is None else states[self.seen[states]])


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
    allowed = agreeing(problem, fixed)
    delta, budget = counted_from(problem, U, allowed & ~excluded, target)
    return Context(fixed, delta, allowed, budget, problem.regions)


def agreeing(problem: Problem, fixed: Ints) -> Bools:
    """[S, A] the actions that agree with fixed ones [S], −1 where none is."""
    return np.asarray((fixed[:, None] < 0) | (fixed[:, None] == np.arange(problem.A)))


def _agree(actions: Ints, fixed: Ints) -> bool:
    """Whether actions [S] agree with fixed ones [S], −1 where none is."""
    return bool(np.all((fixed < 0) | (fixed == actions)))


def counted_from(problem: Problem, U: Numbers, possible: Bools, target: float) -> tuple[Numbers, float]:
    """δ and β relative to a vector U [S], of policies with possible actions [S, A] that return more than the target."""
    Q, rounding = problem.q_values(U)
    delta = U[:, None] - Q - rounding
    lack = max(0, -np.where(possible, delta, 1).min())
    optimum = problem.at_start(U)[1] + problem.error_of(lack)
    budget = optimum - target + problem.rounding(4, abs(optimum) + abs(target))
    return np.where(delta > 0, delta, 0), budget


def losses_of(problem: Problem, context: Context, excluded: Bools, columns: list[Pending]) -> list[float]:
    """What each vector W shows: a loss, or for an infinite λ what the cheapest policy costs."""
    W = np.stack([it.W for it in columns], axis=1)
    # Neither δ nor W is negative, so where W is 0 its inequalities hold by themselves.
    states = np.flatnonzero((W > 0).any(axis=1))
    some: Ints | slice = states if FEW * len(states) <= problem.S else slice(None)
    forced = np.stack([it.forced for it in columns], axis=1)[some]
    inside = forced >= 0
    factor = np.array([1 if it.multiplier is None else it.multiplier for it in columns])
    factor = factor + (inside & [it.multiplier is not None for it in columns])
    free = (context.allowed[some] & ~excluded[some])[:, :, None] & ~inside[:, None, :]
    needed = free | (forced[:, None, :] == np.arange(problem.A)[None, :, None])
    Q = context.delta[some, :, None] * factor[:, None, :] + problem.ahead(W, some)
    rounding = problem.rounding(problem.terms, Q + W[some, None, :])
    violation = np.where(needed, W[some, None, :] - Q + rounding, 0).reshape(-1, len(columns)).max(axis=0, initial=0)
    shown: list[float] = []
    for j, it in enumerate(columns):
        cost = problem.at_start(W[:, j])[0] - problem.error_of(violation[j])
        allowance = 0 if it.multiplier is None else it.multiplier * context.budget
        shown.append(cost - allowance - problem.rounding(8, abs(cost) + abs(allowance)))
    return shown
