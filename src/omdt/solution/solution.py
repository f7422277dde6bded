"""Solution: a tree with its exact value, a bound for every tree that was allowed, and what was asked."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from omdt import questions as statements
from omdt.check import Questions
from omdt.counting import counted
from omdt.errors import InputError
from omdt.exceptions import Exceptions
from omdt.files import read_json, write_whole
from omdt.mdp import MDP, Floats
from omdt.rules import FALLBACK, FORBID, UNAVAILABLE, AvailableOnly, Rules
from omdt.solution.claim import Stop
from omdt.solution.entries import entry, figure, names, number, one_of, replaced, spelled, trace_point
from omdt.solution.experience import Experience
from omdt.solution.figures import MAX, MIN, Figures
from omdt.solution.wording import Wording, wording
from omdt.source import Source
from omdt.task import Size
from omdt.tree import TreePolicy
from omdt.unavailable import Replaced, sentences

FORMAT = "omdt-solution-1"


@dataclass(frozen=True, kw_only=True, repr=False)
class Solution(Figures):
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
        stated_rules: the same as they were stated, apart from rules of the user's own; None if there are none.
        objective: what value, bound and returns are, in PRISM's property syntax, or in words if it is an objective of
            the user's own; None for the discounted return.
        sense: whether the objective is to be large ("max") or small ("min"); the bound is then a lower one.
        experience: what the tree was learned from if there was no model, and what is known of it in that world; all
            other figures are then about the learned model. None if the problem itself was solved.
    """

    problem: str
    method: str
    max_depth: int | None
    max_leaf_nodes: int | None
    discount: float
    tree: TreePolicy
    stop: Stop
    seed: int
    node_limit: int | None = None
    questions: Questions | None = None
    source: Source | None = None
    fingerprint: str | None = None
    unavailable: str = FALLBACK
    replaced: tuple[Replaced, ...] = ()
    rules: tuple[str, ...] = ()
    stated_rules: Rules | None = None
    objective: str | None = None
    experience: Experience | None = None

    @property
    def size(self) -> Size:
        """How large the trees may be that the bound is about."""
        return Size(self.max_depth, self.max_leaf_nodes)

    @property
    def wording(self) -> Wording:
        """How the objective is spoken of."""
        return wording(self.objective, self.sense)

    @property
    def fallback(self) -> str | None:
        """The action that is played where an unavailable one is named, as in `MDP`."""
        return self.tree.exceptions.fallback

    def replaced_words(self) -> list[str]:
        """What is played where the tree names an action that is not available, one sentence per pair of actions."""
        return sentences(self.replaced, self.tree.exceptions)

    @property
    def restrictions(self) -> list[str]:
        """What the trees that the bound is about have in common beside their size, as in `asks only for X`."""
        rules = [] if self.questions is None else [f"asks only for {self.questions.words()}"]
        if self.unavailable == FORBID:
            rules.append(AvailableOnly().words)
        return [*rules, *self.rules]

    @property
    def restriction(self) -> str:
        """The same as the end of a phrase, as in ` that asks only for X`."""
        return f" that {' and '.join(self.restrictions)}" if self.restrictions else ""

    def observations(self, mdp: MDP) -> Floats:
        """[S, F'] what the tree reads in each state of the MDP that was solved: its features, then the predicates."""
        return statements.observations(self.questions, mdp)

    def __repr__(self) -> str:
        proof = "proven" if self.proven else "not proven"
        nodes = counted(self.tree.n_decision_nodes, "decision node")
        return (
            f"<Solution of {self.problem!r}: value {self.value:.6g}, bound {self.shown_bound:.6g}, {proof}; "
            f"{nodes}, depth {self.tree.depth}>"
        )

    def __str__(self) -> str:
        """The solution as the command line prints it."""
        from omdt.printing import show, text_of

        return text_of(show, self)

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
            "value": spelled(self.value),
            "bound": spelled(self.bound),
            "gap": spelled(self.gap),
            "requested_gap": self.requested_gap,
            "proven": self.proven,
            "stop": str(self.stop),
            "optimal_return": spelled(self.optimal_return),
            "random_return": spelled(self.random_return),
            "normalized_return": spelled(self.normalized_return),
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
            **({} if self.stated_rules is None else {"stated_rules": self.stated_rules.to_dict()}),
            "objective": discounted_return(self.discount) if self.objective is None else self.objective,
            "sense": self.sense,
            **self.tree.exceptions.to_dict(self.tree.action_names),
            "trace": [[spelled(number) for number in point] for point in self.trace],
            "feature_names": list(self.tree.feature_names),
            "integer_features": list(self.tree.integer),
            "truth_features": list(self.tree.truths),
            "action_names": list(self.tree.action_names),
            **({} if self.questions is None else {"questions": statements.to_dict(self.questions)}),
            **({} if self.experience is None else {"experience": self.experience.to_dict()}),
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
        return cls(
            problem=entry(data, "problem", str),
            method=entry(data, "method", str),
            max_depth=entry(data, "max_depth", int, type(None)),
            max_leaf_nodes=entry(data, "max_leaf_nodes", int, type(None)),
            discount=number(data, "discount"),
            tree=_tree(data),
            value=figure(data, "value"),
            bound=figure(data, "bound"),
            requested_gap=number(data, "requested_gap"),
            stop=Stop(one_of(data, "stop", tuple(Stop))),
            optimal_return=figure(data, "optimal_return"),
            random_return=figure(data, "random_return"),
            seconds=None if data.get("seconds", 0) is None else number(data, "seconds"),
            seed=entry(data, "seed", int),
            trace=tuple(trace_point(point) for point in entry(data, "trace", list)),
            node_limit=entry(data, "node_limit", int, type(None)) if "node_limit" in data else None,
            rounding=number(data, "rounding") if "rounding" in data else 0.0,
            scale=number(data, "scale") if "scale" in data else 0.0,
            **{key: number(data, key) for key in ("value_error", "optimal_error", "random_error") if key in data},
            questions=None if data.get("questions") is None else statements.from_dict(data["questions"]),
            source=None if data.get("source") is None else Source.from_dict(data["source"], folder),
            fingerprint=None if data.get("fingerprint") is None else entry(data, "fingerprint", str),
            unavailable=one_of(data, "unavailable", UNAVAILABLE, FALLBACK),
            replaced=tuple(map(replaced, entry(data, "replaced", list) if "replaced" in data else ())),
            rules=tuple(names(data, "rules")) if "rules" in data else (),
            stated_rules=Rules.from_dict(data["stated_rules"]) if "stated_rules" in data else None,
            objective=stated_objective(data),
            sense=one_of(data, "sense", (MAX, MIN), MAX),
            experience=Experience.from_dict(data["experience"]) if "experience" in data else None,
        )


def discounted_return(discount: float) -> str:
    """The discounted return in PRISM's syntax, as files have it."""
    return f"Rmax=? [Cdiscount={discount!r}]"


def stated_objective(data: dict[str, Any]) -> str | None:
    """The objective that a file states; None for the discounted return, which older files do not mention."""
    text = entry(data, "objective", str) if "objective" in data else None
    return None if text == discounted_return(number(data, "discount")) else text


def _tree(data: dict[str, Any]) -> TreePolicy:
    """The tree, with its exceptions and the features that are truth values."""
    tree = TreePolicy.from_dict(
        entry(data, "tree", dict),
        names(data, "feature_names"),
        names(data, "action_names"),
        [mark is True for mark in entry(data, "integer_features", list)],
    )
    truths = names(data, "truth_features") if "truth_features" in data else []
    return replace(tree, exceptions=Exceptions.from_dict(data, tree.action_names), truths=tuple(truths))


def load(path: str | Path) -> Solution:
    """Read a solution that `Solution.save` or `omdt solve --output` wrote."""
    data = read_json(path)
    try:
        return Solution.from_dict(data, Path(path).parent)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
