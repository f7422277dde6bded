"""Guided search: local search for tasks without a discount, by way of discounted stand-ins.

Without a discount, almost every tree may be worth the same: 0 where few reach the goal, −∞ where most miss it. A
discounted *guide* (`Task.guided`) tells them apart, and everything that local search knows about gains works there. So
climbs take place on guides of several discounts in turn: a low one shows the way, a high one agrees with the objective.
Every tree that a climb finds or ends with is evaluated on the task itself, and only what it returns there makes it the
incumbent. After a turn of all guides, the small changes of the incumbent are evaluated on the task itself, too.
"""

import math
import time
from dataclasses import replace

import numpy as np

from omdt import planning
from omdt.mdp import Ints
from omdt.methods.search.effort import evaluations_within
from omdt.methods.search.fitting import gains_around
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Tree
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.stand_in import StandIn
from omdt.watch import Watch

DISCOUNTS = (0.99, 0.9999, 0.999999)
"""Discounts of the guides, in the order of their turns: the first one tells trees apart of which almost all are worth
the same, the last one ranks them as the objective does unless they take about a million steps. Which of them leads to
the best tree differs from problem to problem."""


class GuidedSearch:
    """Local search on guides, which improves an incumbent of a task without a discount.

    Attributes:
        questions: the questions of the task.
    """

    def __init__(self, model: Model, incumbent: Incumbent, seed: int, watch: Watch) -> None:
        self.model, self.incumbent, self.watch = model, incumbent, watch
        self.questions = Ranks(model.task.splits)
        self._random = np.random.default_rng(seed)
        self._states = np.arange(model.mdp.n_states)
        self._stages: list[LocalSearch] = []
        self._climbs = 0
        self._known: set[Tree] = set()
        self._polished: Tree | None = None
        self._seconds = 0.0

    @property
    def single(self) -> bool:
        """Whether there are no trees but single leaves."""
        return self.model.size.depth == 0 or len(self.questions) == 0

    @property
    def best(self) -> Tree:
        """The incumbent, or any leaf if there is none."""
        return Leaf(0) if self.incumbent.tree is None else self.incumbent.tree

    @property
    def evaluations(self) -> int:
        """Number of policies evaluated so far, on guides and on the task."""
        return len(self._known) + sum(stage.evaluations for stage in self._stages)

    @property
    def _over(self) -> bool:
        """Whether time is up, or nothing better can be found."""
        return self.watch.remaining == 0 or self.incumbent.optimal_reached or self.incumbent.value == math.inf

    def start(self) -> None:
        """Find a first tree, and climb from it on all guides but one: the first climb after this is on the last one."""
        many = self.model.mdp.n_states >= self.model.settings.impatient_states
        if many and not self.single:
            self._stage(0)
        for action in range(self.model.mdp.n_actions):
            if self.incumbent.tree is not None and (many or self._over):
                break
            self.consider(Leaf(action))
        self.climb(len(DISCOUNTS) - 1)

    def climb(self, times: int) -> None:
        """Climb on the guides in turn, from starts of their own and from random changes of the incumbent."""
        for _ in range(0 if self.single else times):
            if self._over:
                return
            turn, number = divmod(self._climbs, len(DISCOUNTS))
            if turn > 0 and number == 0:
                self.polish()
            stage = self._stage(number)
            self._climbs += 1
            if turn % 2 == 0 and not stage.incumbent.optimal_reached:
                stage.climb(1)
            else:
                stage.consider(self.best)
                gains = gains_around(stage.engine, stage.model)
                stage.climb_from(stage.neighbours.perturbed(self.best, gains, self._random))
            if stage.ended is not None and self.watch.remaining > 0:
                self.consider(stage.ended)

    def consider(self, tree: Tree) -> None:
        """Make a tree the incumbent if it is better."""
        if tree in self._known:
            return
        policy = self._policy(tree)
        self._known.add(tree)
        value = self._evaluated(policy)
        if self.model.task.permits(policy) and self.incumbent.improved_by(value):
            self._improve(tree, value)

    def finish(self) -> None:
        """Spend the reserved time on making the incumbent locally optimal."""
        self.watch.reserve(2 * self._seconds)
        self.polish()

    def polish(self) -> None:
        """Evaluate the small changes of the incumbent on the task itself, and go on with the first better one."""
        while self._stages and not (self._over or self.incumbent.tree in (None, self._polished)):
            tree, stage = self.best, self._stages[-1]
            stage.consider(tree)
            for candidate, _ in stage.neighbours.small_changes(tree, gains_around(stage.engine, stage.model)):
                self.consider(candidate)
                if self._over or self.best != tree:
                    break
            else:
                self._polished = tree

    def _stage(self, number: int) -> LocalSearch:
        """The search on a guide, which tells of every tree that is the best one there."""
        if number < len(self._stages):
            return self._stages[number]
        part = self.watch.part(self.watch.remaining)
        guide = self.model.task.guided(DISCOUNTS[number])
        model = Model.of(replace(self.model.task, objective=StandIn(guide)), self.model.settings, part)
        seed = int(self._random.integers(2**31))
        stage = LocalSearch(model, Incumbent(model, 0.0, part), seed, part, improved=self.consider)
        self._stages.append(stage)
        if self.incumbent.tree is not None:
            stage.consider(self.incumbent.tree)
        stage.start()
        return stage

    def _improve(self, tree: Tree, value: float) -> None:
        """Make a tree of higher return the incumbent, and reserve time for polishing it."""
        self.incumbent.improve(tree, value)
        settings = self.model.settings
        changes = self._stages[0].neighbours.count_small_changes(tree) if self._stages else 0
        polishing = 2 * self._seconds * min(changes, evaluations_within(self.model, settings.step_seconds))
        self.watch.reserve(2 * self._seconds + min(settings.polishing_share * self.watch.time_limit, polishing))
        self.incumbent.report()

    def _evaluated(self, policy: Ints) -> float:
        """What a policy returns on the task itself; what is certain where that is not known but for rounding."""
        begin = time.perf_counter()
        returned = planning.policy_return(self.model.mdp, policy, self.watch)
        self._seconds = time.perf_counter() - begin
        sure = planning.is_rounding(returned.error, max(abs(returned.value), self.model.scale))
        return returned.value if sure else returned.lower

    def _policy(self, tree: Tree) -> Ints:
        """[S] the actions of a tree."""
        return self.questions.actions(tree, self._states)
