"""The command `omdt check`."""

from pathlib import Path
from typing import Annotated

import typer

from omdt.cli.arguments import Labels, Property, Settings, SolutionFile, SolvedProblem
from omdt.cli.messages import tell
from omdt.cli.recorded import Given, Recorded, find
from omdt.terminal import console


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
    from omdt.check import RejectedError, words
    from omdt.checking import read_solution, source_of, verify
    from omdt.cli.progress import showing_progress
    from omdt.solution import stated_objective

    data = read_solution(solution)
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
    found = find("check", record, Given(problem, settings, labels, asked))
    try:
        with showing_progress(console(stderr=True), f"checking {solution}"):
            verdict = verify(data, found.mdp, certificate, exact=exact)
    except RejectedError as error:
        typer.echo(f"NOT VERIFIED: {error}")
        raise typer.Exit(1) from None
    typer.echo(words(verdict))
    if verdict.unread:
        tell("a file has rules of your own in words only, so it was not checked that the tree keeps them")
