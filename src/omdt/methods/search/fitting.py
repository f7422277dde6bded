"""Fitting: trees with a high estimated return.

Around a policy π the return changes, to first order, by

    J(π') − J(π) ≈ Σ_s w(s) A^π(s, π'(s)),        w = occupancies of π, mixed with a small part of all states alike.

The summands w(s) A^π(s, a) are called *gains* [S, A]. Since they are summed over states, the best stump below a node
follows from sums over the states of the node, for all questions at once. A *stump* is a question with two leaves.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from omdt.mdp import Floats, Ints
from omdt.methods.search.evaluation import Engine
from omdt.methods.search.model import Model
from omdt.methods.search.pairs import stump_pairs
from omdt.methods.search.partial_tree import Leaf, Split, Tree
from omdt.methods.search.ranks import Ranks, goes_right, left_sums
from omdt.watch import Watch


class Stumps(NamedTuple):
    """The best stump per question.

    Attributes:
        scores: [K] gain of the stump.
        left: [K] action on the left.
        right: [K] action on the right.
        sums: [K, A] the gains on the left of the question.
    """

    scores: Floats
    left: Ints
    right: Ints
    sums: Floats

    def stump(self, k: int) -> Split:
        """The stump of question k."""
        return Split(k, Leaf(int(self.left[k])), Leaf(int(self.right[k])))


def gains_around(engine: Engine, model: Model) -> Floats:
    """[S, A] the gains of every action around the base policy of an engine."""
    return weighted_gains(model, engine.advantages, mixed_visits(engine, model))


def mixed_visits(engine: Engine, model: Model) -> Floats:
    """[S] the occupancies of the base policy of an engine, mixed with a small part of all states alike."""
    x, mixing = engine.occupancies, model.settings.mixing
    mixed: Floats = (1 - mixing) * x + mixing * x.sum() / len(x)
    return mixed


def weighted_gains(model: Model, advantages: Floats, weights: Floats) -> Floats:
    """[S, A] advantages [S, A] times weights of the states [S]; a loss beyond all others for forbidden actions."""
    gains: Floats = advantages * weights[:, None]
    if model.task.allowed is not None:
        # A finite loss still ranks trees that cannot avoid forbidden actions; it is no 0 where all gains are.
        gains[~model.task.allowed] = -model.settings.forbidden_loss * (np.abs(gains).sum() + 1e-300)
    return gains


class Fitting:
    """Fits trees to gains [S, A]."""

    def __init__(self, model: Model, questions: Ranks, watch: Watch) -> None:
        self.model, self.questions, self.watch = model, questions, watch

    def stumps(self, gains: Floats, states: Ints) -> Stumps:
        """The best stumps for some states."""
        left, right = self.questions.sums(states, gains[states])
        scores = left.max(axis=1) + right.max(axis=1)
        return Stumps(scores, left.argmax(axis=1), right.argmax(axis=1), left)

    def whole_tree(self, gains: Floats) -> Tree:
        """A tree for all states, as large as the task allows."""
        size = self.model.size
        return self.tree(gains, np.arange(self.model.mdp.n_states), size.depth, size.leaves)

    def tree(self, gains: Floats, states: Ints, depth: int, leaves: int) -> Tree:
        """A tree of high gain for some states.

        A leaf or a stump has the highest possible gain. A larger tree is grown greedily from its root: every question
        is chosen by the best stumps below it. When time runs out, the remaining subtrees become leaves.
        """
        here = gains[states]
        total = here.sum(axis=0)
        if depth == 0 or leaves == 1 or self.watch.remaining == 0 or total.max() >= here.max(axis=1).sum():
            return Leaf(int(total.argmax()))
        stumps = self.stumps(gains, states)
        if depth == 1 or leaves == 2:
            return stumps.stump(int(stumps.scores.argmax()))
        return self.below(self._first_question(gains, states, stumps), gains, states, depth, leaves)

    def below(self, k: int, gains: Floats, states: Ints, depth: int, leaves: int) -> Split:
        """A tree of high gain for some states that asks question k first; it may have two leaves or more."""
        above = self.questions.right(states, k)
        left, right = states[~above], states[above]
        enough = leaves >= 2**depth
        worths = (0.0, 0.0) if enough else (self._worth(gains, left), self._worth(gains, right))
        left_leaves, right_leaves = shared_leaves(leaves, depth, *worths)
        return Split(
            k,
            self.tree(gains, left, depth - 1, left_leaves),
            self.tree(gains, right, depth - 1, right_leaves),
        )

    def _first_question(self, gains: Floats, states: Ints, stumps: Stumps) -> int:
        """The question with the best two stumps below it, among those that are promising as stumps themselves.

        With many states, also among thresholds at quantiles.
        """
        settings = self.model.settings
        promising = self.questions.spread(states, stumps.scores, 2 * settings.candidates_per_node, settings.resolution)
        if len(states) >= settings.impatient_states and (chosen := self._at_quantiles(gains, states, promising)):
            scores = stump_pairs(self.questions.columns, np.array(chosen), states, gains[states])
            return chosen[int(scores.argmax())]

        here, scores = gains[states], np.empty(len(promising))
        everywhere, memory = (stumps.sums, here.sum(axis=0)), (np.empty_like(states), np.empty_like(here))
        _stumps_below(self.questions.columns, states, here, *everywhere, *memory, np.array(promising), scores)
        return promising[int(scores.argmax())]

    def _at_quantiles(self, gains: Floats, states: Ints, promising: list[int]) -> list[int]:
        """Some thresholds by column and rank: promising ones, and those that divide the gains evenly.

        None if there are equalities, or if their histogram would be too large.
        """
        columns, settings = self.questions.columns, self.model.settings
        entries = len(columns.codes) * int(columns.offsets[-1]) * gains.shape[1]
        count = min(settings.pair_thresholds, settings.pair_entries // entries)
        if count < 2 or columns.equality.any():
            return []
        weights = np.abs(gains[states]).max(axis=1)
        even = self.questions.quantiles(states, weights if weights.any() else np.ones(len(states)), count)
        chosen = np.union1d(even, promising)
        return [int(k) for k in chosen[np.lexsort((columns.rank[chosen], columns.feature[chosen]))]]

    def _worth(self, gains: Floats, states: Ints) -> float:
        """How much a split adds to the gain of some states."""
        return self._stump_score(gains, states) - float(gains[states].sum(axis=0).max())

    def _stump_score(self, gains: Floats, states: Ints) -> float:
        """The gain of the best stump for some states."""
        here = gains[states]
        return float(_best_stump(self.questions.sums(states, here)[0], here.sum(axis=0))) if len(states) else 0.0


@njit(inline="always")
def _best_stump(left, total):  # type: ignore[no-untyped-def]
    """The gain of the best stump, given sums of gains on the left of all questions [K, A] and everywhere [A]."""
    best = -np.inf
    for k in range(len(left)):
        on_left = on_right = -np.inf
        for a in range(len(total)):
            on_left, on_right = max(on_left, left[k, a]), max(on_right, total[a] - left[k, a])
        best = max(best, on_left + on_right)
    return best


@njit(cache=True)
def _stumps_below(columns, states, gains, left, total, few, here, chosen, scores):  # type: ignore[no-untyped-def]
    """Find the gain of the best two stumps below each of some questions.

    Gains are added up for the side with fewer states; those of the other side are what remains.

    Args:
        columns: observations and questions.
        states: [n] the states.
        gains: [n, A] their gains.
        left: [K, A] sums of the gains on the left of all questions.
        total: [A] sums of all gains.
        few: [n] memory.
        here: [n, A] memory.
        chosen: [m] the questions.
        scores: [m] filled in.
    """
    A, sums = len(total), np.empty(len(total))
    for m in range(len(chosen)):
        on_right, count = 0, 0
        for s in states:
            on_right += goes_right(columns, chosen[m], s)
        for a in range(A):
            sums[a] = 0.0
        for i in range(len(states)):
            if goes_right(columns, chosen[m], states[i]) == (2 * on_right <= len(states)):
                few[count] = states[i]
                for a in range(A):
                    here[count, a] = gains[i, a]
                    sums[a] += gains[i, a]
                count += 1
        on_left = left_sums(columns, few[:count], here[:count])
        # First the stumps on the side with fewer states, then those on the other.
        scores[m] = _best_stump(on_left, sums)
        for a in range(A):
            sums[a] = total[a] - sums[a]
            for k in range(len(on_left)):
                on_left[k, a] = left[k, a] - on_left[k, a]
        scores[m] += _best_stump(on_left, sums)


def shared_leaves(leaves: int, depth: int, left_worth: float, right_worth: float) -> tuple[int, int]:
    """Share the leaves of a split between its sides, in proportion to what further splits add to the gain of each.

    Each side gets at least one leaf and at most as many as a tree of its depth can have.

    Args:
        leaves: number of leaves to share.
        depth: maximum depth of the split.
        left_worth: what further splits add to the gain of the left side.
        right_worth: the same for the right side.
    """
    full = 2 ** (depth - 1)
    if leaves >= 2 * full:
        return full, full
    share = left_worth / (left_worth + right_worth) if left_worth + right_worth > 0 else 0.5
    left = min(max(round(share * leaves), 1, leaves - full), leaves - 1, full)
    return left, leaves - left
