"""Ruling: what the rules of a solution say about coarse trees, and what trees earn under them.

Every action of a leaf must be allowed in all states that come to it. A coarse tree is left out if all its trees break a
rule: if a state has no choice left, or if what is decided about its questions and leaves is too much already.

**What is earned.** Each visit of a state that is not over pays for the questions on its way: a *toll*, in a coarse tree
at least the smallest toll of an end that the state may come to and at which the action is possible. Let c be the costs
of a limit L, so that Σ x c ≤ L for the visits x of every tree that obeys. Then no tree that obeys returns more than

    max Σ x (r − toll − λ c) + λ L − (prices that are paid once)           for every λ ≥ 0,

and if max Σ x (−λ c) + λ L < 0, none of the trees obeys. A share m of the visits that every leaf has is such a limit:
the states that may come to a place with n leaves below have visits of at least n m Σ x, so c(s) = n m − 1 in these
states, c(s) = n m in others, and L = 0.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .asked import Asked
from .claimed import Size
from .induction import Induction
from .kept import Kept, read_nodes
from .ladders import Ladders
from .model import Model
from .ranges import CoarseTree, Cut, Leaf, Path, Undecided, choices, count_ends, cuts, ends, found_at
from .reading import Bools, Floats, Json, readable, require
from .statement import SMALLEST_FACTOR, TOLERANCE, Statement

LARGEST_FACTOR = 1e100  # of a multiplier, so that no product overflows


@dataclass(frozen=True)
class Weights:
    """How a vector weighs what is earned, and the limits."""

    earned: int = 1  # 1 to bound what is earned, 0 to show that no tree obeys
    ceilings: tuple[float, ...] = ()  # a multiplier per limit on a total; none if it is empty
    shares: tuple[tuple[Path, float], ...] = ()  # multipliers of the shares of some places

    @property
    def plain(self) -> bool:
        """Whether only what is earned counts."""
        return self.earned == 1 and not any(self.ceilings) and not self.shares

    @property
    def stated(self) -> list[dict[str, Json]]:
        """The weights as the last entry of a record, which there is none if only what is earned counts."""
        shares: list[Json] = [[[*path], factor] for path, factor in self.shares]
        return [] if self.plain else [{"earned": self.earned, "ceilings": [*self.ceilings], "shares": shares}]


class Ruling:
    """The rules of a solution on a model."""

    def __init__(
        self, statement: Statement, model: Model, asked: Asked, ladders: Ladders, *, available_only: bool = False
    ) -> None:
        names, S = ladders.names, len(model.rewards)
        self.statement, self.asked, self.ladders, self.model = statement, asked, ladders, model
        self.allowed = statement.allowed(model, available_only=available_only)
        self.over = asked.ends | (model.absorbing & (asked.rewards == 0).all(axis=1) & (asked.endless is None))
        self.deciding = np.ones(S, dtype=np.bool_) if self.over.all() else ~self.over
        self.orders = statement.orders(model, ladders.columns, names)
        nothing = np.zeros(S, dtype=np.bool_)
        self.ceilings = statement.ceilings(model, self.over if asked.discount == 1 else nothing)
        self.root = None if statement.root is None else _place(statement.root, names)
        self.most_leaves = statement.by_place("max_leaves", model.action_names)
        self.per_use, self.once = (
            _vector(statement.by_place(rule, names), names) for rule in ("prices", "prices_once")
        )
        self.least = statement.least * (1 - TOLERANCE)
        self.kept: Kept | None = None
        if statement.keep is not None:
            self.kept = read_nodes(statement.keep, names, model.action_names)

    @property
    def keeps(self) -> bool:
        """Whether some questions are kept."""
        return self.kept is not None

    def first(self, size: Size) -> CoarseTree | None:
        """The coarse tree that stands for all trees; None if the kept tree is larger than trees may be."""
        return Undecided(size.depth) if self.kept is None else self.kept.first(size)

    def is_full(self, tree: CoarseTree, path: Path) -> bool:
        """Whether only a leaf fits at the end of a path, because an open place has no room for more."""
        found = None if self.kept is None else self.kept.place_of(path)
        if found is None or found[1].leaves is None:
            return False
        way, place = found
        return place.leaves is not None and count_ends(found_at(tree, way)) >= place.leaves

    def permits(self, tree: CoarseTree) -> bool:
        """Whether some tree may obey the rules that a coarse tree stands for."""
        return self.broken(tree) is None and bool(self.choices(tree).any(axis=1).all())

    def broken(self, tree: CoarseTree) -> str | None:
        """Which rule all trees break that a coarse tree stands for, by its questions and leaves alone."""
        asked = {path: self.ladders.place(cut.asked) for path, cut in cuts(tree)}
        if self.root is not None and asked.get((), self.root) != self.root:
            return "the first question is about another feature"
        if self.statement.most_features is not None and len(set(asked.values())) > self.statement.most_features:
            return "the questions are about too many features"
        named = [node.action for _, node, _ in self._ends(tree) if isinstance(node, Leaf)]
        many = [a for a, most in self.most_leaves.items() if named.count(a) > most]
        return f"too many leaves name {self.model.action_names[many[0]]!r:.80}" if many else None

    def choices(self, tree: CoarseTree) -> Bools:
        """[S, A] the actions that some tree takes in each state which obeys, and perhaps more."""
        found = choices(tree, self.ladders, self.allowed.shape) & self.allowed
        for order in self.orders:
            found = order.narrowed(found)
        return found

    def tolls(self, tree: CoarseTree) -> Floats:
        """[S, A] what a visit pays for questions, at least, rounded down."""
        tolls = np.full(self.allowed.shape, np.inf)
        if self.per_use.any():
            for path, node, reached in self._ends(tree):
                actions = np.arange(len(self.model.action_names))
                possible = actions == node.action if isinstance(node, Leaf) else actions >= 0
                paid = np.where(reached[:, None] & possible, self._paid(tree, path), np.inf)
                tolls = np.minimum(tolls, paid)
        return np.where(np.isfinite(tolls) & ~self.over[:, None], tolls, 0.0)

    def paid_once(self, tree: CoarseTree) -> Fraction:
        """What every tree pays once that a coarse tree stands for."""
        places = {self.ladders.place(cut.asked) for _, cut in cuts(tree)}
        return sum((Fraction(float(self.once[place])) for place in places), Fraction(0))

    def share_costs(self, tree: CoarseTree, path: Path) -> Floats:
        """[S] costs whose total is at most 0 for every tree that obeys, because of the leaves below a path."""
        reached = np.ones(len(self.over), dtype=np.bool_)
        for i, side in enumerate(path):
            cut = found_at(tree, path[:i])
            require(isinstance(cut, Cut), "a path leads out of the tree")
            assert isinstance(cut, Cut)
            reached = reached & self.ladders.sides(cut.asked)[side]
        least = min(1.0, count_ends(found_at(tree, path)) * self.least)
        return np.where(self.deciding, least - reached, 0.0)

    def earned(self, tree: CoarseTree, weights: Weights, induction: Induction) -> tuple[Induction, Fraction]:
        """What is to be bounded by a vector, and what is added to its bound."""
        S, A = self.allowed.shape
        tolls, constant = self.tolls(tree), -weights.earned * self.paid_once(tree)
        if weights.plain and not tolls.any():
            return induction, constant
        require(len(weights.ceilings) in (0, len(self.ceilings)), "there is not one multiplier per limit")
        terms = [induction.rewards.reshape(S, A), -induction.numbers(tolls)] if weights.earned else []
        for factor, ceiling in zip(weights.ceilings, self.ceilings, strict=False):
            constant += Fraction(_multiplier(factor)) * Fraction(ceiling.limit)
            terms.append(-induction.number(factor) * induction.numbers(ceiling.costs))
        for path, factor in weights.shares:
            costs = np.broadcast_to(self.share_costs(tree, path)[:, None], (S, A))
            terms.append(-induction.number(_multiplier(factor)) * induction.numbers(costs))
        terms = [np.where(self.asked.ends[:, None], 0, term) for term in terms]
        rewards = induction.numbers(np.zeros((S, A)))
        size = rewards
        for term in terms:
            rewards, size = rewards + term, size + abs(term)
        # Rewards that are rounded up bound what is really earned.
        rewards = rewards + (2 * len(terms) + 8) * induction.unit * size
        return induction.about(rewards, keeps_ends=weights.earned == 1), constant

    def check_visits(self, weights: Weights, choices: Bools, induction: Induction) -> None:
        """Raise if shares are used where a policy that makes the choices [S, A] may visit states for ever.

        Without a discount, such visits are counted otherwise than as a sum over all steps.
        """
        if weights.shares and self.asked.discount == 1:
            endless = induction.trapped(choices & ~self.over[:, None], ~self.over) & ~self.over
            require(
                not endless.any(), f"a policy may visit state {endless.argmax()} for ever, where shares say nothing"
            )

    def _ends(self, tree: CoarseTree) -> Iterator[tuple[Path, Leaf | Undecided, Bools]]:
        return ends(tree, self.ladders, np.ones(len(self.over), dtype=np.bool_))

    def _paid(self, tree: CoarseTree, path: Path) -> float:
        """What a visit pays that goes this way, rounded down."""
        passed = (found_at(tree, path[:i]) for i in range(len(path)))
        places = [self.ladders.place(cut.asked) for cut in passed if isinstance(cut, Cut)]
        paid = sum((Fraction(float(self.per_use[place])) for place in places), Fraction(0))
        return float(paid) if Fraction(float(paid)) <= paid else math.nextafter(float(paid), 0.0)


def _multiplier(factor: float) -> float:
    right = factor == 0 or SMALLEST_FACTOR <= factor <= LARGEST_FACTOR
    readable(right, f"{factor!r} is no multiplier: it is negative, too small or too large")
    return factor


def _place(name: str, names: tuple[str, ...]) -> int:
    readable(name in names, f"a rule names the unknown feature {name!r:.80}")
    return names.index(name)


def _vector(numbers: dict[int, float], names: tuple[str, ...]) -> Floats:
    return np.array([numbers.get(i, 0.0) for i in range(len(names))])
