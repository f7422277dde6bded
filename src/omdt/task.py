"""The task: what is asked of a tree, as one value that methods, printing and report read.

It has the MDP, the questions that a tree may ask, its size, the objective and the rules. How much work may go into the
answer is another matter (`omdt.limits`).
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from omdt import check, planning
from omdt.counting import counted
from omdt.errors import InputError
from omdt.guide import guide
from omdt.limits import whole
from omdt.mdp import EPSILON, MDP, Bools, Floats, Ints
from omdt.norms import Norms, norms
from omdt.objective import DISCOUNTED_RETURN, Asked, Objective
from omdt.questions import check_columns, questions_of, splits_of
from omdt.rules import (
    FALLBACK,
    FORBID,
    AnyRule,
    AvailableOnly,
    Ceiling,
    Kept,
    LeastShare,
    Prices,
    Rule,
    Rules,
    ShapeRule,
    allowed_by,
    names_only,
    rules_of,
)
from omdt.splits import Splits


@dataclass(frozen=True)
class Size:
    """How large a tree may be.

    Attributes:
        max_depth: maximum number of questions on any path, or None.
        max_leaf_nodes: maximum number of leaves, or None.
    """

    max_depth: int | None = None
    max_leaf_nodes: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("max_depth", 0), ("max_leaf_nodes", 1)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(name, getattr(self, name), least))

    @property
    def words(self) -> str:
        """The size in words, as in `depth ≤ 2 and at most 3 leaves`; empty if it is not limited."""
        limits = []
        if self.max_depth is not None:
            limits.append(f"depth ≤ {self.max_depth}")
        if self.max_leaf_nodes is not None:
            limits.append(f"at most {counted(self.max_leaf_nodes, 'leaf', 'leaves')}")
        return " and ".join(limits)

    @property
    def limited(self) -> bool:
        """Whether the size is limited at all."""
        return self.max_depth is not None or self.max_leaf_nodes is not None


class Solved(Protocol):
    """What a task is rebuilt from: the part of a `Solution` that says what was asked."""

    @property
    def size(self) -> Size:
        """How large the trees may be."""

    @property
    def questions(self) -> check.Questions | None:
        """What the trees may ask; None for thresholds on every feature."""

    @property
    def unavailable(self) -> str:
        """What a leaf may do where its action is not available, one of `UNAVAILABLE`."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Further rules, in words."""

    @property
    def stated_rules(self) -> Rules | None:
        """Further rules as they were stated; None if there are none, or only rules of the user's own."""

    @property
    def objective(self) -> str | None:
        """What is maximised or minimised, as `Task.asked` has it; None for the discounted return."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked: the best tree for an MDP, of limited size, over given questions, under rules.

    Attributes:
        mdp: the problem as the user has it. Methods work on `problem` instead.
        splits: the questions that a tree may ask.
        size: how large a tree may be.
        objective: what is maximised or minimised.
        rules: what trees must respect beyond their size. Methods read `allowed`, `shapes`, `kept`, `prices`, `ceilings`
            and `least_share`.
        stated: the rules as the user stated them, if they were.
    """

    mdp: MDP
    splits: Splits
    size: Size
    objective: Asked = DISCOUNTED_RETURN
    rules: tuple[AnyRule, ...] = ()
    stated: Rules | None = None

    def __post_init__(self) -> None:
        check_columns(self.mdp, self.splits)
        if not isinstance(self.objective, Asked):
            raise InputError(
                f"the objective {self.objective!r:.80} is none: it needs words, minimised, problem and offset"
            )
        if isinstance(self.objective, Objective):
            object.__setattr__(self, "objective", self.objective.on(self.mdp))
        stated = () if self.stated is None else self.stated.on(self.mdp, self.splits)
        object.__setattr__(self, "rules", (*rules_of(FALLBACK, self.rules), *stated))
        if self.kept is not None and not self.size.limited and self.kept.depth is not None:
            object.__setattr__(self, "size", Size(self.kept.depth))

    @classmethod
    def over_thresholds(
        cls,
        mdp: MDP,
        size: Size,
        objective: Asked = DISCOUNTED_RETURN,
        rules: Sequence[AnyRule] = (),
        stated: Rules | None = None,
    ) -> Self:
        """The task whose trees ask thresholds on every feature."""
        per_column = stated is not None and stated.about_columns
        task = cls(mdp, Splits.of(mdp, per_column=per_column), size, objective, tuple(rules), stated)
        # These questions need no statement; finding that out from the splits would take an array [S, K].
        object.__setattr__(task, "questions", None)
        return task

    @classmethod
    def of(
        cls, mdp: MDP, solution: Solved, objective: Asked = DISCOUNTED_RETURN, rules: Sequence[AnyRule] = ()
    ) -> Self:
        """The task that a solution answers.

        Args:
            mdp: the problem that was solved.
            solution: the solution.
            objective: what was maximised or minimised.
            rules: the rules that the solution has in words only: rules of the user's own.

        Raises:
            InputError: if the solution does not fit the MDP, or has another objective or other rules.
        """
        stated = solution.stated_rules
        task = cls(
            mdp,
            splits_of(solution.questions, mdp, stated is not None and stated.about_columns),
            solution.size,
            objective,
            rules_of(solution.unavailable, rules),
            stated,
        )
        if task.asked != solution.objective:
            raise InputError(
                f"the solution is about the {solution.objective or DISCOUNTED_RETURN.words}, "
                f"not about the {task.asked or DISCOUNTED_RETURN.words}; pass the objective of the solution"
            )
        if task.further_rules != solution.rules:
            told = f"a tree that {' and '.join(solution.rules)}" if solution.rules else "trees without further rules"
            raise InputError(
                f"the solution is about {told}; a file has rules of your own in words only, so pass exactly "
                "these rules in Python"
            )
        object.__setattr__(task, "questions", solution.questions)
        return task

    def resized(self, size: Size) -> Self:
        """The same task for trees of another size, with everything that was computed so far."""
        again = copy(self)
        object.__setattr__(again, "size", size)
        return again

    @cached_property
    def problem(self) -> MDP:
        """The MDP whose expected return is maximised: what methods work on.

        Raises:
            InputError: if the objective changed more than rewards, transitions, discount and `endless`, or if there is
                no discount and the rewards have no meaningful total.
        """
        problem, mdp = self.objective.problem(self.mdp), self.mdp
        planning.check_totals(problem)
        if problem is mdp:
            return mdp
        same = (
            problem.rewards.shape == mdp.rewards.shape
            and problem.feature_names == mdp.feature_names
            and problem.action_names == mdp.action_names
            and problem.fallback == mdp.fallback
            and np.array_equal(problem.features, mdp.features)
            and np.array_equal(problem.available, mdp.available)
        )
        if not same:
            raise InputError(
                f"the objective {self.objective.words!r} changes states, features or actions of the MDP; "
                "it may change rewards, transitions, discount and endless only"
            )
        return problem

    @cached_property
    def guide(self) -> MDP:
        """The discounted MDP that heuristics imitate: `problem`, or what stands in for it if it has no discount."""
        return guide(self.problem)

    def guided(self, discount: float) -> MDP:
        """The same with another discount in place of none."""
        return guide(self.problem, discount)

    @cached_property
    def questions(self) -> check.Questions | None:
        """What the trees may ask, as a file states it; None for thresholds on every feature."""
        return questions_of(self.mdp, self.splits, self.stated is not None and self.stated.about_columns)

    @cached_property
    def sides(self) -> Bools:
        """[S, K] whether each state goes to the right of each question."""
        return self.splits.sides()

    @property
    def observations(self) -> Floats:
        """[S, F'] what a tree reads in each state: the features, then the predicates."""
        return self.splits.observations

    @cached_property
    def allowed(self) -> Bools | None:
        """[S, A] what a leaf that contains a state may name by all rules; None if every leaf may name everything."""
        return allowed_by([rule for rule in self.rules if isinstance(rule, Rule)], self.mdp)

    def permits(self, policy: Ints) -> bool:
        """Whether the rules about leaves allow a tree that names these actions [S]."""
        return self.allowed is None or names_only(self.allowed, policy)

    @cached_property
    def shapes(self) -> tuple[ShapeRule, ...]:
        """The rules about the shape of a tree."""
        return tuple(rule for rule in self.rules if isinstance(rule, ShapeRule))

    @cached_property
    def kept(self) -> Kept | None:
        """The tree that is to be kept but for its open places."""
        return next((rule for rule in self.rules if isinstance(rule, Kept)), None)

    @cached_property
    def prices(self) -> Prices | None:
        """What questions cost, in units of the returns of `problem`."""
        return next((rule for rule in self.rules if isinstance(rule, Prices)), None)

    @cached_property
    def ceilings(self) -> tuple[Ceiling, ...]:
        """The limits on other totals, with costs [S, A] per step of `problem`.

        Raises:
            InputError: if there is no discount and the costs have no meaningful total.
        """
        found = (rule for rule in self.rules if isinstance(rule, Ceiling))
        if self.problem.discount < 1:
            return tuple(found)
        # Without a discount nothing counts after the end, which the objective may have set earlier than the MDP.
        over = self.problem.terminal[:, None]
        ceilings = tuple(replace(rule, costs=np.where(over, 0.0, rule.costs)) for rule in found)
        for ceiling in ceilings:
            try:
                planning.check_totals(ceiling.counting(self.problem))
            except InputError as error:
                raise InputError(f"the limit on {ceiling.name} has no meaning: {error}") from None
        return ceilings

    @cached_property
    def least_share(self) -> LeastShare | None:
        """The smallest share of the visits that a leaf may have."""
        return next((rule for rule in self.rules if isinstance(rule, LeastShare)), None)

    @property
    def only_leaf_rules(self) -> bool:
        """Whether the rules say no more than `allowed`: a tree is then judged by its policy alone."""
        return all(isinstance(rule, Rule) for rule in self.rules)

    @property
    def norms(self) -> Norms:
        """What bounds sums over all steps and errors of estimates on `problem`."""
        return norms(self.problem)

    @property
    def unavailable(self) -> str:
        """What a leaf may do where its action is not available, one of `UNAVAILABLE`."""
        return FORBID if AvailableOnly() in self.rules else FALLBACK

    @property
    def further_rules(self) -> tuple[str, ...]:
        """The words of all rules but the one about unavailable actions."""
        return tuple(rule.words for rule in self.rules if rule != AvailableOnly())

    @property
    def asked(self) -> str | None:
        """The objective in PRISM's syntax, or in words if it is the user's own; None for the discounted return."""
        if self.objective == DISCOUNTED_RETURN:
            return None
        return self.objective.property if isinstance(self.objective, Objective) else self.objective.words

    @cached_property
    def offset(self) -> float:
        """The constant by which the figures that users see differ from returns of `problem`, apart from the sign."""
        return float(self.objective.offset(self.mdp))

    def shown(self, value: float) -> float:
        """The number that users see for a return of `problem`."""
        return 0.0 - (value + self.offset) if self.objective.minimised else value + self.offset

    def shown_bound(self, bound: float) -> float:
        """The number that users see for an upper bound on returns of `problem`, rounded to the safe side."""
        total = bound + self.offset
        if isinstance(self.objective, Objective) and self.objective.is_probability:
            # Rewards of the problem and the offset are sums of probabilities, which are rounded.
            total += self._rounding_of_sums * (abs(bound) + abs(self.offset))
            total = min(total, 0.0 if self.objective.minimised else 1.0)
        return 0.0 - total if self.objective.minimised else total

    @cached_property
    def _rounding_of_sums(self) -> float:
        """Relative error of the probability to move into a set of states, or to start there, as it is computed."""
        longest = int(np.diff(self.mdp.transitions.indptr).max())
        return (longest + int(np.count_nonzero(self.mdp.initial)) + 8) * EPSILON
