"""Comparisons under rules: what trees of methods that know nothing of the rules net, and which rules they break."""

from dataclasses import replace

from omdt.judging import net_return, violations
from omdt.solution import Solution
from omdt.task import Task
from omdt.tree import LEAF, TreePolicy


def judged(task: Task, solutions: list[Solution]) -> tuple[list[Solution], str | None]:
    """Solutions with the net values of their trees, and how a tree breaks the rules; None if all of them keep them."""
    if task.stated is None:
        return solutions, None
    breaches = (breach(task, solution.tree) for solution in solutions)
    net = [replace(solution, value=net_value(task, solution.tree)) for solution in solutions]
    return net, next((found for found in breaches if found is not None), None)


def net_value(task: Task, tree: TreePolicy) -> float:
    """What a tree returns after its questions are paid, as users see it."""
    return task.shown(net_return(task, tree).value)


def breach(task: Task, tree: TreePolicy) -> str | None:
    """How a tree breaks the rules, to be read after `the tree …`; None if it keeps them all."""
    asked = {(int(j), bool(equality)) for j, equality in zip(task.splits.feature, task.splits.equality, strict=True)}
    for node in (tree.feature != LEAF).nonzero()[0].tolist():
        column = int(tree.feature[node])
        if (column, bool(tree.equality[node])) not in asked and task.kept is None:
            return f"asks about {tree.feature_names[column]} what the rules do not allow"
    return next(violations(task, tree), None)
