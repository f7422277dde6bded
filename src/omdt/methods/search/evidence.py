"""Evidence: what the exact search writes into a certificate, so that its bound can be checked without it.

When the search has ended, its cases are gone through once more, now that the best tree and the bound are known, and for
each case it is written down how it is branched or what closes it. Everything is measured as the checker will measure it
(`omdt.check`), so a case whose evidence would not convince the checker is branched further instead.

The losses of a case rest on claims, what any subtree of a certain size loses at least in a region. The tables know
these numbers but not their reasons, which are found again here: a claim is proven by cases of its own, each closed by
losses of leaves and by other claims. Only what is used in the end is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from omdt import check
from omdt.certificate import Writer, model_of
from omdt.errors import FalseClaimError
from omdt.files import write_whole
from omdt.mdp import EPSILON, Bools, Floats, Ints
from omdt.methods.search import symmetry
from omdt.methods.search.exact import (
    NODES_A_BASIS,
    Basis,
    Exploration,
    Explorer,
    Incumbent,
    Open,
    Partial,
    budget_of,
)
from omdt.methods.search.local import Nested, replaced
from omdt.questions import to_dict
from omdt.watch import Watch

MARGIN = 4e-4
"""The part of the gap by which evidence may miss what the search asks for, because it is written with fewer digits."""

SYMMETRY_MARGIN = 2e-4
"""The part of the gap that symmetries may cost because they are not exact; where it is more they are not used."""

LOWERED = 1e-12
"""By this part of what it is the difference of, and by its rounding, a loss is written lower than it was found: the
checker looks at many vectors at once and may round differently."""

MORE = 1.5
"""By this factor a claim is made stronger than needed when it was needed stronger than before."""


class StoppedError(Exception):
    """There was an interrupt before the certificate was complete."""


@dataclass(eq=False)
class Loss:
    """What leaves lose at least, with the λ (None for an infinite one) and the vector that show it."""

    leaves: tuple[tuple[int, int], ...]
    multiplier: float | None
    vector: bytes
    value: float
    number: int = -1


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
    losses: tuple[Loss, ...] = ()
    claims: "tuple[Claim | None, ...]" = ()
    without: tuple[int, int] | None = None


@dataclass(eq=False)
class Claim:
    """What every subtree of a size loses at least in a region, with the steps that show it."""

    region: int
    size: check.Size
    steps: list[Step]
    value: float
    number: int = -1


@dataclass(frozen=True, eq=False)
class Goal:
    """What a certificate is to prove.

    Attributes:
        policy: [S] the actions of the best tree.
        value: its return.
        target: no tree is to return more, up to a margin.
        room: the absolute gap; a part of it is the margin.
        raised: whether the target is higher than a proof of the tree needs.
        questions: what the trees may ask; None for thresholds on every feature.
    """

    policy: Ints
    value: float
    target: float
    room: float
    raised: bool
    questions: check.Questions | None = None


def prove(path: Path, explorer: Explorer, start: Floats, goal: Goal) -> float:
    """Write a certificate, and return the bound it proves.

    Args:
        path: the file.
        explorer: of the problem that was searched.
        start: [S] a vector above the values of all policies.
        goal: what to prove.

    Raises:
        StoppedError: if there was an interrupt; there is no file then.
    """
    bounds: list[float] = []
    write_whole(path, lambda stream: bounds.append(Proof(stream, explorer, start, goal).run()))
    return bounds[0]


class Ground:
    """What losses are counted from, and everything that was proven relative to it.

    Attributes:
        budget: β of the search.
        context: of the checker, without the actions that the search leaves out.
        number: of the context in the certificate.
    """

    def __init__(self, proof: "Proof", basis: Basis, fixed: Ints, number: int) -> None:
        self.proof, self.losses, self.tables, self.number = proof, basis.losses, basis.tables, number
        self.budget = basis.tables.budget
        values = proof.problem.numbers(self.losses.values)
        self.context = check.make_context(proof.problem, values, fixed, proof.without, proof.bound)
        self._leaves: dict[tuple[int, int], tuple[float, Loss | None]] = {}
        self._claims: dict[tuple[int, check.Size], tuple[float, Claim | None]] = {}

    def lost(
        self, case: check.Case, size: check.Size, goal: float, before: Sequence[Loss] | None = None
    ) -> tuple[float, Step]:
        """What a case loses at least, as far as is needed to reach the goal, and the step that shows it.

        Args:
            case: its fixed leaves and open places.
            size: how large its completions may be.
            goal: the loss that is enough.
            before: what is known of some of the leaves; the others are then first tried by themselves.
        """
        regions = self.proof.problem.regions
        fixed = tuple((region, action) for _, region, action in case if action >= 0)
        for region, action in fixed:
            out = self.proof.without[regions[region], action]
            if out.any():
                return np.inf, Step("x", without=(int(regions[region][np.argmax(out)]), action))
        total = 0.0
        claims: list[Claim | None] = []
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

    def claim(self, region: int, size: check.Size, goal: float) -> Claim | None:
        """A claim that reaches the goal, or as much as the tables know; None for no loss."""
        asked, known = self._claims.get((region, size), (0.0, None))
        if goal <= asked or _value(known) >= goal:
            return known
        asked = min(self.budget, goal if known is None else MORE * goal)
        states = self.proof.regions.region(self.proof.problem.regions[region])
        loss = self.tables.loss(states, size.depth, size.leaves, asked)
        if loss > _value(known) + self.proof.tolerance(size):
            steps: list[Step] = []
            value = self._grow((((), region, -1),), size, loss, (), steps)
            if value > _value(known):
                known = Claim(region, size, steps, value)
        self._claims[region, size] = (asked, known)
        return known

    def _grow(
        self, case: check.Case, size: check.Size, goal: float, before: Sequence[Loss], steps: list[Step]
    ) -> float:
        """The least that any completion of a case loses, by steps for the case and all below it."""
        opens = [i for i, (_, _, action) in enumerate(case) if action < 0]
        enough = goal - self.proof.tolerance(size)
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
        children = self.proof.children(case, place, size)
        return min((self._grow(child, size, goal, before, steps) for _, child in children), default=np.inf)

    def _halves(self, case: check.Case, size: check.Size, goal: float) -> tuple[float, Step]:
        """What a question loses at least, whichever way its sides share the leaves."""
        claims: list[Claim | None] = []
        least = np.inf
        for shares in size.shares():
            left = self.claim(case[0][1], shares[0], goal)
            right = self.claim(case[1][1], shares[1], goal - _value(left))
            claims += [left, right]
            least = min(least, _value(left) + _value(right))
        return least, Step("h", claims=tuple(claims))

    def _leaf(self, leaf: tuple[int, int], goal: float) -> Loss | None:
        """What a leaf loses by itself."""
        asked, known = self._leaves.get(leaf, (0.0, None))
        if asked < goal and _value(known) < goal:
            found = self._inside((leaf,), goal)
            known = found if _value(found) > _value(known) else known
            self._leaves[leaf] = (goal, known)
        return known

    def _inside(self, leaves: tuple[tuple[int, int], ...], goal: float) -> Loss | None:
        """What leaves lose together."""
        if self.proof.watch.remaining == 0:
            raise StoppedError
        forced = np.full(self.proof.problem.S, -1)
        for region, action in leaves:
            forced[self.proof.problem.regions[region]] = action
        self.losses.inside(forced, self.budget, goal)
        if self.losses.witness is None:
            return None
        multiplier, V = self.losses.witness
        finite = None if np.isinf(multiplier) else float(multiplier)
        vector, value = self.proof.shortest(self.context, self.proof.without, forced, finite, V)
        return Loss(leaves, finite, vector, value) if value > 0 else None


def _value(proven: Loss | Claim | None) -> float:
    return 0.0 if proven is None else proven.value


class Proof:
    """One certificate while it is written.

    Attributes:
        start: [S] a vector above the values of all policies, on which no action gains.
        problem: as the checker sees it.
        bound: no case may return more; it rises when a tree is met that does.
        slack: what symmetries add to that.
        without: [S, A] actions that are left out, because no policy within the budget takes them.
        cases: the cases that are neither branched nor closed, with their numbers.
    """

    def __init__(self, stream: BinaryIO, explorer: Explorer, start: Floats, goal: Goal) -> None:
        self.explorer, self.start, self.goal = explorer, start, goal
        self.problem = check.Problem(model_of(explorer.mdp), goal.questions)
        # What a violation is rounded by counts for the loss divided by 1 − γ.
        self.lowered = LOWERED + 2 * self.problem.terms * EPSILON / float(self.problem.contraction)
        self.size = check.Size(explorer.size.depth, explorer.size.leaves)
        self.regions = explorer.regions
        self.watch = Watch()
        self.bound = goal.target + MARGIN * goal.room
        head = {
            "states": self.problem.S,
            "actions": self.problem.A,
            "questions": self.problem.sides.shape[1],
            "depth": self.size.depth,
            "leaves": self.size.leaves,
            "discount": explorer.mdp.discount,
            "policy": check.policy_digest(goal.policy),
        }
        if goal.questions is not None:
            head["asks"] = to_dict(goal.questions)
        self.writer = Writer(stream, head)
        self.slack = self._write_symmetries()
        self.options = check.Options(self.problem)
        self.without: Bools = np.zeros((self.problem.S, self.problem.A), dtype=np.bool_)
        self.cases: dict[Nested, tuple[int, check.Case]] = {None: (0, (((), 0, -1),))}
        self._written = self.without.copy()
        self._origin: dict[int, tuple[int, int, int]] = {}
        self._region_numbers = {0: 0}
        self._count = {"case": 1, "context": 0, "loss": 0, "claim": 0}

    def run(self) -> float:
        """Write everything; the bound that is proven."""
        with self.watch.catching_interrupts():
            self._explore()
        if self.watch.interrupted:
            raise StoppedError
        if self.cases:
            raise FalseClaimError(f"{len(self.cases)} cases of the search were closed without evidence")
        self.writer.close()
        return self.bound + self.slack + 8 * EPSILON * (abs(self.bound) + self.slack)

    def _explore(self) -> None:
        """Go through all cases."""
        explorer, target = self.explorer, self.goal.target
        budget = budget_of(explorer.losses.optimum, target)
        self.free = self._ground(Basis(explorer.nothing, explorer.losses, self._tables(explorer.losses, budget)))
        if budget <= 0:
            self.bound += max(0.0, float(self.free.context.budget)) * (1 + 8 * EPSILON)
            self._write_close(None, self.free, Step("s", claims=(None,)))
            return
        losses = explorer.losses.within(budget, self.watch)
        self.without = np.isinf(losses.delta)
        basis = Basis(explorer.nothing, losses, self._tables(losses, budget))
        ground = Ground(self, basis, np.full(self.problem.S, -1), self.free.number)
        bound = max(float(explorer.mdp.initial @ self.start), float(np.nextafter(target, np.inf)))
        incumbent = Incumbent(self.goal.value, target, budget, self.goal.raised)
        recording = Recording(explorer, basis, incumbent, self.watch, self, ground)
        recording.run((bound, Partial(None, self.start)), 1 << 62)

    def ground_at(self, tree: Nested, basis: Basis) -> Ground:
        """The ground of a case with fixed leaves."""
        return self._ground(basis, *self.cases[tree])

    def tolerance(self, size: check.Size) -> float:
        """By how much a claim about trees of a size may miss what the tables say."""
        return size.leaves * self._digits() + 1e-11 * self.free.budget

    def children(self, case: check.Case, place: int, size: check.Size) -> list[tuple[tuple[str, int], check.Case]]:
        """As in the checker; where regions come from is remembered."""
        children = self.problem.children(case, place, size)
        region = case[place][1]
        for (kind, k), _ in children:
            if kind == "question":
                for side, number in enumerate(self.problem.split(region, k)):
                    self._origin.setdefault(number, (region, k, side))
        return children

    def branch(self, tree: Nested, path: tuple[bool, ...], dropped: list[tuple[str, int, int]]) -> None:
        """Write that a case is branched, and which ways to go on symmetries make superfluous."""
        number, case = self.cases.pop(tree)
        place = next(i for i, it in enumerate(case) if it[0] == path)
        children = self.children(case, place, self.size)
        labels = {label for label, _ in children}
        left_out = {(kind, which): by for kind, which, by in dropped if (kind, which) in labels}
        self.writer.write("branch", number, place, [[*label, by] for label, by in left_out.items()])
        for label, child in children:
            if label not in left_out:
                subtree = label[1] if label[0] == "action" else (label[1], None, None)
                self.cases[replaced(tree, path, subtree)] = (self._number("case"), child)

    def close(self, tree: Nested, ground: Ground) -> bool:
        """Write that a case is closed by losses, if it is."""
        value, step = ground.lost(self.cases[tree][1], self.size, ground.budget)
        if not value >= ground.context.budget + self.lowered * abs(ground.context.budget):
            return False
        self._write_close(tree, ground, step)
        return True

    def close_by_options(self, tree: Nested, vector: Floats) -> bool:
        """Write that a case is closed by a vector of values, if it is."""
        number, case = self.cases[tree]
        largest = float(np.abs(vector).max() + np.abs(self.problem.rewards).max())
        rounding = 64 * self.problem.terms * EPSILON * largest / float(self.problem.contraction) ** 2
        values = self.problem.numbers(vector)
        if float(self.explorer.mdp.initial @ vector) + rounding > self.bound and not (
            self.options.bound(case, self.size, values) + rounding / 64 <= self.bound
        ):
            return False
        self.writer.write("close", number, 0, ["options"], raw=vector.astype("<f8").tobytes())
        del self.cases[tree]
        return True

    def close_by_value(self, tree: Nested) -> float:
        """Write that a tree returns no more than the bound, which rises if it does; the tree's return from above."""
        number, case = self.cases.pop(tree)
        value = float(self.problem.value(self.problem.actions(case))[1])
        self.bound = max(self.bound, value)
        self.writer.write("close", number, 0, ["value"])
        return value

    def shortest(
        self, context: check.Context, without: Bools, forced: Ints, multiplier: float | None, V: Floats
    ) -> tuple[bytes, float]:
        """A vector of costs with as few digits as needed, and the loss it shows; infinite where λ is."""
        W = np.maximum(V, 0.0)
        single = W.astype(np.float32)
        short = np.maximum(np.where(single > W, np.nextafter(single, np.float32(-1)), single), np.float32(0))
        exact, rounded = check.losses_of(
            self.problem,
            context,
            without,
            [check.Pending(forced, multiplier, vector, None, "") for vector in (W, short.astype(np.float64))],
        )
        if multiplier is None:
            needed = context.budget + self.lowered * abs(context.budget)
            loss = np.inf if exact >= needed else 0.0
            return (short if rounded >= needed else W).tobytes(), loss
        lowered = self.lowered * (float(W.max()) + multiplier * abs(context.budget))
        if rounded >= exact - self._digits():
            return short.tobytes(), rounded - lowered
        return W.tobytes(), exact - lowered

    def _digits(self) -> float:
        """What a loss may miss because its vector is written with fewer digits."""
        return MARGIN * self.goal.room / (4 * self.size.leaves)

    def _tables(self, losses: Any, budget: float) -> Any:
        return self.explorer.tables(losses, budget, self.watch)

    def _ground(self, basis: Basis, number: int | None = None, case: check.Case = ()) -> Ground:
        """A new ground, whose context is written at once, while its case is still open."""
        fixed = np.full(self.problem.S, -1) if number is None else self.problem.actions(case)
        ground = Ground(self, basis, fixed, self._number("context"))
        context = ground.context
        values = basis.losses.values
        Q, rounding = self.problem.q_values(values)
        delta = np.where(context.allowed, values[:, None] - Q - rounding, np.inf)
        lowest = min(0.0, float(delta[~self.without].min()))
        self._write_without(self.without & (delta < lowest))
        self.writer.write("context", number, raw=values.astype("<f8").tobytes())
        return ground

    def _write_symmetries(self) -> float:
        """Write the symmetries; what a tree may return more than those that are looked at."""
        found = self.explorer.symmetries
        renamings = [check.Renaming(*it) for it in zip(found.states, found.actions, strict=True)]
        slack = max((float(check.slack_of(self.problem, self.size, it)) for it in renamings), default=0.0)
        if slack > SYMMETRY_MARGIN * self.goal.room:
            self.explorer.symmetries = symmetry.nothing(self.explorer.mdp, self.problem.sides.shape[1])
            return 0.0
        for it in renamings:
            self.writer.write("symmetry", raw=np.concatenate([it.states, it.actions]).astype("<i4").tobytes())
        return slack

    def _write_close(self, tree: Nested, ground: Ground, step: Step) -> None:
        number, _ = self.cases.pop(tree)
        self.writer.write("close", number, ground.number, self._step(ground, step))

    def _number(self, kind: str) -> int:
        self._count[kind] += 1
        return self._count[kind] - 1

    def _region(self, region: int) -> int:
        """The number of a region in the certificate, where it is written if it is new."""
        if region not in self._region_numbers:
            parent, k, side = self._origin[region]
            number = self._region(parent)
            self.writer.write("region", number, k, side)
            self._region_numbers[region] = len(self._region_numbers)
        return self._region_numbers[region]

    def _step(self, ground: Ground, step: Step) -> list[Any]:
        """A step as it is written, after all it rests on."""
        if step.kind == "b":
            return ["b", step.place]
        if step.without is not None:
            needed = np.zeros_like(self.without)
            needed[step.without] = True
            self._write_without(needed)
            return ["x"]
        claims = [-1 if claim is None else self._claim(ground, claim) for claim in step.claims]
        if step.kind == "h":
            return ["h", [[left, right] for left, right in zip(claims[::2], claims[1::2], strict=True)]]
        return ["s", [self._loss(ground, loss) for loss in step.losses], claims]

    def _claim(self, ground: Ground, claim: Claim) -> int:
        if claim.number < 0:
            steps = [self._step(ground, step) for step in claim.steps]
            region = self._region(claim.region)
            self.writer.write("claim", ground.number, region, claim.size.depth, claim.size.leaves, steps)
            claim.number = self._number("claim")
            claim.steps = []
        return claim.number

    def _loss(self, ground: Ground, loss: Loss) -> int:
        if loss.number < 0:
            leaves = [[self._region(region), action] for region, action in loss.leaves]
            self._write_without(self._violated(ground.context, loss))
            value = None if loss.multiplier is None else loss.value
            self.writer.write("loss", ground.number, leaves, loss.multiplier, value, raw=loss.vector)
            loss.number = self._number("loss")
            loss.vector = b""
        return loss.number

    def _violated(self, context: check.Context, loss: Loss) -> Bools:
        """[S, A] the actions that have to be left out for the vector of a loss to hold."""
        S = self.problem.S
        W = np.frombuffer(loss.vector, dtype="<f4" if len(loss.vector) == 4 * S else "<f8").astype(np.float64)
        multiplier = 1.0 if loss.multiplier is None else loss.multiplier
        Q = multiplier * context.delta + self.problem.ahead(W[:, None])[:, :, 0]
        violation = W[:, None] - Q + self.problem.terms * EPSILON * (Q + W[:, None])
        free = context.allowed.copy()
        for region, _ in loss.leaves:
            free[self.problem.regions[region]] = False
        rest = np.where(free & ~self.without, violation, 0.0).max()
        return np.asarray(free & self.without & (violation > rest), dtype=np.bool_)

    def _write_without(self, needed: Bools) -> None:
        """Write why actions are left out, unless that was written before."""
        nothing = np.zeros_like(self.without)
        losses = self.explorer.losses
        for s, a in zip(*np.nonzero(needed & ~self._written), strict=True):
            forced = np.full(self.problem.S, -1)
            forced[s] = a
            V = losses.cheapest(forced, 1.0, 1.0, np.where(forced >= 0, forced, losses.policy))[3]
            vector, shown = self.shortest(self.free.context, nothing, forced, None, V)
            if shown == 0.0:
                raise FalseClaimError(f"there is no evidence for leaving out action {a} in state {s}")
            self.writer.write("without", int(s), int(a), raw=vector)
            self._written[s, a] = True


class Recording(Exploration):
    """An exploration that writes down what it does."""

    def __init__(
        self, explorer: Explorer, basis: Basis, incumbent: Incumbent, watch: Watch, proof: Proof, ground: Ground
    ) -> None:
        super().__init__(explorer, basis, incumbent, watch)
        self.proof, self.ground = proof, ground
        self.current: Nested = None

    def _bound(self, of_parent: float, partial: Partial) -> None:
        self.current = partial.tree
        super()._bound(of_parent, partial)

    def _loss_bound(self, actions: Ints, opens: list[Open], spare: int) -> float:
        bound = super()._loss_bound(actions, opens, spare)
        if bound <= self.target and not self.proof.close(self.current, self.ground):
            return float(np.nextafter(self.target, np.inf))
        return bound

    def _option_bound(
        self, partial: Partial, actions: Ints, opens: list[Open], spare: int
    ) -> tuple[float, Floats | None, tuple[bool, ...] | None]:
        # Sweeps from a vector on which no action gains lead to one on which no option gains, as the checker wants it;
        # from the vector of a parent they need not, where a region became a leaf.
        bound, vector, choice = super()._option_bound(replace(partial, vector=self.proof.start), actions, opens, spare)
        closed = bound <= self.target and vector is not None and self.proof.close_by_options(partial.tree, vector)
        if bound <= self.target and not closed:
            bound = float(np.nextafter(self.target, np.inf))
        return bound, vector, choice

    def _explore_around(self, bound: float, partial: Partial, actions: Ints) -> None:
        losses = self.explorer.losses_around(actions, self.basis.losses)
        budget = budget_of(losses.optimum, self.target)
        basis = Basis(actions, losses, self.explorer.tables(losses, budget, self.watch), has_leaves=True)
        ground = self.proof.ground_at(partial.tree, basis)
        if budget <= 0:
            if not self.proof.close(partial.tree, ground):
                place = next(path for path, _, action in self.proof.cases[partial.tree][1] if action < 0)
                choice = tuple(bool(step) for step in place)
                self._push(bound, Partial(partial.tree, partial.vector, choice, partial.blind, by_options=True))
            return
        incumbent = Incumbent(self.value, self.target, budget)
        inner = Recording(self.explorer, basis, incumbent, self.watch, self.proof, ground)
        for case in inner.run((bound, partial), NODES_A_BASIS).open:
            self._push(*case)

    def _branch(self, bound: float, partial: Partial) -> None:
        actions, opens, _ = self._walk(partial.tree)
        chosen = next(o for o in opens if o.path == partial.choice)
        alike = self._symmetries_of(partial, actions, opens)
        self.proof.branch(partial.tree, chosen.path, self._superfluous(chosen, alike))
        super()._branch(bound, partial)

    def _superfluous(self, chosen: Open, alike: Ints) -> list[tuple[str, int, int]]:
        """The actions and questions at a place that symmetries turn into earlier ones, and which do."""
        found = self.explorer.symmetries
        same = self.regions.same(chosen.region) if len(alike) else np.zeros(0)
        superfluous = []
        for g in alike.tolist():
            superfluous += [
                ("action", int(a), g) for a in np.flatnonzero(found.actions[g] < np.arange(self.mdp.n_actions))
            ]
            questions = self.regions.questions(chosen.region)
            turned = same[found.questions[g, questions]]
            superfluous += [("question", int(k), g) for k in questions[turned < questions]]
        return superfluous

    def _complete(self, bound: float, tree: Nested, policy: Ints) -> None:
        self.current = tree
        if self._loss_bound(policy, [], 0) > self.target:
            self._meet(tree, policy)
            self.closed = max(self.closed, self.proof.close_by_value(tree))
