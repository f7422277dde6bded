"""Judging: what a complete tree is worth under the rules of a task, and whether it keeps them all.

This is the one place that knows what every rule means for a complete tree; methods may compute the same faster.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from omdt import planning
from omdt.mdp import MDP, Floats, Ints
from omdt.rules import Ceiling, Rule, names_only, outline_of
from omdt.task import Task
from omdt.tree import LEAF, TreePolicy
from omdt.watch import Watch


def net_return(task: Task, tree: TreePolicy, watch: Watch | None = None) -> planning.Certified[float]:
    """What a tree returns on `task.problem`, after its questions are paid."""
    if task.prices is None:
        return planning.tree_return(task.problem, tree, task.observations, watch)
    once = task.prices.paid_once(outline_of(tree, task.observations))
    returned = planning.tree_return(priced(task, tree), tree, task.observations, watch)
    net = returned.value - once
    if math.isinf(net):
        return planning.Certified(net, 0.0)
    return planning.Certified(net, returned.error + np.finfo(float).eps * (abs(net) + once))


def priced(task: Task, tree: TreePolicy) -> MDP:
    """`task.problem` with rewards from which a tree's questions are paid at every visit."""
    if task.prices is None or not task.prices.any_per_use:
        return task.problem
    return replace(task.problem, rewards=task.problem.rewards - tolls(task, tree)[:, None])


def tolls(task: Task, tree: TreePolicy) -> Floats:
    """[S] what a visit of each state pays for questions; terminal states pay nothing."""
    assert task.prices is not None, "there are no prices"
    paid = np.zeros(tree.n_nodes)
    for i in np.flatnonzero(tree.feature != LEAF):
        paid[[tree.left[i], tree.right[i]]] = paid[i] + task.prices.per_use[tree.feature[i]]
    return np.where(task.problem.terminal, 0.0, paid[tree.leaves(task.observations)])


def violations(task: Task, tree: TreePolicy, watch: Watch | None = None) -> Iterator[str]:
    """How a tree breaks the rules of a task, each to be read after `the tree …`."""
    policy = tree.actions(task.observations)
    for rule in task.rules:
        if isinstance(rule, Rule):
            found = rule.violation(task.mdp, policy)
            if found is None and (allowed := rule.allowed(task.mdp)) is not None and not names_only(allowed, policy):
                found = f"breaks the rule that it {rule.words}"
            if found is not None:
                yield found
    outline = outline_of(tree, task.observations)
    yield from (found for rule in task.shapes if (found := rule.broken_by(outline)) is not None)
    if task.kept is not None and (found := task.kept.difference(tree)) is not None:
        yield found
    for ceiling in task.ceilings:
        total = cost_of(task, ceiling, policy, watch)
        if total.value > ceiling.limit + ceiling.tolerance:
            yield f"has {ceiling.total(total.value):.6g} {ceiling.name}, not {ceiling.words.removeprefix('has ')}"
    if task.least_share is not None:
        shares = leaf_shares(task, tree, policy, watch)
        if shares.min() < task.least_share.least * (1 - SHARE_TOLERANCE):
            yield f"has a leaf with {100 * shares.min():.4g} % of the visits, not {100 * task.least_share.least:.4g} %"


SHARE_TOLERANCE = 1e-9
"""Relative amount by which a share may be too small: what rounding may do to an exact tie."""


def cost_of(task: Task, ceiling: Ceiling, policy: Ints, watch: Watch | None = None) -> planning.Certified[float]:
    """The expected total of the costs that a ceiling limits, under a policy [S]."""
    return planning.policy_return(ceiling.counting(task.problem), policy, watch)


def leaf_shares(task: Task, tree: TreePolicy, policy: Ints, watch: Watch | None = None) -> Floats:
    """[leaves] the share of each leaf in the visits to states in which there is something to decide."""
    problem = task.problem
    visits = np.maximum(planning.occupancies(problem, policy, watch).value, 0.0)
    if not problem.terminal.all():
        visits = np.where(problem.terminal, 0.0, visits)
    total = visits.sum()
    shares = np.bincount(tree.leaves(task.observations), visits, minlength=tree.n_nodes)[tree.feature == LEAF]
    return shares / total if total > 0 else np.ones(len(shares))
