"""Decisions: what is decided next about a coarse tree, and the coarse trees that take its place.

There are three kinds: an undecided leaf gets an action, an undecided subtree becomes a leaf or a cut, and a range of
questions is halved. The first and the last lower the bound, the second one only prepares them.

The choice is by first-order losses w(s, a) = x(s) (V(s) − Q(s, a)), where V is above the values of the relaxation and x
are the visits of its best policy: what a decision adds to the losses of the worst of its children, estimated by what
leaves lose in the states that reach them for certain. An undecided leaf loses at least what its best action loses, an
undecided subtree about what its best single question loses.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from omdt.mdp import Floats, Ints
from omdt.methods.search.coarse.coarse_tree import (
    CoarseTree,
    Cut,
    End,
    Undecided,
    cuts,
    ends,
    narrowed,
    placed,
)
from omdt.methods.search.coarse.first_tree import First
from omdt.methods.search.coarse.ladders import halves
from omdt.methods.search.coarse.relaxation import Relaxation
from omdt.methods.search.partial_tree import Leaf, Path
from omdt.methods.search.ranks import Ranks
from omdt.watch import Watch

EXPANDED = 0.5
"""What an undecided subtree loses counts this much when it is expanded: the loss shows only after further decisions."""

INFINITE = 10.0
"""What an infinite value counts in estimates, as a multiple of the largest finite one."""


class Child(NamedTuple):
    """A coarse tree that takes part in the place of another one; whether it has the same relaxation."""

    tree: CoarseTree
    same: bool


class Decision(NamedTuple):
    """What is decided about a coarse tree.

    Attributes:
        path: the way to the cut or the end that it is about.
        middle: the first question of the upper half of a range; None for an end.
        children: the coarse trees that take the place of the tree.
    """

    path: Path
    middle: int | None
    children: list[Child]


class Decisions:
    """Decides about coarse trees.

    Args:
        relaxation: of the coarse trees.
        questions: the questions of the task.
        first: where the search began; by default with everything undecided or the kept tree.
    """

    def __init__(self, relaxation: Relaxation, questions: Ranks, first: First | None = None) -> None:
        self._relaxation, self._questions = relaxation, questions
        self._model, self._ladders = relaxation.model, relaxation.ladders
        self._first = First.of(self._model, self._ladders) if first is None else first
        self._free = len(self._model.task.splits)

    def decide(self, tree: CoarseTree, values: Floats, watch: Watch, rewards: Floats | None = None) -> Decision:
        """What is decided about an incomplete coarse tree.

        Args:
            tree: the coarse tree.
            values: [S] above the values of its relaxation.
            watch: ends the computation by an `OutOfTimeError`.
            rewards: [S, A] what is maximised in the relaxation; by default the rewards of the problem.
        """
        watch.check()
        rewards = self._model.mdp.rewards if rewards is None else rewards
        decided = self._next(tree, self._losses(tree, values, rewards), watch)
        middle = None
        if isinstance(decided, tuple):
            path, cut = decided
            lower, upper = halves(cut.asked)
            children = [Child(placed(tree, path, cut._replace(asked=half)), False) for half in (lower, upper)]
            middle = upper.low
        elif self._is_leaf(decided, tree):
            path = decided.path
            children = [Child(placed(tree, path, leaf), False) for leaf in self._leaves(decided)]
        else:
            path = decided.path
            children = [Child(placed(tree, path, node), True) for node in self._subtrees(decided)]
        narrow = ((narrowed(child.tree, self._ladders, self._relaxation.everywhere), child.same) for child in children)
        return Decision(path, middle, [Child(found, same) for found, same in narrow if found is not None])

    def _next(self, tree: CoarseTree, losses: Floats, watch: Watch) -> End | tuple[Path, Cut]:
        """The undecided end or the cut whose decision is estimated to lower the bound most."""
        scored: list[tuple[float, End | tuple[Path, Cut]]] = []
        all_ends = self._certain(tree)
        for end, states in all_ends:
            if not isinstance(end.node, Undecided):
                continue
            if not end.reached.any():
                return end
            estimate = self._estimate(end.node, states, losses)
            scored.append((estimate if self._is_leaf(end, tree) else EXPANDED * estimate, end))
        now = self._total(all_ends, losses)
        for path, cut in cuts(tree):
            watch.check()
            if cut.asked.high - cut.asked.low > 1:
                halved = (placed(tree, path, cut._replace(asked=half)) for half in halves(cut.asked))
                scored.append((min(self._total(self._certain(half), losses) for half in halved) - now, (path, cut)))
        return max(scored, key=lambda it: it[0])[1]

    def _is_leaf(self, end: End, tree: CoarseTree) -> bool:
        """Whether an end can only be a leaf."""
        node = end.node
        return not isinstance(node, Undecided) or node.depth == 0 or self._first.is_full(tree, end.path)

    def _leaves(self, end: End) -> Iterator[Leaf]:
        """The leaves that an end may be; where no state goes, any leaf will do, unless a rule counts the leaves."""
        several = end.reached.any() or not self._model.task.only_leaf_rules
        yield from map(Leaf, range(self._model.mdp.n_actions if several else 1))

    def _subtrees(self, end: End) -> Iterator[CoarseTree]:
        """What takes the place of an undecided subtree: a leaf, or a cut by each feature."""
        assert isinstance(end.node, Undecided), "a leaf has no subtrees"
        yield Undecided(0)
        below = Undecided(end.node.depth - 1)
        for ladder in range(len(self._ladders)):
            asked = self._ladders.dividing(self._ladders.whole(ladder), end.reached)
            if asked is not None:
                yield Cut(asked, below, below)

    def _losses(self, tree: CoarseTree, values: Floats, rewards: Floats) -> Floats:
        """[S, A] first-order losses."""
        values, mdp = self._finite(values), self._model.mdp
        q = rewards + mdp.discount * (mdp.transitions @ values).reshape(rewards.shape)
        visits = self._relaxation.visits(self._relaxation.choices(tree), q)
        losses: Floats = visits[:, None] * np.maximum(values[:, None] - q, 0.0)
        return losses

    def _finite(self, values: Floats) -> Floats:
        """The values with large numbers in place of infinite ones, so that differences of them mean something."""
        infinite = np.isinf(values)
        if not infinite.any():
            return values
        large = INFINITE * max(float(np.abs(values).max(where=~infinite, initial=0.0)), self._model.scale, 1e-280)
        return np.clip(values, -large, large)

    def _certain(self, tree: CoarseTree) -> list[tuple[End, Ints]]:
        """All ends of a coarse tree, each with the states that reach it for certain."""
        all_ends = list(ends(tree, self._ladders, self._relaxation.everywhere))
        count = np.zeros(len(self._relaxation.everywhere), dtype=np.int32)
        for end in all_ends:
            count += end.reached
        return [(end, np.flatnonzero(end.reached & (count == 1))) for end in all_ends]

    def _total(self, all_ends: list[tuple[End, Ints]], losses: Floats) -> float:
        """What a coarse tree with these ends is estimated to lose."""
        total = 0.0
        cheapest = np.full(len(losses), np.inf)
        for end, states in all_ends:
            if isinstance(end.node, Leaf):
                np.minimum(cheapest, losses[:, end.node.action], out=cheapest, where=end.reached)
            else:
                cheapest[end.reached] = 0.0
                total += self._estimate(end.node, states, losses)
        return total + float(cheapest.sum())

    def _estimate(self, node: Undecided, states: Ints, losses: Floats) -> float:
        """What an undecided end is estimated to lose in the states that reach it for certain."""
        if len(states) == 0:
            return 0.0
        if node.depth == 0 or self._free == 0:
            return float(losses[states].sum(axis=0).min())
        left, right = (sums[: self._free] for sums in self._questions.sums(states, losses[states]))
        return float((left.min(axis=1) + right.min(axis=1)).min())
