"""What each rule costs: the best tree without it, and how that tree breaks it."""

from dataclasses import dataclass

from omdt.judging import violations
from omdt.limits import Limits
from omdt.mdp import MDP
from omdt.objective import Asked
from omdt.questions import splits_of
from omdt.rules import Rules
from omdt.rules.parts import parts
from omdt.solution import Solution
from omdt.solving import solve, task_of
from omdt.task import Task
from omdt.tree import TreePolicy


@dataclass(frozen=True)
class RuleCost:
    """What one rule costs.

    Attributes:
        words: what a tree does that keeps the rule, to be read after `a tree that …`.
        alone: the statement that has this rule only.
        without: the solution without this rule, under all the others.
        breach: how that solution's tree breaks the rule, to be read after `the tree …`; None if it does not, so that
            the rule does not bind.
        cost: how much better the value is without the rule, in the units of the objective; never negative.
    """

    words: str
    alone: Rules
    without: Solution
    breach: str | None
    cost: float


def rule_costs(
    mdp: MDP, solution: Solution, objective: Asked, *, seconds: float = 5.0, node_limit: int | None = None
) -> list[RuleCost]:
    """What each of the rules of a solution costs, in the order in which they were stated.

    Args:
        mdp: the problem that was solved.
        solution: a solution with stated rules; without them there is nothing to tell.
        objective: what was maximised or minimised.
        seconds: time limit per rule.
        node_limit: limit on the partial trees per rule, for repeatable answers.
    """
    if solution.stated_rules is None:
        return []
    Limits(seconds)
    return [
        _cost(mdp, solution, objective, part.words(mdp), part.alone, part.others, seconds, node_limit)
        for part in parts(solution.stated_rules)
    ]


def _cost(
    mdp: MDP,
    solution: Solution,
    objective: Asked,
    words: str,
    alone: Rules,
    others: Rules,
    seconds: float,
    node_limit: int | None,
) -> RuleCost:
    stated = solution.stated_rules
    assert stated is not None, "the rule is one of those that were stated"
    without = solve(
        mdp,
        max_depth=solution.max_depth,
        max_leaf_nodes=solution.max_leaf_nodes,
        splits=None if stated.about_questions or solution.questions is None else splits_of(solution.questions, mdp),
        time_limit=seconds,
        seed=solution.seed,
        node_limit=node_limit,
        unavailable=solution.unavailable,
        rules=others,
        objective=objective,
    )
    gained = without.value - solution.value
    gained = -gained if objective.minimised else gained
    task = task_of(mdp, solution.size, None, objective, "fallback", alone)
    return RuleCost(words, alone, without, _breach(task, alone, without.tree), max(0.0, gained))


def _breach(task: Task, alone: Rules, tree: TreePolicy) -> str | None:
    """How a tree breaks a rule, to be read after `the tree …`; None if it keeps it."""
    asked = {tree.feature_names[j] for j in tree.feature if j >= 0}
    wrong = asked - set(asked if alone.features is None else alone.features) | asked & set(alone.without)
    if wrong:
        return f"asks about {', '.join(sorted(wrong))}"
    thresholds = {
        tree.feature_names[j] for j, equal in zip(tree.feature, tree.equality, strict=True) if j >= 0 and not equal
    }
    if wrong := thresholds & set(alone.categorical):
        return f"asks about {', '.join(sorted(wrong))} by thresholds"
    return next(violations(task, tree), None)
