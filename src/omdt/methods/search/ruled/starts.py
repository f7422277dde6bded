"""Starts of climbs under rules: trees grown to imitate optimal policies, and what search without the rules proposes.

Optimal policies are those of the problem and, with ceilings, of problems that charge for costs (`multipliers`).
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Floats
from omdt.methods.search.effort import evaluations_within
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Tree
from omdt.methods.search.ruled.growing import Growing, Wish
from omdt.methods.search.ruled.multipliers import Multipliers
from omdt.methods.search.ruled.worth import Slopes
from omdt.methods.search.stand_in import StandIn
from omdt.norms import norms
from omdt.rules import Rule
from omdt.watch import Watch

MOST_SETS = 12
"""Maximum number of sets of columns to which trees are grown at first, where rules limit the number of columns."""

UNRULED_SECONDS = 1.0
"""Estimated seconds of evaluations of each search without the rules."""

UNRULED_CLIMBS = 4
"""Climbs of each search without the rules: more seldom find another tree that can be repaired. With many states there
are none, since its first trees are good and a climb takes long."""


class RuledStarts:
    """Makes trees from which climbs begin."""

    def __init__(self, model: Model, growing: Growing, multipliers: Multipliers, watch: Watch) -> None:
        self.model, self.growing, self.multipliers, self.watch = model, growing, multipliers, watch

    def grown(self) -> Iterator[Tree]:
        """Trees that are grown before any tree is evaluated."""
        for problem in self.multipliers.problems():
            yield from self._imitating(problem)
        yield from self._of_few_columns()

    def proposed(self) -> Iterator[Tree]:
        """The best trees of searches that know only the rules about leaves; none if a tree is to be kept."""
        if self.model.task.kept is None and len(self.model.task.splits):
            for problem in self.multipliers.problems():
                yield from self._proposed(problem)

    def _imitating(self, problem: MDP) -> Iterator[Tree]:
        """Trees grown to the advantages of an optimal policy, weighted by its visits and by all states alike."""
        policy = self.multipliers.best_policy(problem)
        visits = np.maximum(self.multipliers.evaluation.visits_of(policy), 0.0)
        alike = np.full(len(visits), visits.sum() / len(visits))
        for weights in (visits, (visits + alike) / 2, alike):
            if self.watch.remaining > 0:
                yield self.growing.grown(self._slopes(problem, weights))

    def _of_few_columns(self) -> Iterator[Tree]:
        """Trees about small sets of columns, where rules limit their number or make columns expensive."""
        task, F = self.model.task, len(self.growing.questions.ranks.columns.codes)
        once = task.prices is not None and bool(task.prices.once.any())
        if self.growing.most_columns >= F and not once:
            return
        problem = self.multipliers.priced(self.multipliers.values)
        slopes = self._slopes(problem, np.full(problem.n_states, norms(problem).horizon / problem.n_states))
        most = min(self.growing.most_columns, F)
        sets = (chosen for size in ([most, 1] if once else [most]) for chosen in combinations(range(F), size))
        for _, chosen in zip(range(MOST_SETS), sets, strict=False):
            if self.watch.remaining > 0:
                wanted = np.zeros(F, dtype=np.bool_)
                wanted[list(chosen)] = True
                yield self.growing.grown(slopes, Wish(columns=wanted))

    def _slopes(self, problem: MDP, weights: Floats) -> Slopes:
        """The advantages of an optimal policy with the given weights [S]."""
        q = planning.q_values(problem, planning.optimal_values(problem, self.watch)).value
        gains: Floats = (q - q.max(axis=1, keepdims=True)) * weights[:, None]
        allowed = self.model.task.allowed
        if allowed is not None:
            gains[~allowed] = -self.model.settings.forbidden_loss * (np.abs(gains).sum() + 1e-300)
        return Slopes(gains, np.where(problem.terminal, 0.0, weights))

    def _proposed(self, problem: MDP) -> Iterator[Tree]:
        """The best tree of a search that knows only the rules about leaves."""
        task = self.model.task
        leaf_rules = tuple(rule for rule in task.rules if isinstance(rule, Rule))
        part = self.watch.part(self.watch.remaining)
        unruled = replace(task, objective=StandIn(problem), rules=leaf_rules, stated=None)
        model = Model.of(unruled, self.model.settings, part)
        most = evaluations_within(model, UNRULED_SECONDS)
        search = LocalSearch(model, Incumbent(model, 0.0, part), 0, part, most)
        search.start()
        if model.mdp.n_states < model.settings.impatient_states:
            search.climb(UNRULED_CLIMBS)
        if search.incumbent.tree is not None:
            yield search.incumbent.tree
