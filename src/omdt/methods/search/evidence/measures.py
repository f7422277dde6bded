"""Measures: the task as the checker measures it, and how closely evidence must fit."""

from dataclasses import dataclass

import numpy as np

from omdt import check
from omdt.certificate import model_of
from omdt.mdp import EPSILON, Bools, Floats, Ints
from omdt.methods.search.bounds.bases import budget_of
from omdt.methods.search.knowledge import Knowledge

MARGIN = 4e-4
"""The part of the gap by which evidence may miss what the search asks for, because it is written with fewer digits."""

LOSS_MARGIN = 1e-12
"""The part of what it is the difference of by which, besides its rounding, a loss is written lower than it was found:
the checker computes many vectors at once and may round differently."""


@dataclass(frozen=True, eq=False)
class Statement:
    """What a certificate is to prove.

    Attributes:
        policy: [S] the actions of the best tree.
        value: its return.
        target: no tree is to return more, up to a margin.
        room: the absolute gap; a part of it is the margin.
        raised: whether the target is higher than a proof of the tree needs.
        questions: what the trees may ask; None for thresholds on every feature.
        objective: what is maximised, in PRISM's syntax; None for the discounted return.
        rules: rules about questions, as a file states them; None if there are none.
    """

    policy: Ints
    value: float
    target: float
    room: float
    raised: bool
    questions: check.Questions | None = None
    objective: str | None = None
    rules: dict[str, check.Json] | None = None


Origin = tuple[int, int, int] | int
"""A region, a question and a side of it; or the region of which a context sees a part."""


class Origins:
    """Where regions come from, so that a certificate can tell of each of them how it is made.

    Attributes:
        regions: of the checker.
        numbers: by region, its number in the certificate, once it is written.
    """

    def __init__(self, regions: check.Regions) -> None:
        self.regions = regions
        self.numbers: dict[int, int] = {}
        self._origin: dict[int, Origin] = {}

    def children(
        self, case: check.Case, place: int, size: check.Size, questions: list[int] | None = None
    ) -> list[tuple[tuple[str, int], check.Case]]:
        """The cases that take the place of one, as in the checker; where their regions come from is remembered."""
        children = self.regions.children(case, place, size, questions)
        region = case[place][1]
        for (kind, k), _ in children:
            if kind == "question":
                for side, number in enumerate(self.regions.split(region, k)):
                    self._origin.setdefault(number, (region, k, side))
        return children

    def is_part(self, region: int, whole: int) -> None:
        """Remember that a region is what a context sees of another one."""
        self._origin.setdefault(region, whole)

    def of(self, region: int) -> Origin:
        """Where a region comes from."""
        return self._origin[region]


class Measures:
    """The checker's view of a task.

    Attributes:
        problem: the task as the checker sees it.
        size: how large trees may be.
        origins: where the regions of cases come from.
        bound: no case may return more; it rises when a tree is evaluated that does.
        lowered: the part by which losses are written lower than they were found.
        budget: the loss, from the unrestricted optimum, of a tree that returns as much as the target.
        without: [S, A] actions that are left out, because no policy within the budget takes them.
    """

    def __init__(self, knowledge: Knowledge, statement: Statement) -> None:
        size = knowledge.model.size
        self.statement = statement
        self.problem = check.Problem(model_of(knowledge.model.mdp), statement.questions)
        # What a violation is rounded by counts for the loss divided by 1 − γ.
        self.lowered = LOSS_MARGIN + 2 * self.problem.terms * EPSILON / float(self.problem.contraction)
        self.size = check.Size(size.depth, size.leaves)
        self.bound = statement.target + MARGIN * statement.room
        self.budget = budget_of(knowledge.bases.losses.optimum, statement.target)
        self.without: Bools = np.zeros((self.problem.S, self.problem.A), dtype=np.bool_)
        self.origins = Origins(self.problem.regions)
        self.origins.numbers[0] = 0
        self.following = check.Following(self.problem)

    def leave_out(self, without: Bools) -> None:
        """Leave actions [S, A] out from now on."""
        self.without = without

    def raise_bound(self, least: float) -> None:
        """Let no case close below a value that a tree returns."""
        self.bound = max(self.bound, least)

    def context(self, values: Floats, fixed: Ints) -> check.Context:
        """What the checker counts losses from, given U [S] and the actions [S] of leaves, −1 elsewhere."""
        return check.make_context(self.problem, self.problem.numbers(values), fixed, self.without, self.bound)

    def enough(self, context: check.Context) -> float:
        """The loss that convinces the checker that a case exceeds the budget of a context."""
        return float(context.budget + self.lowered * abs(context.budget))

    @property
    def digits(self) -> float:
        """What a loss may miss because its vector is written with fewer digits."""
        return MARGIN * self.statement.room / (4 * self.size.leaves)

    def tolerance(self, size: check.Size) -> float:
        """By how much a claim about trees of a size may miss what the tables say."""
        return size.leaves * self.digits + 1e-11 * self.budget

    def shortest(
        self,
        context: check.Context,
        without: Bools,
        forced: Ints,
        multiplier: float | None,
        values: Floats,
        lost: float,
    ) -> tuple[bytes, float]:
        """A vector of costs with as few digits as needed, and the loss it shows; infinite if λ is (None).

        Args:
            context: what losses are counted from.
            without: [S, A] actions that are left out.
            forced: [S] the actions of leaves, −1 elsewhere.
            multiplier: λ.
            values: [S] costs of the cheapest policy.
            lost: what the search found that they show.
        """
        W = np.maximum(values, 0.0)
        short = W.astype(np.float32)
        short = np.maximum(np.where(short > W, np.nextafter(short, np.float32(-1)), short), np.float32(0))

        def shown(vector: Floats) -> float:
            return check.losses_of(
                self.problem, context, without, [check.Pending(forced, multiplier, vector, None, "")]
            )[0]

        rounded = shown(short.astype(np.float64))
        if multiplier is None:
            needed = self.enough(context)
            if rounded >= needed:
                return short.tobytes(), np.inf
            return W.tobytes(), np.inf if shown(W) >= needed else 0.0
        lowered = self.lowered * (float(W.max()) + multiplier * abs(context.budget))
        if rounded >= lost - self.digits:
            return short.tobytes(), rounded - lowered
        return W.tobytes(), shown(W) - lowered
