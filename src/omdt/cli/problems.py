"""The MDP that a PROBLEM names."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omdt.cli.messages import hearing, naming_flags, tell
from omdt.errors import InputWarning

if TYPE_CHECKING:
    from omdt.mdp import MDP
    from omdt.objective import Objective


def load_problem(
    problem: str,
    settings: Sequence[str] | None,
    discount: float | None,
    fallback: str | None = None,
    objective: "Objective | None" = None,
) -> "MDP":
    """The MDP that a PROBLEM argument names; what was assumed about it goes to standard error.

    Args:
        problem: PROBLEM.
        settings: its parameters, each as NAME=VALUE.
        discount: overrides that of the problem.
        fallback: what is played instead of an unavailable action.
        objective: what will be asked; None for the discounted return.
    """
    mdp, assumed = loaded(problem, settings, discount, fallback, objective)
    for warning in assumed:
        tell(str(warning))
    return mdp


def loaded(
    problem: str,
    settings: Sequence[str] | None,
    discount: float | None,
    fallback: str | None,
    objective: "Objective | None",
) -> tuple["MDP", list[InputWarning]]:
    """The MDP that a PROBLEM argument names, and what was assumed about it."""
    from dataclasses import replace

    from omdt.environments import make, parse_parameters, registered

    if problem in registered() or not from_outside(problem):
        mdp = make(problem, **parse_parameters(problem, settings or []))
        changes = {"discount": discount, "fallback": fallback}
        with naming_flags():
            return replace(mdp, **{name: value for name, value in changes.items() if value is not None}), []  # type: ignore[arg-type]

    from omdt.formats import parse_parameters as parse_outside
    from omdt.formats import read

    with naming_flags(), hearing() as assumed:
        parameters = parse_outside(problem, settings or [])
        mdp = read(problem, discount=discount, fallback=fallback, objective=objective, **parameters)
    return mdp, assumed


def from_outside(problem: str) -> bool:
    """Whether a PROBLEM is a file or an environment of another package."""
    return problem.startswith("gym:") or os.sep in problem or bool(Path(problem).suffix) or os.path.exists(problem)
