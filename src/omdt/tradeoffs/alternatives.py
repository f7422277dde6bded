"""alternatives(mdp, …): all trees that are about as good as the best one, distinct in what they do.

The best tree is found by `omdt.solve`. What a tree has to reach follows from it, and all policies of trees that reach
it are enumerated (`alternatives_search`). Should one of them be better than the best tree so far, it takes its place.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from omdt import planning
from omdt.errors import FalseClaimError, InputError
from omdt.limits import Limits, whole
from omdt.mdp import MDP, Ints
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Split, Tree, count_leaves, to_policy
from omdt.methods.search.settings import SearchSettings
from omdt.objective import DISCOUNTED_RETURN, Asked
from omdt.rules import FALLBACK, Rule, rules_of
from omdt.solution import MAX, MIN, Solution, Stop
from omdt.solving import solve
from omdt.splits import Splits
from omdt.task import Size, Task
from omdt.tradeoffs.alternatives_collection import Collection, Found
from omdt.tradeoffs.alternatives_domains import Domains
from omdt.tradeoffs.alternatives_result import Alternative, Alternatives, Ended
from omdt.tradeoffs.alternatives_search import Enumeration
from omdt.tradeoffs.alternatives_words import differences, forced
from omdt.tree import TreePolicy
from omdt.unavailable import with_exceptions
from omdt.watch import Watch, one_thread

SOLVING_SHARE = 0.5
"""Part of the time limit for the best tree and its proof, at most. The enumeration needs a good tree, not its proof."""

MISMATCH = 1e-9
"""Difference between the value of a tree and that of the policy which it is to have, as a part of the largest return,
above which one of them must be wrong."""


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
    threads: int = 1,
    memory_limit: int = 2048,
    unavailable: str = FALLBACK,
    rules: Sequence[Rule] = (),
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
        threads: how many cores the search for the best tree may use.
        memory_limit: MiB for what is still to be explored.
        unavailable: what a leaf may do where its action is not available, as in `omdt.solve`.
        rules: further rules for the leaves of the trees, as in `omdt.solve`.
        objective: what is maximised or minimised, as in `omdt.solve`.
        progress: called with the number of trees whenever one is found.

    Raises:
        InputError: if the limits, the rules or the objective do not fit.
    """
    check_arguments(max_depth, max_leaf_nodes, within, limit)
    limits = Limits(time_limit, seed=seed, threads=threads, memory_limit=memory_limit)
    kept, size = rules_of(unavailable, rules), Size(max_depth, max_leaf_nodes)
    watch = Watch(time_limit)
    splits = Splits.of(mdp) if splits is None else splits
    solution = solve(
        mdp,
        max_depth=size.max_depth,
        max_leaf_nodes=size.max_leaf_nodes,
        splits=splits,
        time_limit=None if time_limit is None else SOLVING_SHARE * time_limit,
        seed=limits.seed,
        threads=limits.threads,
        memory_limit=limits.memory_limit,
        rules=kept,
        objective=objective,
    )
    if solution.stop is Stop.INTERRUPTED:
        watch.interrupt()
    _check_scale(solution, absolute)
    task = Task(mdp, splits, size, objective, kept)
    with watch.catching_interrupts(), one_thread():
        model = Model.of(task, SearchSettings(), watch)

        def tolerance(best: float) -> float:
            return within if absolute else within * abs(task.shown(best) - solution.random_return)

        collection = Collection(model, tolerance, limit, progress or _unheard)
        enumeration = Enumeration(model, collection, limits.memory_limit, watch)
        enumeration.run(solution.tree.actions(task.observations))
        listed = _Listing(task, collection, enumeration.domains, watch)
        members = listed.members()
        common = forced(members[0].tree, [found.plays for found, _ in listed.chosen], task.observations)
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
    if not absolute and math.isinf(solution.random_return) and not math.isinf(solution.value):
        raise InputError(
            f"the value of the random policy is {solution.random_return}, so that no part of its distance from the "
            "best tree is a tolerance; give one in units of the value, with --absolute"
        )


def _why_ended(enumeration: Enumeration, collection: Collection, watch: Watch, known: bool) -> Ended:
    """Why the search ended; what the tolerance is a part of must be known for a complete answer."""
    if watch.interrupted:
        return Ended.INTERRUPTED
    if not enumeration.exhausted or not known:
        return Ended.TIME
    return Ended.LIMIT if collection.truncated else Ended.COMPLETE


class _Chosen(NamedTuple):
    """A policy with the tree that is listed for it."""

    found: Found
    tree: Tree


class _Listing:
    """Makes the list of trees from what was enumerated.

    Attributes:
        chosen: the policies with their trees, best first; of equally good ones, up to rounding, the smaller tree first.
    """

    def __init__(self, task: Task, collection: Collection, domains: Domains, watch: Watch) -> None:
        self._task, self._domains, self._noise = task, domains, collection.noise
        self._watch = watch.closing()
        chosen = [_Chosen(found, domains.smallest_tree(found.plays)) for found in collection.found]
        self.chosen = _ordered(chosen, collection.noise)

    def members(self) -> tuple[Alternative, ...]:
        """The trees of the list with their figures."""
        task = self._task
        best = self._policy(self.chosen[0].tree)
        named = best.actions(task.observations)
        best_plays = task.problem.played[range(len(named)), named]
        return tuple(self._member(found, tree, best, best_plays) for found, tree in self.chosen)

    def _member(self, found: Found, tree: Tree, best: TreePolicy, best_plays: Ints) -> Alternative:
        task, policy = self._task, self._policy(tree)
        differ = differences(policy, found.plays, best, best_plays, task.observations)
        names = task.splits.feature_names
        asked = sorted({int(j) for j in policy.feature if j >= 0})
        needed = [j for j in asked if not self._domains.possible_without(found.plays, j)]
        return Alternative(
            tree=policy,
            value=task.shown(self._value(policy, found)),
            visited=int((found.plays >= 0).sum()),
            features=tuple(names[j] for j in asked),
            needed=tuple(names[j] for j in needed),
            differences=differ,
        )

    def _policy(self, tree: Tree) -> TreePolicy:
        """A tree as users get it."""
        task = self._task
        policy = to_policy(tree, task.splits, task.problem).pruned(task.observations)
        return replace(with_exceptions(task.problem, policy, task.observations), truths=task.mdp.truths)

    def _value(self, policy: TreePolicy, found: Found) -> float:
        """The return of a tree, recomputed; raises if it is not that of its policy, or if a rule is broken."""
        task = self._task
        returned = planning.tree_return(task.problem, policy, task.observations, self._watch)
        largest = max(abs(found.value), self._noise / planning.ROUNDING, 1e-280)
        differ = returned.value != found.value and not abs(returned.value - found.value) <= (
            returned.error + MISMATCH * largest
        )
        if differ or not task.permits(policy.actions(task.observations)):
            raise FalseClaimError(
                f"a tree that was listed as returning {found.value!r} returns {returned.value!r}, or breaks a rule"
            )
        return found.value


def _ordered(chosen: list[_Chosen], noise: float) -> list[_Chosen]:
    """The best first; of those that are equally good up to rounding, the smaller first, then by their questions."""
    ordered: list[_Chosen] = []
    group: list[_Chosen] = []
    for one in sorted(chosen, key=lambda it: -it.found.value):
        if group and group[0].found.value - one.found.value > noise:
            ordered += sorted(group, key=_size_and_questions)
            group = []
        group.append(one)
    return ordered + sorted(group, key=_size_and_questions)


def _size_and_questions(one: _Chosen) -> tuple[int, list[int]]:
    return count_leaves(one.tree), _preorder(one.tree)


def _preorder(tree: Tree) -> list[int]:
    """The questions of a tree from the root on, the left side first; a leaf counts as the negative of its action."""
    if isinstance(tree, Split):
        return [tree.question + 1, *_preorder(tree.left), *_preorder(tree.right)]
    return [-tree[0]] if tree else []
