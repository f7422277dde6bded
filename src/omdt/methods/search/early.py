"""An early tree: with many states, a tree soon after planning, with a lower bound on its return that is certain.

What follows planning takes long with a million states: the return of the random policy, the scale of the problem, the
exact return of a tree. The early tree needs none of them. It is fitted to the optimal values of a sample of the states,
and a few steps of an iterative solver bound its return from below. The search begins with it as its incumbent.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Floats, Ints
from omdt.methods.search.fitting import Fitting
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import SizeLimit, Tree
from omdt.methods.search.ranks import Ranks
from omdt.methods.search.settings import DEFAULTS
from omdt.planning import Certified
from omdt.task import Task
from omdt.watch import Watch

EARLY_STATES = 50_000
"""States from which on there is an early tree: with fewer, all that comes before the first tree takes a second."""

SAMPLED_STATES = 50_000
"""About how many states the early tree is fitted to."""

STEPS = 8
"""Steps of the iterative solver, about half a second with a million states."""


class Early(NamedTuple):
    """An early tree.

    Attributes:
        tree: the tree.
        value: no more than its return.
    """

    tree: Tree
    value: float


_EARLY: WeakKeyDictionary[Task, Early] = WeakKeyDictionary()
"""The early trees of the tasks in use."""


def early_tree(task: Task) -> Early | None:
    """The early tree of a task, if one was found."""
    return _EARLY.get(task)


def find_early_tree(task: Task, watch: Watch) -> None:
    """Find and report an early tree, unless there are few states, rules, nothing to ask, no discount, or no time."""
    mdp, size = task.problem, SizeLimit.of(task.size)
    simple = not task.rules and mdp.discount < 1 and len(task.splits) > 0 and size.depth > 0
    if mdp.n_states < EARLY_STATES or not simple or watch.remaining == 0:
        return
    # Planning that was cut off is not continued here: no time is better spent before there is a tree.
    optimal = planning.optimal_values(mdp, watch.part(0.0))
    # The scale is not known yet, and fitting does not need it.
    model, questions = Model(task, DEFAULTS, optimal, 0.0), Ranks(task.splits)
    states = _sample(mdp.n_states)
    tree = Fitting(model, questions, watch).tree(_advantages(mdp, optimal, states), states, size.depth, size.leaves)
    policy = questions.actions(tree, np.arange(mdp.n_states))
    value = planning.least_return(mdp, policy, optimal.value, STEPS, watch)
    _EARLY[task] = Early(tree, value)
    watch.report(value, max(value, model.optimal_return.upper))


def _advantages(mdp: MDP, optimal: Certified[Floats], states: Ints) -> Floats:
    """[S, A] advantages of all actions over the best one in some states, and 0 in the others."""
    rows = states[:, None] * mdp.n_actions + np.arange(mdp.n_actions)
    ahead = (mdp.transitions[rows.ravel()] @ optimal.value).reshape(rows.shape)
    q = mdp.rewards[states] + mdp.discount * ahead
    advantages = np.zeros(mdp.rewards.shape)
    advantages[states] = q - q.max(axis=1, keepdims=True)
    return advantages


def _sample(S: int) -> Ints:
    """Some of S states, chosen at random so that they do not follow the order of the states; always the same."""
    return np.flatnonzero(np.random.default_rng(0).random(S) * S < SAMPLED_STATES)
