"""The command `omdt check`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from omdt.cli.arguments import Settings, SolutionFile, SolvedProblem
from omdt.cli.messages import tell
from omdt.cli.problems import command, load_as_solved, load_problem, recognised, recorded
from omdt.errors import InputError


def check(
    solution: SolutionFile,
    problem: SolvedProblem = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file that `omdt solve --certificate` wrote.", show_default=False),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Compute with rational numbers; for small problems.")] = False,
    settings: Settings = None,
) -> None:
    """Whether a solution's tree returns what it says, and whether a certificate proves its bound."""
    from omdt.check import RejectedError, words
    from omdt.checking import read_solution, source_of, verify
    from omdt.objective import DISCOUNTED_RETURN

    data = read_solution(solution)
    if data.get("objective") is not None:
        raise InputError(
            f"{solution} is about the {data['objective']!s:.80}; a check is possible for the discounted return only"
        )
    again, discount = partial(command, "check", solution), data["discount"]
    if problem is None:
        name, its_settings = recorded(data["problem"], source_of(data, solution), again)
        chosen = settings or its_settings
        mdp = load_problem(name, chosen, discount, data.get("fallback"))
    else:
        name, chosen = problem, settings or []
        mdp = load_as_solved(problem, settings, discount, data.get("fallback"))
    mdp = recognised(
        mdp, DISCOUNTED_RETURN, data.get("fingerprint"), name, None if problem or settings else again(name, chosen)
    )
    try:
        verdict = verify(data, mdp, certificate, exact=exact)
    except RejectedError as error:
        typer.echo(f"NOT VERIFIED: {error}")
        raise typer.Exit(1) from None
    typer.echo(words(verdict))
    if data.get("rules"):
        tell("a file has rules in words only, so it was not checked that the tree keeps those of the solution")
