"""Enumeration: where there are few trees, all of them are evaluated, which is a proof.

The number of trees and the time per evaluation are estimated from the sizes of the problem, never measured, so that the
same problem is always solved in the same way.
"""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from omdt import planning
from omdt.mdp import Floats, Ints
from omdt.methods.search.effort import seconds_per_evaluation
from omdt.methods.search.incumbent import Incumbent
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Leaf, Split, Tree, count_leaves
from omdt.methods.search.ranks import Ranks
from omdt.watch import Watch

MANY_TREES = 1e15
"""Counting ends when there are more trees than this: far too many to enumerate, and their square might overflow."""

DEEP = 60
"""Depth beyond which a limit makes no difference to counting: trees that deep are more than `MANY_TREES`."""


def can_enumerate(model: Model) -> bool:
    """Whether evaluating all trees takes less time than the exact search, or there are no trees but single leaves."""
    mdp, settings, size, questions = model.mdp, model.settings, model.size, len(model.task.splits)
    if not model.task.only_leaf_rules:
        return False
    if size.depth == 0 or questions == 0:
        return True
    if mdp.discount == 1:
        # Of some trees the value is hard to know: those that go on for ages. The coarse search bounds them with others.
        return False
    # The work of the exact search grows with the cube of the number of states.
    part = min(1.0, mdp.n_states / settings.enumerated_states) ** 3
    trees = count_trees(questions, mdp.n_actions, size.depth, size.leaves)
    return trees * seconds_per_evaluation(model) <= part * settings.enumerated_seconds


def count_trees(questions: int, actions: int, depth: int, leaves: int) -> float:
    """The number of trees up to a depth and a number of leaves.

    Trees that differ only where no state goes are counted separately.

    Args:
        questions: number of questions.
        actions: number of actions.
        depth: maximum depth.
        leaves: maximum number of leaves.
    """
    # counts[d][n]: trees with exactly n + 1 leaves and a depth of at most d.
    counts = [[float(actions)] for _ in range(min(depth, DEEP) + 1)]
    total = float(actions)
    for n in range(1, leaves):
        counts[0].append(0.0)
        for above, below in itertools.pairwise(counts):
            below.append(questions * sum(above[i] * above[n - 1 - i] for i in range(n)))
        total += counts[-1][n]
        if counts[-1][n] == 0 or total > MANY_TREES:
            break
    return total


def enumerate_trees(
    model: Model, questions: Ranks, incumbent: Incumbent, consider: Callable[[Tree], None], watch: Watch
) -> float | None:
    """Evaluate all trees within the limits; no tree returns more than the result, which is None if time ran out.

    Args:
        model: the model of the task.
        questions: the questions of the task.
        incumbent: the best tree so far.
        consider: called with every tree that is better than the incumbent, to improve it.
        watch: the clock; every tree counts as a node.
    """
    bound, states = -np.inf, np.arange(model.mdp.n_states)
    values: planning.Certified[Floats] | None = None
    for tree in _trees(model, questions, states, model.size.depth, model.size.leaves):
        if watch.remaining == 0 or watch.out_of_nodes:
            return None
        policy = questions.actions(tree, states)
        if not model.task.permits(policy):
            continue
        values = planning.policy_values(model.mdp, policy, watch, start=None if values is None else values.value)
        returned = planning.expected_return(model.mdp, values)
        if returned.upper > bound:
            # A return that would raise the bound is computed with a smaller error.
            returned = planning.policy_return(model.mdp, policy, watch)
        bound = max(bound, returned.upper)
        watch.count(1)
        if incumbent.improved_by(returned.value):
            consider(tree)
    return None if watch.remaining == 0 else bound


def _trees(model: Model, questions: Ranks, states: Ints, depth: int, leaves: int) -> Iterator[Tree]:
    """All trees for some states, except those with a question that does not divide its states."""
    yield from map(Leaf, range(model.mdp.n_actions))
    if depth == 0 or leaves == 1:
        return
    for k in range(len(questions)):
        right = questions.right(states, k)
        if not right.any() or right.all():
            continue
        for first in _trees(model, questions, states[~right], depth - 1, leaves - 1):
            for second in _trees(model, questions, states[right], depth - 1, leaves - count_leaves(first)):
                if first != second or isinstance(first, Split):
                    yield Split(k, first, second)
