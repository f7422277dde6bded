"""Population: which kind of climb comes next, and with which tree it begins.

The question at the root decides more than all others, and small changes seldom replace it by a better one. So the best
trees that climbs have ended with are kept, one per question at the root, and quick climbs go on from all of them,
others from trees that short-sighted guides suggest (see `short_sight`). Steep climbs go on from the incumbent.

Good trees are also *crossed*: a side of one of them takes the place of a side of another. What is good on one side of a
question need not change when the other side does, but a climb changes one place at a time.
"""

from collections.abc import Iterator
from enum import Enum

import numpy as np

from omdt.methods.search.partial_tree import Split, Tree, count_leaves
from omdt.methods.search.settings import SearchSettings


class Population:
    """Keeps trees and chooses one of them, better ones more often.

    Args:
        most: maximum number of trees.
        selection: probability that the best tree is chosen, and that the next one is chosen if the best is not.
    """

    def __init__(self, most: int, selection: float) -> None:
        self._most, self._selection = most, selection
        self._trees: dict[int, tuple[float, Tree]] = {}

    @property
    def best(self) -> list[tuple[float, Tree]]:
        """Returns and trees, the best first."""
        return self._sorted[: self._most]

    @property
    def _sorted(self) -> list[tuple[float, Tree]]:
        return sorted(self._trees.values(), key=lambda kept: -kept[0])

    def add(self, value: float, tree: Tree) -> bool:
        """Keep a tree if it is better than the one with the same question at the root; whether it is."""
        root = tree.question if isinstance(tree, Split) else -1
        better = root not in self._trees or value > self._trees[root][0]
        if better:
            self._trees[root] = value, tree
        return better

    def crossings(self) -> Iterator[Tree]:
        """The best trees, with one side of each replaced by a side of any tree that is kept."""
        kept = [tree for _, tree in self._sorted if isinstance(tree, Split)]
        for tree in kept[: self._most]:
            for other in kept:
                for side in (other.left, other.right):
                    yield Split(tree.question, side, tree.right)
                    yield Split(tree.question, tree.left, side)

    def chosen(self, random: np.random.Generator) -> Tree | None:
        """One of the best trees; None if there is none."""
        best = self.best
        return best[min(int(random.geometric(self._selection)), len(best)) - 1][1] if best else None


class Kind(Enum):
    """A kind of climb: a steep one, a quick one, or a quick one that begins with a suggested tree."""

    STEEP = "steep"
    QUICK = "quick"
    SUGGESTED = "suggested"


class Beginnings:
    """Chooses the tree with which the next climb begins: first given trees, then crossings and changes of good ones.

    Args:
        settings: sizes of the population.
        leaves: maximum number of leaves of a tree.
        starts: trees for steep climbs.
        quick_starts: trees for quick climbs; None if all climbs are of one kind, which takes `starts`.
        suggested: further trees for quick climbs, when there are no more `quick_starts`; None if there are none.
    """

    def __init__(
        self,
        settings: SearchSettings,
        leaves: int,
        starts: Iterator[Tree],
        quick_starts: Iterator[Tree] | None,
        suggested: Iterator[Tree] | None = None,
    ) -> None:
        self._settings, self._leaves = settings, leaves
        self._starts, self._quick_starts, self._suggested = starts, quick_starts, suggested
        self._kind = Kind.QUICK
        self._population = Population(settings.population, settings.selection)
        self._crossed: set[Tree] = set()
        self._uncrossed = 0
        self._efforts: dict[Kind, int] = {Kind.QUICK: 0} if quick_starts is None else {Kind.STEEP: 0, Kind.QUICK: 0}
        self._passed: dict[bool, set[Tree]] = {False: set(), True: set()}

    @property
    def steep(self) -> bool:
        """Whether the climb that was begun last is a steep one."""
        return self._kind is Kind.STEEP

    def following(self, best: Tree, random: np.random.Generator) -> tuple[list[Tree], bool]:
        """Trees, the best of which comes next, and whether they are new; else the only one is changed before climbing.

        All kinds of climbs have equal shares of the evaluations, from the time on when they begin.

        Args:
            best: the incumbent.
            random: chooses among good trees.
        """
        self._kind = min(self._efforts, key=self._efforts.__getitem__)
        if self._kind is Kind.SUGGESTED and self._suggested is not None:
            tree = next(self._suggested, None)
            if tree is None:
                del self._efforts[Kind.SUGGESTED]
                self._suggested = None
                return self.following(best, random)
        elif self._kind is Kind.QUICK and self._quick_starts is not None:
            if self._uncrossed >= self._settings.crossed_trees and (crossings := self._new_crossings()):
                return crossings, True
            tree = next(self._quick_starts, None)
            if tree is None and self._suggested is not None:
                self._efforts.setdefault(Kind.SUGGESTED, self._efforts[Kind.QUICK])
        else:
            tree = next(self._starts, None)
        if tree is not None:
            return [tree], True
        kept = None if self.steep or self._quick_starts is None else self._population.chosen(random)
        return [best if kept is None else kept], False

    def _new_crossings(self) -> list[Tree]:
        """Crossings of the population that were not tried before."""
        self._uncrossed = 0
        crossings = dict.fromkeys(self._population.crossings())
        new = [tree for tree in crossings if tree not in self._crossed and count_leaves(tree) <= self._leaves]
        self._crossed.update(new)
        return new

    def passed(self, tree: Tree) -> bool:
        """Whether an earlier climb of the same kind has been at a tree where the present climb is."""
        passed = self._passed[self.steep]
        before = tree in passed
        passed.add(tree)
        return before

    def ended(self, evaluations: int, value: float, tree: Tree | None) -> None:
        """Count the evaluations of a climb, and keep the tree with which it ended if that is allowed."""
        self._efforts[self._kind] += evaluations
        if tree is not None and value > -np.inf:
            self._uncrossed += self._population.add(value, tree)
