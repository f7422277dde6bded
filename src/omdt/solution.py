"""What comes out of a method: Stop, Claim, Solution and its JSON form."""

import json
import math
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from omdt import questions as statements
from omdt.check import Questions
from omdt.errors import InputError
from omdt.exceptions import Exceptions
from omdt.files import write_whole
from omdt.mdp import MDP, Floats
from omdt.planning import ROUNDING, UNCERTAIN
from omdt.rules import FALLBACK, FORBID, UNAVAILABLE, AvailableOnly
from omdt.source import Source
from omdt.task import Size
from omdt.tree import TreePolicy
from omdt.unavailable import Replaced, sentences
from omdt.watch import TracePoint

FORMAT = "omdt-solution-1"

MAX, MIN = "max", "min"
"""Whether an objective is to be large or small."""


SMALL = 1e-5
"""A value that is a smaller part of the problem's scale counts as this part where a gap is relative to it."""


def relative_gap(value: float, bound: float, scale: float = 0.0) -> float:
    """How far a bound is above a value, relative to the value, or to a small part of the problem's scale if larger."""
    return max(0.0, bound - value) / _measure(value, scale)


def tolerated_excess(value: float, gap: float, scale: float) -> float:
    """By how much a bound may exceed a value whose relative gap counts as proven, in the units of the return.

    Args:
        value: the value.
        gap: the requested gap.
        scale: the scale of the problem's returns, as `planning.scale` has it.
    """
    return max(gap * _measure(value, scale), ROUNDING * scale)


def _measure(value: float, scale: float) -> float:
    """What a gap is relative to; where neither value nor scale says anything, a number that is next to nothing."""
    return max(abs(value), SMALL * scale) or 1e-12


class Stop(StrEnum):
    """Why a method stopped; says nothing about how good its bound is."""

    COMPLETE = "complete"
    """It finished: no tree within the limits is better than the one it returns."""
    TIME = "time"
    NODES = "nodes"
    MEMORY = "memory"
    INTERRUPTED = "interrupted"
    HEURISTIC = "heuristic"
    """It does not search for a proof."""


@dataclass(frozen=True)
class Claim:
    """What a method says it found; only `solve` turns it into a `Solution`.

    Attributes:
        tree: the best tree found.
        bound: an upper bound on the return of every tree within the limits.
        stop: why the method stopped.
    """

    tree: TreePolicy
    bound: float
    stop: Stop


@dataclass(frozen=True)
class Solution:
    """A tree with its exact value and a bound for every tree within the size limit.

    Attributes:
        problem: name of the MDP.
        method: name of the method.
        max_depth: limit on the depth, or None.
        max_leaf_nodes: limit on the number of leaves, or None.
        discount: γ.
        tree: the policy.
        value: its discounted return, recomputed on the MDP.
        bound: no tree within the limits returns more than this.
        requested_gap: the relative gap that counts as a proof.
        stop: why the method stopped.
        optimal_return: return of the best policy of any form.
        random_return: return of the uniformly random policy.
        seconds: how long it took; None with a limit on nodes, so that every run gives the same solution.
        seed: what made it repeatable.
        trace: how value and bound moved over the seconds, or over the nodes where these are limited.
        node_limit: limit on the partial trees that the search looks at, or None.
        rounding: how much value and bound may differ by rounding alone.
        scale: the scale of the problem's returns, against which a gap is measured where the value is nearly 0.
        value_error: how far the true return of the tree may be from the value; more than rounding only where time ran
            out in the middle of the evaluation.
        optimal_error: the same of the optimal return.
        random_error: the same of the random return.
        questions: what the trees that the bound is about may ask; None for thresholds on every feature.
        source: how the problem can be found again, or None if that is not known.
        fingerprint: by which the MDP that was solved is recognised, or None in old files.
        unavailable: what a leaf may do where its action is not available, as in `omdt.solve`.
        replaced: in how many visited states which action is played instead of which, the most frequent first.
        rules: further rules that the trees keep which the bound is about, in words.
        objective: what value, bound and returns are, in words; None for the discounted return.
        sense: whether the objective is to be large ("max") or small ("min"); the bound is then a lower one.
    """

    problem: str
    method: str
    max_depth: int | None
    max_leaf_nodes: int | None
    discount: float
    tree: TreePolicy
    value: float
    bound: float
    requested_gap: float
    stop: Stop
    optimal_return: float
    random_return: float
    seconds: float | None
    seed: int
    trace: tuple[TracePoint, ...]
    node_limit: int | None = None
    rounding: float = 0.0
    scale: float = 0.0
    value_error: float = 0.0
    optimal_error: float = 0.0
    random_error: float = 0.0
    questions: Questions | None = None
    source: Source | None = None
    fingerprint: str | None = None
    unavailable: str = FALLBACK
    replaced: tuple[Replaced, ...] = ()
    rules: tuple[str, ...] = ()
    objective: str | None = None
    sense: str = MAX

    @property
    def size(self) -> Size:
        """How large the trees may be that the bound is about."""
        return Size(self.max_depth, self.max_leaf_nodes)

    @property
    def fallback(self) -> str | None:
        """The action that is played where an unavailable one is named, as in `MDP`."""
        return self.tree.exceptions.fallback

    def replaced_words(self) -> list[str]:
        """What is played where the tree names an action that is not available, one sentence per pair of actions."""
        return sentences(self.replaced, self.tree.exceptions)

    @property
    def gap(self) -> float:
        """How far the value may be from the best of any tree within the limits, relative to the value.

        Where the value is next to nothing at the scale of the problem, the gap is relative to a small part of that.

        The bound is rounded up; a finished search whose bound exceeds the value for no other reason has a gap of 0.
        """
        value, bound = self._maximised(self.value), self._maximised(self.bound)
        return 0.0 if bound - value <= self.rounding else relative_gap(value, bound, self.scale)

    @property
    def proven(self) -> bool:
        """Whether the gap is at most the requested one."""
        return self.gap <= self.requested_gap

    @property
    def excess(self) -> float:
        """How much more than this tree another one within the limits may still return."""
        excess = self._maximised(self.shown_bound) - self._maximised(self.value)
        return 0.0 if excess <= self.rounding else excess

    @property
    def bound_is_optimum(self) -> bool:
        """Whether the bound says no more than that no tree beats the best policy of any form."""
        return self._maximised(self.bound) >= self._maximised(self.optimal_return) - self.rounding

    @property
    def restriction(self) -> str:
        """What the trees that the bound is about have in common beside their size, as in ` that asks only for X`."""
        rules = [] if self.questions is None else [f"asks only for {self.questions.words()}"]
        if self.unavailable == FORBID:
            rules.append(AvailableOnly().words)
        rules += self.rules
        return f" that {' and '.join(rules)}" if rules else ""

    @property
    def shown_bound(self) -> float:
        """The bound as it is shown to people: no tree returns more than the best policy of any form.

        The bound of a certificate may be higher; that is the one in the file.
        """
        above = 0.0 if self.optimal_error <= self.rounding else self.optimal_error
        return self._maximised(min(self._maximised(self.bound), self._maximised(self.optimal_return) + above))

    def is_rounding(self, error: float) -> bool:
        """Whether the error of a return is too small to be shown; otherwise time ran out before it was known better."""
        largest = max(abs(self.optimal_return), abs(self.random_return), abs(self.value), self.scale)
        return error <= UNCERTAIN * largest + 1e-280

    @property
    def planned(self) -> bool:
        """Whether the returns of the optimal and of the random policy are known, and not only bounded."""
        return self.is_rounding(max(self.optimal_error, self.random_error))

    @property
    def indifferent(self) -> bool:
        """Whether even the random policy is optimal."""
        largest = max(abs(self.optimal_return), abs(self.random_return), self.scale)
        return self.planned and self._span <= ROUNDING * largest

    @property
    def _span(self) -> float:
        """How much better the optimal policy is than the random one."""
        return self._maximised(self.optimal_return) - self._maximised(self.random_return)

    def _maximised(self, figure: float) -> float:
        """A figure of the objective, or the return that was maximised, as the other of both."""
        return figure if self.sense == MAX else -figure

    def on_scale(self, difference: float) -> float | None:
        """A difference of returns as a part of that between the random and the optimal policy, if that is known."""
        span = self._span
        return None if self.indifferent or not self.planned or span <= 0 else difference / span

    @property
    def effort(self) -> tuple[float, str]:
        """How much work it was, and in what that is counted: seconds, or nodes where these are limited."""
        if self.seconds is not None:
            return self.seconds, "seconds"
        return (self.trace[-1][0] if self.trace else 0.0), "nodes"

    @property
    def normalized_return(self) -> float:
        """The return on a scale where the random policy has 0 and the optimal policy has 1.

        Where even the random policy is optimal (`indifferent`), there is no such scale, and the answer is 1.
        """
        span = self._span
        if self.indifferent or span <= 0:
            return 1.0
        return (self._maximised(self.value) - self._maximised(self.random_return)) / span

    def observations(self, mdp: MDP) -> Floats:
        """[S, F'] what the tree reads in each state of the MDP that was solved: its features, then the predicates."""
        return statements.observations(self.questions, mdp)

    def _repr_svg_(self) -> str:
        """The drawn tree, for notebooks."""
        return self.tree._repr_svg_()

    def _repr_html_(self) -> str:
        """The figures and the drawn tree, for notebooks."""
        from omdt.report.notebook import solution_html

        return solution_html(self)

    def to_dict(self, folder: str | Path = ".") -> dict[str, Any]:
        """The solution as JSON in a folder holds it; files are named relative to the folder."""
        return {
            "format": FORMAT,
            "problem": self.problem,
            "source": None if self.source is None else self.source.to_dict(folder),
            "fingerprint": self.fingerprint,
            "method": self.method,
            "max_depth": self.max_depth,
            "max_leaf_nodes": self.max_leaf_nodes,
            "discount": self.discount,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "requested_gap": self.requested_gap,
            "proven": self.proven,
            "stop": str(self.stop),
            "optimal_return": self.optimal_return,
            "random_return": self.random_return,
            "normalized_return": self.normalized_return,
            "seconds": None if self.seconds is None else round(self.seconds, 3),
            "seed": self.seed,
            "node_limit": self.node_limit,
            "rounding": self.rounding,
            "scale": self.scale,
            "value_error": self.value_error,
            "optimal_error": self.optimal_error,
            "random_error": self.random_error,
            "unavailable": self.unavailable,
            "replaced": [asdict(entry) for entry in self.replaced],
            **({"rules": list(self.rules)} if self.rules else {}),
            **({} if self.objective is None else {"objective": self.objective, "sense": self.sense}),
            **self.tree.exceptions.to_dict(self.tree.action_names),
            "trace": [list(point) for point in self.trace],
            "feature_names": list(self.tree.feature_names),
            "integer_features": list(self.tree.integer),
            "truth_features": list(self.tree.truths),
            "action_names": list(self.tree.action_names),
            **({} if self.questions is None else {"questions": statements.to_dict(self.questions)}),
            "tree": self.tree.to_dict(),
        }

    def to_json(self, folder: str | Path = ".") -> str:
        """One JSON object for a file in a folder."""
        try:
            return json.dumps(self.to_dict(folder), ensure_ascii=False, allow_nan=False) + "\n"
        except RecursionError:
            raise InputError(f"the tree is too deep for JSON: its depth is {self.tree.depth}") from None

    def save(self, path: str | Path) -> None:
        """Write the JSON form to a file, whole or not at all."""
        content = self.to_json(Path(path).parent).encode()
        write_whole(Path(path), lambda stream: stream.write(content))

    @classmethod
    def from_dict(cls, data: Any, folder: str | Path = ".") -> "Solution":
        """The solution of a dictionary as `to_dict` makes it for a folder; derived entries are derived anew."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"this is not a solution: its format is not {FORMAT!r}")
        tree = TreePolicy.from_dict(
            _entry(data, "tree", dict),
            _names(data, "feature_names"),
            _names(data, "action_names"),
            [mark is True for mark in _entry(data, "integer_features", list)],
        )
        truths = _names(data, "truth_features") if "truth_features" in data else []
        tree = replace(tree, exceptions=Exceptions.from_dict(data, tree.action_names), truths=tuple(truths))
        unavailable = data.get("unavailable", FALLBACK)
        if unavailable not in UNAVAILABLE:
            raise InputError(f"'unavailable' is {unavailable!r:.40}; it must be {' or '.join(UNAVAILABLE)}")
        sense = data.get("sense", MAX)
        if sense not in (MAX, MIN):
            raise InputError(f"'sense' is {sense!r:.40}; it must be {MAX} or {MIN}")
        stop = _entry(data, "stop", str)
        if stop not in list(Stop):
            raise InputError(f"'stop' is {stop!r}; it must be one of {', '.join(Stop)}")
        return cls(
            problem=_entry(data, "problem", str),
            method=_entry(data, "method", str),
            max_depth=_entry(data, "max_depth", int, type(None)),
            max_leaf_nodes=_entry(data, "max_leaf_nodes", int, type(None)),
            discount=_number(data, "discount"),
            tree=tree,
            value=_number(data, "value"),
            bound=_number(data, "bound"),
            requested_gap=_number(data, "requested_gap"),
            stop=Stop(stop),
            optimal_return=_number(data, "optimal_return"),
            random_return=_number(data, "random_return"),
            seconds=None if data.get("seconds", 0) is None else _number(data, "seconds"),
            seed=_entry(data, "seed", int),
            trace=tuple(_trace_point(point) for point in _entry(data, "trace", list)),
            node_limit=_entry(data, "node_limit", int, type(None)) if "node_limit" in data else None,
            rounding=_number(data, "rounding") if "rounding" in data else 0.0,
            scale=_number(data, "scale") if "scale" in data else 0.0,
            **{key: _number(data, key) for key in ("value_error", "optimal_error", "random_error") if key in data},
            questions=None if data.get("questions") is None else statements.from_dict(data["questions"]),
            source=None if data.get("source") is None else Source.from_dict(data["source"], folder),
            fingerprint=None if data.get("fingerprint") is None else _entry(data, "fingerprint", str),
            unavailable=unavailable,
            replaced=tuple(map(_replaced, _entry(data, "replaced", list) if "replaced" in data else ())),
            rules=tuple(_names(data, "rules")) if "rules" in data else (),
            objective=_entry(data, "objective", str) if "objective" in data else None,
            sense=sense,
        )


def load(path: str | Path) -> Solution:
    """Read a solution that `Solution.save` or `omdt solve --output` wrote."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a JSON file: {error}") from None
    try:
        return Solution.from_dict(data, Path(path).parent)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _entry(data: dict[str, Any], key: str, *kinds: type) -> Any:
    if key not in data:
        raise InputError(f"{key!r} is missing")
    value = data[key]
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise InputError(f"{key!r} is {value!r:.40}; it must be {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _number(data: dict[str, Any], key: str) -> float:
    value = _float(_entry(data, key, int, float))
    if not math.isfinite(value):
        raise InputError(f"{key!r} is {value}; it must be finite")
    return value


def _names(data: dict[str, Any], key: str) -> list[str]:
    names = _entry(data, key, list)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(f"{key!r} must be distinct strings")
    return list(names)


def _replaced(entry: Any) -> Replaced:
    kinds = {"action": str, "played": str, "states": int}
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), kind) for key, kind in kinds.items()):
        raise InputError(f"'replaced' holds {entry!r:.40}; it must hold action, played and states")
    return Replaced(*(entry[key] for key in kinds))


def _trace_point(point: Any) -> TracePoint:
    numbers = isinstance(point, list) and all(isinstance(x, int | float) and math.isfinite(_float(x)) for x in point)
    if not numbers or len(point) != 3:
        raise InputError(f"'trace' holds {point!r:.40}; it must hold [seconds, value, bound]")
    return (float(point[0]), float(point[1]), float(point[2]))
