"""Grounds: what losses are counted from in a certificate, and everything that was proven relative to it."""

from collections.abc import Sequence

import numpy as np

from omdt import check
from omdt.mdp import Floats, Ints
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.evidence.conflicts import ANY, Conflict, Conflicts
from omdt.methods.search.evidence.measures import Measures, Origins
from omdt.methods.search.evidence.steps import ProvenLoss, RegionClaim, Step
from omdt.watch import Watch

SINGLE_PRECISION = 1e-6
"""The part of the budget by which conflicts exceed it, so that numbers of 32 bits are enough to show them."""


class StoppedError(Exception):
    """There was an interrupt before the certificate was complete."""


class Ground:
    """A basis in a certificate.

    Args:
        measures: the checker's view of the task.
        basis: what the search counts losses from.
        context: of the checker, without the actions that the search leaves out.
        number: that of its context in the certificate.
        watch: after an interrupt, a `StoppedError` is raised.
        within: the ground that this one was made within, whose conflicts hold here as well; None if there is none.

    Attributes:
        budget: β of the search.
        origins: where the regions of the context come from.
        leaves_out: whether its vectors may need that actions are left out; the checker does so by itself where it
            follows policies.
    """

    def __init__(
        self,
        measures: Measures,
        basis: Basis,
        context: check.Context,
        number: int,
        watch: Watch,
        within: "Ground | None" = None,
    ) -> None:
        self._measures, self._tables, self._watch = measures, basis.tables, watch
        self.budget, self.number, self.context = basis.budget, number, context
        self.origins = measures.origins if context.seen is None else Origins(context.regions)
        self.leaves_out = bool((context.allowed & measures.without).any())
        most = self._tables.settings.max_conflicts
        self._conflicts: Conflicts = Conflicts(None if within is None else within._conflicts, most)
        self._given = np.where(context.visited, context.fixed, ANY)
        self._leaves: dict[tuple[int, int], tuple[float, ProvenLoss | None]] = {}
        self._claims: dict[tuple[int, check.Size], tuple[float, RegionClaim | None]] = {}

    def view(self, case: check.Case) -> check.Case:
        """What the context sees of a case."""
        view = self.context.view(self._measures.problem, case)
        if self.context.seen is not None:
            for (_, region, _), (_, part, _) in zip(case, view, strict=True):
                self.origins.is_part(part, region)
        return view

    def lost(
        self,
        case: check.Case,
        size: check.Size,
        goal: float,
        before: Sequence[ProvenLoss] | None = None,
        pins: check.Pins = (),
    ) -> tuple[float, Step]:
        """What a case loses at least, as far as is needed to reach the goal, and the step that shows it.

        Args:
            case: its fixed leaves and open places, as the context sees them.
            size: how large its completions may be.
            goal: the loss that is enough.
            before: what is known of some of the leaves; the others are then first tried by themselves.
            pins: what is decided about single states.
        """
        states = self.origins.regions.states
        fixed = tuple((r, action) for _, r, action in case if action >= 0 and len(states[r]))
        impossible = self._impossible(fixed, pins)
        if impossible is not None:
            return np.inf, impossible
        known = list(before or ())
        apart, total = self._apart(fixed, known), 0.0
        claims: list[RegionClaim | None] = []
        for path, region, action in case:
            if action < 0:
                below = size.below(case, path)
                claims.append(self.claim(region, below, goal - apart - total))
                total += self._claimed(claims[-1], region, below)
        if total + apart < goal and (before is not None or len(fixed) == 1):
            alone = [leaf for leaf in fixed if not any(leaf in loss.leaves for loss in known)]
            known += [loss for leaf in alone if (loss := self._leaf(leaf, goal - total)) is not None]
            apart = self._apart(fixed, known)
        together = self._inside(fixed, goal - total) if total + apart < goal and len(fixed) > 1 else None
        if together is not None and together.value > apart:
            known, apart = [together], together.value
        if (conflict := next((loss.conflict for loss in known if loss.conflict is not None), None)) is not None:
            return np.inf, Step("c", conflict=conflict)
        return total + apart, Step("s", losses=tuple(known), claims=tuple(claims))

    def _apart(self, fixed: tuple[tuple[int, int], ...], known: Sequence[ProvenLoss]) -> float:
        """What leaves lose by what is known of some of them, and by their floors."""
        floors, others = self.context.floors, set(fixed)
        total = 0.0
        for loss in known:
            others -= set(loss.leaves)
            total += max(loss.value, sum(floors.leaf(*leaf) for leaf in loss.leaves))
        return total + sum(floors.leaf(*leaf) for leaf in others)

    def _claimed(self, claim: RegionClaim | None, region: int, size: check.Size) -> float:
        """What an open place loses by a claim and by its floor."""
        return max(_value(claim), self.context.floors.place(region, size))

    def claim(self, region: int, size: check.Size, goal: float) -> RegionClaim | None:
        """A claim that reaches the goal, or as much as the tables know; None for no loss."""
        asked, known = self._claims.get((region, size), (0.0, None))
        if goal <= asked or self._claimed(known, region, size) >= goal:
            return known
        surplus = 1.0 if known is None else self._tables.settings.claim_surplus
        asked = min(self.budget, surplus * goal)
        states = self.origins.regions.states[region]
        if len(states) == 0:
            return None
        loss = self._tables.loss(self._tables.regions.region(states), size.depth, size.leaves, asked)
        if loss > self._claimed(known, region, size) + self._measures.tolerance(size):
            steps: list[Step] = []
            value = self._grow((((), region, -1),), size, loss, (), steps)
            if value > _value(known):
                known = RegionClaim(region, size, steps, value)
        self._claims[region, size] = (asked, known)
        return known

    def _impossible(self, fixed: tuple[tuple[int, int], ...], pins: check.Pins) -> Step | None:
        """The step for a case with an action that is left out, or with a conflict that is known; None without one."""
        left_out = self._left_out(fixed, pins)
        if left_out is not None:
            return Step("x", without=left_out if self._measures.without[left_out] else None)
        conflict = self._conflicts.inside(self._forced(fixed, pins, self._given))
        return None if conflict is None else Step("c", conflict=conflict)

    def _left_out(self, fixed: tuple[tuple[int, int], ...], pins: check.Pins) -> tuple[int, int] | None:
        """A state of a leaf or a pin whose action is left out, and the action; None if there is none."""
        without, allowed = self._measures.without, self.context.allowed
        for state, action in pins:
            if without[state, action] or not allowed[state, action]:
                return state, action
        for region, action in fixed:
            states = self.origins.regions.states[region]
            apart = without[states, action] | ~allowed[states, action]
            for state, pinned in pins:
                if pinned != action:
                    apart |= states == state
            if apart.any():
                return int(states[np.argmax(apart)]), action
        return None

    def _grow(
        self, case: check.Case, size: check.Size, goal: float, before: Sequence[ProvenLoss], steps: list[Step]
    ) -> float:
        """The least that any completion of a case loses, by steps for the case and all below it."""
        opens = [i for i, (_, _, action) in enumerate(case) if action < 0]
        enough = goal - self._measures.tolerance(size)
        if len(opens) == len(case) == 2 and len(size.shares()) > 1:
            value, step = self._halves(case, size, goal)
            if value >= enough:
                steps.append(step)
                return value
        if len(case) > 1 or not opens:
            value, step = self.lost(case, size, goal, before)
            if value >= enough or not opens:
                steps.append(step)
                return value
            before = step.losses
        place = min(opens, key=lambda i: (size.below(case, case[i][0]).depth, i))
        steps.append(Step("b", place=place))
        children = self.origins.children(case, place, size)
        return min((self._grow(child, size, goal, before, steps) for _, child in children), default=np.inf)

    def _halves(self, case: check.Case, size: check.Size, goal: float) -> tuple[float, Step]:
        """What a question loses at least, whichever way its sides share the leaves."""
        claims: list[RegionClaim | None] = []
        least = np.inf
        for shares in size.shares():
            left = self.claim(case[0][1], shares[0], goal)
            lost = self._claimed(left, case[0][1], shares[0])
            right = self.claim(case[1][1], shares[1], goal - lost)
            claims += [left, right]
            least = min(least, lost + self._claimed(right, case[1][1], shares[1]))
        return least, Step("h", claims=tuple(claims))

    def _leaf(self, leaf: tuple[int, int], goal: float) -> ProvenLoss | None:
        """What a leaf loses by itself."""
        asked, known = self._leaves.get(leaf, (0.0, None))
        if asked < goal and _value(known) < goal:
            found = self._inside((leaf,), goal)
            known = found if _value(found) > _value(known) else known
            self._leaves[leaf] = (goal, known)
        return known

    def _inside(self, leaves: tuple[tuple[int, int], ...], goal: float) -> ProvenLoss | None:
        """What leaves lose together."""
        if self._watch.remaining == 0:
            raise StoppedError
        measures = self._measures
        forced = self._forced(leaves, (), np.full(measures.problem.S, -1))
        lost = self._tables.losses.inside(forced, self.budget, goal)
        if lost.multiplier is None or lost.values is None:
            return None
        finite = None if np.isinf(lost.multiplier) else float(lost.multiplier)
        if finite is None and (conflict := self._conflict(forced, lost.values)) is not None:
            return ProvenLoss(leaves, None, b"", np.inf, conflict)
        vector, value = measures.shortest(self.context, measures.without, forced, finite, lost.values, lost.value)
        return ProvenLoss(leaves, finite, vector, value) if value > 0 else None

    def _forced(self, leaves: tuple[tuple[int, int], ...], pins: check.Pins, others: Ints) -> Ints:
        """[S] the actions of leaves and pins; the given ones in all other states."""
        forced = others.copy()
        for region, action in leaves:
            forced[self.origins.regions.states[region]] = action
        for state, action in pins:
            forced[state] = action
        return forced

    def _conflict(self, forced: Ints, values: Floats) -> Conflict | None:
        """A new conflict among the actions of leaves, which exceed the budget; None if no vector shows one."""
        measures, losses = self._measures, self._tables.losses
        needed = max(self.budget, measures.enough(self.context)) * (1 + SINGLE_PRECISION)
        states = losses.to_blame(forced, values, needed)
        if states is None:
            return None
        blamed = np.full_like(forced, -1)
        blamed[states] = forced[states]
        costs = losses.cheapest(blamed).values
        vector, shown = measures.shortest(self.context, measures.without, blamed, None, costs, np.inf)
        if shown == 0.0:
            return None
        conflict = Conflict(self.context, self.number, states, forced[states], vector)
        self._conflicts.add(conflict)
        return conflict


def _value(proven: ProvenLoss | RegionClaim | None) -> float:
    return 0.0 if proven is None else proven.value
