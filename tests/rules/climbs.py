"""Climbs under rules, put together for their tests."""

from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import to_policy
from omdt.methods.search.ruled.climbing import RuledClimbing
from omdt.methods.search.settings import SearchSettings
from omdt.objective import DISCOUNTED_RETURN
from omdt.rules import Rules
from omdt.solving import task_of
from omdt.task import Size, Task
from omdt.tree import TreePolicy
from omdt.watch import Watch
from rules.brute import Problem
from strategies import environment


def task_under(problem: Problem) -> Task:
    """The task of a problem under rules."""
    size = Size(problem.max_depth, problem.max_leaves)
    return task_of(problem.mdp, size, None, DISCOUNTED_RETURN, problem.unavailable, problem.rules)


def climbing_for(task: Task, seed: int = 0, watch: Watch | None = None, **settings: int) -> RuledClimbing:
    """A local search that has not begun."""
    watch = Watch() if watch is None else watch
    model = Model.of(task, SearchSettings(**settings), watch)
    return RuledClimbing(model, Incumbent(model, 0.0, watch), seed, watch)


def climbed(task: Task, climbs: int, seed: int = 0) -> RuledClimbing:
    """A local search that has climbed some times."""
    climbing = climbing_for(task, seed)
    climbing.start()
    climbing.climb(climbs)
    return climbing


def best_policy(climbing: RuledClimbing) -> TreePolicy | None:
    """The tree that a local search has found."""
    tree, model = climbing.incumbent.tree, climbing.model
    return None if tree is None else to_policy(tree, model.splits, model.mdp)


def problem_under(name: str, rules: Rules, depth: int = 2) -> Task:
    """The task of a registered environment under rules."""
    return task_of(environment(name), Size(depth), None, DISCOUNTED_RETURN, "fallback", rules)
