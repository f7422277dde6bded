"""Moves: the trees that a climb under rules tries around a tree.

Only what stands in open places changes. At every node there: another action, one of its sides in its place, another
question above the same sides or above exchanged sides, a stump, and everything below grown anew. First-order gains, net
of what questions cost, say which of these are worth an evaluation. Policies may repeat, since a tree that does the same
with fewer questions or fewer columns may be better under rules.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from omdt.mdp import Bools, Floats, Ints
from omdt.methods.search.effort import evaluations_within
from omdt.methods.search.model import Model
from omdt.methods.search.neighbours import Place
from omdt.methods.search.partial_tree import HOLE, Leaf, Path, Split, Tree, asked_questions, count_leaves, replaced
from omdt.methods.search.ruled.growing import Growing, Wish
from omdt.methods.search.ruled.keeping import Keeping, OpenPlace, Questions, subtree_at
from omdt.methods.search.ruled.worth import Slopes
from omdt.watch import Watch

MOST_COLUMNS = 12
"""Columns of which the best question each is tried at a node, those of highest gain, beside the best of all."""


class Move(NamedTuple):
    """Another subtree at one node, with its first-order gain over the present one."""

    gain: float
    path: Path
    subtree: Tree


class Moves:
    """Finds the trees around a tree."""

    def __init__(self, model: Model, keeping: Keeping, questions: Questions, growing: Growing, watch: Watch) -> None:
        self.model, self.keeping, self.questions = model, keeping, questions
        self.growing, self.watch = growing, watch
        self._most = evaluations_within(model, model.settings.step_seconds)
        feature = questions.ranks.feature
        self._by_column = [np.flatnonzero(feature == j) for j in np.unique(feature)]

    def places(self, tree: Tree) -> Iterator[Place]:
        """All nodes of a tree in open places that states reach, parents before their children."""
        spare = self.model.size.leaves - count_leaves(tree)
        for place in self.keeping.places:
            top = subtree_at(tree, place.path)
            room = min(spare, place.leaves - count_leaves(top))
            stack = [(place.path, self.questions.reaching(tree, place.path), top)]
            while stack:
                path, states, node = stack.pop()
                if len(states) == 0:
                    continue
                depth = place.depth - (len(path) - len(place.path))
                yield Place(path, states, node, depth, room + count_leaves(node))
                if isinstance(node, Split):
                    right = self.questions.right(states, node.question)
                    stack.append(((*path, True), states[right], node.right))
                    stack.append(((*path, False), states[~right], node.left))

    def promising(self, tree: Tree, slopes: Slopes) -> Iterator[Tree]:
        """The trees with a promising other subtree at one node, best first, as many as one step may evaluate."""
        moves: list[Move] = []
        for place in self.places(tree):
            if self.watch.remaining > 0:
                moves += self._at(tree, place, slopes)
        return self._trees(tree, moves)

    def small(self, tree: Tree, slopes: Slopes) -> Iterator[Tree]:
        """The trees with another action in one leaf or another question about the same column at one node."""
        moves: list[Move] = []
        for place in self.places(tree):
            if isinstance(place.subtree, Split):
                moves += self._thresholds(place, slopes)
            else:
                totals = slopes.gains[place.states].sum(axis=0)
                moves += [Move(float(gain), place.path, Leaf(a)) for a, gain in enumerate(totals)]
        return self._trees(tree, moves)

    def grown_anew(self, tree: Tree, slopes: Slopes) -> Iterator[Tree]:
        """Trees grown around the present one with another first question, or with other columns."""
        for column in self._first_columns(slopes):
            if self.watch.remaining > 0:
                yield self.growing.grown(slopes, Wish(first=column))
        asked = {int(self.questions.feature[k]) for k in asked_questions(tree)}
        for wanted in self._column_sets(asked, len(self.questions.ranks.columns.codes)):
            if self.watch.remaining > 0:
                yield self.growing.grown(slopes, Wish(columns=wanted))

    def _first_columns(self, slopes: Slopes) -> list[int]:
        """The columns that the first question may be about, those of the best stumps; none if that question is kept."""
        if self.keeping.places[0].path != () or len(self.questions.ranks) == 0:
            return []
        states = np.arange(len(slopes.visits))
        scores = self.growing.stumps(slopes, states, (), HOLE).scores
        return list(dict.fromkeys(int(self.questions.feature[k]) for k in self._picked(states, scores)))

    def _column_sets(self, asked: set[int], count: int) -> Iterator[Bools]:
        """[F'] the columns of a tree without one of them, and with another in its place."""
        prices = self.model.task.prices
        if self.growing.most_columns >= count and (prices is None or not prices.once.any()):
            return
        for gone in sorted(asked):
            for new in [gone, *(j for j in range(count) if j not in asked)][: 1 + MOST_COLUMNS]:
                wanted = np.zeros(count, dtype=np.bool_)
                wanted[[j for j in asked if j != gone]] = True
                wanted[new] |= new != gone
                yield wanted

    def perturbed(self, tree: Tree, slopes: Slopes, random: np.random.Generator) -> Tree:
        """The tree with a few random changes within its open places."""
        for _ in range(int(random.integers(1, self.model.settings.max_random_changes + 1))):
            places = list(self.places(tree))
            if not places:
                return tree
            place = places[int(random.integers(len(places)))]
            tree = replaced(tree, place.path, self._random(tree, place, slopes, random))
        return tree

    def _trees(self, tree: Tree, moves: list[Move]) -> Iterator[Tree]:
        """The trees that moves lead to, best first, each once."""
        seen = {tree}
        for _, path, subtree in sorted(moves, key=lambda move: -move.gain):
            other = replaced(tree, path, subtree)
            if other not in seen:
                seen.add(other)
                yield other
                if len(seen) > self._most:
                    return

    def _at(self, tree: Tree, place: Place, slopes: Slopes) -> Iterator[Move]:
        """Promising subtrees for one node."""
        states, path, subtree, gains = place.states, place.path, place.subtree, slopes.gains
        totals, present = gains[states].sum(axis=0), self._gain(subtree, states, slopes)
        for a in np.argsort(-totals, kind="stable")[: self.model.settings.candidates_per_node]:
            yield Move(float(totals[a]) - present, path, Leaf(int(a)))
        if isinstance(subtree, Split):
            for side in subtree[1:]:
                yield Move(self._gain(side, states, slopes) - present, path, side)
            yield from self._rotated(tree, place, slopes, present)
        if place.depth >= 1 and place.leaves >= 2 and len(self.questions.ranks):
            stumps = self.growing.stumps(slopes, states, path, replaced(tree, path, HOLE))
            for k in self._picked(states, stumps.scores):
                yield Move(float(stumps.scores[k]) - present, path, stumps.stump(k))
        if place.depth >= 2 and place.leaves >= 3:
            grown = self.growing.regrown(slopes, tree, OpenPlace(path, place.depth, place.leaves))
            yield Move(self._gain(grown, states, slopes) - present, path, grown)

    def _rotated(self, tree: Tree, place: Place, slopes: Slopes, present: float) -> Iterator[Move]:
        """Other questions above the sides of a node, and above exchanged sides."""
        subtree, states = place.subtree, place.states
        assert isinstance(subtree, Split), "only a split has sides"
        if len(self.questions.ranks) == 0:
            return
        straight, crossed = self._above(place, slopes, self._open_to(tree, place, slopes))
        for k in self._picked(states, np.maximum(straight, crossed)):
            yield Move(float(straight[k]) - present, place.path, Split(k, subtree.left, subtree.right))
            yield Move(float(crossed[k]) - present, place.path, Split(k, subtree.right, subtree.left))
        exchanged = Split(subtree.question, subtree.right, subtree.left)
        yield Move(self._gain(exchanged, states, slopes) - present, place.path, exchanged)

    def _open_to(self, tree: Tree, place: Place, slopes: Slopes) -> Floats:
        """[K] what every question costs in place of the one at a node; ∞ if it may not stand there."""
        assert isinstance(place.subtree, Split), "only a split has a question"
        others = asked_questions(replaced(tree, place.path, HOLE)).union(*map(asked_questions, place.subtree[1:]))
        asked = {int(self.questions.feature[k]) for k in others}
        fees = self.growing.fees(slopes, place.states, asked)
        return np.where(self.growing.usable(place.path, asked), fees, np.inf)

    def _above(self, place: Place, slopes: Slopes, costs: Floats) -> tuple[Floats, Floats]:
        """[K] the gain of every question above the sides of a node, and above exchanged sides, net of costs [K]."""
        assert isinstance(place.subtree, Split), "only a split has sides"
        left, right = (self._gains_of(side, place.states, slopes) for side in place.subtree[1:])
        change = self.questions.ranks.sums(place.states, (right - left)[:, None])[1][:, 0]
        return left.sum() + change - costs, right.sum() - change - costs

    def _thresholds(self, place: Place, slopes: Slopes) -> Iterator[Move]:
        """Other questions about the same column at a node; if these are many, those 1, 2, 4, 8, … steps away."""
        subtree = place.subtree
        assert isinstance(subtree, Split), "only a split has a question"
        if subtree.question >= len(self.questions.ranks):
            return
        ranks = self.questions.ranks
        alike = np.flatnonzero(ranks.feature == ranks.feature[subtree.question])
        if len(alike) > self._most:
            alike = ranks.stepped(subtree.question)
        straight, _ = self._above(place, slopes, np.zeros(len(ranks)))
        for k in alike.tolist():
            yield Move(float(straight[k]), place.path, Split(k, subtree.left, subtree.right))

    def _picked(self, states: Ints, scores: Floats) -> list[int]:
        """The questions of highest score that may be asked, and the best one of each of the best columns."""
        settings = self.model.settings
        best = self.questions.ranks.spread(states, scores, settings.candidates_per_node, settings.resolution)
        per_column = [int(its[scores[its].argmax()]) for its in self._by_column]
        per_column.sort(key=lambda k: -scores[k])
        chosen = dict.fromkeys([*best, *per_column[:MOST_COLUMNS]])
        return [k for k in chosen if np.isfinite(scores[k])]

    def _gains_of(self, subtree: Tree, states: Ints, slopes: Slopes) -> Floats:
        """[n] the gains of a subtree in n states, net of what its questions cost per use."""
        if isinstance(subtree, Split):
            right = self.questions.right(states, subtree.question)
            gains = np.empty(len(states))
            gains[~right] = self._gains_of(subtree.left, states[~right], slopes)
            gains[right] = self._gains_of(subtree.right, states[right], slopes)
            prices = self.model.task.prices
            if prices is not None:
                gains -= prices.per_use[self.questions.feature[subtree.question]] * slopes.visits[states]
            return gains
        assert isinstance(subtree, Leaf), "a hole gains nothing"
        taken: Floats = slopes.gains[states, subtree.action]
        return taken

    def _gain(self, subtree: Tree, states: Ints, slopes: Slopes) -> float:
        return float(self._gains_of(subtree, states, slopes).sum())

    def _random(self, tree: Tree, place: Place, slopes: Slopes, random: np.random.Generator) -> Tree:
        """A subtree for one node: another question, exchanged sides, a leaf, or a tree grown to noisy gains."""
        kind, action = int(random.integers(4)), int(random.integers(self.model.mdp.n_actions))
        k = int(random.integers(max(1, len(self.questions.ranks))))
        if isinstance(place.subtree, Split) and len(self.questions.ranks):
            if kind == 0:
                return Split(k, place.subtree.left, place.subtree.right)
            if kind == 1:
                return Split(place.subtree.question, place.subtree.right, place.subtree.left)
        if kind == 2 or place.depth == 0 or place.leaves < 2:
            return Leaf(action)
        noise = random.exponential(size=len(slopes.gains))[:, None]
        noisy = Slopes(slopes.gains * noise, slopes.visits)
        return self.growing.regrown(noisy, tree, OpenPlace(place.path, place.depth, place.leaves))
