"""Checks that an MDP is the problem that a solution was found for, by its names and its returns."""

import math

from omdt import planning
from omdt.counting import counted
from omdt.errors import InputError
from omdt.mdp import MDP, Floats
from omdt.solution import Solution
from omdt.task import Task
from omdt.tree import TreePolicy

TOLERANCE = 1e-9
"""Largest relative difference between two computed returns of one policy that is attributed to different machines."""


def check_names(tree: TreePolicy, mdp: MDP, X: Floats) -> None:
    """Raise unless the names of the tree are those of the MDP and the observations X [S, F'] fit both."""
    if tree.action_names != mdp.action_names:
        raise InputError(
            f"this is not the problem that was solved: the solution's actions are {_some(tree.action_names)}, "
            f"those of {mdp.name} are {_some(mdp.action_names)}"
        )
    if tree.feature_names[: mdp.n_features] != mdp.feature_names:
        raise InputError(
            f"this is not the problem that was solved: the solution's features are {_some(tree.feature_names)}, "
            f"those of {mdp.name} are {_some(mdp.feature_names)}"
        )
    if X.shape != (mdp.n_states, len(tree.feature_names)):
        asked = _some(tree.feature_names[mdp.n_features :])
        raise InputError(
            f"the tree reads {counted(len(tree.feature_names), 'column')}, but there are observations of "
            f"shape {list(X.shape)} for {counted(mdp.n_states, 'state')}; if the tree asks predicates "
            f"({asked}), pass splits.observations"
        )


def _some(names: tuple[str, ...], most: int = 5) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def check_returns(
    solution: Solution, task: Task, returned: planning.Certified[float], optimal: planning.Certified[float]
) -> None:
    """Raise unless the discount and the returns in the solution are those of this task."""
    mdp = task.problem
    if solution.discount != mdp.discount:
        raise InputError(
            f"the solution's discount is {solution.discount!r}, that of {mdp.name} is {mdp.discount!r}; "
            "use the same discount for both"
        )
    random = planning.expected_return(mdp, planning.policy_values(mdp, planning.random_policy(mdp)))
    for what, stored, error, computed in (
        ("tree", solution.value, solution.value_error, returned),
        ("optimal policy", solution.optimal_return, solution.optimal_error, optimal),
        ("random policy", solution.random_return, solution.random_error, random),
    ):
        value = task.shown(computed.value)
        tolerance = error + 2 * computed.error + TOLERANCE * max(abs(stored), abs(value))
        if stored != value and not abs(stored - value) <= tolerance < math.inf:
            raise InputError(
                f"this is not the problem that was solved: according to the solution the {what} returns {stored!r}, "
                f"but on {mdp.name} it returns {value!r}; "
                "give the same PROBLEM and the same --set as for `omdt solve`"
            )
