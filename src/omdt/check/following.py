"""Following: where policies go that return more than the bound, if no state can be visited twice.

A *pin* decides the action of a single state before the leaf that the state belongs to. Take the policies that have the
actions of given leaves and pins and return more than B, so that they lose less than β. Two numbers follow from one pass
over the states, from the first one on:

- m(s): a policy that visits s at all has discounted visits of at least m(s). It is the least of γ p m over all ways to
  s from a state s' by an action with m(s') δ(s', a) < β; no policy that visits s' takes an action that loses more.
- e(s): all of these policies visit s, with discounted visits of at least e(s). It adds up γ p e / (1 − γ p(s'|s'))
  over states s' in which a single action is left. Actions with e(s) δ(s, a) ≥ β are left out.

States without m are visited by none of the policies. So two trees that act alike in all other states return the same,
and only these other states count in regions (`Context.seen`).
"""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .cases import Open, Problem
from .losses import Context, agreeing, counted_from
from .model import entries_of
from .reading import LARGEST, Bools, Ints, Numbers, require
from .regions import Regions


class Followed(NamedTuple):
    """Where policies go that lose less than a budget."""

    may: Bools  # [S, A] the actions that they may take
    seen: Bools  # [S] the states that they may visit
    certain: Numbers  # [S] e


class Following:
    """Contexts that are made by passes over the states."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def context(self, case: Open, base: Context, excluded: Bools, target: float) -> Context:
        """The context of a case within one that is about more policies.

        U is the best that can be returned with the actions that are left, first without knowing where policies go.
        """
        problem = self.problem
        fixed = problem.actions(*case)
        possible = base.allowed & agreeing(problem, fixed) & ~excluded
        delta, budget = counted_from(problem, self._best(possible), possible, target)
        may, seen, certain = self._followed(possible, delta, budget)
        delta, budget = counted_from(problem, self._best(may), may, target)
        lost = certain[:, None] * delta * (1 - problem.rounding(problem.S + 8, 1.0))
        return Context(fixed, delta, may & (lost < budget), budget, self._regions(seen), seen, lost)

    def seeing(self, context: Context, seen: Bools) -> Context:
        """The same context with more states [S] in its regions."""
        require(not (context.visited & ~seen).any(), "a state is left out that policies may visit")
        return replace(context, seen=seen, regions=self._regions(seen))

    def _regions(self, seen: Bools) -> Regions:
        """The regions of the states [S] that are seen and in which actions differ."""
        return Regions(self.problem.sides, np.flatnonzero(seen & self.problem.decisive), self.problem.A)

    @cached_property
    def levels(self) -> list[Ints]:
        """The states in levels: whatever is not left in a state leads to a later level."""
        m, rows = self.problem.model, self._rows
        moves = (m.data > 0) & (m.indices != rows // self.problem.A)
        ahead, before = m.indices[moves], rows[moves] // self.problem.A
        waiting = np.bincount(ahead, minlength=self.problem.S)
        order = np.argsort(before, kind="stable")
        starts = np.searchsorted(before[order], np.arange(self.problem.S + 1))
        levels, level = list[Ints](), np.flatnonzero(waiting == 0)
        while len(level):
            levels.append(level)
            entries = entries_of(starts, level)
            reached = ahead[order[entries]]
            np.subtract.at(waiting, reached, 1)
            level = np.unique(reached[waiting[reached] == 0])
        require(sum(map(len, levels)) == self.problem.S, "states can be visited again, so pins prove nothing")
        return levels

    @cached_property
    def _rows(self) -> Ints:
        """The row s·A + a of every transition."""
        return np.repeat(np.arange(self.problem.S * self.problem.A), np.diff(self.problem.model.indptr))

    @cached_property
    def _staying(self) -> Numbers:
        """[S·A] γ p(s|s, a)."""
        problem = self.problem
        stays = problem.model.indices == self._rows // problem.A
        staying = problem.numbers(np.zeros(problem.S * problem.A))
        np.add.at(staying, self._rows[stays], problem.dynamics.weights[stays])
        return staying

    def _best(self, possible: Bools) -> Numbers:
        """[S] the most that is returned by possible actions [S, A]; by any action where none is possible."""
        problem = self.problem
        V = problem.numbers(np.zeros(problem.S))
        possible = possible | ~possible.any(axis=1, keepdims=True)
        for level in reversed(self.levels):
            rows = (level[:, None] * problem.A + np.arange(problem.A)).ravel()
            earned = problem.rewards.ravel()[rows] + problem.rows(rows).ahead(V)
            Q = (earned / (1 - self._staying[rows])).reshape(len(level), problem.A)
            V[level] = np.where(possible[level], Q, Q.min(axis=1, keepdims=True)).max(axis=1)
        return V

    def _followed(self, possible: Bools, delta: Numbers, budget: float) -> Followed:
        """Where policies with possible actions [S, A] go that lose less than a budget."""
        problem, m = self.problem, self.problem.model
        # All terms are positive, so the rounding of every sum and product on the way is relative.
        safe = 1 - problem.rounding(8 * len(m.data), 1.0)
        may, certain = possible.copy(), problem.initial.copy()
        least = problem.numbers(np.where(m.initial > 0, m.initial, LARGEST))
        for level in self.levels:
            states = level[least[level] < LARGEST]
            left = may[states] & (certain[states, None] * safe * delta[states] < budget)
            # Without an action left there is no such policy, which the budget will show.
            may[states] = np.where(left.any(axis=1, keepdims=True), left, may[states])
            its, actions = np.nonzero(may[states] & (least[states, None] * safe * delta[states] < budget))
            rows = states[its] * problem.A + actions
            entries = entries_of(m.indptr, rows)
            origin = np.repeat(np.arange(len(rows)), m.indptr[rows + 1] - m.indptr[rows])
            moves = (m.data[entries] > 0) & (m.indices[entries] != states[its[origin]])
            entries, origin = entries[moves], origin[moves]
            ahead, weights = m.indices[entries], problem.dynamics.weights[entries]
            np.minimum.at(least, ahead, weights * least[states[its]][origin])
            # Where a single action is left, it is taken.
            surely = np.where((may[states].sum(axis=1) == 1)[its], certain[states[its]], 0)
            np.add.at(certain, ahead, weights * (surely / (1 - self._staying[rows]))[origin])
        return Followed(may, np.asarray(least < LARGEST), certain * safe)
