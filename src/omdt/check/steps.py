"""Steps: what a case loses at least, from losses of leaves and claims about open places."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from .cases import Pins, Problem
from .claimed import Case, Size
from .losses import Context
from .reading import Bools, require

Leaves: TypeAlias = list[tuple[int, int]]  # regions and actions


class Loss(NamedTuple):
    """What leaves lose."""

    context: Context
    leaves: Leaves
    value: float  # inside their regions, at least


class Conflict(NamedTuple):
    """States with actions that no policy of a context takes all of."""

    context: Context
    states: dict[int, int]  # by action, as bits


class Claim(NamedTuple):
    """What subtrees lose."""

    context: Context
    region: int
    size: Size
    value: float  # in the region, at least, by every subtree of this size


Claims: TypeAlias = list[Claim | None]


class Place(NamedTuple):
    """What a step is about: a case as a context sees it, within a size."""

    case: Case
    size: Size
    pins: Pins = ()


class Steps:
    """Adds up what is lost.

    The excluded actions [S, A] are those that no policy takes that returns more than the bound.
    """

    def __init__(self, problem: Problem, excluded: Bools) -> None:
        self.problem, self.excluded = problem, excluded

    def lost(self, context: Context, place: Place, kind: object, entries: list[object]) -> float:
        """What a case loses at least, by a step of a certificate."""
        ways: dict[object, Callable[..., float]] = {"s": self._sum, "h": self._halves, "x": self._left_out}
        ways["c"] = self._conflicting
        require(kind in ways, f"a step {kind!r} shows no loss")
        return ways[kind](context, place, *entries) * (1 - self.problem.rounding(len(place.case) + 8, 1.0))

    def _left_out(self, context: Context, place: Place) -> float:
        allowed, states = context.allowed & ~self.excluded, context.regions.states
        leaves = [(states[region], action) for _, region, action in place.case if action >= 0]
        possible = all(allowed[its, action].all() for its, action in leaves)
        possible = possible and all(allowed[pin] for pin in place.pins)
        agree = all(action == a or state not in its for its, action in leaves for state, a in place.pins)
        require(not (possible and agree), "no leaf takes an excluded action")
        return math.inf

    def _conflicting(self, context: Context, place: Place, conflict: Conflict) -> float:
        inherited = conflict.context is context or context.is_within(conflict.context)
        require(inherited, "a conflict is about other leaves than the case")
        taken = dict(context.taken)
        for _, region, action in place.case:
            if action >= 0:
                taken[action] = taken.get(action, context.unseen) | context.regions.bits(region)
        for state, action in place.pins:
            taken[action] = taken.get(action, context.unseen) | 1 << state
        complete = all(not its & ~taken.get(action, context.unseen) for action, its in conflict.states.items())
        require(complete, "an action of a conflict is not taken")
        return math.inf

    def _halves(self, context: Context, place: Place, pairs: list[Claims]) -> float:
        """What the two sides of a single question lose, however they share the leaves."""
        case, size = place.case, place.size
        single = [(path, action) for path, _, action in case] == [((0,), -1), ((1,), -1)]
        require(single, "only a single question has two halves")
        require(len(pairs) == len(size.shares()), "a way to share the leaves is missing")
        regions = [region for _, region, _ in case]
        return min(self._claimed(context, pair, regions, it) for pair, it in zip(pairs, size.shares(), strict=True))

    def _sum(self, context: Context, place: Place, losses: list[Loss], claims: Claims) -> float:
        """What fixed leaves and open places lose together; where nothing else is said, floors count."""
        case, size, floors = place.case, place.size, context.floors
        fixed = {region: action for _, region, action in case if action >= 0}
        opens = [(region, size.below(case, path)) for path, region, action in case if action < 0]
        total = self._claimed(context, claims, [region for region, _ in opens], [below for _, below in opens])
        for loss in losses:
            require(loss.context is context, "a loss is of another context")
            for region, action in loss.leaves:
                there = fixed.pop(region, None) == action
                require(there, "a loss is about a leaf that is not there, or was counted before")
            total += max(loss.value, sum(floors.leaf(*leaf) for leaf in loss.leaves))
        return total + sum(floors.leaf(*leaf) for leaf in fixed.items())

    def _claimed(self, context: Context, claims: Claims, regions: list[int], sizes: Sequence[Size]) -> float:
        """What subtrees of these sizes in these regions lose together."""
        require(len(claims) == len(regions), "there is not one claim for every open place")
        total = self.problem.number(0.0)
        for claim, region, size in zip(claims, regions, sizes, strict=True):
            fit = claim is None or (claim.context is context and claim.region == region and claim.size.covers(size))
            require(fit, "a claim is about another context, region or size")
            total += max(context.floors.place(region, size), 0 if claim is None else claim.value)
        return total
