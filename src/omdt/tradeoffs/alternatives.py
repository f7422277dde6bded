"""alternatives(mdp, …): all trees that are about as good as the best one, distinct in what they do.

The best tree is found by `omdt.solve`. What a tree has to reach follows from it, and all policies of trees that reach
it are enumerated (`alternatives_search`; under rules beyond those about leaves, all trees: `alternatives_ruled`).
Should one of them be better than the best tree so far, it takes its place.
"""

import math
from collections.abc import Callable, Sequence

from omdt.errors import InputError
from omdt.limits import Limits, whole
from omdt.mdp import MDP
from omdt.methods.search.model import Model
from omdt.methods.search.settings import SearchSettings
from omdt.objective import DISCOUNTED_RETURN, Asked
from omdt.progress import words
from omdt.rules import FALLBACK, Rule, Rules
from omdt.solution import MAX, MIN, Solution, Stop
from omdt.solving import solve, task_of
from omdt.splits import Splits
from omdt.task import Size
from omdt.terminal import cores
from omdt.tradeoffs.alternatives_collection import Collection
from omdt.tradeoffs.alternatives_listing import Listing
from omdt.tradeoffs.alternatives_result import Alternatives, Ended
from omdt.tradeoffs.alternatives_ruled import RuledEnumeration
from omdt.tradeoffs.alternatives_search import Enumeration
from omdt.tree import TreePolicy
from omdt.verbs import verb
from omdt.watch import Watch, one_thread

SOLVING_SHARE = 0.5
"""Part of the time limit for the best tree and its proof, at most. The enumeration needs a good tree, not its proof."""


@verb(words.alternatives)
def alternatives(
    mdp: MDP,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    within: float = 0.01,
    absolute: bool = False,
    limit: int = 100,
    splits: Splits | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    memory_limit: int = 2048,
    unavailable: str = FALLBACK,
    rules: Rules | Sequence[Rule] = (),
    objective: Asked = DISCOUNTED_RETURN,
    progress: Callable[[int], None] | None = None,
) -> Alternatives:
    """All trees within the size limits that are about as good as the best one, best first.

    Of all trees that play the same actions wherever they go, only the smallest is listed.

    Args:
        mdp: the problem.
        max_depth: maximum number of questions on any path.
        max_leaf_nodes: maximum number of leaves.
        within: how much worse than the best tree they may be, as a part of the distance between the best tree and the
            random policy.
        absolute: whether `within` is a difference of values instead.
        limit: maximum number of trees; if there are more, the best ones are listed.
        splits: the questions a tree may ask; by default thresholds on every feature.
        time_limit: seconds after which what was found so far is returned.
        seed: that of the search for the best tree.
        threads: how many cores the search for the best tree may use; by default all.
        memory_limit: MiB for what is still to be explored.
        unavailable: what a leaf may do where its action is not available, as in `omdt.solve`.
        rules: further rules for the leaves of the trees, as in `omdt.solve`.
        objective: what is maximised or minimised, as in `omdt.solve`.
        progress: called with the number of trees whenever one is found.

    Raises:
        InputError: if the limits, the rules or the objective do not fit.
    """
    check_arguments(max_depth, max_leaf_nodes, within, limit)
    limits = Limits(time_limit, seed=seed, threads=cores() if threads is None else threads, memory_limit=memory_limit)
    size, watch = Size(max_depth, max_leaf_nodes), Watch(time_limit)
    task = task_of(mdp, size, splits, objective, unavailable, rules)
    solution = solve(
        mdp,
        max_depth=size.max_depth,
        max_leaf_nodes=size.max_leaf_nodes,
        splits=splits,
        unavailable=unavailable,
        time_limit=None if time_limit is None else SOLVING_SHARE * time_limit,
        seed=limits.seed,
        threads=limits.threads,
        memory_limit=limits.memory_limit,
        rules=rules,
        objective=objective,
    )
    if solution.stop is Stop.INTERRUPTED:
        watch.interrupt()
    _check_scale(solution, absolute)

    def tolerance(best: float) -> float:
        return within if absolute else within * abs(task.shown(best) - solution.random_return)

    with watch.catching_interrupts(), one_thread():
        model = Model.of(task, SearchSettings(), watch)
        collection = Collection(model, tolerance, limit, progress or _unheard)
        enumeration = _enumerated(model, collection, limits.memory_limit, watch, solution.tree)
        listing = Listing(model, collection, enumeration.domains, watch)
        members, common = listing.members(), listing.forced()
    known = absolute or time_limit is None or solution.is_rounding(solution.random_error)
    return Alternatives(
        problem=mdp.name,
        max_depth=size.max_depth,
        max_leaf_nodes=size.max_leaf_nodes,
        discount=task.problem.discount,
        within=float(within),
        absolute=absolute,
        limit=limit,
        least=task.shown(collection.least),
        random_return=solution.random_return,
        ended=_why_ended(enumeration, collection, watch, known),
        members=members,
        forced=common,
        seconds=watch.elapsed,
        seed=limits.seed,
        objective=task.asked,
        sense=MIN if task.objective.minimised else MAX,
        questions=task.questions,
        source=mdp.source,
        rules=tuple(rule.words for rule in task.rules),
    )


def _enumerated(
    model: Model, collection: Collection, memory_limit: int, watch: Watch, best: TreePolicy
) -> Enumeration | RuledEnumeration:
    """The enumeration that fits the rules, after it ended; it begins with the best tree."""
    if model.task.only_leaf_rules:
        enumeration = Enumeration(model, collection, memory_limit, watch)
        enumeration.run(best.actions(model.task.observations))
        return enumeration
    ruled = RuledEnumeration(model, collection, memory_limit, watch)
    ruled.run(best)
    return ruled


def _unheard(found: int) -> None:
    """Nobody listens to progress."""


def check_arguments(max_depth: int | None, max_leaf_nodes: int | None, within: float, limit: int) -> None:
    """Raise before long work starts if there can be no answer; arguments as in `alternatives`."""
    whole("limit", limit, 1)
    if not Size(max_depth, max_leaf_nodes).limited:
        raise InputError("alternatives need a size limit; give a depth, a number of leaves, or both")
    if isinstance(within, bool) or not isinstance(within, int | float) or not 0 <= within < math.inf:
        raise InputError(f"within is {within!r}; it must be a number of at least 0")


def _check_scale(solution: Solution, absolute: bool) -> None:
    """Raise if a part of the distance between the best tree and the random policy means nothing."""
    if not absolute and math.isinf(solution.random_return):
        raise InputError(
            f"the value of the random policy is {solution.random_return}, so that no part of its distance from the "
            "best tree is a tolerance; give one in units of the value, with --absolute"
        )


def _why_ended(enumeration: Enumeration | RuledEnumeration, collection: Collection, watch: Watch, known: bool) -> Ended:
    """Why the search ended; what the tolerance is a part of must be known for a complete answer."""
    if watch.interrupted:
        return Ended.INTERRUPTED
    if not enumeration.exhausted or not known:
        return Ended.TIME
    return Ended.LIMIT if collection.truncated else Ended.COMPLETE
