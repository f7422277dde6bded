"""What the tree obeys: each rule that was stated, how close the tree is to its limit, and what the rule costs."""

from dataclasses import dataclass

from omdt.judging import cost_of, leaf_shares
from omdt.mdp import MDP
from omdt.objective import Asked
from omdt.report.amounts import Amounts, percentage, plain
from omdt.rules import FALLBACK, Rules
from omdt.solution import Solution
from omdt.solving import task_of
from omdt.tradeoffs.rule_costs import RuleCost, rule_costs
from omdt.tree import printable


@dataclass(frozen=True)
class Obeyed:
    """One rule as the page shows it.

    Attributes:
        words: what the tree does, as in `never takes drive where load>3`.
        margin: how close it is to the limit; empty if there is nothing to measure.
        cost: what the rule costs.
        why: what the tree without the rule would do; empty if the rule does not bind.
    """

    words: str
    margin: str
    cost: str
    why: str


def obeyed(solution: Solution, mdp: MDP, objective: Asked, amounts: Amounts, seconds: float) -> list[Obeyed]:
    """The rules of a solution in the order in which they were stated.

    Args:
        solution: the solution.
        mdp: the problem that was solved.
        objective: what was maximised or minimised.
        amounts: how figures are written.
        seconds: time limit per rule for the best tree without it.
    """
    return [
        Obeyed(
            printable(found.words),
            _margin(solution, mdp, objective, found.alone),
            _cost(solution, found, amounts),
            "" if found.breach is None else printable(f"Without this rule, the tree {found.breach}."),
        )
        for found in rule_costs(mdp, solution, objective, seconds=seconds)
    ]


def _margin(solution: Solution, mdp: MDP, objective: Asked, alone: Rules) -> str:
    """What the tree has of the quantity that a rule limits."""
    task = task_of(mdp, solution.size, None, objective, FALLBACK, alone)
    observations = solution.observations(mdp)
    policy = solution.tree.actions(observations)
    for ceiling in task.ceilings:
        return f"It has {plain(ceiling.total(cost_of(task, ceiling, policy).value))}."
    if task.least_share is not None:
        return f"The smallest share is {percentage(float(leaf_shares(task, solution.tree, policy).min()))}."
    return ""


def _cost(solution: Solution, found: RuleCost, amounts: Amounts) -> str:
    """What a rule costs, in words."""
    without = found.without
    if without.proven and solution.proven and found.cost <= without.excess + solution.excess:
        return "nothing"
    if not (without.proven and solution.proven):
        return f"about {amounts.difference(found.cost)}, which is not proven"
    return amounts.difference(found.cost)
