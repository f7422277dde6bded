"""Stakes: what a vector must bound to close some nodes of a proof by ranges, as the checker computes it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from omdt import check, planning
from omdt.mdp import Bools, Floats
from omdt.methods.search.coarse.observing import PLAIN, Grounds
from omdt.methods.search.model import Model
from omdt.rules import FORBID
from omdt.task import Task
from omdt.watch import Watch


@dataclass(frozen=True, eq=False)
class Stakes:
    """What a vector must bound.

    Attributes:
        weights: of what is earned, and of what rules limit.
        choices: [S, A] the actions that may be chosen.
        induction: measures vectors.
        constant: what is added to the bound of a vector.
    """

    weights: check.Weights
    choices: Bools
    induction: check.Induction
    constant: Fraction

    @property
    def bounds_return(self) -> bool:
        """Whether a bound on the return is shown; otherwise that no tree obeys the rules."""
        return self.weights.earned == 1


class StakesFinder:
    """Finds the stakes of nodes.

    Args:
        induction: for what is asked, without rules.
        ladders: the questions.
        ruling: what the rules say; None without rules.
    """

    def __init__(self, induction: check.Induction, ladders: check.Ladders, ruling: check.Ruling | None) -> None:
        self._induction, self._ladders, self._ruling = induction, ladders, ruling

    def of(self, trees: Sequence[check.CoarseTree], grounds: Grounds = PLAIN) -> Stakes:
        """What a single vector must bound to close several nodes.

        Raises:
            check.RejectedError: if the grounds say nothing about one of the nodes.
        """
        weights, base = weights_of(grounds), self._induction
        if self._ruling is None:
            shape = (base.S, base.A)
            choices = np.any([check.choices(tree, self._ladders, shape) for tree in trees], axis=0)
            return Stakes(weights, choices, base, Fraction(0))
        parts: list[Stakes] = []
        for tree in trees:
            choices = self._ruling.choices(tree)
            self._ruling.check_visits(weights, choices, base)
            parts.append(Stakes(weights, choices, *self._ruling.earned(tree, weights, base)))
        return parts[0] if len(parts) == 1 else _together(parts, base)


def _together(parts: Sequence[Stakes], base: check.Induction) -> Stakes:
    """What bounds each of several stakes of the same weights."""
    choices = np.any([part.choices for part in parts], axis=0)
    rewards = np.full(choices.shape, -np.inf)
    for part in parts:
        its = part.induction.rewards.reshape(choices.shape)
        rewards = np.where(part.choices, np.maximum(rewards, its), rewards)
    rewards = np.where(choices, rewards, base.rewards.reshape(choices.shape))
    induction = base.about(rewards, keeps_ends=parts[0].bounds_return)
    return Stakes(parts[0].weights, choices, induction, max(part.constant for part in parts))


def best_values(model: Model, stakes: Stakes, asked: check.Asked, watch: Watch) -> Floats:
    """[S] the values of the best policy for some stakes."""
    problem, weight = model.mdp, stakes.weights.earned
    # Where a probability is asked for, the problem has rewards in place of final ones.
    changes = stakes.induction.asked.rewards - weight * asked.rewards
    rewards = weight * problem.rewards + np.where(asked.ends[:, None], 0.0, changes)
    priced = replace(problem, rewards=rewards, endless=problem.endless if weight else None)
    start = np.zeros(problem.n_states)
    return planning.restricted_values(priced, stakes.choices, start, watch).upper


def weights_of(grounds: Grounds) -> check.Weights:
    """The grounds of the search as the checker has them."""
    shares = tuple((tuple(int(side) for side in path), factor) for path, factor in grounds.shares if factor > 0)
    return check.Weights(int(grounds.weight), grounds.ceilings if any(grounds.ceilings) else (), shares)


def ruling_of(task: Task, model: check.Model, asked: check.Asked, ladders: check.Ladders) -> check.Ruling | None:
    """What the checker makes of the rules of a task; None if there are none but those about questions."""
    statement = check.Statement(stated_rules(task))
    if task.unavailable != FORBID and statement.count == 0:
        return None
    return check.Ruling(statement, model, asked, ladders, available_only=task.unavailable == FORBID)


def stated_rules(task: Task) -> dict[str, check.Json]:
    """The rules of a task as its certificate states them."""
    return {} if task.stated is None else task.stated.to_dict()
