"""Growing: trees of high first-order gain within the rules about their shape, grown from the kept tree.

A tree is grown leaf by leaf, the leaf with the largest improvement first. A question is chosen by the best two stumps
below it, since a single one may gain nothing where two in a row do. What questions cost is subtracted; the first
question and the columns are those that the rules leave; leaves name no action more often than the rules allow. Whether
the actions are in order (`Monotone`) is left to the climb.
"""

import heapq
import itertools
from typing import NamedTuple

import numpy as np

from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import HOLE, Leaf, Path, Split, Tree, count_leaves, replaced
from omdt.methods.search.ruled.keeping import Keeping, OpenPlace, Questions, subtree_at
from omdt.methods.search.ruled.stumps import Stumps, best_stumps
from omdt.methods.search.ruled.worth import Slopes
from omdt.rules import FeatureCount, LeavesPerAction, Root
from omdt.watch import Watch

LOOKED_AT = 8
"""Questions per leaf for which the best stumps on both sides are found, the most promising as stumps themselves."""


class Wish(NamedTuple):
    """What a grown tree is to be like beyond the rules.

    Attributes:
        columns: [F'] the columns that may be asked about; None for all.
        first: the column of the first question; None for any.
    """

    columns: Bools | None = None
    first: int | None = None


ANY = Wish()


class Growing:
    """Grows trees, and finds stumps, within the rules about shape.

    Attributes:
        most_columns: maximum number of columns by the rules.
    """

    def __init__(self, model: Model, keeping: Keeping, questions: Questions, watch: Watch) -> None:
        self.model, self.keeping, self.questions, self.watch = model, keeping, questions, watch
        shapes, A, leaves = model.task.shapes, model.mdp.n_actions, model.size.leaves
        self._first = next((rule.column for rule in shapes if isinstance(rule, Root)), None)
        counts = [rule.most for rule in shapes if isinstance(rule, FeatureCount)]
        self.most_columns = min(counts, default=len(questions.ranks.columns.codes))
        self._most_leaves = np.full(A, leaves)
        for rule in shapes:
            if isinstance(rule, LeavesPerAction):
                self._most_leaves = np.minimum(self._most_leaves, [rule.most.get(a, leaves) for a in range(A)])

    def stumps(self, slopes: Slopes, states: Ints, path: Path, others: Tree, wish: Wish = ANY) -> Stumps:
        """The best stump per question for some states.

        Args:
            slopes: what to gain.
            states: the states.
            path: the place of the stump in its tree.
            others: the tree with a hole in this place.
            wish: what else is wanted of the tree.
        """
        asked, free = self._columns(others), self._free(others)
        left, right = self.questions.ranks.sums(states, slopes.gains[states])
        costs = np.where(self.usable(path, asked, wish), self.fees(slopes, states, asked), np.inf)
        return best_stumps(left, right, costs, free)

    def fees(self, slopes: Slopes, states: Ints, asked: set[int]) -> Floats:
        """[K] what every question of the task costs if all of some states are asked.

        Args:
            slopes: with the visits of the states.
            states: the states.
            asked: columns that are asked about elsewhere, for which nothing more is paid once.
        """
        prices, feature = self.model.task.prices, self.questions.ranks.feature
        if prices is None:
            return np.zeros(len(feature))
        once = prices.once.copy()
        once[list(asked)] = 0.0
        fees: Floats = prices.per_use[feature] * float(slopes.visits[states].sum()) + once[feature]
        return fees

    def usable(self, path: Path, asked: set[int], wish: Wish = ANY) -> Bools:
        """[K] whether a question may stand in a place of a tree that asks about some columns elsewhere."""
        feature = self.questions.ranks.feature
        usable = np.ones(len(feature), dtype=np.bool_) if wish.columns is None else wish.columns[feature]
        if len(asked) >= self.most_columns:
            usable &= np.isin(feature, list(asked))
        for first in (self._first, wish.first):
            if path == () and first is not None:
                usable &= feature == first
        return usable

    def grown(self, slopes: Slopes, wish: Wish = ANY) -> Tree:
        """A tree with leaves in all open places, grown as long as that gains something."""
        return _Growth(self, slopes, wish, self.keeping.tree, self.keeping.places).tree()

    def regrown(self, slopes: Slopes, tree: Tree, place: OpenPlace) -> Tree:
        """A subtree for one place of a tree, grown anew; the rest of the tree stays as it is."""
        whole = _Growth(self, slopes, ANY, replaced(tree, place.path, HOLE), (place,)).tree()
        return subtree_at(whole, place.path)

    def best_action(self, totals: Floats, others: Tree) -> int:
        """The action of highest gain [A] that another leaf of a tree may name."""
        free = self._free(others) > 0
        return int(np.where(free if free.any() else True, totals, -np.inf).argmax())

    def _columns(self, tree: Tree) -> set[int]:
        """The columns that a tree asks about."""
        if not isinstance(tree, Split):
            return set()
        return {int(self.questions.feature[tree.question])} | self._columns(tree.left) | self._columns(tree.right)

    def _free(self, tree: Tree) -> Ints:
        """[A] how many further leaves of a tree may name each action."""
        free, stack = self._most_leaves.copy(), [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, Split):
                stack += [node.left, node.right]
            elif isinstance(node, Leaf):
                free[node.action] -= 1
        return free


class _Bud(NamedTuple):
    """A leaf that may be split.

    Attributes:
        gain: minus the improvement by a question, so that the best comes first.
        number: breaks ties.
        path: the way to the leaf.
        states: that reach it.
        place: the open place in which it is.
    """

    gain: float
    number: int
    path: Path
    states: Ints
    place: OpenPlace


class _Growth:
    """One tree while it grows."""

    def __init__(self, growing: Growing, slopes: Slopes, wish: Wish, tree: Tree, places: tuple[OpenPlace, ...]) -> None:
        self.growing, self.slopes, self.wish = growing, slopes, wish
        self._tree, self._places = tree, places
        self._buds: list[_Bud] = []
        self._numbers = itertools.count()
        self._leaves = dict.fromkeys(places, 1)

    def tree(self) -> Tree:
        """The tree, fully grown."""
        growing = self.growing
        for place in self._places:
            states = growing.questions.reaching(self._tree, place.path)
            action = growing.best_action(self.slopes.gains[states].sum(axis=0), self._tree)
            self._tree = replaced(self._tree, place.path, Leaf(action))
            self._add(place.path, states, action, place)
        while self._buds and growing.watch.remaining > 0 and count_leaves(self._tree) < growing.model.size.leaves:
            self._split(heapq.heappop(self._buds))
        return self._tree

    def _add(self, path: Path, states: Ints, action: int, place: OpenPlace) -> None:
        """Remember a leaf, if a question would gain something there."""
        chosen = self._chosen(path, states, place)
        gain = float(self.slopes.gains[states, action].sum())
        if chosen is not None and chosen[0] > gain:
            heapq.heappush(self._buds, _Bud(gain - chosen[0], next(self._numbers), path, states, place))

    def _split(self, bud: _Bud) -> None:
        """Split a leaf; the question is chosen anew, because questions elsewhere may leave less to choose from."""
        chosen = self._chosen(bud.path, bud.states, bud.place)
        if chosen is None or self._leaves[bud.place] >= bud.place.leaves:
            return
        subtree = chosen[1]
        self._leaves[bud.place] += 1
        self._tree = replaced(self._tree, bud.path, subtree)
        right = self.growing.questions.right(bud.states, subtree.question)
        for step, leaf, states in ((False, subtree.left, bud.states[~right]), (True, subtree.right, bud.states[right])):
            assert isinstance(leaf, Leaf), "a stump has leaves"
            self._add((*bud.path, step), states, leaf.action, bud.place)

    def _chosen(self, path: Path, states: Ints, place: OpenPlace) -> tuple[float, Split] | None:
        """The stump to put in place of a leaf, with the gain of the best two stumps below its question."""
        growing, depth = self.growing, place.depth - (len(path) - len(place.path))
        if depth <= 0 or place.leaves < 2 or len(states) == 0 or len(growing.questions.ranks) == 0:
            return None
        others = replaced(self._tree, path, HOLE)
        stumps = growing.stumps(self.slopes, states, path, others, self.wish)
        if not np.isfinite(stumps.scores).any():
            return None
        if depth == 1 or place.leaves == 2:
            k = int(stumps.scores.argmax())
            return float(stumps.scores[k]), stumps.stump(k)
        resolution = growing.model.settings.resolution
        promising = growing.questions.ranks.spread(states, stumps.scores, LOOKED_AT, resolution)
        scores = [self._ahead(path, states, k, others, stumps) for k in promising]
        best = int(np.argmax(scores))
        return scores[best], stumps.stump(promising[best])

    def _ahead(self, path: Path, states: Ints, k: int, others: Tree, stumps: Stumps) -> float:
        """The gain of the best stumps on both sides of a question, or of the leaves there if these gain more."""
        fee = stumps.costs[k]
        right = self.growing.questions.right(states, k)
        split = replaced(others, path, Split(k, HOLE, HOLE))
        total = -float(fee)
        for step, here in ((False, states[~right]), (True, states[right])):
            if len(here):
                below = self.growing.stumps(self.slopes, here, (*path, step), split, self.wish)
                leaf = float(self.slopes.gains[here].sum(axis=0).max())
                total += max(leaf, float(below.scores.max()))
        return max(total, float(stumps.scores[k]))
