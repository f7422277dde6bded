"""The list of alternatives: the smallest tree of every policy, with its value and differences, best first."""

from dataclasses import replace
from typing import NamedTuple

from omdt import planning
from omdt.errors import FalseClaimError
from omdt.judging import net_return, violations
from omdt.mdp import Ints
from omdt.methods.search.model import Model
from omdt.methods.search.partial_tree import Split, Tree, count_leaves, to_policy
from omdt.tradeoffs.alternatives_collection import Collection, Found
from omdt.tradeoffs.alternatives_domains import Domains
from omdt.tradeoffs.alternatives_result import Alternative
from omdt.tradeoffs.alternatives_words import Forced, differences, forced
from omdt.tree import TreePolicy
from omdt.unavailable import with_exceptions
from omdt.watch import Watch

MISMATCH = 1e-9
"""Difference between the value of a tree and that of the policy which it is to have, as a part of the largest return,
above which one of them must be wrong."""


class Chosen(NamedTuple):
    """A policy with the tree that is listed for it."""

    found: Found
    tree: Tree


class Listing:
    """Makes the list of trees from what was enumerated.

    Args:
        model: the model of the task.
        collection: the policies that were found.
        domains: the states of the task, and what trees can do in them.
        watch: the clock of the run, whose last moments are for this.

    Attributes:
        chosen: the policies with their trees, best first; of equally good ones, up to rounding, the smaller tree first.
    """

    def __init__(self, model: Model, collection: Collection, domains: Domains, watch: Watch) -> None:
        self._model, self._task, self._domains, self._noise = model, model.task, domains, collection.noise
        self._watch = watch.closing()
        chosen = [
            Chosen(it, domains.smallest_tree(it.plays) if it.tree is None else it.tree) for it in collection.found
        ]
        self.chosen = _ordered(chosen, collection.noise)

    def members(self) -> tuple[Alternative, ...]:
        """The trees of the list with their figures."""
        task = self._task
        best = self._policy(self.chosen[0].tree)
        named = best.actions(task.observations)
        best_plays = task.problem.played[range(len(named)), named]
        return tuple(self._member(found, tree, best, best_plays) for found, tree in self.chosen)

    def forced(self) -> tuple[Forced, ...]:
        """Where all of them play the same."""
        best = self._policy(self.chosen[0].tree)
        return forced(best, [found.plays for found, _ in self.chosen], self._task.observations)

    def _member(self, found: Found, tree: Tree, best: TreePolicy, best_plays: Ints) -> Alternative:
        task, policy = self._task, self._policy(tree)
        differ = differences(policy, found.plays, best, best_plays, task.observations)
        names = task.splits.feature_names
        asked = sorted({int(j) for j in policy.feature if j >= 0})
        # Which trees keep the other rules is not known without another search.
        known = task.only_leaf_rules
        needed = [j for j in asked if known and not self._domains.possible_without(found.plays, j)]
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
        policy = to_policy(tree, self._model.splits, task.problem)
        if task.only_leaf_rules:
            policy = policy.pruned(task.observations)
        return replace(with_exceptions(task.problem, policy, task.observations), truths=task.mdp.truths)

    def _value(self, policy: TreePolicy, found: Found) -> float:
        """The return of a tree, recomputed; raises if it is not that of its policy, or if a rule is broken."""
        task = self._task
        returned = net_return(task, policy, self._watch)
        largest = max(abs(found.value), self._noise / planning.ROUNDING, 1e-280)
        differ = returned.value != found.value and not abs(returned.value - found.value) <= (
            returned.error + MISMATCH * largest
        )
        if differ or next(violations(task, policy, self._watch), None) is not None:
            raise FalseClaimError(
                f"a tree that was listed as returning {found.value!r} returns {returned.value!r}, or breaks a rule"
            )
        return found.value


def _ordered(chosen: list[Chosen], noise: float) -> list[Chosen]:
    """The best first; of those that are equally good up to rounding, the smaller first, then by their questions."""
    ordered: list[Chosen] = []
    group: list[Chosen] = []
    for one in sorted(chosen, key=lambda it: -it.found.value):
        if group and group[0].found.value - one.found.value > noise:
            ordered += sorted(group, key=_size_and_questions)
            group = []
        group.append(one)
    return ordered + sorted(group, key=_size_and_questions)


def _size_and_questions(one: Chosen) -> tuple[int, list[int]]:
    return count_leaves(one.tree), _preorder(one.tree)


def _preorder(tree: Tree) -> list[int]:
    """The questions of a tree from the root on, the left side first; a leaf counts as the negative of its action."""
    if isinstance(tree, Split):
        return [tree.question + 1, *_preorder(tree.left), *_preorder(tree.right)]
    return [-tree[0]] if tree else []
