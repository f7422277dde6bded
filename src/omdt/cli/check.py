"""The command `omdt check`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omdt.cli.arguments import Labels, Property, Settings, SolutionFile, SolvedProblem
from omdt.cli.messages import tell
from omdt.cli.recorded import Given, Recorded, find
from omdt.errors import InputError
from omdt.terminal import console

if TYPE_CHECKING:
    from omdt.check import Verdict


def check(
    solution: SolutionFile,
    problem: SolvedProblem = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file that `omdt solve --certificate` wrote.", show_default=False),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Compute with rational numbers; for small problems.")] = False,
    settings: Settings = None,
    asked: Property = None,
    labels: Labels = None,
) -> None:
    """Whether a solution's tree returns what it says, and whether a certificate proves its bound."""
    from omdt.check import GUARANTEED, RejectedError, words
    from omdt.checking import read_solution, verify_guaranteed
    from omdt.cli.progress import showing_progress

    data = read_solution(solution)
    if data.get("objective") == GUARANTEED:
        file = _interval_file(solution, problem, certificate)
        look: Callable[[], Verdict] = partial(verify_guaranteed, data, file, exact=exact)
    else:
        look = _ordinary(solution, data, Given(problem, settings, labels, asked), certificate, exact=exact)
    try:
        with showing_progress(console(stderr=True), f"checking {solution}"):
            verdict = look()
    except RejectedError as error:
        typer.echo(f"NOT VERIFIED: {error}")
        raise typer.Exit(1) from None
    typer.echo(words(verdict))
    if verdict.unread:
        tell("a file has rules of your own in words only, so it was not checked that the tree keeps them")
    if verdict.guaranteed is None and _guarantees(data):
        tell("the guaranteed return was not checked: the file of the model does not have the worlds of the log")


def _ordinary(
    solution: Path, data: dict[str, Any], given: Given, certificate: Path | None, *, exact: bool
) -> "Callable[[], Verdict]":
    """What checks a solution whose problem is an MDP, after that was found."""
    from omdt.checking import source_of, verify, with_guarantee
    from omdt.solution import stated_objective

    record = Recorded(
        solution,
        data["problem"],
        source_of(data, solution),
        data.get("fingerprint"),
        stated_objective(data),
        data["discount"],
        data.get("fallback"),
        "experience" in data,
    )
    found = find("check", record, given)

    def look() -> "Verdict":
        verdict = verify(data, found.mdp, certificate, exact=exact)
        if not _guarantees(data) or Path(found.name).suffix.lower() != ".npz":
            return verdict
        return with_guarantee(data, verdict, Path(found.name), exact=exact)

    return look


def _guarantees(data: dict[str, Any]) -> bool:
    """Whether a solution was learned from a log that guarantees something."""
    experience = data.get("experience")
    return isinstance(experience, dict) and "guarantee" in experience


def _interval_file(solution: Path, problem: str | None, certificate: Path | None) -> Path:
    """The file of the interval MDP of a solution."""
    if certificate is not None:
        raise InputError(f"{solution} is about an interval MDP, for which there are no certificates")
    if problem is None:
        raise InputError(
            f"{solution} is about the guaranteed return of an interval MDP; name the file that IntervalMDP.save wrote: "
            f"omdt check {solution} FILE.npz"
        )
    return Path(problem)
