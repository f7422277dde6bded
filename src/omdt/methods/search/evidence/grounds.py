"""Grounds: what losses are counted from in a certificate, and everything that was proven relative to it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omdt import check
from omdt.mdp import Ints
from omdt.methods.search.bounds.bases import Basis
from omdt.methods.search.evidence.measures import Measures
from omdt.watch import Watch


class StoppedError(Exception):
    """There was an interrupt before the certificate was complete."""


@dataclass(eq=False)
class ProvenLoss:
    """What leaves lose at least, with the λ (None for an infinite one) and the vector that show it.

    `number` is that of its record; −1 before it is written.
    """

    leaves: tuple[tuple[int, int], ...]
    multiplier: float | None
    vector: bytes
    value: float
    number: int = -1

    def written(self, number: int) -> None:
        """Remember the number of its record; the vector is not needed any more."""
        self.number, self.vector = number, b""


@dataclass(frozen=True, eq=False)
class Step:
    """How a case is branched or closed.

    Attributes:
        kind: b for a branch, s for a sum, h for two halves, x for a leaf with an action that is left out.
        place: the place of a branch.
        losses: the losses of a sum.
        claims: the claims of a sum, or of halves, two for each way to share the leaves; None for no loss.
        without: the state and the action that is left out.
    """

    kind: str
    place: int = 0
    losses: tuple[ProvenLoss, ...] = ()
    claims: "tuple[RegionClaim | None, ...]" = ()
    without: tuple[int, int] | None = None


@dataclass(eq=False)
class RegionClaim:
    """What every subtree of a size loses at least in a region, with the steps that show it.

    `number` is that of its record; −1 before it is written.
    """

    region: int
    size: check.Size
    steps: list[Step]
    value: float
    number: int = -1

    def written(self, number: int) -> None:
        """Remember the number of its record; the steps are not needed any more."""
        self.number, self.steps = number, []


class Ground:
    """A basis in a certificate.

    Args:
        measures: the checker's view of the task.
        basis: what the search counts losses from.
        fixed: [S] the actions that belong to it, −1 elsewhere.
        number: that of its context in the certificate.
        watch: after an interrupt, a `StoppedError` is raised.

    Attributes:
        budget: β of the search.
        context: of the checker, without the actions that the search leaves out.
    """

    def __init__(self, measures: Measures, basis: Basis, fixed: Ints, number: int, watch: Watch) -> None:
        self._measures, self._losses, self._tables, self._watch = measures, basis.losses, basis.tables, watch
        self.budget, self.number = basis.budget, number
        values = measures.problem.numbers(basis.losses.values)
        self.context = check.make_context(measures.problem, values, fixed, measures.without, measures.bound)
        self._leaves: dict[tuple[int, int], tuple[float, ProvenLoss | None]] = {}
        self._claims: dict[tuple[int, check.Size], tuple[float, RegionClaim | None]] = {}

    def lost(
        self, case: check.Case, size: check.Size, goal: float, before: Sequence[ProvenLoss] | None = None
    ) -> tuple[float, Step]:
        """What a case loses at least, as far as is needed to reach the goal, and the step that shows it.

        Args:
            case: its fixed leaves and open places.
            size: how large its completions may be.
            goal: the loss that is enough.
            before: what is known of some of the leaves; the others are then first tried by themselves.
        """
        fixed = tuple((region, action) for _, region, action in case if action >= 0)
        left_out = self._left_out(fixed)
        if left_out is not None:
            return np.inf, Step("x", without=left_out)
        total = 0.0
        claims: list[RegionClaim | None] = []
        for path, region, action in case:
            if action < 0:
                claims.append(self.claim(region, size.below(case, path), goal - total))
                total += _value(claims[-1])
        known = list(before or ())
        if before is not None or len(fixed) == 1:
            alone = [leaf for leaf in fixed if not any(leaf in loss.leaves for loss in known)]
            known += [loss for leaf in alone if (loss := self._leaf(leaf, goal - total)) is not None]
        apart = sum(loss.value for loss in known)
        if total + apart < goal and len(fixed) > 1:
            together = self._inside(fixed, goal - total)
            if _value(together) > apart:
                known, apart = [together] if together is not None else [], _value(together)
        return total + apart, Step("s", losses=tuple(known), claims=tuple(claims))

    def claim(self, region: int, size: check.Size, goal: float) -> RegionClaim | None:
        """A claim that reaches the goal, or as much as the tables know; None for no loss."""
        asked, known = self._claims.get((region, size), (0.0, None))
        if goal <= asked or _value(known) >= goal:
            return known
        surplus = 1.0 if known is None else self._tables.settings.claim_surplus
        asked = min(self.budget, surplus * goal)
        states = self._measures.regions.region(self._measures.problem.regions[region])
        loss = self._tables.loss(states, size.depth, size.leaves, asked)
        if loss > _value(known) + self._measures.tolerance(size):
            steps: list[Step] = []
            value = self._grow((((), region, -1),), size, loss, (), steps)
            if value > _value(known):
                known = RegionClaim(region, size, steps, value)
        self._claims[region, size] = (asked, known)
        return known

    def _left_out(self, fixed: tuple[tuple[int, int], ...]) -> tuple[int, int] | None:
        """A state of a leaf whose action is left out, and the action; None if there is none."""
        for region, action in fixed:
            states = self._measures.problem.regions[region]
            out = self._measures.without[states, action]
            if out.any():
                return int(states[np.argmax(out)]), action
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
        children = self._measures.children(case, place, size)
        return min((self._grow(child, size, goal, before, steps) for _, child in children), default=np.inf)

    def _halves(self, case: check.Case, size: check.Size, goal: float) -> tuple[float, Step]:
        """What a question loses at least, whichever way its sides share the leaves."""
        claims: list[RegionClaim | None] = []
        least = np.inf
        for shares in size.shares():
            left = self.claim(case[0][1], shares[0], goal)
            right = self.claim(case[1][1], shares[1], goal - _value(left))
            claims += [left, right]
            least = min(least, _value(left) + _value(right))
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
        forced = np.full(measures.problem.S, -1)
        for region, action in leaves:
            forced[measures.problem.regions[region]] = action
        lost = self._losses.inside(forced, self.budget, goal)
        if lost.multiplier is None or lost.values is None:
            return None
        finite = None if np.isinf(lost.multiplier) else float(lost.multiplier)
        vector, value = measures.shortest(self.context, measures.without, forced, finite, lost.values)
        return ProvenLoss(leaves, finite, vector, value) if value > 0 else None


def _value(proven: ProvenLoss | RegionClaim | None) -> float:
    return 0.0 if proven is None else proven.value
