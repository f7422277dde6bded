"""Alternatives: all trees that are about as good as the best one, with their JSON form."""

import json
import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omdt import questions as statements
from omdt.check import Questions
from omdt.counting import counted
from omdt.errors import InputError
from omdt.files import write_whole
from omdt.frames import frame_of
from omdt.planning import ROUNDING
from omdt.solution import MAX, Wording, discounted_return, spelled, wording
from omdt.source import Source
from omdt.task import Size
from omdt.tradeoffs.alternatives_words import Difference, Forced
from omdt.tree import TreePolicy, printable

if TYPE_CHECKING:
    import pandas

FORMAT = "omdt-alternatives-1"


class Ended(StrEnum):
    """Why the search for alternatives ended."""

    COMPLETE = "complete"
    """There are no others."""
    LIMIT = "limit"
    """There are others; those that are listed are the best."""
    TIME = "time"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, eq=False)
class Alternative:
    """One of the trees.

    Attributes:
        tree: of all trees that do the same, the one with fewest leaves; of several, the one with the first questions.
        value: its value, recomputed on the MDP.
        visited: number of states that it visits and in which it matters what is played.
        features: names of the features that the tree asks about.
        needed: names of the features without which no tree within the size limits does the same.
        differences: where it plays another action than the best tree; empty for the best tree itself.
    """

    tree: TreePolicy
    value: float
    visited: int
    features: tuple[str, ...]
    needed: tuple[str, ...]
    differences: tuple[Difference, ...]

    def to_dict(self) -> dict[str, Any]:
        """The tree as JSON holds it."""
        return {
            "value": spelled(self.value),
            "n_leaves": self.tree.n_leaves,
            "features": list(self.features),
            "needed_features": list(self.needed),
            "visited_states": self.visited,
            "differences": [asdict(difference) for difference in self.differences],
            **self.tree.exceptions.to_dict(self.tree.action_names),
            "tree": self.tree.to_dict(),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternatives:
    """All trees within the size limits that are about as good as the best one, distinct in what they do.

    Two trees do the same if they play the same actions in all states that they visit and in which that matters.

    Attributes:
        problem: name of the MDP.
        max_depth: limit on the depth, or None.
        max_leaf_nodes: limit on the number of leaves, or None.
        discount: γ.
        within: how much worse than the best tree they may be: a part of the distance between the best tree and the
            random policy or, if `absolute`, a difference of values.
        absolute: whether `within` is a difference of values.
        limit: maximum number of trees.
        least: the value that a tree must reach, up to rounding: at least this, or at most this where the objective is
            to be small.
        random_return: value of the uniformly random policy.
        ended: why the search ended.
        members: the trees, best first.
        forced: where all of them play the same, by the leaves of the best tree.
        seconds: how long it took.
        seed: that of the search for the best tree.
        objective: what the values are, as in a `Solution`; None for the discounted return.
        sense: whether values are to be large ("max") or small ("min").
        questions: what the trees may ask; None for thresholds on every feature.
        source: how the problem can be found again, or None if that is not known.
        rules: what the trees must keep, in words.
    """

    problem: str
    max_depth: int | None
    max_leaf_nodes: int | None
    discount: float
    within: float
    absolute: bool
    limit: int
    least: float
    random_return: float
    ended: Ended
    members: tuple[Alternative, ...]
    forced: tuple[Forced, ...]
    seconds: float
    seed: int = 0
    objective: str | None = None
    sense: str = MAX
    questions: Questions | None = None
    source: Source | None = None
    rules: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        return f"<Alternatives: {self.words}>"

    def __str__(self) -> str:
        """The trees as the command line prints them."""
        from omdt.printing import show_alternatives, text_of

        return text_of(show_alternatives, self)

    def _repr_html_(self) -> str:
        """A table of the trees, for notebooks."""
        from omdt.printing.notebook import alternatives_html

        return alternatives_html(self)

    def to_frame(self) -> "pandas.DataFrame":
        """A table with one row per tree (needs pandas)."""
        return frame_of(
            {
                "value": self.values,
                "loss": [self.loss(member) for member in self.members],
                "n_leaves": [member.tree.n_leaves for member in self.members],
                "depth": [member.tree.depth for member in self.members],
                "features": [", ".join(member.features) for member in self.members],
                "tree": self.trees,
            }
        )

    @property
    def trees(self) -> list[TreePolicy]:
        """The trees, best first."""
        return [member.tree for member in self.members]

    @property
    def values(self) -> list[float]:
        """The value of each tree."""
        return [member.value for member in self.members]

    @property
    def best(self) -> float:
        """The value of the best tree."""
        return self.members[0].value

    @property
    def complete(self) -> bool:
        """Whether it is proven that there are no others."""
        return self.ended is Ended.COMPLETE

    @property
    def size(self) -> Size:
        """How large the trees may be."""
        return Size(self.max_depth, self.max_leaf_nodes)

    @property
    def wording(self) -> Wording:
        """How to speak of the objective."""
        return wording(self.objective, self.sense)

    @property
    def needed_by_all(self) -> tuple[str, ...]:
        """The features that every listed tree needs: none of them could do the same without them."""
        return tuple(name for name in self._asked if all(name in member.needed for member in self.members))

    @property
    def needed_by_none(self) -> tuple[str, ...]:
        """The features that no listed tree needs: each could do the same with a tree that does not ask for them."""
        return tuple(name for name in self._asked if not any(name in member.needed for member in self.members))

    @property
    def _asked(self) -> tuple[str, ...]:
        return self.members[0].tree.feature_names

    def loss(self, member: Alternative) -> float:
        """How much worse than the best tree a tree is, at least 0."""
        return 0.0 if member.value == self.best else abs(self.best - member.value)

    def loss_words(self, member: Alternative) -> str:
        """How much worse than the best tree a tree is, in words."""
        loss, span = self.loss(member), abs(self.best - self.random_return)
        if loss == 0 or loss <= ROUNDING * max(abs(self.best), span):
            return "as good"
        side = "more" if self.wording.minimised else "less"
        share = f" ({loss / span:.2%} of the way to random)" if 0 < span < math.inf and loss <= span else ""
        return f"{loss:.3g} {side}{share}"

    def summary(self) -> list[str]:
        """What all listed trees have in common, one sentence without a full stop per line."""
        if len(self) == 1:
            return []
        every, none = (
            ", ".join(map(printable, names)) or "none" for names in (self.needed_by_all, self.needed_by_none)
        )
        sentences = [
            f"features that all {len(self):,} trees need: {every}",
            f"features that none of them needs: {none}",
        ]
        if not self.forced:
            return [*sentences, "they do not all play the same in any visited state of the best tree"]
        return [*sentences, "what all of them play that come there:", *(f"     {it.words}" for it in self.forced)]

    @property
    def words(self) -> str:
        """How many trees there are, and whether these are all, without a full stop."""
        tolerance = f"{self.within:g}" if self.absolute else f"{100 * self.within:g} %"
        trees = f"{counted(len(self), 'tree')} of {self.size.words} within {tolerance} of the best"
        rest = {
            Ended.COMPLETE: "there are no others",
            Ended.LIMIT: f"there are others: these are the best {len(self):,}",
            Ended.TIME: "time was up, so there may be others and better ones",
            Ended.INTERRUPTED: "interrupted, so there may be others and better ones",
        }
        return f"{trees}; {rest[self.ended]}"

    def to_dict(self, folder: str | Path = ".") -> dict[str, Any]:
        """The alternatives as JSON in a folder holds them; files are named relative to the folder."""
        tree = self.members[0].tree
        return {
            "format": FORMAT,
            "problem": self.problem,
            "source": None if self.source is None else self.source.to_dict(folder),
            "max_depth": self.max_depth,
            "max_leaf_nodes": self.max_leaf_nodes,
            "discount": self.discount,
            "objective": discounted_return(self.discount) if self.objective is None else self.objective,
            "sense": self.sense,
            **({"rules": list(self.rules)} if self.rules else {}),
            "within": self.within,
            "absolute": self.absolute,
            "limit": self.limit,
            "complete": self.complete,
            "stop": str(self.ended),
            "best": spelled(self.best),
            "least": spelled(self.least),
            "random_return": spelled(self.random_return),
            "seconds": round(self.seconds, 3),
            "seed": self.seed,
            "needed_by_all": list(self.needed_by_all),
            "needed_by_none": list(self.needed_by_none),
            "forced": [asdict(it) for it in self.forced],
            "feature_names": list(tree.feature_names),
            "integer_features": list(tree.integer),
            "truth_features": list(tree.truths),
            "action_names": list(tree.action_names),
            **({} if self.questions is None else {"questions": statements.to_dict(self.questions)}),
            "trees": [member.to_dict() for member in self.members],
        }

    def to_json(self, folder: str | Path = ".") -> str:
        """One JSON object for a file in a folder."""
        try:
            return json.dumps(self.to_dict(folder), ensure_ascii=False, allow_nan=False) + "\n"
        except RecursionError:
            raise InputError("a tree is too deep for JSON; limit the depth") from None

    def save(self, path: str | Path) -> None:
        """Write the JSON form to a file, whole or not at all."""
        content = self.to_json(Path(path).parent).encode()
        write_whole(Path(path), lambda stream: stream.write(content))
