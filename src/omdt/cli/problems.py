"""The MDP that a PROBLEM names, or that a solution records."""

import os
import shlex
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omdt.cli.messages import naming_flags, tell
from omdt.errors import AssumedDiscountWarning, InputError, InputWarning

if TYPE_CHECKING:
    from omdt.mdp import MDP
    from omdt.objective import Objective
    from omdt.source import Source


def load_problem(
    problem: str, settings: list[str] | None, discount: float | None, fallback: str | None = None
) -> "MDP":
    """The MDP that a PROBLEM argument names; what was assumed about it goes to standard error."""
    mdp, assumed = _loaded(problem, settings, discount, fallback)
    for warning in assumed:
        tell(str(warning))
    return mdp


def load_as_solved(problem: str, settings: list[str] | None, discount: float, fallback: str | None) -> "MDP":
    """The same with the discount of a solution, which is told where the problem has another one or none."""
    from dataclasses import replace

    mdp, assumed = _loaded(problem, settings, None, fallback)
    others = [warning for warning in assumed if not isinstance(warning, AssumedDiscountWarning)]
    for warning in others:
        tell(str(warning))
    if mdp.discount == discount:
        return mdp
    has_its_own = len(others) == len(assumed)
    tell(f"the discount is {discount!r}, as in the solution" + (f", not {mdp.discount!r}" if has_its_own else ""))
    return replace(mdp, discount=discount)


def _loaded(
    problem: str, settings: list[str] | None, discount: float | None, fallback: str | None
) -> tuple["MDP", list[InputWarning]]:
    """The MDP that a PROBLEM argument names, and what was assumed about it."""
    from dataclasses import replace

    from omdt.environments import make, parse_parameters, registered

    if problem in registered() or not _from_outside(problem):
        mdp = make(problem, **parse_parameters(problem, settings or []))
        changes = {"discount": discount, "fallback": fallback}
        with naming_flags():
            return replace(mdp, **{name: value for name, value in changes.items() if value is not None}), []  # type: ignore[arg-type]

    from omdt.formats import parse_parameters as parse_outside
    from omdt.formats import read

    with naming_flags(), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", InputWarning)
        mdp = read(problem, discount=discount, fallback=fallback, **parse_outside(problem, settings or []))
    for warning in heard:
        if not issubclass(warning.category, InputWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return mdp, [warning.message for warning in heard if isinstance(warning.message, InputWarning)]


def command(name: str, solution: Path, problem: str, settings: Sequence[str] = ()) -> str:
    """The command that takes the problem of a solution from the user."""
    return shlex.join(["omdt", name, str(solution), problem, *(word for it in settings for word in ("--set", it))])


def recorded(name: str, source: "Source | None", again: Callable[[str], str]) -> tuple[str, list[str]]:
    """What the problem of a solution is called on the command line, and its settings.

    Args:
        name: what the MDP was called.
        source: how it can be found again.
        again: the same command for a PROBLEM.
    """
    from omdt.environments import registered

    if source is None and name not in registered():
        raise InputError(
            f"the solution does not say where its problem {name!r} comes from; name it: {again('PROBLEM')}"
        )
    if source is None:
        return name, []
    problem = source.spelled()
    if isinstance(source.problem, Path) and not os.path.exists(source.problem):
        raise InputError(f"there is no file {problem} any more, which was solved; name the problem: {again('PROBLEM')}")
    if problem.startswith("gym:") and ":" in problem.removeprefix("gym:"):
        # Gymnasium would import the module, and a file may come from anyone.
        raise InputError(f"{problem} names a module to import; if you trust it, name it: {again(problem)}")
    return problem, list(source.settings)


def recognised(mdp: "MDP", objective: "Objective", expected: str | None, problem: str, again: str | None) -> "MDP":
    """The MDP that was solved: this one, or the part of it that can be reached.

    Args:
        mdp: what PROBLEM names.
        objective: that of the solution.
        expected: the fingerprint in the solution, if it has one: that of the MDP that the objective makes of it.
        problem: the PROBLEM.
        again: the same command with the PROBLEM, where it was not the user who named that. Where it was, another MDP is
            mentioned, and the figures decide.
    """
    from omdt.fingerprint import fingerprint

    found = fingerprint(objective.problem(mdp))
    if expected is None or expected == found:
        return mdp
    if fingerprint(objective.problem(reachable := mdp.reachable())) == expected:
        return reachable
    differ = f"its fingerprint is {found}, the solution's is {expected}"
    if again is not None:
        raise InputError(
            f"{problem} has changed since it was solved: {differ}; solve it again, or name it to go on with it as it "
            f"is: {again}"
        )
    tell(f"{problem} is not the problem that was solved, or it has changed since: {differ}")
    return mdp


def _from_outside(problem: str) -> bool:
    """Whether a PROBLEM is a file or an environment of another package."""
    return problem.startswith("gym:") or os.sep in problem or bool(Path(problem).suffix) or os.path.exists(problem)
