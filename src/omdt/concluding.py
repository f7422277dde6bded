"""What is concluded from a method's claim: its tree is evaluated anew, and a false claim is refused."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from omdt import planning
from omdt.errors import FalseClaimError, InputError
from omdt.fingerprint import fingerprint
from omdt.judging import net_return, violations
from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.methods.registry import Method
from omdt.rules import AvailableOnly, outline_of
from omdt.solution import MAX, MIN, Claim, Solution
from omdt.task import Size, Task
from omdt.tree import TreePolicy
from omdt.unavailable import Replaced, replacements, with_exceptions
from omdt.watch import Watch, one_thread

TOLERANCE = 1e-9
"""Relative excess of a value over its bound that is not yet called a false claim."""

SECONDS_PER_TRANSITION = 2e-7
"""Seconds per transition that the evaluation of the returned tree has in any case, even if the method overran its time:
two for ten million of them."""

PLANNING_SHARE = 0.3
"""Part of the time limit for the optimal values, and for the random policy's, at most."""


class References(NamedTuple):
    """What is computed about a problem before a method runs.

    Attributes:
        fingerprint: by which the MDP is recognised.
        random: the return of the random policy.
    """

    fingerprint: str
    random: planning.Certified[float]

    @classmethod
    def of(cls, task: Task, watch: Watch, planned: Callable[[], None] = lambda: None) -> "References":
        """The references of a task; the optimal values are computed along with them and kept.

        Args:
            task: what is asked.
            watch: the clock.
            planned: called as soon as the optimal values are known, since the rest may take as long.
        """
        seconds = PLANNING_SHARE * watch.time_limit
        planning.optimal_values(task.problem, watch.part(seconds))
        planned()
        return cls(fingerprint(task.problem), _random_return(task.problem, watch.part(seconds)))


def concluded(
    task: Task,
    claim: Claim,
    method: Method,
    limits: Limits,
    watch: Watch,
    before: References,
    *,
    certifying: bool = False,
) -> Solution:
    """The solution that a claim stands for, after its tree was evaluated anew and compared with what is claimed.

    Args:
        task: what was asked.
        claim: what the method says it found.
        method: the method.
        limits: how much work was allowed.
        watch: the clock and the trace of the run.
        before: what was computed before the run.
        certifying: whether a certificate was written.

    Raises:
        FalseClaimError: if the bound is below the value of the tree, or the tree is not an allowed one.
    """
    checked = _checked(task, claim, method, watch)
    # What a certificate proves is not to be lowered to an optimum that it does not speak of.
    bound = max(claim.bound, checked.bound) if certifying else checked.bound
    watch.report(checked.value.value, bound)
    return Solution(
        problem=task.mdp.name,
        method=method.name,
        max_depth=task.size.max_depth,
        max_leaf_nodes=task.size.max_leaf_nodes,
        discount=task.problem.discount,
        tree=checked.tree,
        value=task.shown(checked.value.value),
        bound=task.shown_bound(bound),
        requested_gap=limits.gap,
        stop=claim.stop,
        optimal_return=task.shown(checked.optimal.value),
        random_return=task.shown(before.random.value),
        seconds=watch.elapsed if limits.node_limit is None else None,
        seed=limits.seed,
        trace=tuple((when, task.shown(lower), task.shown_bound(upper)) for when, lower, upper in watch.trace),
        node_limit=limits.node_limit,
        rounding=checked.rounding,
        scale=checked.scale,
        value_error=checked.value.error,
        optimal_error=checked.optimal.error,
        random_error=before.random.error,
        questions=task.questions,
        source=task.mdp.source,
        fingerprint=before.fingerprint,
        unavailable=task.unavailable,
        replaced=checked.replaced,
        rules=task.further_rules,
        stated_rules=task.stated,
        objective=task.asked,
        sense=MIN if task.objective.minimised else MAX,
    )


class _Checked(NamedTuple):
    """A claim whose tree was evaluated anew and keeps size and rules.

    Attributes:
        tree: without what no state needs, and with what is played where its actions are not available.
        value: its return.
        optimal: the return of the best policy of any form.
        scale: the scale of the returns.
        bound: the claimed bound, at most the optimum and at least the value.
        rounding: what bound and value may differ by rounding alone.
        replaced: what is played instead of unavailable actions.
    """

    tree: TreePolicy
    value: planning.Certified[float]
    optimal: planning.Certified[float]
    scale: float
    bound: float
    rounding: float
    replaced: tuple[Replaced, ...]


def _checked(task: Task, claim: Claim, method: Method, watch: Watch) -> _Checked:
    """Evaluate the tree of a claim and compare it with what is claimed and asked."""
    problem = task.problem
    with watch.catching_interrupts(), one_thread():
        tree = _tidied(task, claim.tree)
        least = SECONDS_PER_TRANSITION * int(problem.transitions.nnz)
        value = net_return(task, tree, watch.closing(least))
        values = planning.optimal_values(problem, watch)
        scale = planning.scale(problem, watch)
        _check_rules(task, tree, method, watch.closing(least))
    _check_size(tree, task.size)
    tree = replace(with_exceptions(problem, tree, task.observations), truths=task.mdp.truths)
    optimal = planning.expected_return(problem, values)
    if not planning.is_rounding(value.error, _largest(value.value, optimal.value, scale)):
        # An evaluation that was cut off may be far too high; what is certain counts.
        value = planning.Certified(value.lower, 2 * value.error)
    bound, rounding = _checked_bound(claim, value, optimal, scale)
    return _Checked(
        tree, value, optimal, scale, bound, rounding, replacements(problem, tree.actions(task.observations))
    )


def _tidied(task: Task, tree: TreePolicy) -> TreePolicy:
    """A tree without what no state needs, unless a rule needs it: a cheap question may save an expensive one."""
    tidied = tree.tidied(task.observations)
    if task.kept is not None:
        return replace(tree, integer=tidied.integer)
    pruned = tree.pruned(task.observations)
    outline = outline_of(pruned, task.observations)
    needed = task.prices is not None or any(rule.broken_by(outline) is not None for rule in task.shapes)
    return tidied if needed else pruned


def _random_return(mdp: MDP, watch: Watch) -> planning.Certified[float]:
    return planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp), watch))


def _check_size(tree: TreePolicy, size: Size) -> None:
    if size.max_depth is not None and tree.depth > size.max_depth:
        raise FalseClaimError(f"the method's tree has depth {tree.depth}, but at most {size.max_depth} was asked for")
    if size.max_leaf_nodes is not None and tree.n_leaves > size.max_leaf_nodes:
        raise FalseClaimError(
            f"the method's tree has {tree.n_leaves} leaves, but at most {size.max_leaf_nodes} were asked for"
        )


def _check_rules(task: Task, tree: TreePolicy, method: Method, watch: Watch) -> None:
    """Raise if a tree breaks a rule."""
    found = next(violations(task, tree, watch), None)
    if found is None:
        return
    if method.keeps_rules:
        raise FalseClaimError(f"the tree of {method.name} {found}")
    relaxed = "--unavailable fallback" if task.rules == (AvailableOnly(),) else "leave out the rule"
    raise InputError(
        f"the tree of {method.name} {found}; use --method search, which looks for a tree that does not, or {relaxed}"
    )


def _largest(*figures: float) -> float:
    """The largest absolute value of the finite ones among some figures."""
    return max((abs(figure) for figure in figures if math.isfinite(figure)), default=0.0)


def _checked_bound(
    claim: Claim, value: planning.Certified[float], optimal: planning.Certified[float], scale: float
) -> tuple[float, float]:
    """The claimed bound, at most the optimum and at least the value; and what both may differ by rounding alone."""
    rounding = 2 * (value.error + optimal.error)
    # Where nothing can be earned at all, only underflow is left.
    tolerance = TOLERANCE * max(_largest(value.value, optimal.value, scale), 1e-280)
    if not (value.value <= claim.bound or value.value <= claim.bound + rounding + tolerance):
        raise FalseClaimError(
            f"the method claims that no tree returns more than {claim.bound!r}, "
            f"but its own tree returns {value.value!r}"
        )
    bound = max(min(claim.bound, optimal.upper), min(value.upper, optimal.upper))
    # Where the value is known to less than the tolerance, what is not known counts as gap.
    return bound, max(planning.ROUNDING * scale, rounding if rounding <= tolerance else 0.0)
