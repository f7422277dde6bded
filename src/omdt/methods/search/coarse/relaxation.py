"""Relaxation: an upper bound on all trees that a coarse tree stands for.

In every state, the agent may take the action of any leaf that the state can reach, and any action where an undecided
end can be reached, independently of all other states. The optimal values of this MDP are a bound, which is lower than
the unrestricted optimum as soon as leaves with a decided action contain states for certain.

**Sweeps** that begin with the values of a less decided tree give a valid bound at any time (`lowering`). A state is
updated again only after a successor has changed, so a sweep costs as much as it changes.

Without a discount, sweeps may stop too high: values that are not supported are deflated then, and sweeps go on
(`support`). Where sweeps take too many passes, or nothing is left to deflate, policy iteration finds the values
(`planning.restricted_values`).
"""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit

from omdt import planning
from omdt.choice_graph import ChoiceGraph
from omdt.mdp import EPSILON, Bools, Floats
from omdt.methods.search.coarse.coarse_tree import CoarseTree, ends
from omdt.methods.search.coarse.ladders import Ladders
from omdt.methods.search.coarse.lowering import Sweeping, lower
from omdt.methods.search.coarse.support import comes_to_unsupported, deflate, supporting_actions
from omdt.methods.search.model import Arrays, Model
from omdt.methods.search.partial_tree import Leaf
from omdt.watch import Watch

VISIT_SWEEPS, SMALL_VISITS, SMALL_REST = 10, 1e-6, 1e-2
"""Visits only choose what is decided next: sweeps that estimate them, visits below which a state passes none on, and
visits in one sweep below which there are no further sweeps."""

MAX_DEFLATIONS = 20
"""Maximum number of deflations per coarse tree. Each takes about as long as two sweeps and deals with one set of states
that can be visited for ever, or with several of the same value."""


class Relaxed(NamedTuple):
    """The bound of a coarse tree.

    Attributes:
        bound: no completion returns more.
        values: [S] above the value of every completion.
        possible: whether some completion may be allowed by the rules.
    """

    bound: float
    values: Floats
    possible: bool = True


class Payoffs(NamedTuple):
    """What is maximised in a relaxation, in place of the rewards of the problem.

    Attributes:
        rewards: [S, A].
        endless: what a policy is worth that never ends, as `MDP.endless` has it.
    """

    rewards: Floats
    endless: float | None


class Posed(NamedTuple):
    """An optimisation problem as sweeps read it.

    Attributes:
        arrays: the MDP with the rewards to be maximised.
        sweeping: what sweeps need beside it.
        endless: as in `Payoffs`.
        circular: whether sweeps from above may settle at values that no policy earns.
    """

    arrays: Arrays
    sweeping: Sweeping
    endless: float | None
    circular: bool


class Relaxation:
    """Bounds coarse trees."""

    def __init__(self, model: Model, ladders: Ladders) -> None:
        self.model, self.ladders = model, ladders
        self.everywhere = np.ones(model.mdp.n_states, dtype=np.bool_)
        self._sweeping = Sweeping.of(model.mdp)
        self._starts = np.flatnonzero(model.mdp.initial)

    @cached_property
    def payoffs(self) -> Payoffs:
        """Those of the problem."""
        return Payoffs(self.model.mdp.rewards, self.model.mdp.endless)

    @cached_property
    def always_ends(self) -> bool:
        """Whether every policy ends, or there is a discount."""
        mdp = self.model.mdp
        if mdp.discount < 1:
            return True
        graph = ChoiceGraph(mdp.transitions, np.ones(mdp.rewards.shape, dtype=np.bool_))
        return not (graph.end_components(~mdp.terminal)[0] >= 0).any()

    def choices(self, tree: CoarseTree) -> Bools:
        """[S, A] the actions that may be taken in each state."""
        choices = np.zeros(self.model.mdp.rewards.shape, dtype=np.bool_)
        for end in ends(tree, self.ladders, self.everywhere):
            if isinstance(end.node, Leaf):
                choices[:, end.node.action] |= end.reached
            else:
                choices[end.reached] = True
        return choices if self.model.task.allowed is None else choices & self.model.task.allowed

    def bound(self, tree: CoarseTree, above: Floats, target: float, watch: Watch) -> Relaxed:
        """The bound of a coarse tree.

        Args:
            tree: the coarse tree.
            above: [S] values above those of every completion.
            target: a bound as low as this is low enough.
            watch: ends the computation by an `OutOfTimeError`.
        """
        return self.bound_of(self.choices(tree), above, target, watch)

    def bound_of(
        self, choices: Bools, above: Floats, target: float, watch: Watch, payoffs: Payoffs | None = None
    ) -> Relaxed:
        """The same for all policies that take one of some actions [S, A] in each state, and for other payoffs."""
        if not choices.any(axis=1).all():
            return Relaxed(-np.inf, above, possible=False)
        V = above.copy()
        if self.model.mdp.discount == 1:
            V[self.model.mdp.terminal] = 0.0
        posed = self._posed if payoffs is None or payoffs is self.payoffs else self._pose(payoffs)
        bound, settled = self._lowered(posed, choices, V, target, watch)
        if bound > target and not settled:
            V = np.minimum(V, self._solved(posed, choices, V, self._least(bound, target), watch))
            bound = self.total(V)
        return Relaxed(bound, V)

    def visits(self, choices: Bools, q: Floats) -> Floats:
        """[S] roughly the discounted visits of the policy that takes the best choices by Q-values [S, A]."""
        policy = np.where(choices, q, -np.inf).argmax(axis=1)
        arrays, visits = self.model.arrays, np.zeros(self.model.mdp.n_states)
        _visits(arrays.indptr, arrays.indices, arrays.discounted, policy, arrays.initial.copy(), visits)
        return visits

    @cached_property
    def _posed(self) -> Posed:
        """The problem itself."""
        return self._pose(self.payoffs)

    def _pose(self, payoffs: Payoffs) -> Posed:
        """The problem with other payoffs.

        Sweeps may settle too high where a policy may go on for ever, unless rewards are costs and going on without any
        is as good as the end, because the optimal values are then the highest fixpoint that is not above 0.
        """
        rewards, endless = payoffs
        # Kernels are compiled for arrays that nobody changes.
        rewards.setflags(write=False)
        circular = (endless is not None or bool((rewards > 0).any())) and not self.always_ends
        arrays, sweeping = self.model.arrays._replace(rewards=rewards), self._sweeping.paying(rewards, endless)
        return Posed(arrays, sweeping, endless, circular)

    def _lowered(self, posed: Posed, choices: Bools, V: Floats, target: float, watch: Watch) -> tuple[float, bool]:
        """Lower V as far as that is cheap; the bound that it gives, and whether policy iteration would hardly help."""
        bound, settled = self._swept(posed, choices, V, target, watch)
        for _ in range(MAX_DEFLATIONS if posed.circular else 0):
            if bound <= target or not settled:
                return bound, settled
            least = self._least(bound, target)
            unsupported = self._unsupported(posed, choices, V, least)
            if unsupported is None:
                return bound, True
            if deflate(posed.arrays, posed.sweeping, choices, V, unsupported) <= least:
                return bound, False
            bound, settled = self._swept(posed, choices, V, target, watch)
        return bound, settled and not posed.circular

    def _swept(self, posed: Posed, choices: Bools, V: Floats, target: float, watch: Watch) -> tuple[float, bool]:
        """Lower V by sweeps; the bound that it gives, and whether further sweeps would change little."""
        model = self.model
        active = ~model.mdp.terminal if model.mdp.discount == 1 else self.everywhere.copy()
        bound = self.total(V)
        for count in range(model.settings.coarse_sweeps):
            watch.check()
            least = self._least(bound, target)
            changed = lower(posed.arrays, posed.sweeping, choices, V, active, least, count % 2 == 0)
            bound = self.total(V)
            if bound <= target or not changed:
                return bound, True
        return bound, False

    def _least(self, bound: float, target: float) -> float:
        """The least change of a value that matters; without any finite distance to the target, a part of the scale."""
        distance = bound - target
        return self.model.settings.coarse_settled * (distance if np.isfinite(distance) else self.model.scale)

    def total(self, V: Floats) -> float:
        """p0·V rounded up."""
        values = V[self._starts]
        total = float(self.model.mdp.initial[self._starts] @ values)
        return total + 2 * len(V) * EPSILON * float(np.abs(values).max()) if np.isfinite(total) else total

    def _unsupported(self, posed: Posed, choices: Bools, V: Floats, least: float) -> Bools | None:
        """[S] the states whose values are not supported; None if supporting actions do not lead there."""
        known = self.model.mdp.terminal | (V == -np.inf) if posed.endless is not None else V <= least
        action = supporting_actions(posed.arrays, posed.sweeping, choices, V, known, 2 * least)
        return action < 0 if comes_to_unsupported(posed.arrays, action, self._starts) else None

    def _solved(self, posed: Posed, choices: Bools, V: Floats, accuracy: float, watch: Watch) -> Floats:
        """The values of the relaxation by policy iteration, from above."""
        mdp = self.model.mdp
        if posed is not self._posed:
            mdp = replace(mdp, rewards=posed.arrays.rewards, endless=posed.endless)
        values = planning.restricted_values(mdp, choices, V, watch, accuracy=accuracy)
        watch.check()
        return values.upper


@njit(cache=True, nogil=True)
def _visits(indptr, indices, discounted, policy, waiting, visits):  # type: ignore[no-untyped-def]
    """Add discounted visits of a policy [S] from waiting ones [S] to others [S], as far as a few sweeps find them."""
    S = len(policy)
    A = (len(indptr) - 1) // S
    for count in range(VISIT_SWEEPS):
        found = 0.0
        for i in range(S):
            s = i if count % 2 == 0 else S - 1 - i
            if waiting[s] < SMALL_VISITS:
                continue
            row = s * A + policy[s]
            stay = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] == s:
                    stay += discounted[k]
            # Where a state is never left, one visit stands for all.
            here = waiting[s] / (1 - stay) if stay < 1.0 else waiting[s]
            visits[s] += here
            found += waiting[s]
            waiting[s] = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] != s:
                    waiting[indices[k]] += discounted[k] * here
        if found < SMALL_REST:
            break
