"""Words for alternatives: where a tree plays another action than the best one, and what all of them have in common."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from omdt.counting import counted
from omdt.mdp import Bools, Floats, Ints
from omdt.tree import LEAF, TreePolicy, printable
from omdt.tree.nodes import levels

EVERYWHERE = "everywhere"
"""The words for a condition that all states satisfy."""


@dataclass(frozen=True)
class Difference:
    """A region in which a tree plays another action than the best one.

    Attributes:
        plays: name of its action.
        instead_of: name of the action of the best tree.
        where: the region in words, as in `X ≤ 0 and Y > 2`; of the states that the tree visits and in which it matters
            what is played, exactly those of the region satisfy it, unless what is played differs within a leaf because
            actions are not available.
        states: number of these states.
    """

    plays: str
    instead_of: str
    where: str
    states: int

    def words(self, visited: int) -> str:
        """The difference as a sentence without a full stop, given the number of visited states."""
        action, other = printable(self.plays), printable(self.instead_of)
        where = self.where if self.where == EVERYWHERE else f"where {self.where}"
        return f"plays {action} instead of {other} {where}: {self.states:,} of {counted(visited, 'visited state')}"


@dataclass(frozen=True)
class Forced:
    """A leaf of the best tree, and in how many of its visited states all alternatives play its action.

    Attributes:
        action: name of the action that is played.
        where: the leaf in words.
        states: number of visited states in which no alternative plays another action.
        of: number of all visited states in which that action is played.
    """

    action: str
    where: str
    states: int
    of: int

    @property
    def words(self) -> str:
        """A sentence without a full stop."""
        where = self.where if self.where == EVERYWHERE else f"where {self.where}"
        all_of_them = self.states == self.of
        share = counted(self.of, "visited state") if all_of_them else f"{self.states:,} of {self.of:,} visited states"
        return f"{printable(self.action)} {where}: {share}"


@dataclass(frozen=True)
class Part:
    """A part of a conjunction: a feature is above a number, at most a number, equal to it, or different from it."""

    feature: int
    relation: str
    number: float

    def holds(self, observations: Floats) -> Bools:
        """[n] whether it holds for each of n observations [n, F]."""
        values = observations[:, self.feature]
        compared = {">": np.greater, "≤": np.less_equal, "=": np.equal, "≠": np.not_equal}
        holds: Bools = compared[self.relation](values, self.number)
        return holds


def path_parts(tree: TreePolicy, leaf: int) -> list[Part]:
    """The answers on the way from the root to a leaf."""
    parent = np.full(tree.n_nodes, LEAF)
    inner = np.flatnonzero(tree.feature != LEAF)
    parent[tree.left[inner]], parent[tree.right[inner]] = inner, inner
    parts: list[Part] = []
    node = leaf
    for _ in range(int(levels(tree)[leaf])):
        above = int(parent[node])
        relations = ("=", "≠") if tree.equality[above] else ("≤", ">")
        right = int(tree.right[above]) == node
        parts.append(Part(int(tree.feature[above]), relations[right], float(tree.threshold[above])))
        node = above
    return parts[::-1]


def described(tree: TreePolicy, parts: Sequence[Part], inside: Bools, observations: Floats) -> str:
    """A conjunction in words, without the parts that are not needed to tell some observations from the others.

    Args:
        tree: has the names of the features.
        parts: the conjunction.
        inside: [n] whether each of n observations is to satisfy it.
        observations: [n, F] the observations that count.
    """
    needed = list(dict.fromkeys(parts))
    for part in reversed(list(needed)):
        others = [it for it in needed if it != part]
        if not np.any(_all_hold(others, observations) & ~inside):
            needed = others
    return " and ".join(_sorted_words(tree, needed)) or EVERYWHERE


def _all_hold(parts: Sequence[Part], observations: Floats) -> Bools:
    holds = np.ones(len(observations), dtype=np.bool_)
    for part in parts:
        holds &= part.holds(observations)
    return holds


def _sorted_words(tree: TreePolicy, parts: Sequence[Part]) -> Iterator[str]:
    """The parts in the order of the features; two bounds of a feature are one text."""
    for j in sorted({part.feature for part in parts}):
        name, whole = printable(tree.feature_names[j]), tree.integer[j]
        mine = [part for part in parts if part.feature == j]
        lower, upper = ([part.number for part in mine if part.relation == it] for it in (">", "≤"))
        if lower and upper:
            yield f"{_number(max(lower), whole)} < {name} ≤ {_number(min(upper), whole)}"
        elif lower:
            yield f"{name} > {_number(max(lower), whole)}"
        elif upper:
            yield f"{name} ≤ {_number(min(upper), whole)}"
        for part in mine:
            if part.relation in "=≠":
                yield f"{name} {part.relation} {_number(part.number, whole and part.number == int(part.number))}"


def _number(number: float, whole: bool) -> str:
    """A number as trees show it: thresholds on whole numbers are rounded down."""
    return str(int(np.floor(number))) if whole else f"{number:.6g}"


def differences(
    tree: TreePolicy, plays: Ints, best: TreePolicy, best_plays: Ints, observations: Floats
) -> tuple[Difference, ...]:
    """Where a tree plays another action than the best one, the largest region first.

    Args:
        tree: the tree.
        plays: [S] what it plays in the decisive states that it visits; −1 elsewhere.
        best: the best tree.
        best_plays: [S] what that tree plays in every state, visited or not.
        observations: [S, F'] what both trees read.
    """
    visited = np.flatnonzero(plays >= 0)
    X, own, others = observations[visited], plays[visited], best_plays[visited]
    leaves, best_leaves = tree.leaves(X), best.leaves(X)
    kinds = np.stack([own, others, leaves, best_leaves], axis=1)
    found = []
    for kind in np.unique(kinds[own != others], axis=0):
        inside = (kinds == kind).all(axis=1)
        parts = [*path_parts(best, int(kind[3])), *path_parts(tree, int(kind[2]))]
        where = described(tree, parts, inside, X)
        names = tree.action_names
        found.append(Difference(names[kind[0]], names[kind[1]], where, int(inside.sum())))
    return tuple(sorted(found, key=lambda it: -it.states))


def forced(best: TreePolicy, all_plays: Sequence[Ints], observations: Floats) -> tuple[Forced, ...]:
    """The leaves of the best tree, as far as all alternatives play the same there as the best one, or do not go there.

    Args:
        best: the best tree.
        all_plays: [S] what each alternative plays in the decisive states that it visits, −1 elsewhere; the best first.
        observations: [S, F'] what the tree reads.
    """
    plays = all_plays[0]
    alike = np.ones(len(plays), dtype=np.bool_)
    for other in all_plays[1:]:
        alike &= (other < 0) | (other == plays)
    visited = np.flatnonzero(plays >= 0)
    X, own, leaves = observations[visited], plays[visited], best.leaves(observations[visited])
    found = []
    for leaf, action in np.unique(np.stack([leaves, own], axis=1), axis=0):
        inside = (leaves == leaf) & (own == action)
        same = int(alike[visited[inside]].sum())
        if same:
            where = described(best, path_parts(best, int(leaf)), inside, X)
            found.append(Forced(best.action_names[action], where, same, int(inside.sum())))
    return tuple(found)
