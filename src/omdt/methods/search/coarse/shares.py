"""Shares: whether a leaf can have enough of the visits, in any completion of a coarse tree.

Let D be the states that may go to an end of the coarse tree. A completion has a leaf there, or several, whose states
are among D, so that a tree which keeps the smallest share satisfies, with its discounted visits x,

    Σ_{s in D} x(s) ≥ least Σ_s x(s),        that is        Σ_s x(s) (1[s in D] − least) ≥ 0,

where only states count in which something is decided. The largest such sum over the policies of the relaxation is one
more optimisation problem; if it is below 0, no completion keeps the rule.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from omdt import planning
from omdt.judging import SHARE_TOLERANCE
from omdt.mdp import EPSILON, Bools, Floats
from omdt.methods.search.coarse.coarse_tree import CoarseTree, ends
from omdt.methods.search.coarse.relaxation import Payoffs, Relaxation
from omdt.methods.search.partial_tree import Path
from omdt.watch import Watch

SLACK = 2.0
"""What bounds allow for, in tolerances of the share: shares of trees are rounded, too."""


class Shares:
    """Tests the shares of the ends of coarse trees.

    Args:
        relaxation: of the coarse trees.
        least: the smallest share of a leaf.
        watch: ends the computation.
    """

    def __init__(self, relaxation: Relaxation, least: float, watch: Watch) -> None:
        mdp = relaxation.model.mdp
        self._relaxation, self._least = relaxation, least * (1 - SLACK * SHARE_TOLERANCE)
        self._acting = np.ones(mdp.n_states, dtype=np.bool_) if mdp.terminal.all() else ~mdp.terminal
        all_visits = replace(mdp, rewards=self._payoffs(relaxation.everywhere).rewards, endless=None)
        self._above = planning.optimal_values(all_visits, watch).upper

    def tested(
        self, tree: CoarseTree, choices: Bools, known: Mapping[Path, Floats], watch: Watch
    ) -> tuple[dict[Path, Floats], Path | None]:
        """Values [S] above the sums of all ends, and the way to an end that cannot have its share, if there is one.

        Args:
            tree: the coarse tree.
            choices: [S, A] the actions that may be taken.
            known: values of coarse trees of which this is a child.
            watch: ends the computation by an `OutOfTimeError`.
        """
        found: dict[Path, Floats] = {}
        below_zero = -np.finfo(np.float64).tiny
        for end in ends(tree, self._relaxation.ladders, self._relaxation.everywhere):
            above = next(
                (known[end.path[:n]] for n in range(len(end.path), -1, -1) if end.path[:n] in known), self._above
            )
            relaxed = self._relaxation.bound_of(choices, above, below_zero, watch, self._payoffs(end.reached))
            found[end.path] = relaxed.values
            if relaxed.bound < 0:
                return found, end.path
        return found, None

    def _payoffs(self, reached: Bools) -> Payoffs:
        """1[s in D] − least, rounded up, where something is decided."""
        here, elsewhere = 1 - self._least + EPSILON, -self._least + EPSILON
        gains = np.where(self._acting, np.where(reached, here, elsewhere), 0.0)
        shape = self._relaxation.model.mdp.rewards.shape
        return Payoffs(np.repeat(gains[:, None], shape[1], axis=1), None)
