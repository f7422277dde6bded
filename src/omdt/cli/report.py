"""The command `omdt report`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from omdt.cli.arguments import Labels, Property, Settings, SolutionFile, SolvedProblem
from omdt.cli.recorded import Given, Recorded, find
from omdt.errors import InputError


def report(
    solution: SolutionFile,
    problem: SolvedProblem = None,
    settings: Settings = None,
    asked: Property = None,
    labels: Labels = None,
    discount: Annotated[
        float | None, typer.Option(metavar="GAMMA", help="By default that of the solution.", show_default=False)
    ] = None,
    front: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What `omdt front --output` wrote, for a section about what simplicity costs.",
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The heading; by default the problem's name.", show_default=False),
    ] = None,
    unit: Annotated[
        str,
        typer.Option(metavar="TEXT", help="What the figures are counted in, such as €.", show_default=False),
    ] = "",
    rule_seconds: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Per rule that the tree obeys: time to find what it costs."),
    ] = 5.0,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="By default SOLUTION with the ending .html.", show_default=False),
    ] = None,
) -> None:
    """One HTML page on a solution: what it earns, its rules, what each is worth, and the details of the proof."""
    from omdt.files import check_writable
    from omdt.report import write_report
    from omdt.report.commands import learn_command, solve_command
    from omdt.solution import load
    from omdt.tradeoffs.front_points import load_front

    target = solution.with_suffix(".html") if output is None else output
    check_writable(target)
    if target.resolve() == solution.resolve():
        raise InputError(f"the page would overwrite {solution}; name another file with --output")
    solved, sizes = load(solution), None if front is None else load_front(front)
    record = Recorded(
        solution,
        solved.problem,
        solved.source,
        solved.fingerprint,
        solved.objective,
        solved.discount,
        solved.fallback,
        solved.experience is not None,
    )
    given = Given(problem, settings, labels, asked, solved.discount if discount is None else discount)
    found = find("report", record, given)
    if solved.experience is None:
        made = solve_command(solved, problem=found.name, settings=found.settings, labels=found.labels, output=solution)
    else:
        made = learn_command(solved, output=solution)
    write_report(
        solved,
        found.mdp,
        target,
        objective=found.objective,
        commands=[made, shlex.join(["omdt", *sys.argv[1:]])],
        front=sizes,
        title=title,
        unit=unit,
        rule_seconds=rule_seconds,
    )
    typer.echo(target)
