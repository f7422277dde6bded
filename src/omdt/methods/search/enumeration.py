"""Enumeration: where there are few trees, each is evaluated, and the best one is proven by that alone.

The number of trees and the time of an evaluation are estimated from the sizes of the problem, never measured, so that
the same problem is always solved in the same way.
"""

from collections.abc import Iterator

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Floats, Ints
from omdt.methods.search.local import LocalSearch, Nested, count_leaves

ENUMERATED_SECONDS = 10.0
"""Estimated seconds up to which all trees are enumerated."""

ENUMERATED_STATES = 400
"""With fewer states the search proves as fast as enumeration does, and its bounds improve from the start."""

SECONDS_PER_TRANSITION, SECONDS_PER_TREE = 3e-7, 5e-4
"""What an evaluation takes."""


def can_enumerate(local: LocalSearch) -> bool:
    """Whether evaluating all trees takes seconds, or there are no trees but single leaves."""
    if local.single:
        return True
    mdp = local.mdp
    trees = count_trees(len(local.questions), mdp.n_actions, local.size.depth)
    return mdp.n_states >= ENUMERATED_STATES and trees * _evaluation_seconds(mdp) <= ENUMERATED_SECONDS


def count_trees(questions: int, actions: int, depth: int) -> float:
    """The number of trees up to a depth; those that differ only where no state goes are counted apart."""
    trees = float(actions)
    for _ in range(depth):
        trees = actions + questions * trees**2
        if trees > 1e15:
            break
    return trees


def _evaluation_seconds(mdp: MDP) -> float:
    return SECONDS_PER_TREE + SECONDS_PER_TRANSITION * int(mdp.transitions.nnz) / mdp.n_actions


def enumerate_trees(local: LocalSearch) -> float | None:
    """Evaluate all trees within the limits; no tree returns more than the result, which is None if time ran out.

    The best tree becomes that of the local search.
    """
    bound = -np.inf
    values: planning.Certified[Floats] | None = None
    for tree in _trees(local, np.arange(local.mdp.n_states), local.size.depth, local.size.leaves):
        if local.watch.remaining == 0 or local.watch.out_of_nodes:
            return None
        start, policy = None if values is None else values.value, local.policy(tree)
        if not local.permits(policy):
            continue
        values = planning.policy_values(local.mdp, policy, local.watch, start=start)
        returned = planning.expected_return(local.mdp, values)
        if returned.upper > bound:
            returned = planning.policy_return(local.mdp, policy, local.watch)
        bound = max(bound, returned.upper)
        local.watch.nodes += 1
        if returned.value > local.value + local.noise:
            local.consider(tree)
    return None if local.watch.remaining == 0 else bound


def _trees(local: LocalSearch, states: Ints, depth: int, leaves: int) -> Iterator[Nested]:
    """All trees for some states, but for those whose questions do not divide them."""
    yield from range(local.mdp.n_actions)
    if depth == 0 or leaves == 1:
        return
    for k in range(len(local.questions)):
        right = local.questions.right(states, k)
        if not right.any() or right.all():
            continue
        for first in _trees(local, states[~right], depth - 1, leaves - 1):
            for second in _trees(local, states[right], depth - 1, leaves - count_leaves(first)):
                if first != second or isinstance(first, tuple):
                    yield (k, first, second)
