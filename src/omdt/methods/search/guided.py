"""Guided search: local search for tasks without a discount, by way of discounted stand-ins.

Without a discount, almost every tree may be worth the same: 0 where few reach the goal, −∞ where most miss it. A
discounted *guide* (`Task.guided`) tells them apart, and everything that local search knows about gains works there. So
climbs take place on guides, whose discount is raised from stage to stage: a low one shows the way, a high one agrees
with the objective. Every tree that a climb finds or ends with is evaluated on the task itself, and only what it returns
there makes it the incumbent.

At the end of a stage, all small changes of the incumbent are evaluated on the task itself, too.
"""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Ints
from omdt.methods.search.effort import evaluations_within
from omdt.methods.search.fitting import gains_around
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Tree
from omdt.methods.search.ranks import Ranks
from omdt.watch import Watch

DISCOUNTS = (0.99, 0.999, 0.9999, 0.999999)
"""Discounts of the guides, one stage after another: the first one tells trees apart of which almost all are worth the
same, the last one ranks them as the objective does unless they take about a million steps."""

CLIMBS = 3
"""Climbs per guide before the next one has its turn: most improvements come with the first ones. On the last guide,
climbs go on."""


@dataclass(frozen=True, eq=False)
class StandIn:
    """The objective of climbs: the discounted return of a guide.

    Attributes:
        guide: an MDP with the states, features and actions of the task.
    """

    guide: MDP
    words: str = "discounted return of a guide"
    minimised: bool = False

    def problem(self, mdp: MDP) -> MDP:
        """The guide."""
        return self.guide

    def offset(self, mdp: MDP) -> float:
        """Nothing."""
        return 0.0


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
        self._discounts = list(DISCOUNTS)
        self._stage: LocalSearch | None = None
        self._climbs, self._taken, self._earlier = 0, 0, 0
        self._known: dict[Tree, float] = {}
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
        return self._earlier + len(self._known) + (0 if self._stage is None else self._stage.evaluations)

    @property
    def _over(self) -> bool:
        """Whether time is up, or nothing better can be found."""
        return self.watch.remaining == 0 or self.incumbent.optimal_reached or self.incumbent.value == math.inf

    def start(self) -> None:
        """Find a first tree."""
        if not self.single:
            self._next_stage()
        many = self.model.mdp.n_states >= self.model.settings.impatient_states
        for action in range(self.model.mdp.n_actions):
            if self.incumbent.tree is not None and (many or self._over):
                return
            self.consider(Leaf(action))

    def climb(self, times: int) -> None:
        """Climb on the present guide; after some climbs, go on to the next one."""
        for _ in range(0 if self.single else times):
            if self._over:
                return
            stage = self._stage
            if stage is None or (self._discounts and self._is_done(stage)):
                self.polish()
                stage = self._next_stage()
            self._climbs += 1
            if stage.incumbent.tree != self.incumbent.tree and self._climbs % 2 == 0:
                gains = gains_around(stage.engine, stage.model)
                stage.climb_from(stage.neighbours.perturbed(self.best, gains, self._random))
            else:
                stage.climb(1)
            self._take_over(stage)

    def _is_done(self, stage: LocalSearch) -> bool:
        """Whether it is time for the next guide."""
        return self._climbs >= CLIMBS or stage.incumbent.optimal_reached

    def consider(self, tree: Tree) -> None:
        """Make a tree the incumbent if it is better."""
        if tree in self._known:
            return
        policy = self._policy(tree)
        self._known[tree] = value = self._evaluated(policy)
        if self.model.task.permits(policy) and self.incumbent.improved_by(value):
            self._improve(tree, value)

    def finish(self) -> None:
        """Spend the reserved time on making the incumbent locally optimal."""
        self.watch.reserve(2 * self._seconds)
        self.polish()

    def polish(self) -> None:
        """Evaluate the small changes of the incumbent on the task itself, and go on with the first better one."""
        while self._stage is not None and not (self._over or self.incumbent.tree in (None, self._polished)):
            tree = self.best
            self._stage.consider(tree)
            gains = gains_around(self._stage.engine, self._stage.model)
            for candidate, _ in self._stage.neighbours.small_changes(tree, gains):
                self.consider(candidate)
                if self._over or self.best != tree:
                    break
            else:
                self._polished = tree

    def _next_stage(self) -> LocalSearch:
        """Begin to search on the next guide, with the trees that it leads to at once."""
        if self._stage is not None:
            self._earlier += self._stage.evaluations
        part = self.watch.part(self.watch.remaining)
        guide = self.model.task.guided(self._discounts.pop(0))
        model = Model.of(replace(self.model.task, objective=StandIn(guide)), self.model.settings, part)
        seed = int(self._random.integers(2**31))
        self._stage = stage = LocalSearch(model, Incumbent(model, 0.0, part), seed, part)
        self._climbs, self._taken = 0, 0
        if self.incumbent.tree is not None:
            stage.consider(self.incumbent.tree)
        stage.start()
        self._take_over(stage)
        return stage

    def _take_over(self, stage: LocalSearch) -> None:
        """Evaluate the trees that the search on a guide has found since the last time."""
        found: Iterable[Tree] = stage.trail[self._taken :]
        self._taken = len(stage.trail)
        for tree in [*found, *([] if stage.ended is None else [stage.ended])]:
            if self.watch.remaining == 0 and self.incumbent.tree is not None:
                return
            self.consider(tree)

    def _improve(self, tree: Tree, value: float) -> None:
        """Make a tree of higher return the incumbent, and reserve time for polishing it."""
        self.incumbent.improve(tree, value)
        settings, stage = self.model.settings, self._stage
        changes = 0 if stage is None else stage.neighbours.count_small_changes(tree)
        polishing = 2 * self._seconds * min(changes, evaluations_within(self.model, settings.step_seconds))
        self.watch.reserve(2 * self._seconds + min(settings.polishing_share * self.watch.time_limit, polishing))
        self.incumbent.report()

    def _evaluated(self, policy: Ints) -> float:
        """What a policy returns on the task itself; what is certain if time ran out."""
        begin = time.perf_counter()
        returned = planning.policy_return(self.model.mdp, policy, self.watch)
        self._seconds = time.perf_counter() - begin
        return returned.value if self.watch.remaining > 0 else returned.lower

    def _policy(self, tree: Tree) -> Ints:
        """[S] the actions of a tree."""
        return self.questions.actions(tree, self._states)
