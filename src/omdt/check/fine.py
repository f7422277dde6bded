"""The proof by cases: follows a certificate whose cases are partial trees of single questions."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from types import UnionType
from typing import Any, TypeAlias, cast

import numpy as np

from .branch import Branch
from .cases import Open, Pins, Problem
from .claimed import Case, Size
from .following import Following
from .losses import Context, Pending, losses_of, make_context
from .options import Options
from .reading import LARGEST, Ints, Json, Numbers, RejectedError, UnreadableError, counted, readable, require
from .regions import Label, Regions, bits_of
from .steps import Claim, Conflict, Loss, Place, Steps
from .symmetries import Renaming, slack_of

LARGEST_MULTIPLIER = 1e50  # of losses, at most, so that no product with a large number overflows
MAX_CASES = 5_000_000  # open cases at any time; more would take gigabytes

Shape: TypeAlias = "str | type | UnionType | list[Shape] | tuple[Shape, ...] | dict[str, tuple[Shape, ...]]"
Dropped: TypeAlias = list[tuple[str, int, Renaming]]  # ways to continue that symmetries make superfluous
Step: TypeAlias = list[object]  # of a proof: its kind, and the entries that `STEP` lists

STEP: dict[str, tuple[Shape, ...]] = {"b": (int,), "s": (["loss"], ["claim"]), "h": ([("claim", "claim")],)}
STEP |= {"x": (), "c": ("conflict",), "options": (), "value": ()}
RECORD: dict[str, tuple[Shape, ...]] = {
    "symmetry": (),
    "region": ("region", int, "side"),  # parent, question, side
    "context": (int | None,),  # case
    "without": ("state", "action"),
    "loss": ("context", [("region", "action")], int | float | None, int | float | None),  # leaves, λ, value
    "conflict": ("context", [("state", "action")]),
    "claim": ("context", "region", int, int, [STEP]),  # depth, leaves, steps
    "branch": (int, int, [(str, int, "symmetry")]),  # case, place, ways to continue and why they are left out
    "close": (int, int, STEP),  # case, context, step
    "pin": ("context", int, "state", [("action", "symmetry")]),  # case, actions that are left out and why
    "follow": ("case", "context"),
    "part": ("context", "region"),
    "narrow": ("context", int, int, [(str, int, "symmetry")]),  # case, place, as in "branch"
    "leave": (int,),  # context
}
"""The kinds of records with the shapes of their entries: a type; the name of a kind of things, for the number of one; a
list of any length, a tuple for a list of just these entries, and a dictionary for one that begins with its kind."""


class Checker:
    """Follows a certificate record by record; there is a method for every kind of record."""

    def __init__(self, problem: Problem, size: Size, bound: float, pins: int = 0) -> None:
        self.problem, self.size, self.pins = problem, size, pins
        self.target, self.slack = problem.number(bound), problem.number(0.0)
        self.options, self.following = Options(problem), Following(problem)
        self.excluded = np.zeros((problem.S, problem.A), dtype=np.bool_)
        self.steps = Steps(problem, self.excluded)
        # What is not needed any more makes room: there is None in its place.
        self.regions: list[tuple[Regions, int] | None] = [(problem.regions, 0)]
        self.contexts, self.renamings = list[Context | None](), list[Renaming]()
        self.losses, self.claims = list[Loss | None](), list[Claim | None]()
        self.conflicts = list[Conflict | None]()
        self.belonging: defaultdict[Regions, list[tuple[list[Any], int]]] = defaultdict(list)
        self.open: dict[int, Open] = {0: Open((((), 0, -1),))}
        self.cases = 1
        self.pending: dict[tuple[Context, bool], list[Pending]] = {}
        self.things: dict[str, Sequence[object] | dict[int, Open]] = {"case": self.open, "region": self.regions}
        self.things |= {"context": self.contexts, "loss": self.losses, "claim": self.claims, "side": range(2)}
        self.things |= {"conflict": self.conflicts}
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
            number, (case, _) = min(self.open.items())
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
            require(known[number] is not None, f"{kind} {number} belonged to a context that was left")
            return known[number]
        nothing = kind == "claim" and type(number) is int and number == -1
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
        self.slack = max(self.slack, slack_of(self.problem, self.size, self.renamings[-1], self.pins))

    def _region(self, raw: bytes, parent: tuple[Regions, int], question: int, side: int) -> None:
        regions, number = parent
        require(question in regions.dividing(number), f"question {question} does not divide the region")
        self._add(self.regions, (regions, regions.split(number, question)[side]), regions)

    def _part(self, raw: bytes, context: Context, whole: tuple[Regions, int]) -> None:
        regions, region = whole
        require(regions is self.problem.regions and context.seen is not None, "there is no such part")
        self._add(self.regions, (context.regions, context.part(regions.states[region])), context.regions)

    def _context(self, raw: bytes, number: int | None) -> None:
        case = None if number is None else self._opened(number)
        fixed = np.full(self.problem.S, -1) if case is None else self.problem.actions(*case)
        self.contexts.append(make_context(self.problem, self._vector(raw), fixed, self.excluded, self.goal))

    def _follow(self, raw: bytes, case: Open, base: Context) -> None:
        S = self.problem.S
        require(base.about(self.problem, case), "the context is about other leaves than the case")
        require(len(raw) == (S + 7) // 8, "it is not told of every state whether it may be visited")
        seen = np.unpackbits(np.frombuffer(raw, dtype=np.uint8), count=S).astype(np.bool_)
        context = self.following.context(case, base, self.excluded, self.goal)
        self.contexts.append(self.following.seeing(context, seen))

    def _leave(self, raw: bytes, number: int) -> None:
        context = cast(Context, self._thing(number, "context"))
        require(context.seen is not None, f"context {number} was not made for pins")
        for key in [key for key in self.pending if key[0] is context]:
            self._verify(key)
        self.contexts[number] = None
        for things, i in self.belonging.pop(context.regions, []):
            things[i] = None

    def _add(self, things: list[Any], thing: object, regions: Regions) -> None:
        """Add a thing that is of use only as long as the context to which some regions belong."""
        if regions is not self.problem.regions:
            self.belonging[regions].append((things, len(things)))
        things.append(thing)

    def _without(self, raw: bytes, state: int, action: int) -> None:
        free = cast(Context, self._thing(0, "context"))
        require(np.all(free.fixed < 0), "context 0 is not about all policies")
        forced = np.where(np.arange(self.problem.S) == state, action, -1)
        what = f"action {action} in state {state}"
        self._expect(free, False, Pending(forced, None, self._vector(raw, 0.0), None, what))
        self.excluded[state, action] = True

    def _loss(
        self,
        raw: bytes,
        about: Context,
        leaves: list[tuple[tuple[Regions, int], int]],
        multiplier: float | None,
        value: float | None,
    ) -> None:
        forced = np.full(self.problem.S, -1)
        for (regions, region), action in leaves:
            require(regions is about.regions, "a leaf is a region of another context")
            states = regions.states[region]
            require(np.all(forced[states] < 0), "leaves overlap")
            forced[states] = action
        least = math.inf
        if multiplier is not None:
            possible = value is not None and 0 <= multiplier <= LARGEST_MULTIPLIER
            require(possible, f"λ is {multiplier} and the loss {value}")
            multiplier, least = self.problem.number(multiplier), self.problem.number(value or 0.0)
        what = f"loss {len(self.losses)}"
        self._expect(about, True, Pending(forced, multiplier, self._vector(raw, 0.0), least, what))
        self._add(self.losses, Loss(about, [(region, action) for (_, region), action in leaves], least), about.regions)

    def _conflict(self, raw: bytes, about: Context, pairs: list[tuple[int, int]]) -> None:
        forced = np.full(self.problem.S, -1)
        for state, action in pairs:
            require(forced[state] < 0, "a state of a conflict is named twice")
            require(about.fixed[state] in (-1, action), "a state of a conflict has another action")
            forced[state] = action
        what = f"conflict {len(self.conflicts)}"
        self._expect(about, True, Pending(forced, None, self._vector(raw, 0.0), None, what))
        states = {a: bits_of(forced == a, self.problem.S) for a in {action for _, action in pairs}}
        self._add(self.conflicts, Conflict(about, states), about.regions)

    def _claim(
        self, raw: bytes, context: Context, where: tuple[Regions, int], depth: int, leaves: int, steps: list[Step]
    ) -> None:
        regions, region = where
        require(regions is context.regions, "the claim is about a region of another context")
        possible = 0 <= depth < 60 and 1 <= leaves <= 2**depth
        require(possible, f"no tree has depth {depth} and {leaves} leaves")
        size, value = Size(depth, leaves), math.inf
        stack: list[Case] = [(((), region, -1),)]
        for kind, *entries in steps:
            require(len(stack) > 0, "there are more steps than cases")
            case = stack.pop()
            if kind == "b":
                place = _open_place(case, cast(int, entries[0]))
                stack += [child for _, child in reversed(regions.children(case, place, size))]
                require(len(stack) <= MAX_CASES, "there are too many cases")
            else:
                value = min(value, self.steps.lost(context, Place(case, size), kind, entries))
        require(not stack, f"{counted(len(stack), 'case', 'cases')} of the claim left open")
        self._add(self.claims, Claim(context, region, size, value), regions)

    def _branch(self, raw: bytes, number: int, place: int, dropped: Dropped) -> None:
        case, pins = self._taken(number)
        require(not pins, "a case with pins is branched within a context")
        children = self.problem.regions.children(case, _open_place(case, place), self.size)
        self._continue(Branch(self.problem, self.problem.regions, case, place), children, dropped, pins)

    def _narrow(self, raw: bytes, context: Context, number: int, place: int, dropped: Dropped) -> None:
        case, pins = self._taken(number)
        view = self._view(context, Open(case, pins))
        questions = context.regions.dividing(view[_open_place(case, place)][1])
        children = self.problem.regions.children(case, place, self.size, questions)
        self._continue(Branch(self.problem, context.regions, view, place, pins, context.seen), children, dropped, pins)

    def _pin(self, raw: bytes, context: Context, number: int, state: int, dropped: list[tuple[int, Renaming]]) -> None:
        case, pins = self._taken(number)
        view = self._view(context, Open(case, pins))
        require(len(pins) < self.pins, f"a case has more pins than {self.pins}, as the certificate says")
        branch = Branch(self.problem, context.regions, view, None, (*pins, (state, -1)), context.seen)
        children: list[tuple[Label, Case]] = [(("action", a), case) for a in range(self.problem.A)]
        self._continue(branch, children, [("action", a, renaming) for a, renaming in dropped], (*pins, (state, -1)))

    def _continue(self, branch: Branch, children: list[tuple[Label, Case]], dropped: Dropped, pins: Pins) -> None:
        """Open the cases that take the place of one; the action of a pin that is new is that of the case."""
        labels = [label for label, _ in children]
        instead = {(kind, which): renaming for kind, which, renaming in dropped}
        require(instead.keys() <= set(labels), "what is left out is no way to continue the case")
        require(len(instead) == len(dropped), "something is left out twice")
        for i, (label, child) in enumerate(children):
            if label in instead:
                branch.check_symmetry(label, instead[label], labels[:i])
            else:
                self.open[self.cases] = Open(child, tuple((s, label[1] if a < 0 else a) for s, a in pins))
                self.cases += 1
        require(len(self.open) <= MAX_CASES, "there are too many cases")

    def _close(self, raw: bytes, number: int, context: int, step: Step) -> None:
        (case, pins), (kind, *entries) = self._taken(number), step
        if kind == "options":
            bound = self.options.bound(case, self.size, self._vector(raw))
            closed, shown = bound <= self.goal, f"options: they allow {float(bound):.9g}"
        elif kind == "value":
            bound = self.problem.value(self._complete(case, pins, context))[1]
            closed, shown = bound <= self.goal, f"its value {float(bound):.9g}"
        else:
            about = cast(Context, self._thing(context, "context"))
            view = self._view(about, Open(case, pins))
            lost = self.steps.lost(about, Place(view, self.size, pins), kind, entries)
            closed, shown = lost >= about.budget, f"losses of {float(lost):.9g} of {float(about.budget):.9g}"
        require(closed, f"case {number}, {self._words(case)}, is not closed by {shown}")

    def _complete(self, case: Case, pins: Pins, context: int) -> Ints:
        """[S] the actions of a complete case, with any action in states that none of its policies visits."""
        actions = self.problem.actions(case)
        undecided = any(action < 0 for _, _, action in case)
        if undecided and context < len(self.contexts) and (about := self.contexts[context]) is not None:
            view = self._view(about, Open(case, pins))
            undecided = any(action < 0 and len(about.regions.states[region]) for _, region, action in view)
            actions = np.maximum(actions, 0)
        require(not undecided, "a case with open places has no value")
        return actions

    def _view(self, context: Context, case: Open) -> Case:
        """What a context sees of a case, if it is about it."""
        require(context.about(self.problem, case), "the context is about other leaves than the case")
        return context.view(self.problem, case.case)

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

    def _taken(self, number: int) -> Open:
        """An open case, which is open no more."""
        case = self._opened(number)
        del self.open[number]
        return case

    def _opened(self, number: int) -> Open:
        require(number in self.open, f"case {number} is not open")
        return self.open[number]

    def _words(self, case: Case) -> str:
        names = self.problem.model.action_names
        return ", ".join(
            f"{''.join('LR'[side] for side in path) or 'root'}: {'open' if action < 0 else repr(names[action])}"
            for path, _, action in case[:8]
        )


def _open_place(case: Case, place: int) -> int:
    is_open = 0 <= place < len(case) and case[place][2] < 0
    require(is_open, f"there is no open place {place}")
    return place
