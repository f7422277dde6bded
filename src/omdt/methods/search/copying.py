"""Copying: trees that do what an optimal policy does, if trees within the size limit can.

A tree is grown from the root. A node is a leaf as soon as one action is accepted in all its states; otherwise it asks
the question that leaves the least entropy of the accepted actions, as the method copy does.
"""

from collections.abc import Iterator

import numpy as np

from omdt import planning
from omdt.mdp import Bools, Ints
from omdt.methods.copy import least_entropy, settled
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree, count_leaves
from omdt.methods.search.ranks import Ranks
from omdt.watch import Watch


class Copying:
    """Grows trees that take accepted actions only."""

    def __init__(self, model: Model, questions: Ranks, watch: Watch) -> None:
        self.model, self.questions, self.watch = model, questions, watch

    def optimal_copies(self) -> Iterator[Tree]:
        """Trees that copy an optimal policy in all states, or in those that it visits, as far as they are found."""
        mdp = self.model.mdp
        q = planning.q_values(mdp, self.model.optimal)
        best, actions = planning.best_actions(q), planning.greedy(q)
        everything = self.model.allowed
        best = best & everything
        # Where rules forbid every optimal action, the best one that they allow is copied.
        stuck = np.flatnonzero(~best.any(axis=1))
        best[stuck, np.where(everything[stuck], q.value[stuck], -np.inf).argmax(axis=1)] = True
        actions = np.where(best[np.arange(len(actions)), actions], actions, best.argmax(axis=1))
        visited = planning.visited(mdp, actions)
        only: Bools = actions[:, None] == np.arange(mdp.n_actions)
        for accepted in (best, np.where(visited[:, None], only, everything)):
            tree = self.tree(accepted)
            if tree is not None:
                yield tree

    def tree(self, accepted: Bools) -> Tree | None:
        """A tree that takes one of the accepted actions [S, A] in every state; None if none is found.

        Every state must accept an action. Growing is greedy, so a tree within the size limit may exist nevertheless.
        """
        size = self.model.size
        return self._grown(accepted, np.arange(self.model.mdp.n_states), size.depth, size.leaves)

    def _grown(self, accepted: Bools, states: Ints, depth: int, leaves: int) -> Tree | None:
        """The same for some of the states."""
        common = accepted[states].all(axis=0)
        if common.any():
            return Leaf(int(common.argmax()))
        if depth == 0 or leaves == 1 or self.watch.remaining == 0:
            return None
        wanted = np.eye(self.model.mdp.n_actions)[settled(accepted[states])]
        k = least_entropy(*self.questions.sums(states, wanted))
        if k is None:
            return None
        right = self.questions.right(states, k)
        first = self._grown(accepted, states[~right], depth - 1, leaves - 1)
        if first is None:
            return None
        second = self._grown(accepted, states[right], depth - 1, leaves - count_leaves(first))
        return None if second is None else Split(k, first, second)
