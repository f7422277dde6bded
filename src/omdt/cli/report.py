"""The command `omdt report`."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from omdt.cli.arguments import Settings, SolutionFile, SolvedProblem
from omdt.cli.problems import command, load_problem, recognised, recorded
from omdt.errors import InputError


def report(
    solution: SolutionFile,
    problem: SolvedProblem = None,
    settings: Settings = None,
    discount: Annotated[
        float | None, typer.Option(metavar="GAMMA", help="By default that of the solution.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="By default SOLUTION with the ending .html.", show_default=False),
    ] = None,
) -> None:
    """One HTML page on a solution: its tree, its proof, where it goes and what it loses."""
    from omdt.files import check_writable
    from omdt.objective import recorded as recorded_objective
    from omdt.report import write_report
    from omdt.report.commands import solve_command
    from omdt.solution import load

    target = solution.with_suffix(".html") if output is None else output
    check_writable(target)
    if target.resolve() == solution.resolve():
        raise InputError(f"the page would overwrite {solution}; name another file with --output")
    solved = load(solution)
    objective = recorded_objective(solved.objective)
    again = partial(command, "report", solution)
    name, its_settings = (problem, []) if problem is not None else recorded(solved.problem, solved.source, again)
    chosen = settings or its_settings
    mdp = load_problem(name, chosen, solved.discount if discount is None else discount, solved.fallback)
    if mdp.discount == solved.discount:
        mdp = recognised(mdp, objective, solved.fingerprint, name, None if problem or settings else again(name, chosen))
    commands = [
        solve_command(solved, problem=name, settings=chosen, output=solution),
        shlex.join(["omdt", *sys.argv[1:]]),
    ]
    write_report(solved, mdp, target, commands=commands)
    typer.echo(target)
