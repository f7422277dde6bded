"""Values in the worst case: of a policy, of the best policy, and of the best one among allowed actions.

Each is the fixpoint V of an operator T of `omdt.robust`, a monotone γ-contraction. Given V̂, one application of T also
tells which actions and which distributions attain T V̂; the values of that chain, a linear system, are the next V̂. For a
single policy this is nature's policy iteration, which ends after finitely many steps. Where actions are chosen as well
it need not end, though it nearly always does; after some steps, sweeps V̂ ← T V̂, which always converge, take turns with
it, twice as many each time.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy import sparse

from omdt.mdp import EPSILON, Bools, Floats, Ints
from omdt.norms import norms_of
from omdt.planning.certified import UNDERFLOW
from omdt.robust.interval_mdp import IntervalMDP
from omdt.robust.nature import Nature, worst_first
from omdt.systems import System
from omdt.watch import Watch, late

ACCURACY = 1e-12
"""A residual that is a smaller part of the values than this is small enough."""

ALONE = 20
"""Number of steps after which sweeps take turns with linear systems."""

DENSE = 300
"""Number of states up to which dense linear systems are solved soonest."""


@dataclass(frozen=True, eq=False)
class Worst:
    """Values in the worst case, and what attains them.

    Attributes:
        values: [S] an estimate V̂.
        above: the true values are at most this much higher.
        below: the true values are at most this much lower.
        first: [S] the worst first distribution.
    """

    values: Floats
    above: float
    below: float
    first: Floats

    @property
    def value(self) -> float:
        """The return in the worst case, as estimated."""
        return math.fsum(self.first * self.values)

    @property
    def upper(self) -> float:
        """The return in the worst case is at most this."""
        return self.value + self.above

    @property
    def lower(self) -> float:
        """The return in the worst case is at least this."""
        return self.value - self.below


Step = Callable[[Floats], tuple[Floats, Callable[[], Floats]]]
"""From values V̂ [S] to T V̂ [S], and to a function that computes the values of the chain that attains it."""


class WorstCase:
    """Computes values in the worst case of one interval MDP.

    Args:
        problem: the interval MDP.
    """

    def __init__(self, problem: IntervalMDP) -> None:
        self.problem = problem
        self.nature = Nature.of(problem)
        self._largest_reward = float(np.abs(problem.rewards).max())
        self._norms = norms_of(problem.discount, 4 * EPSILON * self.nature.longest)

    def lookahead(self, values: Floats) -> tuple[Floats, Floats]:
        """[S, A] r + γ min p·V of every pair, and [nnz] the distributions that attain it."""
        q, p = self.nature.respond(values)
        return q.reshape(self.problem.rewards.shape), p

    def of_policy(self, actions: Ints, start: Floats | None = None, watch: Watch | None = None) -> Worst:
        """The values of a policy.

        Args:
            actions: [S] the policy.
            start: [S] values of a similar policy, if known.
            watch: ends the computation early; the values are then less certain.
        """
        nature = Nature.of(self.problem, actions)
        rows = np.arange(self.problem.n_states)

        def step(V: Floats) -> tuple[Floats, Callable[[], Floats]]:
            after, p = nature.respond(V)
            return after, lambda: self._chain_values(nature.chain(p, rows), nature.rewards, V, watch)

        return self._fixpoint(step, start, -math.inf, watch)

    def best(
        self,
        allowed: Bools | None = None,
        start: Floats | None = None,
        enough: float = -math.inf,
        watch: Watch | None = None,
    ) -> Worst:
        """The values of the best policy among those that play allowed actions.

        Args:
            allowed: [S, A] at least one action per state; by default all.
            start: [S] values of a similar problem, if known.
            enough: the computation may end when the return is known to be at most this.
            watch: ends the computation early; the values are then less certain.
        """
        nature, A = self.nature, self.problem.n_actions
        before_rows = np.arange(self.problem.n_states) * A

        def step(V: Floats) -> tuple[Floats, Callable[[], Floats]]:
            q, p = self.lookahead(V)
            if allowed is not None:
                q = np.where(allowed, q, -np.inf)
            rows = before_rows + q.argmax(axis=1)
            after: Floats = q.ravel()[rows]
            return after, lambda: self._chain_values(nature.chain(p, rows), nature.rewards[rows], V, watch)

        return self._fixpoint(step, start, enough, watch)

    def of_random(self, watch: Watch | None = None) -> Worst:
        """The values of the policy that plays every action with the same probability."""
        nature, (S, A) = self.nature, self.problem.rewards.shape
        mean = sparse.csr_array((np.full(S * A, 1 / A), np.arange(S * A), np.arange(0, S * A + 1, A)), shape=(S, S * A))
        r, every = mean @ nature.rewards, np.arange(S * A)

        def step(V: Floats) -> tuple[Floats, Callable[[], Floats]]:
            q, p = nature.respond(V)
            return mean @ q, lambda: self._chain_values(mean @ nature.chain(p, every), r, V, watch)

        return self._fixpoint(step, None, -math.inf, watch)

    def _fixpoint(self, step: Step, start: Floats | None, enough: float, watch: Watch | None) -> Worst:
        """The fixpoint of an operator, as certain as rounding allows unless something ends the computation before."""
        V = np.zeros(self.problem.n_states) if start is None else start
        accurate = max(ACCURACY, 4 * EPSILON * self.nature.longest)
        found: Worst | None = None
        for turn in count():
            after, chain_values = step(V)
            reached = self._certified(V, after)
            if found is None or reached.above + reached.below < found.above + found.below:
                found = reached
            small = float(np.abs(after - V).max()) <= accurate * float(np.abs(V).max())
            if small or found.upper <= enough or late(watch):
                return found
            if turn < ALONE or turn % 2:
                V = chain_values()
            else:
                V = found.values
                for _ in range(2 ** ((turn - ALONE) // 2)):
                    V = V if late(watch) else step(V)[0]
        raise AssertionError("count never ends")

    def _certified(self, V: Floats, after: Floats) -> Worst:
        """Values V̂ with their errors, which follow from T V̂."""
        first, size = worst_first(self.problem, V), float(np.abs(V).max())
        # A sum of n products loses at most (n + 2) ε, and n ε more where the probabilities miss 1 by rounding.
        rounded = (2 * self.nature.longest + 8) * EPSILON * (self._largest_reward + size) + UNDERFLOW
        start = (2 * len(V) + 8) * EPSILON * float(first @ np.abs(V)) + UNDERFLOW

        def error(residual: Floats) -> float:
            return self._norms.error_of(max(float(residual.max()), 0.0) + rounded) + start

        return Worst(V, error(after - V), error(V - after), first)

    def _chain_values(self, P: sparse.csr_array, r: Floats, near: Floats, watch: Watch | None) -> Floats:
        """[S] the values V = r + γ P V of a chain; `near` are those of a similar one."""
        discount = self.problem.discount
        if len(r) <= DENSE:
            solved: Floats = np.linalg.solve(np.eye(len(r)) - discount * P.toarray(), r)
            return solved
        return System(discount * P, self._norms.shrinkage).solve(r, near, watch=watch)
