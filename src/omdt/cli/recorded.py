"""The problem and the objective that a solution records, for the commands that read solutions."""

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from omdt.cli.messages import tell
from omdt.cli.problems import load_problem, loaded
from omdt.errors import AssumedDiscountWarning, InputError

if TYPE_CHECKING:
    from omdt.mdp import MDP
    from omdt.objective import Objective
    from omdt.source import Source


@dataclass(frozen=True)
class Recorded:
    """What a solution says about its problem.

    Attributes:
        path: the file of the solution.
        problem: name of the MDP.
        source: how it can be found again, or None.
        fingerprint: by which it is recognised, or None.
        objective: what was asked, as `Task.asked` has it.
        discount: that of the problem that was solved.
        fallback: what is played instead of an unavailable action.
        learned: whether the problem is a model that was learned.
    """

    path: Path
    problem: str
    source: "Source | None"
    fingerprint: str | None
    objective: str | None
    discount: float
    fallback: str | None
    learned: bool = False


@dataclass(frozen=True)
class Given:
    """What the user says about the problem of a solution.

    Attributes:
        problem: PROBLEM; None for what the solution records.
        settings: those of `--set`; by default those that are recorded, unless there is a PROBLEM.
        labels: those of `--label`, likewise.
        property: that of `--property`, which must be that of the solution.
        discount: that of `--discount`; by default that of the solution.
    """

    problem: str | None = None
    settings: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    property: str | None = None
    discount: float | None = None


@dataclass(frozen=True)
class Found:
    """The problem of a solution.

    Attributes:
        mdp: the problem that was solved.
        objective: what was asked.
        name: PROBLEM on the command line.
        settings: those of `--set`.
        labels: those of `--label`.
    """

    mdp: "MDP"
    objective: "Objective"
    name: str
    settings: Sequence[str]
    labels: Sequence[str]


def find(command_name: str, solution: Recorded, given: Given) -> Found:
    """The problem of a solution, recognised by its fingerprint.

    Args:
        command_name: the command that asks, for messages.
        solution: what the solution says.
        given: what the user says.

    Raises:
        InputError: if the problem cannot be found or has changed, or has another objective.
    """
    from omdt.properties import labelled, parsed_labels

    objective = _objective(solution, given)
    again = partial(command, command_name, solution.path)
    name, settings, labels = _named(solution, given, again)
    mdp = _loaded(name, settings, solution, given, objective)
    stated = parsed_labels(labels)
    if not given.labels:
        # A model that the user names may have by itself what had to be added to the one that was solved.
        stated = {label: states for label, states in stated.items() if label not in mdp.labels}
    mdp = labelled(mdp, stated)
    if given.discount in (None, solution.discount):
        named = None if given.problem or given.settings or given.labels else again(name, settings, labels)
        mdp = recognised(mdp, objective, solution.fingerprint, name, named)
    return Found(mdp, objective, name, settings, labels)


def _named(solution: Recorded, given: Given, again: Callable[[str], str]) -> tuple[str, Sequence[str], Sequence[str]]:
    """PROBLEM, its settings and its labels: those that the user names, otherwise those that are recorded."""
    settings: Sequence[str] = ()
    if given.problem is None and solution.learned and solution.source is None:
        raise InputError(
            f"the model that {solution.path} was learned with was not kept; learn it again with --model FILE.npz, or "
            f"name the file if there is one: {again('FILE.npz')}"
        )
    if given.problem is None:
        name, settings, labels = recorded(solution.problem, solution.source, again)
    else:
        name, labels = given.problem, () if solution.source is None else solution.source.labels
    return name, given.settings or settings, given.labels or labels


def _objective(solution: Recorded, given: Given) -> "Objective":
    """The objective of the solution; the user may name it, but no other one."""
    from omdt.objective import Objective
    from omdt.objective import recorded as recorded_objective

    objective = recorded_objective(solution.objective)
    if given.property is not None and Objective.parse(given.property) != objective:
        raise InputError(
            f"{solution.path} is about {solution.objective or 'the discounted return'}, not about {given.property}; "
            "leave out --property, or solve the problem again"
        )
    return objective


def _loaded(name: str, settings: Sequence[str], solution: Recorded, given: Given, objective: "Objective") -> "MDP":
    """The MDP, with the discount of the solution where that matters."""
    if not objective.by_discount:
        return load_problem(name, settings, None, solution.fallback, objective)
    if given.problem is None or given.discount is not None:
        discount = solution.discount if given.discount is None else given.discount
        return load_problem(name, settings, discount, solution.fallback)
    return load_as_solved(name, settings, solution.discount, solution.fallback)


def load_as_solved(problem: str, settings: Sequence[str] | None, discount: float, fallback: str | None) -> "MDP":
    """The MDP with the discount of a solution, which is told where the problem has another one or none."""
    mdp, assumed = loaded(problem, settings, None, fallback, None)
    others = [warning for warning in assumed if not isinstance(warning, AssumedDiscountWarning)]
    for warning in others:
        tell(str(warning))
    if mdp.discount == discount:
        return mdp
    has_its_own = len(others) == len(assumed)
    tell(f"the discount is {discount!r}, as in the solution" + (f", not {mdp.discount!r}" if has_its_own else ""))
    return replace(mdp, discount=discount)


def command(name: str, solution: Path, problem: str, settings: Sequence[str] = (), labels: Sequence[str] = ()) -> str:
    """The command that takes the problem of a solution from the user."""
    flags = [*(("--set", it) for it in settings), *(("--label", it) for it in labels)]
    return shlex.join(["omdt", name, str(solution), problem, *(word for flag in flags for word in flag)])


def recorded(
    name: str, source: "Source | None", again: Callable[[str], str]
) -> tuple[str, Sequence[str], Sequence[str]]:
    """What the problem of a solution is called on the command line, its settings and its labels.

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
        return name, [], []
    problem = source.spelled()
    if isinstance(source.problem, Path) and not os.path.exists(source.problem):
        raise InputError(f"there is no file {problem} any more, which was solved; name the problem: {again('PROBLEM')}")
    if problem.startswith("gym:") and ":" in problem.removeprefix("gym:"):
        # Gymnasium would import the module, and a file may come from anyone.
        raise InputError(f"{problem} names a module to import; if you trust it, name it: {again(problem)}")
    return problem, source.settings, source.labels


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
