"""The one verb: solve(mdp, …) runs a method, recomputes the value of its tree, and refuses a false claim."""

from collections.abc import Callable
from typing import Any

from omdt import planning
from omdt.errors import FalseClaimError, InputError
from omdt.mdp import MDP
from omdt.methods.copy import copy_optimal_policy
from omdt.solution import Claim, Limits, Solution, Stop, TracePoint, Watch
from omdt.splits import Splits

METHODS: dict[str, Callable[..., Claim]] = {
    "copy": copy_optimal_policy,
}

TOLERANCE = 1e-9
"""Relative difference between a bound and a value that rounding may explain."""


def solve(
    mdp: MDP,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    method: str = "copy",
    splits: Splits | None = None,
    time_limit: float | None = None,
    gap: float = 1e-4,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[TracePoint], None] | None = None,
    **options: Any,
) -> Solution:
    """The best decision tree policy of limited size that the method finds, with its exact value and a bound.

    Args:
        mdp: the problem.
        max_depth: most questions on any path.
        max_leaf_nodes: most leaves.
        method: a key of `METHODS`.
        splits: the questions a tree may ask; by default thresholds on every feature.
        time_limit: seconds after which the best tree so far is returned.
        gap: relative distance between bound and value that counts as a proof.
        seed: the same seed gives the same tree.
        threads: how many cores to use.
        progress: called with (seconds, value, bound) as these improve.
        options: settings of the method.

    Raises:
        InputError: if the limits or the method do not fit.
        FalseClaimError: if the method's bound is below the value of its own tree.
    """
    if method not in METHODS:
        raise InputError(f"there is no method {method!r}; there are {', '.join(METHODS)}")
    limits = Limits(max_depth, max_leaf_nodes, time_limit, gap, seed, threads)
    splits = Splits.of(mdp) if splits is None else splits
    watch = Watch(time_limit, progress)
    claim = METHODS[method](mdp, splits, limits, watch, **options)
    tree = claim.tree.pruned(splits.observations)
    value = planning.tree_return(mdp, tree, splits.observations)
    optimal = planning.expected_return(mdp, planning.optimal_values(mdp))
    random = planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp)))
    bound = _checked_bound(claim, value, max(abs(value.value), abs(optimal.value)))
    watch.report(value.value, bound)
    return Solution(
        problem=mdp.name,
        method=method,
        max_depth=max_depth,
        max_leaf_nodes=max_leaf_nodes,
        discount=mdp.discount,
        tree=tree,
        value=value.value,
        bound=bound,
        requested_gap=gap,
        stop=claim.stop,
        optimal_return=optimal.value,
        random_return=random.value,
        seconds=watch.elapsed,
        seed=seed,
        trace=tuple(watch.trace),
    )


def _checked_bound(claim: Claim, value: planning.Certified[float], scale: float) -> float:
    """The claimed bound; when the search space is exhausted it is the value itself."""
    tolerance = value.error + TOLERANCE * scale
    if value.value > claim.bound + tolerance:
        raise FalseClaimError(
            f"the method claims that no tree returns more than {claim.bound!r}, "
            f"but its own tree returns {value.value!r}"
        )
    if claim.stop is Stop.COMPLETE and claim.bound <= value.value + tolerance:
        return value.value
    return max(claim.bound, value.value)
