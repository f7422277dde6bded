"""Records: the lines of a certificate, each written once and after all it rests on."""

from collections import Counter
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from omdt import check
from omdt.certificate import Writer
from omdt.errors import FalseClaimError
from omdt.mdp import EPSILON, Bools, Floats, Ints
from omdt.methods.search.bounds.losses import Losses
from omdt.methods.search.evidence.conflicts import Conflict
from omdt.methods.search.evidence.grounds import Ground
from omdt.methods.search.evidence.measures import Measures, Origins
from omdt.methods.search.evidence.steps import ProvenLoss, RegionClaim, Step
from omdt.questions import to_dict

Json = int | float | str | None | Sequence["Json"]


class Records:
    """Writes the records of one certificate.

    Args:
        stream: where the certificate goes.
        measures: the checker's view of the task.
        discount: of the MDP.
        losses: from the unrestricted optimum, which show why actions are left out.
        pins: how many a case may have.
    """

    def __init__(self, stream: BinaryIO, measures: Measures, discount: float, losses: Losses, pins: int) -> None:
        self._measures, self._losses = measures, losses
        self._free: check.Context | None = None
        problem, size, statement = measures.problem, measures.size, measures.statement
        head = {
            "states": problem.S,
            "actions": problem.A,
            "questions": problem.sides.shape[1],
            "depth": size.depth,
            "leaves": size.leaves,
            "discount": discount,
            "policy": check.policy_digest(statement.policy),
        }
        if pins > 0:
            head["pins"] = pins
        if statement.objective is not None:
            head["objective"] = statement.objective
        if statement.questions is not None:
            head["asks"] = to_dict(statement.questions)
        if statement.rules:
            head["rules"] = statement.rules
        self._writer = Writer(stream, head)
        self._written: Bools = np.zeros((problem.S, problem.A), dtype=np.bool_)
        self._regions = 1
        self._count: Counter[str] = Counter()

    def end(self) -> None:
        """Write the end of the certificate."""
        self._writer.close()

    def symmetry(self, renaming: check.Renaming) -> None:
        """Write a renaming."""
        raw = np.concatenate([renaming.states, renaming.actions]).astype("<i4").tobytes()
        self._writer.write("symmetry", raw=raw)

    def context(self, ground: Ground, values: Floats, case: int | None) -> None:
        """Write what losses are counted from, while its case is still open; None for the unrestricted optimum."""
        if self._free is None:
            self._free = ground.context
        without = self._measures.without
        Q, rounding = self._measures.problem.q_values(values)
        delta = np.where(ground.context.allowed, values[:, None] - Q - rounding, np.inf)
        lowest = min(0.0, float(delta[~without].min()))
        self._left_out(without & (delta < lowest))
        self._writer.write("context", case, raw=values.astype("<f8").tobytes())

    def follow(self, ground: Ground, case: int, within: Ground) -> None:
        """Write that the checker makes a context of its own for a case with pins, while the case is still open."""
        assert ground.context.seen is not None, "the context was made by following policies"
        self._writer.write("follow", case, within.number, raw=np.packbits(ground.context.seen).tobytes())

    def leave_all_out(self) -> None:
        """Write why every action is left out that is; what the checker finds by following policies depends on it."""
        self._left_out(self._measures.without)

    def leave(self, ground: Ground) -> None:
        """Write that a context is of no use any more, nor what was proven relative to it."""
        self._writer.write("leave", ground.number)

    def branch(self, ground: Ground, case: int, place: int, left_out: dict[tuple[str, int], int]) -> None:
        """Write that a case is branched at a place, and what symmetries make superfluous there."""
        within = [] if ground.context.seen is None else [ground.number]
        kind = "narrow" if within else "branch"
        self._writer.write(kind, *within, case, place, [[*label, by] for label, by in left_out.items()])

    def pin(self, ground: Ground, case: int, state: int, left_out: dict[int, int]) -> None:
        """Write that a case is divided by the action of a state, and what symmetries make superfluous there."""
        self._writer.write("pin", ground.number, case, state, [[action, by] for action, by in left_out.items()])

    def close(self, case: int, ground: Ground, step: Step) -> None:
        """Write that a case is closed by losses."""
        self._writer.write("close", case, ground.number, self._step(ground, step))

    def close_by_options(self, case: int, values: Floats) -> None:
        """Write that a case is closed by a vector."""
        self._writer.write("close", case, 0, ["options"], raw=values.astype("<f8").tobytes())

    def close_by_value(self, case: int, ground: Ground) -> None:
        """Write that a case is closed because its tree returns no more than the bound."""
        self._writer.write("close", case, 0 if ground.context.seen is None else ground.number, ["value"])

    def next_number(self, kind: str) -> int:
        """The number of the next record of a kind."""
        self._count[kind] += 1
        return self._count[kind] - 1

    def _region(self, ground: Ground, region: int) -> int:
        """The number of a region in the certificate, where it is written if it is new."""
        return self._written_region(ground.origins, region, ground.number)

    def _written_region(self, origins: Origins, region: int, context: int) -> int:
        if region not in origins.numbers:
            origin = origins.of(region)
            if isinstance(origin, int):
                whole = self._written_region(self._measures.origins, origin, context)
                self._writer.write("part", context, whole)
            else:
                parent, k, side = origin
                self._writer.write("region", self._written_region(origins, parent, context), k, side)
            origins.numbers[region] = self._regions
            self._regions += 1
        return origins.numbers[region]

    def _step(self, ground: Ground, step: Step) -> list[Json]:
        """A step as it is written, after all it rests on."""
        if step.kind == "b":
            return ["b", step.place]
        if step.kind == "x":
            if step.without is not None and not self._written[step.without]:
                needed = np.zeros_like(self._written)
                needed[step.without] = True
                self._left_out(needed)
            return ["x"]
        if step.kind == "c":
            assert step.conflict is not None, "the step says which conflict"
            return ["c", self._conflict(step.conflict)]
        claims = [-1 if claim is None else self._claim(ground, claim) for claim in step.claims]
        if step.kind == "h":
            return ["h", [[left, right] for left, right in zip(claims[::2], claims[1::2], strict=True)]]
        return ["s", [self._loss(ground, loss) for loss in step.losses], claims]

    def _claim(self, ground: Ground, claim: RegionClaim) -> int:
        if claim.number < 0:
            steps = [self._step(ground, step) for step in claim.steps]
            region = self._region(ground, claim.region)
            self._writer.write("claim", ground.number, region, claim.size.depth, claim.size.leaves, steps)
            claim.written(self.next_number("claim"))
        return claim.number

    def _loss(self, ground: Ground, loss: ProvenLoss) -> int:
        if loss.number < 0:
            leaves = [[self._region(ground, region), action] for region, action in loss.leaves]
            if ground.leaves_out:
                states = ground.context.regions.states
                forced = [states[region] for region, _ in loss.leaves]
                self._left_out(self._violated(ground.context, loss.vector, loss.multiplier, forced))
            value = None if loss.multiplier is None else loss.value
            self._writer.write("loss", ground.number, leaves, loss.multiplier, value, raw=loss.vector)
            loss.written(self.next_number("loss"))
        return loss.number

    def _conflict(self, conflict: Conflict) -> int:
        if conflict.number < 0:
            if (conflict.context.allowed & self._measures.without).any():
                self._left_out(self._violated(conflict.context, conflict.vector, None, [conflict.states]))
            pairs = np.stack([conflict.states, conflict.actions], axis=1).tolist()
            self._writer.write("conflict", conflict.ground, pairs, raw=conflict.vector)
            conflict.written(self.next_number("conflict"))
        return conflict.number

    def _violated(
        self, context: check.Context, vector: bytes, multiplier: float | None, forced: Sequence[Ints]
    ) -> Bools:
        """[S, A] the actions that have to be left out for a vector to hold, if other states have given actions."""
        problem, without = self._measures.problem, self._measures.without
        kind = "<f4" if len(vector) == 4 * problem.S else "<f8"
        W = np.frombuffer(vector, dtype=kind).astype(np.float64)
        Q = (1.0 if multiplier is None else multiplier) * context.delta + problem.ahead(W[:, None])[:, :, 0]
        violation = W[:, None] - Q + problem.terms * EPSILON * (Q + W[:, None])
        free = context.allowed.copy()
        for states in forced:
            free[states] = False
        rest = np.where(free & ~without, violation, 0.0).max()
        return np.asarray(free & without & (violation > rest), dtype=np.bool_)

    def _left_out(self, needed: Bools) -> None:
        """Write why actions [S, A] are left out, unless that was written before."""
        nothing = np.zeros_like(self._written)
        for s, a in zip(*np.nonzero(needed & ~self._written), strict=True):
            assert self._free is not None
            forced = np.full(len(needed), -1)
            forced[s] = a
            values = self._losses.cheapest(forced).values
            vector, shown = self._measures.shortest(self._free, nothing, forced, None, values, np.inf)
            if shown == 0.0:
                raise FalseClaimError(f"there is no evidence for leaving out action {a} in state {s}")
            self._writer.write("without", int(s), int(a), raw=vector)
            self._written[s, a] = True
