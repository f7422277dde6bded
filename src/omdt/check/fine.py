"""The proof by cases: follows a certificate whose cases are partial trees of single questions."""

import math
from collections.abc import Callable, Iterator, Sequence
from types import UnionType
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from .cases import Label, Problem
from .claimed import Case, Size
from .losses import Context, Pending, losses_of, make_context
from .options import Options
from .reading import LARGEST, Json, Numbers, RejectedError, UnreadableError, counted, readable, require
from .symmetries import Renaming, slack_of

LARGEST_MULTIPLIER = 1e50  # of losses, at most, so that no product with a large number overflows
MAX_CASES = 5_000_000  # open cases at any time; more would take gigabytes

Shape: TypeAlias = "str | type | UnionType | list[Shape] | tuple[Shape, ...] | dict[str, tuple[Shape, ...]]"
Leaves: TypeAlias = list[tuple[int, int]]  # regions and actions
Step: TypeAlias = list[object]  # of a proof: its kind, and the entries that `STEP` lists

STEP: dict[str, tuple[Shape, ...]] = {"b": (int,), "s": (["loss"], ["claim"]), "h": ([("claim", "claim")],)}
STEP |= {"x": (), "options": (), "value": ()}
RECORD: dict[str, tuple[Shape, ...]] = {
    "symmetry": (),
    "region": ("region", int, "side"),  # parent, question, side
    "context": ("case",),
    "without": ("state", "action"),
    "loss": ("context", [("region", "action")], int | float | None, int | float | None),  # leaves, λ, value
    "claim": ("context", "region", int, int, [STEP]),  # depth, leaves, steps
    "branch": (int, int, [(str, int, "symmetry")]),  # case, place, ways to continue and why they are left out
    "close": (int, int, STEP),  # case, context, step
}
"""The kinds of records with the shapes of their entries: a type; the name of a kind of things, for the number of one; a
list of any length, a tuple for a list of just these entries, and a dictionary for one that begins with its kind."""


class _Loss(NamedTuple):
    context: Context
    leaves: Leaves
    value: float  # what the leaves lose at least inside their regions


class _Claim(NamedTuple):
    context: Context
    region: int
    size: Size
    value: float  # what every subtree of this size loses at least in the region


Claims: TypeAlias = list[_Claim | None]


class Checker:
    """Follows a certificate record by record; there is a method for every kind of record."""

    def __init__(self, problem: Problem, size: Size, bound: float) -> None:
        self.problem, self.size = problem, size
        self.target, self.slack = problem.number(bound), problem.number(0.0)
        self.options = Options(problem)
        self.excluded = np.zeros((problem.S, problem.A), dtype=np.bool_)
        self.regions, self.contexts, self.renamings = [0], list[Context](), list[Renaming]()
        self.losses, self.claims = list[_Loss](), list[_Claim]()
        self.open: dict[int, Case] = {0: (((), 0, -1),)}
        self.cases = 1
        self.pending: dict[tuple[Context, bool], list[Pending]] = {}
        self.things: dict[str, Sequence[object] | dict[int, Case]] = {"case": self.open, "region": self.regions}
        self.things |= {"context": self.contexts, "loss": self.losses, "claim": self.claims, "side": range(2)}
        self.things |= {"symmetry": self.renamings, "state": range(problem.S), "action": range(problem.A)}

    def follow(self, records: Iterator[tuple[list[Json], bytes]]) -> None:
        """Check everything up to the end."""
        for number, (record, raw) in enumerate(records):
            try:
                kind, *entries = cast(list[object], self._parsed(record, RECORD))
                method: Callable[..., None] = getattr(self, f"_{kind}")
                method(raw, *entries)
            except RejectedError as error:
                raise RejectedError(f"record {number} ({record[0]}): {error}") from None
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise UnreadableError(f"record {number}, {record!r:.80}, is not understood: {error}") from None
        for key in list(self.pending):
            self._verify(key)
        if self.open:
            number, case = min(self.open.items())
            opens = counted(len(self.open), "case is", "cases are")
            raise RejectedError(f"{opens} left open, such as case {number}: {self._words(case)}")

    def _parsed(self, value: Json, shape: Shape) -> object:
        """A part of a record, if it has this shape, with things instead of their numbers."""
        if isinstance(shape, str):
            return self._thing(value, shape)
        if isinstance(value, list):
            if isinstance(shape, list):
                return [self._parsed(entry, shape[0]) for entry in value]
            if isinstance(shape, dict) and value and isinstance(value[0], str) and value[0] in shape:
                return [value[0], *cast(list[object], self._parsed(value[1:], shape[value[0]]))]
            if isinstance(shape, tuple) and len(value) == len(shape):
                return list(map(self._parsed, value, shape))
        elif isinstance(shape, type | UnionType) and isinstance(value, shape) and not isinstance(value, bool):
            readable(not isinstance(value, int | float) or abs(value) <= LARGEST, "a number is too large")
            return value
        raise UnreadableError(f"{value!r:.40} has another shape than such a record")

    def _thing(self, number: Json, kind: str) -> object:
        """The thing with a number; null stands for no case, and −1 for no claim."""
        known = self.things[kind]
        if type(number) is int and (number in known if isinstance(known, dict) else 0 <= number < len(known)):
            return known[number]
        nothing = number is None if kind == "case" else kind == "claim" and type(number) is int and number == -1
        require(nothing, f"there is no {kind} {number!r:.40}")
        return None

    @property
    def goal(self) -> float:
        """No case may return more: the bound, less what symmetries may cost."""
        return self.target - self.slack - self.problem.rounding(2, abs(self.target) + self.slack)

    def _symmetry(self, raw: bytes) -> None:
        S, early = self.problem.S, self.cases == 1 and not self.contexts
        require(len(raw) == 4 * (S + self.problem.A), "a symmetry does not name every state and action")
        require(early, "a symmetry comes after a context or a branch")
        names = np.frombuffer(raw, dtype="<i4").astype(np.int64)
        self.renamings.append(Renaming(names[:S], names[S:]))
        self.slack = max(self.slack, slack_of(self.problem, self.size, self.renamings[-1]))

    def _region(self, raw: bytes, parent: int, question: int, side: int) -> None:
        require(question in self.problem.dividing(parent), f"question {question} does not divide the region")
        self.regions.append(self.problem.split(parent, question)[side])

    def _context(self, raw: bytes, case: Case | None) -> None:
        fixed = np.full(self.problem.S, -1) if case is None else self.problem.actions(case)
        self.contexts.append(make_context(self.problem, self._vector(raw), fixed, self.excluded, self.goal))

    def _without(self, raw: bytes, state: int, action: int) -> None:
        require(len(self.contexts) > 0 and np.all(self.contexts[0].fixed < 0), "context 0 is not about all policies")
        forced = np.where(np.arange(self.problem.S) == state, action, -1)
        what = f"action {action} in state {state}"
        self._expect(self.contexts[0], False, Pending(forced, None, self._vector(raw, 0.0), None, what))
        self.excluded[state, action] = True

    def _loss(self, raw: bytes, about: Context, leaves: Leaves, multiplier: float | None, value: float | None) -> None:
        forced = np.full(self.problem.S, -1)
        for region, action in leaves:
            states = self.problem.regions[region]
            require(np.all(forced[states] < 0), "leaves overlap")
            forced[states] = action
        least = math.inf
        if multiplier is not None:
            possible = value is not None and 0 <= multiplier <= LARGEST_MULTIPLIER
            require(possible, f"λ is {multiplier} and the loss {value}")
            multiplier, least = self.problem.number(multiplier), self.problem.number(value or 0.0)
        what = f"loss {len(self.losses)}"
        self._expect(about, True, Pending(forced, multiplier, self._vector(raw, 0.0), least, what))
        self.losses.append(_Loss(about, leaves, least))

    def _claim(self, raw: bytes, context: Context, region: int, depth: int, leaves: int, steps: list[Step]) -> None:
        possible = 0 <= depth < 60 and 1 <= leaves <= 2**depth
        require(possible, f"no tree has depth {depth} and {leaves} leaves")
        size, value = Size(depth, leaves), math.inf
        stack: list[Case] = [(((), region, -1),)]
        for kind, *entries in steps:
            require(len(stack) > 0, "there are more steps than cases")
            case = stack.pop()
            if kind == "b":
                stack += [child for _, child in reversed(self._children(case, cast(int, entries[0]), size))]
                require(len(stack) <= MAX_CASES, "there are too many cases")
            else:
                value = min(value, self._lost(context, case, size, kind, entries))
        require(not stack, f"{counted(len(stack), 'case', 'cases')} of the claim left open")
        self.claims.append(_Claim(context, region, size, value))

    def _branch(self, raw: bytes, number: int, place: int, dropped: list[tuple[str, int, Renaming]]) -> None:
        case = self._taken(number)
        children = self._children(case, place, self.size)
        labels = [label for label, _ in children]
        instead = {(kind, which): renaming for kind, which, renaming in dropped}
        require(instead.keys() <= set(labels), "what is left out is no way to continue the case")
        require(len(instead) == len(dropped), "something is left out twice")
        for i, (label, child) in enumerate(children):
            if label in instead:
                self._check_symmetry(case, place, label, instead[label], labels[:i])
            else:
                self.open[self.cases] = child
                self.cases += 1
        require(len(self.open) <= MAX_CASES, "there are too many cases")

    def _check_symmetry(self, case: Case, place: int, label: Label, renaming: Renaming, before: list[Label]) -> None:
        """Raise unless the case is turned into itself and one way to continue it into an earlier one."""
        problem, region = self.problem, case[place][1]
        parts = [(path, its, -1 - i if action < 0 else action) for i, (path, its, action) in enumerate(case)]
        labels = problem.actions(tuple(parts))
        seen = labels[problem.decisive]
        used = np.unique(seen[seen >= 0])
        same = np.array_equal(labels[renaming.states][problem.decisive], seen)
        same = same and np.array_equal(renaming.actions[used], used)
        require(same, f"the symmetry for {label} does not turn the case into itself")
        if label[0] == "action":
            turned = ("action", int(renaming.actions[label[1]]))
        else:
            left = problem.regions[problem.split(region, label[1])[0]]
            side = problem.region(np.sort(renaming.states[left]))
            turned = ("question", next((k for k in problem.dividing(region) if side in problem.split(region, k)), -1))
        require(turned in before, f"the symmetry turns {label} into {turned}, which does not come before it")

    def _close(self, raw: bytes, number: int, context: int, step: Step) -> None:
        case, (kind, *entries) = self._taken(number), step
        if kind == "options":
            bound = self.options.bound(case, self.size, self._vector(raw))
            closed, shown = bound <= self.goal, f"options: they allow {float(bound):.9g}"
        elif kind == "value":
            require(all(action >= 0 for _, _, action in case), "a case with open places has no value")
            bound = self.problem.value(self.problem.actions(case))[1]
            closed, shown = bound <= self.goal, f"its value {float(bound):.9g}"
        else:
            about = cast(Context, self._thing(context, "context"))
            same = np.all((about.fixed < 0) | (about.fixed == self.problem.actions(case)))
            require(same, f"context {context} is about other leaves than case {number}")
            lost = self._lost(about, case, self.size, kind, entries)
            closed, shown = lost >= about.budget, f"losses of {float(lost):.9g} of {float(about.budget):.9g}"
        require(closed, f"case {number}, {self._words(case)}, is not closed by {shown}")

    def _lost(self, context: Context, case: Case, size: Size, kind: object, entries: list[object]) -> float:
        """What a case loses at least, by a step of a certificate."""
        ways: dict[object, Callable[..., float]] = {"s": self._sum, "h": self._halves, "x": self._left_out}
        require(kind in ways, f"a step {kind!r} shows no loss")
        return ways[kind](context, case, size, *entries) * (1 - self.problem.rounding(len(case) + 8, 1.0))

    def _left_out(self, context: Context, case: Case, size: Size) -> float:
        allowed = context.allowed & ~self.excluded
        fixed = [(self.problem.regions[region], action) for _, region, action in case if action >= 0]
        require(not all(allowed[it].all() for it in fixed), "no leaf takes an excluded action")
        return math.inf

    def _halves(self, context: Context, case: Case, size: Size, pairs: list[Claims]) -> float:
        """What the two sides of a single question lose, however they share the leaves."""
        single = [(path, action) for path, _, action in case] == [((0,), -1), ((1,), -1)]
        require(single, "only a single question has two halves")
        require(len(pairs) == len(size.shares()), "a way to share the leaves is missing")
        regions = [region for _, region, _ in case]
        return min(self._claimed(context, pair, regions, it) for pair, it in zip(pairs, size.shares(), strict=True))

    def _sum(self, context: Context, case: Case, size: Size, losses: list[_Loss], claims: Claims) -> float:
        """What fixed leaves and open places lose together."""
        fixed = {region: action for _, region, action in case if action >= 0}
        opens = [(region, size.below(case, path)) for path, region, action in case if action < 0]
        total = self._claimed(context, claims, [region for region, _ in opens], [below for _, below in opens])
        for loss in losses:
            require(loss.context is context, "a loss is of another context")
            for region, action in loss.leaves:
                there = fixed.pop(region, None) == action
                require(there, "a loss is about a leaf that is not there, or was counted before")
            total += max(loss.value, 0)
        return total

    def _claimed(self, context: Context, claims: Claims, regions: list[int], sizes: Sequence[Size]) -> float:
        """What subtrees of these sizes in these regions lose together."""
        require(len(claims) == len(regions), "there is not one claim for every open place")
        for claim, region, size in zip(claims, regions, sizes, strict=True):
            fit = claim is None or (claim.context is context and claim.region == region and claim.size.covers(size))
            require(fit, "a claim is about another context, region or size")
        return sum((max(claim.value, 0) for claim in claims if claim is not None), start=self.problem.number(0.0))

    def _expect(self, context: Context, excluding: bool, pending: Pending) -> None:
        waiting = self.pending.setdefault((context, excluding), [])
        waiting.append(pending)
        if len(waiting) >= self.problem.columns:
            self._verify((context, excluding))

    def _verify(self, key: tuple[Context, bool]) -> None:
        """Verify the vectors of a context that wait; actions are excluded without reference to one another."""
        context, waiting = key[0], self.pending.pop(key)
        excluded = self.excluded if key[1] else np.zeros_like(self.excluded)
        for it, shown in zip(waiting, losses_of(self.problem, context, excluded, waiting), strict=True):
            needed = context.budget if it.multiplier is None or it.value is None else it.value
            require(shown >= needed, f"{it.what}: its vector shows {float(shown):.9g}, not {float(needed):.9g}")

    def _vector(self, raw: bytes, least: float = -LARGEST) -> Numbers:
        """The vector of a record, of 32-bit or 64-bit numbers."""
        types = {4 * self.problem.S: "<f4", 8 * self.problem.S: "<f8"}
        require(len(raw) in types, f"a vector has {len(raw)} bytes, not 4 or 8 per state")
        with np.errstate(invalid="ignore"):
            vector = np.frombuffer(raw, dtype=types[len(raw)]).astype(np.float64)
        within = np.all((least <= vector) & (vector <= LARGEST))
        require(within, f"a vector has numbers that are not finite, or below {least}")
        return self.problem.numbers(vector)

    def _taken(self, number: int) -> Case:
        """An open case, which is open no more."""
        require(number in self.open, f"case {number} is not open")
        return self.open.pop(number)

    def _children(self, case: Case, place: int, size: Size) -> list[tuple[Label, Case]]:
        is_open = 0 <= place < len(case) and case[place][2] < 0
        require(is_open, f"there is no open place {place}")
        return self.problem.children(case, place, size)

    def _words(self, case: Case) -> str:
        names = self.problem.model.action_names
        return ", ".join(
            f"{''.join('LR'[side] for side in path) or 'root'}: {'open' if action < 0 else repr(names[action])}"
            for path, _, action in case[:8]
        )
