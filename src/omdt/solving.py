"""The one verb: solve(mdp, …) runs a method, recomputes the value of its tree, and refuses a false claim."""

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any

from omdt import planning
from omdt.errors import FalseClaimError, InputError
from omdt.fingerprint import fingerprint
from omdt.mdp import MDP, Ints
from omdt.methods.copy import copy_optimal_policy
from omdt.methods.iddt import iddt
from omdt.methods.milp import solve_milp
from omdt.methods.search.method import search
from omdt.methods.viper import viper
from omdt.questions import questions_of
from omdt.solution import Claim, Limits, Solution
from omdt.splits import Splits
from omdt.tree import TreePolicy
from omdt.unavailable import FALLBACK, FORBID, replacements, violation, with_exceptions
from omdt.watch import TracePoint, Watch, one_thread

METHODS: dict[str, Callable[..., Claim]] = {
    "search": search,
    "milp": solve_milp,
    "viper": viper,
    "iddt": iddt,
    "copy": copy_optimal_policy,
}

LOOKING_AT_EVERYTHING = ("viper", "iddt", "copy")
"""The methods that ask thresholds on every column, whatever the splits."""

TOLERANCE = 1e-9
"""Relative excess of a value over its bound that is not yet called a false claim."""

PLANNING_SHARE = 0.3
"""Part of the time limit for the optimal values, and for the random policy's, at most."""


def solve(
    mdp: MDP,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    method: str = "search",
    splits: Splits | None = None,
    time_limit: float | None = None,
    gap: float = 1e-4,
    seed: int = 0,
    threads: int = 1,
    memory_limit: int = 2048,
    node_limit: int | None = None,
    unavailable: str = FALLBACK,
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
        memory_limit: MiB for what the search remembers; it forgets what is least useful.
        node_limit: how many partial trees the search looks at before it returns the best tree so far. The solution is
            then the same in every run, to the last byte of its file; times are left out of it.
        unavailable: "fallback" lets a leaf name an action that is not available in some of its states, where another
            is then played (see `MDP`); "forbid" does not, in any state that can be reached.
        progress: called with (seconds, value, bound) as these improve.
        options: settings of the method; `executor` and `certificate` of search, `backend` and `form` of milp, `ties`
            of copy, `iterations` of viper.

    Raises:
        InputError: if the limits or the method do not fit.
        FalseClaimError: if the method's bound is below the value of its own tree, or its tree is not an allowed one.
    """
    if method not in METHODS:
        raise InputError(f"there is no method {method!r}; there are {', '.join(METHODS)}")
    for option in options:
        if option not in signature(METHODS[method]).parameters:
            raise InputError(f"the method {method} has no setting {option!r}")
    if node_limit is not None and method != "search":
        raise InputError(f"node_limit is for the method search; limit the time of {method} instead")
    limits = Limits(max_depth, max_leaf_nodes, time_limit, gap, seed, threads, memory_limit, node_limit, unavailable)
    if unavailable == FORBID and options.get("certificate") is not None:
        raise InputError("a certificate is about all trees, so there is none with unavailable='forbid'; leave one out")
    max_depth, max_leaf_nodes, seed = limits.max_depth, limits.max_leaf_nodes, limits.seed
    questions = None if splits is None else questions_of(mdp, splits)
    if questions is not None and questions.groups is not None and method in LOOKING_AT_EVERYTHING:
        raise InputError(
            f"the method {method} asks thresholds on every feature; for other questions use search or milp"
        )
    watch = Watch(time_limit, progress, limits.node_limit)
    with watch.catching_interrupts(), one_thread():
        splits = Splits.of(mdp) if splits is None else splits
        recognised_by = fingerprint(mdp)
        planning.optimal_values(mdp, watch.part(PLANNING_SHARE * watch.time_limit))
        random = _random_return(mdp, watch.part(PLANNING_SHARE * watch.time_limit))
    claim = METHODS[method](mdp, splits, limits, watch, **options)
    with watch.catching_interrupts(), one_thread():
        tree = claim.tree.pruned(splits.observations)
        policy = tree.actions(splits.observations)
        value = planning.tree_return(mdp, tree, splits.observations, watch.closing())
        values = planning.optimal_values(mdp, watch)
        scale = planning.scale(mdp, watch)
    if unavailable == FORBID:
        _check_available(mdp, policy, method)
    tree = replace(with_exceptions(mdp, tree, splits.observations), truths=mdp.truths)
    optimal = planning.expected_return(mdp, values)
    _check_size(tree, limits)
    bound, rounding = _checked_bound(claim, value, optimal, scale)
    if options.get("certificate") is not None:
        # What a certificate proves is not to be lowered to an optimum that it does not speak of.
        bound = max(claim.bound, bound)
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
        seconds=watch.elapsed if limits.node_limit is None else None,
        seed=seed,
        trace=tuple(watch.trace),
        node_limit=limits.node_limit,
        rounding=rounding,
        scale=scale,
        value_error=value.error,
        optimal_error=optimal.error,
        random_error=random.error,
        questions=questions,
        source=mdp.source,
        fingerprint=recognised_by,
        unavailable=unavailable,
        replaced=replacements(mdp, policy),
    )


def _random_return(mdp: MDP, watch: Watch) -> planning.Certified[float]:
    return planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp), watch))


def _check_size(tree: TreePolicy, limits: Limits) -> None:
    if limits.max_depth is not None and tree.depth > limits.max_depth:
        raise FalseClaimError(f"the method's tree has depth {tree.depth}, but at most {limits.max_depth} was asked for")
    if limits.max_leaf_nodes is not None and tree.n_leaves > limits.max_leaf_nodes:
        raise FalseClaimError(
            f"the method's tree has {tree.n_leaves} leaves, but at most {limits.max_leaf_nodes} were asked for"
        )


def _check_available(mdp: MDP, policy: Ints, method: str) -> None:
    """Raise if a tree names an action in a state that can be reached and does not offer it."""
    found = violation(mdp, policy)
    if found is None:
        return
    if method == "search":
        raise FalseClaimError(f"the tree names an unavailable action, which was forbidden: {found}")
    raise InputError(
        f"the tree of {method} names an unavailable action: {found}; "
        "use --method search, which looks for a tree that does not, or --unavailable fallback"
    )


def _checked_bound(
    claim: Claim, value: planning.Certified[float], optimal: planning.Certified[float], scale: float
) -> tuple[float, float]:
    """The claimed bound, at most the optimum and at least the value; and what both may differ by rounding alone."""
    rounding = 2 * (value.error + optimal.error)
    # Where nothing can be earned at all, only underflow is left.
    tolerance = TOLERANCE * max(abs(value.value), abs(optimal.value), scale, 1e-280)
    if not value.value <= claim.bound + rounding + tolerance:
        raise FalseClaimError(
            f"the method claims that no tree returns more than {claim.bound!r}, "
            f"but its own tree returns {value.value!r}"
        )
    bound = max(min(claim.bound, optimal.upper), min(value.upper, optimal.upper))
    # Where the value is known to less than the tolerance, what is not known counts as gap.
    return bound, max(planning.ROUNDING * scale, rounding if rounding <= tolerance else 0.0)
