"""Climbing: which local search fits a task, and local search without a proof."""

import math
from typing import Protocol

from omdt.limits import Limits
from omdt.methods.search.effort import seconds_per_neighbour
from omdt.methods.search.guided import GuidedSearch
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.local import LocalSearch
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Tree, to_policy
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.ruled.climbing import RuledClimbing
from omdt.methods.search.settings import DEFAULTS
from omdt.task import Task
from omdt.tree import TreePolicy
from omdt.watch import Watch


class Climber(Protocol):
    """A local search, which improves an incumbent."""

    @property
    def model(self) -> Model:
        """The model of the task."""

    @property
    def incumbent(self) -> Incumbent:
        """The best tree."""

    @property
    def questions(self) -> Ranks:
        """The questions of the task."""

    @property
    def evaluations(self) -> int:
        """Number of policies evaluated so far."""

    @property
    def single(self) -> bool:
        """Whether there are no trees but single leaves."""

    @property
    def best(self) -> Tree:
        """The incumbent, or any leaf if there is none."""

    def start(self) -> None:
        """Find a first tree."""

    def climb(self, times: int) -> None:
        """Climb from some trees."""

    def consider(self, tree: Tree) -> None:
        """Make a tree the incumbent if it is better."""

    def finish(self) -> None:
        """Spend the reserved time on making the incumbent locally optimal."""


def climber(model: Model, incumbent: Incumbent, seed: int, watch: Watch) -> Climber:
    """The local search that fits a task: gains need a discount, so without one climbs take place on guides."""
    if not model.task.only_leaf_rules:
        return RuledClimbing(model, incumbent, seed, watch)
    kind = GuidedSearch if model.mdp.discount == 1 else LocalSearch
    return kind(model, incumbent, seed, watch)


def climb_before(local: LocalSearch, seconds: float) -> float:
    """Climb before a proof that is estimated to take some seconds before its first round, for a share of these.

    A proof that takes long is made for a good tree, and one that will not end in time leaves nothing but the tree. The
    time is estimated by the number of evaluations, so the same seed gives the same tree. When climbs end again and
    again where earlier ones ended, others would, too.

    Returns:
        The estimated seconds of the proof of which the climbs took their share: more than was asked for where the last
        climb took longer.
    """
    settings, best = local.model.settings, local.incumbent
    share = min(settings.max_climbing_seconds, settings.climbing_share * seconds)
    # Little time is spent where little can be gained.
    size = settings.worthwhile_gain * max(abs(best.unrestricted), abs(best.value))
    if best.unrestricted - best.value < size:
        share *= (best.unrestricted - best.value) / size
    each, begun = seconds_per_neighbour(local.model), local.evaluations
    most = begun + share / each
    while local.evaluations < most and not (local.single or local.incumbent.optimal_reached):
        if local.repeats >= settings.max_repeats:
            break
        before = local.evaluations
        local.climb(1)
        if local.evaluations == before:
            break
    return seconds * max(1.0, (local.evaluations - begun) * each / share) if share > 0 else seconds


def local_search(task: Task, limits: Limits, watch: Watch, max_evaluations: float = math.inf) -> TreePolicy:
    """The best tree that local search alone finds until time is up, or until it has evaluated a number of policies.

    If it finds no tree that the rules of the task allow, the result is a leaf that they forbid.
    """
    model = Model.of(task, DEFAULTS, watch)
    incumbent = Incumbent(model, limits.gap, watch)
    search = climber(model, incumbent, limits.seed, watch)
    search.start()
    while watch.remaining > 0 and not (search.single or incumbent.optimal_reached):
        if search.evaluations >= max_evaluations:
            break
        search.climb(1)
    return to_policy(search.best, model.splits, model.mdp)
